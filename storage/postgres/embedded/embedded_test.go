package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// dataDir is a missing directory that the unprivileged user can reach, which
// t.TempDir is not under root.
func dataDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "idemsvc-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(parent, "pg")
}

func start(t *testing.T, opts embedded.Options) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *embedded.Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, s *embedded.Server, sql string) {
	t.Helper()
	conn := connect(t, s.URL("postgres"))
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func value(t *testing.T, s *embedded.Server, sql string) string {
	t.Helper()
	var v string
	if err := connect(t, s.URL("postgres")).QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStart(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{
		DataDir:  dataDir(t),
		Settings: map[string]string{"max_connections": "33"},
		Durable:  true,
	})
	for _, c := range []struct{ sql, want string }{
		{"SHOW max_connections", "33"},
		{"SHOW fsync", "on"},
		{"SHOW listen_addresses", ""},
		{"SHOW server_encoding", "UTF8"},
		{"SELECT datcollate FROM pg_database WHERE datname = current_database()", "C"},
		{"SHOW data_directory", s.ClusterDir()},
	} {
		if got := value(t, s, c.sql); got != c.want {
			t.Errorf("%s: got %q, want %q", c.sql, got, c.want)
		}
	}
	info, err := os.Stat(filepath.Join(s.DataDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("socket folder has mode %v, want 0700", got)
	}
	if s.TCPURL("postgres") != "" {
		t.Error("a TCP URL without TCP")
	}
}

func TestNotDurable(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{DataDir: dataDir(t)})
	if got := value(t, s, "SHOW fsync"); got != "off" {
		t.Errorf("fsync is %s, want off", got)
	}
}

func TestStopKeepsData(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: dataDir(t)}
	first := start(t, opts)
	exec(t, first, "CREATE TABLE kept AS SELECT 'yes' AS v")
	stop(t, first)
	stop(t, first) // does nothing
	if err := first.Restart(t.Context()); err == nil {
		t.Error("Restart after Stop succeeded")
	}

	second := start(t, opts)
	if got := value(t, second, "SELECT v FROM kept"); got != "yes" {
		t.Errorf("got %q after the restart", got)
	}
}

func TestTCP(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{DataDir: dataDir(t), TCP: true})
	conn := connect(t, s.TCPURL("postgres"))
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	u, err := url.Parse(s.TCPURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(embedded.Superuser, "wrong")
	if conn, err := pgx.Connect(t.Context(), u.String()); err == nil {
		_ = conn.Close(t.Context())
		t.Error("a wrong password was accepted over TCP")
	}
}

func TestRestartAfterKill(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{DataDir: dataDir(t), Durable: true})
	exec(t, s, "CREATE TABLE kept AS SELECT 'yes' AS v")
	before := s.URL("postgres")
	connect(t, before) // a session that is left behind
	kill(t, s)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.URL("postgres"); got != before {
		t.Errorf("URL changed from %s to %s", before, got)
	}
	if got := value(t, s, "SELECT v FROM kept"); got != "yes" {
		t.Errorf("got %q after the crash", got)
	}
}

func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: dataDir(t), Durable: true}
	first := start(t, opts)
	exec(t, first, "CREATE TABLE kept AS SELECT 'yes' AS v")
	kill(t, first)
	pidFile := filepath.Join(first.ClusterDir(), "postmaster.pid")
	if _, err := os.Stat(pidFile); err != nil {
		t.Fatalf("the killed server left no lock file: %v", err)
	}
	stop(t, first)
	second := start(t, opts)
	if got := value(t, second, "SELECT v FROM kept"); got != "yes" {
		t.Errorf("got %q after the crash", got)
	}
}

