package idemsvc

import (
	"context"
	"crypto/tls"
	"log/slog"
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
	try       time.Duration
	repeats   int
	end       time.Duration
	session   bool
	trace     func(context.Context) string
	wrap      []func(Handler) Handler
	text      func(error) string
	log       *slog.Logger
	dial      []grpc.DialOption
}

// Options makes one option of several.
func Options(opts ...Option) Option {
	return func(c *config) {
		for _, o := range opts {
			o(c)
		}
	}
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

// WithTryTimeout bounds a single try of a call, so that a replica that hangs is left for
// another one. Default: 10 s; a claim that waits gets its waiting time on top. 0: no bound
// but the call's.
func WithTryTimeout(d time.Duration) Option { return func(c *config) { c.try = d } }

// WithMaxRepeats bounds how often the client repeats a call that can succeed later.
// Default: 12, which take 5 to 10 seconds. 0: never.
func WithMaxRepeats(n int) Option { return func(c *config) { c.repeats = n } }

// WithEndTimeout bounds how long [Client.Process] tries to tell the service how a handler
// or a side effect ended. That time is granted also when the caller's context is over,
// because what happened must not get lost. Default: 10 s.
func WithEndTimeout(d time.Duration) Option { return func(c *config) { c.end = d } }

// WithSession sends all commands over one stream instead of one call each; see [Session],
// which is experimental. Call options are ignored then. A [Worker] has events pushed over it.
func WithSession() Option { return func(c *config) { c.session = true } }

// WithTraceContext says in which trace a command of a session belongs: the W3C traceparent of
// its context, empty for none. Unary calls carry theirs in the metadata, which whoever traces
// them sees to.
func WithTraceContext(traceparent func(context.Context) string) Option {
	return func(c *config) { c.trace = traceparent }
}

// WithMiddleware wraps every handler that [Client.Process] runs; the first one is the
// outermost.
func WithMiddleware(wrap ...func(Handler) Handler) Option {
	return func(c *config) { c.wrap = append(c.wrap, wrap...) }
}

// WithErrorText says what the service is told of an error; default: its Error method. The
// text is shown to later attempts, to operators and in answers to duplicates: take
// secrets out here. What does not fit the contract (4096 bytes, UTF-8, no NUL) is cut or
// replaced afterwards.
func WithErrorText(text func(error) string) Option { return func(c *config) { c.text = text } }

// WithLogger logs what no caller is told: claims lost while their handler runs, reports
// that could not be delivered, disagreements of [Client.Observe]. Default: discard.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithDialOptions adds options of grpc, such as a stats handler for tracing. They come
// after the client's own.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(c *config) { c.dial = append(c.dial, opts...) }
}
