package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	handlers "github.com/idemsvc/idemsvc/api/gateway/idemsvc/v1"
)

const (
	// MaxBodyBytes is the largest body of JSON over HTTP: a request of MaxMessageBytes, whose
	// bytes grow by a third, and room for what JSON puts around it.
	MaxBodyBytes = 8 << 20
	// bodyTime is how long a body may take to arrive.
	bodyTime = 30 * time.Second
	// innerBuffer is what is on the way between the two halves of the gateway.
	innerBuffer = 256 << 10
)

// gateway serves the contract as JSON over HTTP. Each request becomes a call to a gRPC
// server of its own, in memory, which has the same handlers and interceptors as the one
// that is served to the network: a request walks where a call walks. That server is
// another one because the limits of a connection are for callers, and here all callers
// share one.
type gateway struct {
	core  *core
	watch *watcher
	calls *grpc.Server
	lis   *bufconn.Listener
	conn  *grpc.ClientConn
	http  *http.Server
	mux   *runtime.ServeMux
	body  time.Duration // how long a body may take; tests change it
}

// newGateway makes the gateway of a server.
func newGateway(s *Server) (*gateway, error) {
	cfg := s.cfg
	cfg.TLS, cfg.StreamWorkers, cfg.MaxConcurrentStreams, cfg.MaxConnectionAge = nil, 0, math.MaxUint32, 0
	g := &gateway{core: s.core, watch: s.watch, lis: bufconn.Listen(innerBuffer), body: bodyTime}
	g.calls = grpc.NewServer(options(&cfg, s.core, s.drain)...)
	s.register(g.calls)
	conn, err := grpc.NewClient("passthrough:///gateway",
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)), // the server bounds its answers
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return g.lis.DialContext(ctx) }))
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.conn = conn
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, jsonForm{}),
		runtime.WithIncomingHeaderMatcher(passesIn), runtime.WithOutgoingHeaderMatcher(passesOut), runtime.WithOutgoingTrailerMatcher(passesOut),
		runtime.WithErrorHandler(g.fail), runtime.WithRoutingErrorHandler(g.unrouted),
		runtime.WithDisablePathLengthFallback(), runtime.WithDisableHTTPMethodOverride(), runtime.WithWriteContentLength(),
	)
	served := g.calls.GetServiceInfo()
	for name, add := range map[string]func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		"idemsvc.v1.IdempotencyService": handlers.RegisterIdempotencyServiceHandler,
		"idemsvc.v1.OperationsService":  handlers.RegisterOperationsServiceHandler,
		"idemsvc.v1.TestingService":     handlers.RegisterTestingServiceHandler,
	} {
		if _, ok := served[name]; !ok {
			continue
		}
		if err := add(s.ctx, g.mux, conn); err != nil {
			return nil, errors.Join(fmt.Errorf("gateway: %w", err), conn.Close())
		}
	}
	g.http = &http.Server{
		Handler: g, TLSConfig: s.cfg.TLS.Clone(), MaxHeaderBytes: headerBytes / 2,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		WriteTimeout: bodyTime + unaryDeadline + bodyTime, // from the head of the request to the end of the answer
		ErrorLog:     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	return g, nil
}

// ServeJSON takes calls as JSON over HTTP until the server is stopped, with the same TLS,
// tokens and rules for addresses as Serve. It returns nil after Stop. Several listeners
// may be served.
func (s *Server) ServeJSON(lis net.Listener) error {
	g, err := s.openGateway(lis)
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	if g == nil { // stopped before it began
		return lis.Close()
	}
	if s.cfg.TLS != nil {
		err = g.http.ServeTLS(lis, "", "")
	} else {
		err = g.http.Serve(lis)
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP on %s: %w", lis.Addr(), err)
	}
	return nil
}

// openGateway makes the gateway if it is not there yet. It is nil when the server has stopped.
func (s *Server) openGateway(lis net.Listener) (*gateway, error) {
	if err := s.mayListen(lis.Addr()); err != nil {
		return nil, err
	}
	s.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.gateway != nil {
		return s.gateway, nil
	}
	g, err := newGateway(s)
	if err != nil {
		return nil, err
	}
	s.busy.Go(func() { _ = g.calls.Serve(g.lis) }) // it ends when it is stopped
	s.gateway = g
	return g, nil
}

// shutdown lets requests in flight end and takes no more.
func (g *gateway) shutdown() {
	_ = g.http.Shutdown(context.Background()) // close ends it
	g.calls.GracefulStop()
	_ = g.conn.Close()
}

// close ends the requests in flight.
func (g *gateway) close() {
	_ = g.http.Close()
	g.calls.Stop()
}