// A lock file whose process ID went to an unrelated process, as happens after
// a reboot or in a fresh container, does not keep the server down.
func TestStartWithReusedPID(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: dataDir(t)}
	first := start(t, opts)
	kill(t, first)
	pidFile := filepath.Join(first.ClusterDir(), "postmaster.pid")
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\n")
	stop(t, first)
	if err := os.WriteFile(pidFile, []byte("1\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, opts)
}

// A lock file that a crash of the machine has cut short does not keep the server down.
func TestStartWithTornLockFile(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("this system cannot tell who uses the data")
	}
	opts := embedded.Options{DataDir: dataDir(t)}
	stop(t, start(t, opts))
	for _, torn := range []string{"", "\n", "abc"} {
		if err := os.WriteFile(filepath.Join(opts.DataDir, "data", "postmaster.pid"), []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		stop(t, start(t, opts))
	}
}

func TestOddPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`o'd "d+ü%20&x=1?#`, "a,b"} {
		s := start(t, embedded.Options{DataDir: filepath.Join(dataDir(t), name)})
		exec(t, s, "SELECT 1")
	}
}

func kill(t *testing.T, s *embedded.Server) {
	t.Helper()
	done := s.Done()
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
}

func TestStopReportsHardStop(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{DataDir: dataDir(t)})
	// A stopped process takes no part in a clean shutdown.
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	done := s.Done()
	resume := make(chan struct{})
	go func() {
		defer close(resume)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := s.Stop(ctx); err == nil {
			t.Error("Stop reported a clean shutdown")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("still running")
	}
	<-resume
}

func TestOneServerPerDataDir(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: dataDir(t)}
	start(t, opts)
	if s, err := embedded.Start(t.Context(), opts); !errors.Is(err, embedded.ErrInUse) {
		if err == nil {
			stop(t, s)
		}
		t.Errorf("second start: got %v, want ErrInUse", err)
	}
}

func TestConcurrentFirstStarts(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: dataDir(t)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var started []*embedded.Server
	for range 4 {
		wg.Go(func() {
			s, err := embedded.Start(t.Context(), opts)
			if err != nil {
				if !errors.Is(err, embedded.ErrInUse) {
					t.Errorf("got %v, want ErrInUse", err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, s)
		})
	}
	wg.Wait()
	for _, s := range started {
		stop(t, s)
	}
	if len(started) != 1 {
		t.Errorf("%d servers started on one directory", len(started))
	}
}

func TestRefusesOtherVersion(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir})
	if !errors.Is(err, embedded.ErrVersionMismatch) || !strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("got %v, want ErrVersionMismatch", err)
	}
}

func TestRefusesForeignDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PG_VERSION", "holiday.jpg"} {
		dir := dataDir(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir}); err == nil {
			stop(t, s)
			t.Errorf("took over a directory with %s", name)
		}
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	opts := embedded.Options{DataDir: filepath.Join(dataDir(t), strings.Repeat("long", 30), "pg")}
	if err := os.MkdirAll(filepath.Dir(opts.DataDir), 0o755); err != nil {
		t.Fatal(err)
	}
	first := start(t, opts)
	before := first.URL("postgres")
	exec(t, first, "SELECT 1")
	stop(t, first)
	if second := start(t, opts); second.URL("postgres") != before {
		t.Errorf("URL changed from %s to %s", before, second.URL("postgres"))
	}
}

func TestStartFailureQuotesLog(t *testing.T) {
	t.Parallel()
	_, err := embedded.Start(t.Context(), embedded.Options{
		DataDir:  dataDir(t),
		Settings: map[string]string{"no_such_setting": "1"},
	})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v, want PostgreSQL's own words", err)
	}
}

// Sessions that a clean shutdown ends are no errors.
func TestStopIsQuiet(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := start(t, embedded.Options{DataDir: dataDir(t), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	connect(t, s.URL("postgres"))
	stop(t, s)
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "level=DEBUG") {
			t.Error(line)
		}
	}
	if !strings.Contains(log.String(), "terminating connection") {
		t.Errorf("no session was ended:\n%s", &log)
	}
}

func TestStartCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opts := embedded.Options{DataDir: dataDir(t)}
	if _, err := embedded.Start(ctx, opts); err == nil {
		t.Fatal("started on a cancelled context")
	}
	start(t, opts) // nothing is left in the way
}
