package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

const (
	// launchAttempts bounds how often a server that ends at once is started
	// again, when there is reason to hope.
	launchAttempts = 15
	minBackoff     = 5 * time.Millisecond
	maxBackoff     = time.Second
)

// launch starts the process and waits until it accepts connections. The
// caller holds s.mu or has not shared s yet.
func (s *Server) launch(ctx context.Context) error {
	crashed, err := reclaim(ctx, s.layout)
	if err != nil {
		return err
	}
	freePort := s.opts.TCP && s.opts.Port == 0
	wait := backoff{next: 20 * minBackoff}
	for attempt := 1; ; attempt++ {
		if err := s.choosePort(ctx, freePort); err != nil {
			return err
		}
		err := s.launchOnce(ctx)
		if err == nil {
			return nil
		}
		// PostgreSQL refuses to start beside sessions of a server that was
		// killed, until they have noticed its death; and a free port may have
		// been taken since.
		hopeful := errors.Is(err, errEndedEarly) && (crashed || freePort)
		if !hopeful || attempt == launchAttempts {
			return err
		}
		if wait.sleep(ctx) != nil {
			return err
		}
	}
}

func (s *Server) choosePort(ctx context.Context, free bool) error {
	switch {
	case s.opts.Port != 0:
		s.port = s.opts.Port
	case !free:
		s.port = defaultPort
	default:
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr, ok := l.Addr().(*net.TCPAddr)
		if err := l.Close(); err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no TCP port in %v", l.Addr())
		}
		s.port = addr.Port
	}
	return nil
}

var errEndedEarly = errors.New("the server ended while it started")

// launchOnce starts the process and waits for its readiness. On error nothing
// is left running.
func (s *Server) launchOnce(ctx context.Context) error {
	s.log.enter(starting)
	logRead, logWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = logWrite.Close() }() // the server has its own end
	args := append([]string{"-D", s.layout.data(), "-p", strconv.Itoa(s.port)}, s.opts.settings(s.sockDir)...)
	// The server outlives ctx, which bounds its start only.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.opts.Installation.BinDir, "postgres"), args...)
	cmd.Dir = s.layout.root
	cmd.Env = cleanEnv()
	cmd.Stderr = logWrite
	s.account.Apply(cmd)
	proc, err := childproc.Start(cmd, fastShutdown)
	if err != nil {
		_ = logRead.Close()
		return fmt.Errorf("run postgres: %w", err)
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		s.log.follow(logRead)
	}()
	if err := s.awaitReady(ctx, proc); err != nil {
		if proc.Signal(immediateShutdown) == nil {
			select {
			case <-proc.Done():
			case <-time.After(stopTimeout):
				_ = proc.Signal(os.Kill) // fails if it has ended, which is as good
			}
		}
		<-proc.Done()
		_ = logWrite.Close()
		awaitLog(logged)
		return fmt.Errorf("start: %w; its log ends with\n%s", err, s.log.end())
	}
	s.log.enter(running)
	s.proc, s.ends = proc, logged
	return nil
}

// awaitLog waits for the end of an ended server's log: a session of it may hold that open
// for a while longer.
func awaitLog(end <-chan struct{}) {
	select {
	case <-end:
	case <-time.After(time.Second):
	}
}

// awaitReady polls until a session can be opened.
func (s *Server) awaitReady(ctx context.Context, proc *childproc.Process) error {
	cfg, err := pgx.ParseConfig(s.url("postgres"))
	if err != nil {
		return err
	}
	wait := backoff{next: minBackoff}
	for {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-proc.Done():
			return fmt.Errorf("%w: %w", errEndedEarly, proc.Err())
		default:
		}
		if ctxErr := wait.sleep(ctx); ctxErr != nil {
			return fmt.Errorf("%w: last attempt to connect: %w", ctxErr, err)
		}
	}
}

// backoff doubles its pause at each call, up to maxBackoff.
type backoff struct{ next time.Duration }

func (b *backoff) sleep(ctx context.Context) error {
	t := time.NewTimer(b.next)
	defer t.Stop()
	b.next = min(2*b.next, maxBackoff)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
