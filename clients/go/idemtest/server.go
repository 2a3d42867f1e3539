package idemtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// What [Server.Client] uses where nothing else is said.
const (
	Namespace = "test"
	Consumer  = "test"
)

const (
	bufferBytes  = 1 << 20
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
)

// Option changes how a server is made.
type Option func(*options)

type options struct {
	namespaces []string
	policy     func(*idem.Policy)
	loopback   bool
}

// WithNamespaces are the namespaces that exist, instead of [Namespace].
func WithNamespaces(first string, more ...string) Option {
	return func(o *options) { o.namespaces = append([]string{first}, more...) }
}

// WithPolicy changes the rules for all events, which are the defaults otherwise.
func WithPolicy(change func(*idem.Policy)) Option { return func(o *options) { o.policy = change } }

// WithLoopback listens on a port of 127.0.0.1, for code that dials by address; see
// [Server.Addr]. It does not work inside a bubble of [testing/synctest].
func WithLoopback() Option { return func(o *options) { o.loopback = true } }

// Server is the service in this process. Everybody is an admin of its namespaces. It is
// safe for concurrent use.
type Server struct {
	opts    options
	store   *storage.Service
	srv     *server.Server
	lis     net.Listener
	dial    func(context.Context) (net.Conn, error) // nil: by address
	clock   *memory.Clock
	served  chan error
	mu      sync.Mutex
	clients []*idemsvc.Client
	closed  bool
}

// New starts a server that ends with the test, together with its clients.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := Start(opts...)
	t.Cleanup(s.Close)
	return s
}

// Start starts a server for whatever is no test, such as an example. Close ends it. It
// panics if the server cannot be started.
func Start(opts ...Option) *Server {
	s := &Server{opts: options{namespaces: []string{Namespace}}, served: make(chan error, 1)}
	for _, o := range opts {
		o(&s.opts)
	}
	if err := s.start(); err != nil {
		panic(fmt.Sprint("idemtest: ", err))
	}
	return s
}

func (s *Server) start() error {
	p := idem.DefaultPolicy()
	if s.opts.policy != nil {
		s.opts.policy(p)
	}
	s.clock = memory.NewRunningClock()
	backend := memory.New(memory.Options{Clock: s.clock.Now, Policy: func(idem.EventKey, string) *idem.Policy { return p }})
	s.store = storage.New(backend, storage.Options{})
	s.clock.OnMove(func() {
		backend.Sweep(context.Background())
		s.store.Recheck()
	})
	var err error
	s.srv, err = server.New(server.Config{
		Store: s.store, Version: "idemtest", AllowAnonymous: true, AnonymousNamespaces: s.opts.namespaces, TestClock: s.clock, DrainTimeout: stopTimeout,
	})
	if err != nil {
		return err
	}
	if s.opts.loopback {
		if s.lis, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	} else {
		buffer := bufconn.Listen(bufferBytes)
		s.lis, s.dial = buffer, buffer.DialContext
	}
	go func() { s.served <- s.srv.Serve(s.lis) }()
	return s.ready()
}

// ready waits until the server says that it serves, so that no first call is turned away.
func (s *Server) ready() error {
	conn, err := grpc.NewClient(s.target(), append(s.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return err
	}
	for {
		state, err := watch.Recv()
		if err != nil || state.GetStatus() == healthpb.HealthCheckResponse_SERVING {
			return err
		}
	}
}

func (s *Server) target() string {
	if s.dial == nil {
		return s.lis.Addr().String()
	}
	return "passthrough:///idemtest"
}

func (s *Server) dialOptions() []grpc.DialOption {
	if s.dial == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.dial(ctx) })}
}

// Client makes a client of the server. Its namespace is the server's first and its
// consumer is [Consumer] unless the options say otherwise. It is closed with the server.
// It panics if the options are wrong.
func (s *Server) Client(opts ...idemsvc.Option) *idemsvc.Client {
	all := []idemsvc.Option{
		idemsvc.WithNamespace(s.opts.namespaces[0]), idemsvc.WithConsumer(Consumer), idemsvc.WithInsecure(), idemsvc.WithDialOptions(s.dialOptions()...),
	}
	c, err := idemsvc.Dial(s.target(), append(all, opts...)...)
	if err != nil {
		panic(fmt.Sprint("idemtest: ", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, c)
	return c
}

// Addr is the address to dial, with [WithLoopback]; empty otherwise.
func (s *Server) Addr() string {
	if !s.opts.loopback {
		return ""
	}
	return s.lis.Addr().String()
}

// Now is what the service's clock shows, to the microsecond: at first the machine's time.
func (s *Server) Now() time.Time { return s.clock.Now().Time() }

// Advance moves the service's clock on: when it returns, leases have ended and retries are
// due. Clients do not notice; see the package's documentation. It panics if d is negative,
// because the service's clock does not go back.
func (s *Server) Advance(d time.Duration) {
	if d < 0 {
		panic("idemtest: the clock does not go back")
	}
	s.clock.Advance(d)
}

// Close ends the server and its clients. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	closed, clients := s.closed, s.clients
	s.closed, s.clients = true, nil
	s.mu.Unlock()
	if closed {
		return
	}
	for _, c := range clients {
		_ = c.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	s.srv.Stop(ctx)
	if err := errors.Join(<-s.served, s.store.Close(ctx)); err != nil {
		panic(fmt.Sprint("idemtest: ", err))
	}
}
