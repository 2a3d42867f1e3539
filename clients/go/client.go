package idemsvc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // lets the balancer leave replicas that say NOT_SERVING
	"google.golang.org/grpc/keepalive"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const (
	// maxMessage is what the transport takes. The service's own limit is lower and is
	// refused with a reason.
	maxMessage = 16 << 20

	keepaliveTime    = 30 * time.Second // not below what servers tolerate
	keepaliveTimeout = 10 * time.Second

	// maxBackoff bounds how long a replica that was away stays unused after its return.
	maxBackoff     = 3 * time.Second
	connectTimeout = 5 * time.Second

	defaultTimeout = 30 * time.Second
	defaultTry     = 10 * time.Second
	defaultRepeats = 12 // 5 to 10 seconds
	defaultEnd     = 10 * time.Second
)

// serviceConfig spreads calls over all addresses of the target and leaves replicas that
// are not ready. It holds no retry policy: grpc's cannot read how long the server asks
// to wait, and would multiply with the client's own repeats.
const serviceConfig = `{
	"loadBalancingConfig": [{"round_robin": {}}],
	"healthCheckConfig": {"serviceName": "idemsvc.v1.IdempotencyService"}
}`

// Client asks the service. It is safe for concurrent use; one per process is enough.
type Client struct {
	cfg     config
	conn    *grpc.ClientConn
	stub    pb.IdempotencyServiceClient // one call, one message
	idem    pb.IdempotencyServiceClient // what calls go over
	ops     pb.OperationsServiceClient
	session *Session // nil unless calls go over it
	watch   observer
}

// Dial makes a client for a target such as "127.0.0.1:7443" or
// "dns:///idemsvc.internal:7443", all of whose addresses are used in turn. It does not
// wait for a connection: the first call makes it.
//
// A loopback target is reached in plain text unless [WithTLS] is given, every other one
// with TLS unless [WithInsecure] is.
func Dial(target string, opts ...Option) (*Client, error) {
	cfg := config{timeout: defaultTimeout, try: defaultTry, repeats: defaultRepeats, end: defaultEnd, log: slog.New(slog.DiscardHandler), text: error.Error}
	for _, o := range opts {
		o(&cfg)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(cfg.transport(target)),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDisableServiceConfig(), // DNS must not change what is promised here
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(connecting()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithChainUnaryInterceptor(cfg.repeatUnary),
	}
	if cfg.token != nil {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer{token: cfg.token, secure: !cfg.plain(target)}))
	}
	conn, err := grpc.NewClient(target, append(dial, cfg.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("idemsvc: %w", err)
	}
	c := &Client{cfg: cfg, conn: conn, stub: pb.NewIdempotencyServiceClient(conn), ops: pb.NewOperationsServiceClient(conn)}
	c.idem = itemwise{IdempotencyServiceClient: c.stub, cfg: &c.cfg}
	if cfg.session {
		c.session = c.Session(context.Background())
		c.idem = overSession{c.session}
	}
	return c, nil
}

func connecting() grpc.ConnectParams {
	b := backoff.DefaultConfig
	b.BaseDelay, b.MaxDelay = 100*time.Millisecond, maxBackoff
	return grpc.ConnectParams{Backoff: b, MinConnectTimeout: connectTimeout}
}

// Close ends the connections. Calls in flight fail.
func (c *Client) Close() error {
	var err error
	if c.session != nil {
		err = c.session.Close()
	}
	return errors.Join(err, c.conn.Close())
}

// Conn is the connection, for other services of the same server such as health.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Idempotency is the contract's service as it is: requests are sent as given, with the
// client's repeats and errors. Items of a batch that were turned away are repeated, too.
// Callers make claimants with [NewClaimant]; one that names the event, its delivery, the
// consumer or the host is refused.
func (c *Client) Idempotency() pb.IdempotencyServiceClient { return c.idem }

// Operations is the service that tells what happened.
func (c *Client) Operations() pb.OperationsServiceClient { return c.ops }

func (c *config) plain(target string) bool { return c.tls == nil && (c.insecure || loopback(target)) }

func (c *config) transport(target string) credentials.TransportCredentials {
	switch {
	case c.plain(target):
		return insecure.NewCredentials()
	case c.tls != nil:
		return credentials.NewTLS(c.tls)
	default:
		return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
}

// loopback reports whether the target can only be this machine.
func loopback(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	if _, rest, ok := strings.Cut(target, ":///"); ok {
		target = rest
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
