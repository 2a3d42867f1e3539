package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/server/auth"
)

// Server serves the contract, the standard health service and reflection.
type Server struct {
	cfg      Config
	core     *core
	grpc     *grpc.Server
	register func(*grpc.Server) // the services
	watch    *watcher
	drain    *drain

	mu      sync.Mutex
	gateway *gateway // nil until JSON over HTTP is served
	stopped bool

	stop context.CancelFunc // ends the health checks
	ctx  context.Context
	busy sync.WaitGroup
	once sync.Once
}

// New makes a server. It needs no database yet: until there is one, calls are answered
// UNAVAILABLE.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("server configuration: %w", err)
	}
	c, err := newCore(&cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, core: c, watch: newWatcher(&cfg), drain: newDrain()}
	if err := c.meters.observeReadiness(&cfg, s.watch); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.register = s.services()
	s.grpc = grpc.NewServer(options(&cfg, c, s.drain)...)
	s.register(s.grpc)
	return s, nil
}

// services are what is served, by every road alike.
func (s *Server) services() func(*grpc.Server) {
	consumers := &idempotency{
		core: s.core, drain: s.drain,
		sessions: sessionLimits{
			inFlight: s.cfg.SessionInFlight, aging: aging{s.cfg.MaxConnectionAge, s.cfg.MaxConnectionAgeGrace}, drain: s.cfg.DrainTimeout / 2,
		},
	}
	ops := &operations{core: s.core, version: s.cfg.Version, features: features, replays: newLimiter(replaysPerMinute, time.Minute)}
	if s.cfg.TestClock != nil {
		ops.features = append(slices.Clone(features), featureTestClock)
	}
	return func(to *grpc.Server) {
		pb.RegisterIdempotencyServiceServer(to, consumers)
		pb.RegisterOperationsServiceServer(to, ops)
		if s.cfg.TestClock != nil {
			pb.RegisterTestingServiceServer(to, &testService{core: s.core, clock: s.cfg.TestClock})
		}
		healthpb.RegisterHealthServer(to, s.watch.health)
		reflection.Register(to)
	}
}

func newCore(cfg *Config) (*core, error) {
	valid, err := newValidator()
	if err != nil {
		return nil, err
	}
	counts, err := newMeters(cfg)
	if err != nil {
		return nil, err
	}
	c := &core{
		store: cfg.Store, meters: counts, tokens: &tokens{secret: cfg.Store.Secret}, nonces: newNonces(), valid: valid, log: cfg.Logger,
		anomalies: telemetry.NewBudget(anomalySpans),
		access: &access{
			table: cfg.Auth,
			roles: methodRoles(),
		},
	}
	if cfg.AllowAnonymous {
		c.access.anonymous = auth.NewIdentity("anonymous", auth.Admin, cfg.AnonymousNamespaces...)
	}
	if cfg.TracerProvider != nil {
		c.tracer, c.choose = cfg.TracerProvider.Tracer(telemetry.Scope), cfg.ChooseTrace
	}
	return c, nil
}

func options(cfg *Config, c *core, d *drain) []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.ChainUnaryInterceptor(c.unaryInterceptors()...),
		grpc.ChainStreamInterceptor(c.streamInterceptors(d)...),
		grpc.UnknownServiceHandler(unknownMethod),
		grpc.MaxRecvMsgSize(transportBytes),
		grpc.MaxHeaderListSize(headerBytes),
		grpc.MaxConcurrentStreams(cfg.MaxConcurrentStreams),
		grpc.NumStreamWorkers(cfg.StreamWorkers),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: cfg.KeepaliveTime / 3, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: cfg.KeepaliveTime, Timeout: cfg.KeepaliveTimeout,
			MaxConnectionAge: cfg.MaxConnectionAge, MaxConnectionAgeGrace: cfg.MaxConnectionAgeGrace,
		}),
	}
	if cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(cfg.TLS)))
	}
	return opts
}

func unknownMethod(any, grpc.ServerStream) error {
	return &refusal{reason: pb.ErrorReason_ERROR_REASON_UNIMPLEMENTED, message: "the server does not know this method"}
}

// Serve takes calls until the server is stopped. It refuses to serve plain text, or
// without tokens, where others than this machine may listen, unless told otherwise.
// It returns nil after Stop. Several listeners may be served.
func (s *Server) Serve(lis net.Listener) error {
	if err := s.mayListen(lis.Addr()); err != nil {
		return errors.Join(err, lis.Close())
	}
	s.begin()
	if err := s.grpc.Serve(agedListener{lis}); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s: %w", lis.Addr(), err)
	}
	return nil
}

// mayListen refuses addresses that need TLS and tokens where there are none.
func (s *Server) mayListen(a net.Addr) error {
	if s.cfg.AllowInsecure || (s.cfg.TLS != nil && s.cfg.Auth != nil) || local(a) {
		return nil
	}
	return fmt.Errorf("%s is not a loopback address: serving it needs TLS and tokens", a)
}

// begin starts the health checks.
func (s *Server) begin() {
	s.once.Do(func() { s.busy.Go(func() { s.watch.run(s.ctx) }) })
}

// local reports whether only this machine can reach the address.
func local(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// flushTime is what sessions that are ended have to answer what they took and to say
// why, before their connections are closed.
const flushTime = 2 * time.Second

// Stop ends the server so that nothing is lost: it turns not ready, goes on for the
// drain delay, asks sessions to leave, ends those that stay after half of the drain
// timeout, and lets calls in flight end. When the drain timeout is over it ends all
// sessions, gives their last words up to two seconds to go out, and closes what is left;
// when the context is over it closes what is left at once. It returns when no handler
// runs any more; then the storage may be closed.
func (s *Server) Stop(ctx context.Context) {
	s.once.Do(func() {}) // a Serve that comes later starts nothing
	s.watch.leave()
	s.stop()
	ends(ctx, nil, s.cfg.DrainDelay)
	s.drain.begin()
	s.mu.Lock()
	s.stopped = true
	g := s.gateway
	s.mu.Unlock()
	done := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(s.grpc.GracefulStop)
	if g != nil {
		ending.Go(g.shutdown)
	}
	go func() {
		ending.Wait()
		close(done)
	}()
	if !ends(ctx, done, s.cfg.DrainTimeout) {
		s.drain.end()
		if !ends(ctx, done, flushTime) {
			if g != nil {
				g.close()
			}
			s.grpc.Stop()
		}
	}
	<-done
	s.busy.Wait()
}

// ends waits for done, and reports whether it came within the time and the context.
func ends(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	return false
}
