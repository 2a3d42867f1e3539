package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

const (
	namespace = "bench"
	consumer  = "bench"
	// connections are those of a client with many callers, as a fleet has several.
	connections = 4
	startTime   = 30 * time.Second
)

// site is what is measured: a database, a server in a process of its own, and clients.
type site struct {
	url        string
	admin      *pgxpool.Pool
	postmaster int // 0: not on this machine
	server     *childproc.Process
	clients    []*idemsvc.Client
	sessions   []*idemsvc.Session
	direct     map[int]*pgxpool.Pool // by size
	settings   []string              // of the database, for the report
	closers    []func() error
}

func (s *site) later(f func() error) { s.closers = append(s.closers, f) }

func (s *site) close() error {
	var faults []error
	for _, f := range slices.Backward(s.closers) {
		faults = append(faults, f())
	}
	s.closers = nil
	return errors.Join(faults...)
}

func newSite(ctx context.Context, o Options) (s *site, err error) {
	s = &site{direct: map[int]*pgxpool.Pool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.openDatabase(ctx, o); err != nil {
		return nil, err
	}
	if err := s.openBase(ctx); err != nil {
		return nil, err
	}
	addr, err := s.serve(ctx, o)
	if err != nil {
		return nil, err
	}
	for range connections {
		c, err := idemsvc.Dial(addr, idemsvc.WithNamespace(namespace), idemsvc.WithConsumer(consumer))
		if err != nil {
			return nil, err
		}
		s.later(c.Close)
		session := c.Session(context.WithoutCancel(ctx))
		s.later(session.Close)
		s.clients, s.sessions = append(s.clients, c), append(s.sessions, session)
	}
	return s, nil
}

func (s *site) openDatabase(ctx context.Context, o Options) error {
	s.url = o.DatabaseURL
	if s.url == "" {
		dir, err := os.MkdirTemp("", "idemsvc-bench-")
		if err != nil {
			return err
		}
		s.later(func() error { return os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o711); err != nil { // root's PostgreSQL runs as another user
			return err
		}
		own, err := embedded.Start(ctx, embedded.Options{DataDir: dir + "/postgres", Durable: true, Settings: map[string]string{
			// Checkpoints inside a short run would fall on one arm and not on another.
			"max_connections": "300", "shared_buffers": "256MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h",
		}})
		if err != nil {
			return err
		}
		s.later(func() error { return own.Stop(context.WithoutCancel(ctx)) })
		s.url = own.URL("postgres")
	}
	if _, err := postgres.Migrate(ctx, s.url, postgres.MigrateOptions{}); err != nil {
		return err
	}
	admin, err := poolOf(ctx, s.url, 1)
	if err != nil {
		return err
	}
	s.admin = admin
	s.later(func() error { admin.Close(); return nil })
	var backend int
	if err := admin.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return err
	}
	s.postmaster = postmasterOf(backend)
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"} {
		var value string
		if err := admin.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		s.settings = append(s.settings, name+"="+value)
	}
	return nil
}

func poolOf(ctx context.Context, url string, size int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read")
	}
	cfg.MaxConns = int32(size) //nolint:gosec // few
	return pgxpool.NewWithConfig(ctx, cfg)
}

// serve runs the server in a process of its own, so that its CPU can be told from the
// callers', and returns its address.
func (s *site) serve(ctx context.Context, o Options) (string, error) {
	args := slices.Concat(o.Server[1:], []string{"serve"})
	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.Server[0], args...)
	cmd.Env = append(childproc.Environ("IDEMSVC_"),
		"IDEMSVC_DATABASE_URL="+s.url, "IDEMSVC_LISTEN=127.0.0.1:0", "IDEMSVC_NAMESPACES="+namespace, "IDEMSVC_LOG_LEVEL=error")
	for _, kv := range os.Environ() {
		if setting, ok := strings.CutPrefix(kv, "IDEMSVC_BENCH_SERVER_"); ok { // more settings for the server under test
			cmd.Env = append(cmd.Env, "IDEMSVC_"+setting)
		}
	}
	cmd.Stderr = os.Stderr
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.Stdout = write
	s.server, err = childproc.Start(cmd, syscall.SIGTERM)
	_ = write.Close()
	if err != nil {
		return "", errors.Join(err, read.Close())
	}
	s.later(func() error {
		_ = s.server.Signal(syscall.SIGTERM)
		select {
		case <-s.server.Done():
		case <-time.After(startTime):
			_ = s.server.Signal(os.Kill)
			<-s.server.Done()
		}
		return errors.Join(read.Close(), s.server.Err())
	})
	return address(read, s.server.Done())
}

// address reads where the server listens from what it prints.
func address(out io.Reader, ended <-chan struct{}) (string, error) {
	line := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		text, _ := r.ReadString('\n')
		line <- text
		_, _ = io.Copy(io.Discard, r)
	}()
	var text string
	select {
	case text = <-line:
	case <-ended:
		text = <-line
	case <-time.After(startTime):
	}
	_, rest, ok := strings.Cut(text, "listens on ")
	addr, _, _ := strings.Cut(rest, ",")
	if !ok {
		return "", fmt.Errorf("the server did not start: %q", text)
	}
	return addr, nil
}

// machine names what all of this runs on.
func machine() string {
	return fmt.Sprintf("%d CPUs, %s/%s, %s; callers, server and database share it", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
