package monitoring_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(asConsumer); addr != "" {
		if err := claimAndStop(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Run(m))
}

// site is a server on a database that can be made slow.
type site struct {
	dir     string // that other users can enter
	proxy   *wire.Proxy
	addr    string
	metrics string // URL
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	var err error
	if s.dir, err = os.MkdirTemp("", "idemsvc-monitoring-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if err := os.Chmod(s.dir, 0o711); err != nil { //nolint:gosec // the server runs as another user
		t.Fatal(err)
	}
	program := filepath.Join(s.dir, "idemsvc")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/idemsvc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	url := pgtest.Database(t, "migrated", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
		return err
	})
	target, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	s.proxy = wire.New(1, wire.To(pgconn.NetworkAddress(target.Host, target.Port)))
	t.Cleanup(s.proxy.Close)
	if err := s.proxy.Listen(t.Context(), s.dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve", "--json", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", //nolint:gosec // just built
		"--database-url", fmt.Sprintf("postgres://%s@/%s?host=%s&port=5432", target.User, target.Database, s.dir), "--log-level", "warn")
	cmd.Stderr = os.Stderr
	line, _ := startAndRead(t, cmd)
	var listening struct{ Address, Metrics string }
	if err := json.Unmarshal([]byte(line), &listening); err != nil || listening.Metrics == "" {
		t.Fatalf("the server says %q: %v", line, err)
	}
	s.addr, s.metrics = listening.Address, listening.Metrics
	return s
}

// startAndRead starts a child that ends with the test, and returns its first line.
func startAndRead(t *testing.T, cmd *exec.Cmd) (string, *childproc.Process) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	p, err := childproc.Start(cmd, syscall.SIGTERM)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGTERM)
		select {
		case <-p.Done():
		case <-time.After(30 * time.Second):
			t.Errorf("%s does not stop", filepath.Base(cmd.Path))
			_ = p.Signal(os.Kill)
			<-p.Done()
		}
		_ = r.Close()
	})
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%s says nothing: %v", filepath.Base(cmd.Path), err)
	}
	return strings.TrimSpace(line), p
}
