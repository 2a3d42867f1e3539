package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// Superuser is the PostgreSQL role that the URLs of a [Server] log in as.
const Superuser = "postgres"

const (
	// startTimeout bounds a start, including crash recovery, whose context has
	// no deadline.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long each of a fast and an immediate shutdown may take.
	stopTimeout = 20 * time.Second
	defaultPort = 5432
)

// Server is a running PostgreSQL. Its methods may be called concurrently.
type Server struct {
	opts     Options
	layout   layout
	account  childproc.Account
	sockDir  string
	password string
	log      serverLog

	mu   sync.Mutex // guards what follows, and orders Restart and Stop
	lock *os.File   // nil once stopped
	proc *childproc.Process
	ends <-chan struct{} // closed once proc's log has been read to its end
	port int
}

// Start starts PostgreSQL, creating the data directory when it is missing or
// empty, and returns once it accepts connections. ctx bounds the start only;
// the server runs until [Server.Stop] or the death of this process.
func Start(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := withStartTimeout(ctx)
	defer cancel()
	if opts.DataDir == "" {
		return nil, errors.New("embedded PostgreSQL: no data directory given")
	}
	root, err := filepath.Abs(opts.DataDir)
	if err != nil {
		return nil, err
	}
	account, err := childproc.Unprivileged()
	if err != nil {
		return nil, fmt.Errorf("embedded PostgreSQL: %w", err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opts:    opts,
		layout:  layout{root},
		account: account,
		log:     serverLog{logger: opts.Logger},
	}
	if err := s.setUp(ctx); err != nil {
		return nil, fmt.Errorf("embedded PostgreSQL: %w", err)
	}
	return s, nil
}

// setUp does what is needed once, then launches the server.
func (s *Server) setUp(ctx context.Context) (err error) {
	major, err := s.layout.major()
	if err != nil {
		return err
	}
	if s.opts.Installation == (Installation{}) {
		if s.opts.Installation, err = find(ctx, major); err != nil {
			return err
		}
	}
	inst := s.opts.Installation
	if err := checkMajor(s.layout, major, inst); err != nil {
		return err
	}
	if err := s.account.CheckReach(inst.BinDir); err != nil {
		return fmt.Errorf("cannot run the PostgreSQL in %s: %w", inst.BinDir, err)
	}
	if s.lock, err = s.layout.prepare(s.account); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.lock.Close()
		}
	}()
	// Another process may have created the data, or be gone, since the look at
	// its version; only now is it certain.
	if major, err = s.layout.major(); err != nil {
		return err
	}
	if err := checkMajor(s.layout, major, inst); err != nil {
		return err
	}
	if major == 0 {
		if err := s.layout.initialise(ctx, inst, s.account, s.opts.Durable); err != nil {
			return err
		}
	}
	if err := s.account.OwnTree(s.layout.data()); err != nil {
		return fmt.Errorf("give the data to the user that runs PostgreSQL: %w", err)
	}
	if s.sockDir, err = socketDir(s.layout, s.account); err != nil {
		return err
	}
	password, err := os.ReadFile(s.layout.password())
	if err != nil && (s.opts.TCP || !errors.Is(err, os.ErrNotExist)) {
		return err
	}
	s.password = strings.TrimSpace(string(password))
	return s.launch(ctx)
}

// Restart starts the server again, at the same URL unless that has a TCP port
// chosen at each start, after it was killed or crashed. A server that still
// runs is stopped first. Restart fails after [Server.Stop].
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := withStartTimeout(ctx)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return errors.New("embedded PostgreSQL: restart of a server that was stopped")
	}
	if err := s.shutDown(ctx); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("embedded PostgreSQL: %w", err)
	}
	return nil
}

// Stop shuts the server down, ending its sessions, and gives the data
// directory free. It first asks for a clean shutdown; if ctx is done before
// that is over, or after 20 seconds, the server is stopped as if it had
// crashed, and Stop returns an error. Committed data is kept either way.
// Further calls do nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.shutDown(ctx)
	err = errors.Join(err, s.lock.Close())
	s.lock = nil
	if s.sockDir != s.layout.sock() {
		err = errors.Join(err, os.RemoveAll(s.sockDir))
	}
	return err
}

// shutDown ends the process, if it still runs, and waits for that and for its last words.
func (s *Server) shutDown(ctx context.Context) error {
	defer func() { awaitLog(s.ends) }()
	deadline := time.NewTimer(stopTimeout)
	defer deadline.Stop()
	s.log.enter(stopping)
	if err := s.proc.Signal(fastShutdown); err != nil {
		<-s.proc.Done()
		return nil // it had ended before
	}
	select {
	case <-s.proc.Done():
		return nil
	case <-ctx.Done():
	case <-deadline.C:
	}
	for _, sig := range []os.Signal{immediateShutdown, os.Kill} {
		if err := s.proc.Signal(sig); err != nil {
			break // it has ended
		}
		deadline.Reset(stopTimeout)
		select {
		case <-s.proc.Done():
			return errors.New("embedded PostgreSQL: not shut down in time, so stopped hard")
		case <-deadline.C:
		}
	}
	<-s.proc.Done()
	return nil
}

// URL is a connection string for the database, through the Unix socket. Only
// the user that runs PostgreSQL, and root, can use it.
func (s *Server) URL(database string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url(database)
}

// url is URL for a caller that holds s.mu.
func (s *Server) url(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(Superuser),
		Path:     "/" + database,
		RawQuery: strings.ReplaceAll(url.Values{"host": {s.sockDir}, "port": {strconv.Itoa(s.port)}}.Encode(), "+", "%20"), // a plus stays one
	}
	return u.String()
}

// TCPURL is a connection string for the database, with the password, over TCP
// on 127.0.0.1. It is empty unless [Options.TCP] was set.
func (s *Server) TCPURL(database string) string {
	if !s.opts.TCP {
		return ""
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port())),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// PID is the process ID of the running, or else the last, postmaster.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.PID()
}

// Port is the port that the server was last started with.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

// Done is closed when the server process ends, for whatever reason. After a
// [Server.Restart] ask again: each process has its own channel.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.Done()
}

// DataDir is the absolute path of [Options.DataDir].
func (s *Server) DataDir() string { return s.layout.root }

// ClusterDir is the folder in DataDir that PostgreSQL calls PGDATA.
func (s *Server) ClusterDir() string { return s.layout.data() }

// Installation is the PostgreSQL that runs.
func (s *Server) Installation() Installation { return s.opts.Installation }

func withStartTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, startTimeout)
}
