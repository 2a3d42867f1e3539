package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

var migrations atomic.Int32

func migrate(ctx context.Context, url string) error {
	migrations.Add(1)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	// Left open on purpose: a pool may close late.
	_, err = conn.Exec(ctx, "CREATE TABLE migrated (v int)")
	return err
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, pgtest.Database(t, "migrated", migrate))
			var rows int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM migrated").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows != 0 {
				t.Errorf("a fresh database has %d rows", rows)
			}
			if _, err := conn.Exec(t.Context(), "INSERT INTO migrated VALUES (1)"); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		if n := migrations.Load(); n != 1 {
			t.Errorf("migrated %d times", n)
		}
	})
}

func TestDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	admin := connect(t, pgtest.Database(t, "empty", nil))
	var name string
	t.Run("test", func(t *testing.T) {
		url := pgtest.Database(t, "empty", nil)
		conn, err := pgx.Connect(t.Context(), url) // never closed by the test
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var exists bool
	err := admin.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		t.Errorf("%s exists: %v, %v", name, exists, err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	s := pgtest.Cluster(t, embedded.Options{Settings: map[string]string{"work_mem": "1MB"}})
	done := s.Done()
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, s.URL("postgres"))
	for setting, want := range map[string]string{"fsync": "on", "max_connections": "200", "work_mem": "1MB"} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
}

func TestPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t, "empty", nil)
	pooled := pgtest.PgBouncer(t, direct)
	one, two := connect(t, pooled), connect(t, pooled)
	ctx := t.Context()
	// In transaction mode two idle clients share one server session.
	var pids [2]int
	for i, conn := range []*pgx.Conn{one, two} {
		if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if pids[0] != pids[1] {
		t.Errorf("sessions %v, want one session for both", pids)
	}
	var want, got string
	if err := connect(t, direct).QueryRow(ctx, "SELECT current_database()").Scan(&want); err != nil {
		t.Fatal(err)
	}
	if err := one.QueryRow(ctx, "SELECT current_database()").Scan(&got); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// A test that panics, here played by a copy of this process, leaves nothing.
func TestNothingLeftAfterPanic(t *testing.T) {
	t.Parallel()
	const env = "IDEMSVC_PGTEST_PANIC"
	if os.Getenv(env) != "" {
		s := pgtest.Cluster(t, embedded.Options{})
		fmt.Println("running", s.PID(), s.DataDir())
		panic("as asked")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingLeftAfterPanic$")
	cmd.Env = append(os.Environ(), env+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "running %d %s", &pid, &dir); err == nil {
			break
		}
	}
	if err := cmd.Wait(); err == nil || dir == "" {
		t.Fatalf("the copy ended with %v, having started %q", err, dir)
	}
	root, _, _ := strings.Cut(dir, "/cluster-")
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(time.Minute); ; {
		_, dirErr := os.Stat(root)
		if os.IsNotExist(dirErr) && syscall.Kill(pid, 0) != nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("left after a panic: folder %s (%v), process %d", root, dirErr, pid)
		case <-poll.C:
		}
	}
}
