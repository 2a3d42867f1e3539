package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

const pgbouncerEnv = "IDEMSVC_TEST_PGBOUNCER"

// PgBouncer starts a pooler in transaction mode in front of the database at
// the URL, and returns the URL of the database through it. The pooler stops
// when the test ends.
//
// Versions before 1.21 lose track of prepared statements, so callers connect
// with a pgx execution mode that does without, such as
// [pgx.QueryExecModeExec].
//
// The test is skipped only if IDEMSVC_TEST_PGBOUNCER is "off".
func PgBouncer(t testing.TB, databaseURL string) string {
	t.Helper()
	if os.Getenv(pgbouncerEnv) == "off" {
		t.Skipf("%s=off", pgbouncerEnv)
	}
	f := current(t)
	binary, err := findPgBouncer()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	target, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	dir, err := f.dir("pgbouncer")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	// A port that was free may be taken before PgBouncer listens on it.
	const attempts = 3
	for attempt := 1; ; attempt++ {
		pooled, err := startPgBouncer(t, binary, dir, target)
		if err == nil {
			return pooled
		}
		if attempt == attempts {
			t.Fatalf("pgtest: pgbouncer: %v", err)
		}
	}
}

func findPgBouncer() (string, error) {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("/usr/sbin/pgbouncer"); err == nil { // not in every PATH
		return path, nil
	}
	return "", fmt.Errorf("no pgbouncer in PATH or /usr/sbin: install it with\n  apt-get install -y pgbouncer\nor set %s=off to skip the tests that need it", pgbouncerEnv)
}

func startPgBouncer(t testing.TB, binary, dir string, target *pgx.ConnConfig) (string, error) {
	t.Helper()
	port, err := freePort(t.Context())
	if err != nil {
		return "", err
	}
	account, err := childproc.Unprivileged()
	if err != nil {
		return "", err
	}
	logFile := filepath.Join(dir, "pgbouncer.log")
	config := filepath.Join(dir, "pgbouncer.ini")
	text := pgbouncerConfig(target, dir, logFile, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := errors.Join(account.Own(dir), account.Own(config)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "-q", config)
	cmd.Dir = dir
	account.Apply(cmd)
	proc, err := childproc.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return "", err
	}
	stop := func() {
		_ = proc.Signal(syscall.SIGTERM) // fails if it has ended
		<-proc.Done()
	}
	pooled := url.URL{
		Scheme:   "postgres",
		User:     url.User(target.User),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/" + target.Database,
		RawQuery: "sslmode=disable",
	}
	if err := awaitPgBouncer(t.Context(), proc, pooled.String()); err != nil {
		stop()
		log, readErr := os.ReadFile(logFile)
		log = log[max(0, len(log)-2000):]
		return "", errors.Join(fmt.Errorf("%w\n%s", err, log), readErr, os.RemoveAll(logFile))
	}
	t.Cleanup(stop)
	return pooled.String(), nil
}

// pgbouncerConfig trusts every client, who logs in as the target's user.
func pgbouncerConfig(target *pgx.ConnConfig, dir, logFile string, port int) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	database := fmt.Sprintf("host=%s port=%d user=%s", quote(target.Host), target.Port, quote(target.User))
	if target.Password != "" { // '' would be a quote
		database += " password=" + quote(target.Password)
	}
	return fmt.Sprintf(`[databases]
* = %s

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
pidfile = %s
logfile = %s
ignore_startup_parameters = extra_float_digits
`, database, port, filepath.Join(dir, "pgbouncer.pid"), logFile)
}

// awaitPgBouncer polls until a query is answered through the pooler.
func awaitPgBouncer(ctx context.Context, proc *childproc.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			return errors.Join(conn.Ping(ctx), conn.Close(ctx))
		}
		select {
		case <-proc.Done():
			return fmt.Errorf("it ended: %w", proc.Err())
		case <-ctx.Done():
			return err
		case <-poll.C:
		}
	}
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
