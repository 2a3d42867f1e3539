package idemsvc

import (
	"context"
	"crypto/tls"
	"time"

	"google.golang.org/grpc"
)

// Option configures a [Client].
type Option func(*config)

type config struct {
	namespace string
	consumer  string
	token     func(context.Context) (string, error)
	tls       *tls.Config
	insecure  bool
	timeout   time.Duration
	repeats   int
	dial      []grpc.DialOption
}

// WithNamespace names the namespace of calls that name none themselves.
func WithNamespace(namespace string) Option { return func(c *config) { c.namespace = namespace } }

// WithConsumer names the consumer of calls that name none themselves: a service, not an
// instance of it.
func WithConsumer(consumer string) Option { return func(c *config) { c.consumer = consumer } }

// WithToken sends a bearer token with every call.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource asks for the bearer token at every call, for tokens that change. It
// must be quick and safe for concurrent use.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *config) { c.token = source }
}

// WithTLS uses TLS with the given settings, for roots or client certificates of one's
// own. Without it, TLS with the system's roots is used for every target but a loopback
// one.
func WithTLS(cfg *tls.Config) Option { return func(c *config) { c.tls = cfg } }

// WithInsecure uses plain text wherever the server is: whoever is on the way can read
// tokens and payloads. A loopback target needs it not.
func WithInsecure() Option { return func(c *config) { c.insecure = true } }

// WithCallTimeout bounds a call, with its repeats, whose context has no deadline.
// Default: 30 s; a claim that waits gets its waiting time on top.
func WithCallTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithMaxRepeats bounds how often the client repeats a call that can succeed later.
// Default: 8. 0: never.
func WithMaxRepeats(n int) Option { return func(c *config) { c.repeats = n } }

// WithDialOptions adds options of grpc, such as a stats handler for tracing. They come
// after the client's own.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(c *config) { c.dial = append(c.dial, opts...) }
}
