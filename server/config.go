package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
)

// Config is what a server is made of. Store and one of Auth and AllowAnonymous are
// required; everything else has a default.
type Config struct {
	// Store carries out the commands. The server does not close it.
	Store *storage.Service
	// Version is the program's, as GetServerInfo tells it.
	Version string
	// Logger takes one line for each decision and each refusal. Default: discard.
	Logger *slog.Logger

	// Auth is the table of bearer tokens. The caller keeps it up to date.
	Auth *auth.Table
	// AllowAnonymous serves everybody as an admin of AnonymousNamespaces. Only for
	// development: it excludes Auth.
	AllowAnonymous bool
	// AnonymousNamespaces are the namespaces of a server without tokens. Default: "dev".
	AnonymousNamespaces []string
	// TLS is the transport's security. nil: plain text.
	TLS *tls.Config
	// AllowInsecure serves plain text, or without tokens, on an address that is not
	// loopback: whoever can reach it reads every token and payload, or needs none.
	AllowInsecure bool

	// TestClock is the store's clock, for callers to move: it serves TestingService. Only
	// for a store that keeps nothing. Default: nobody moves the clock.
	TestClock TestClock

	// TracerProvider and MeterProvider switch telemetry on, each where given. Trace context
	// and baggage travel in the W3C's form.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// ChooseTrace reports, before a call's span is made, whether it may be recorded, and under
	// which context it is to be started. Where it may not, none is made, which saves most of
	// what tracing costs. Nil: all are made.
	ChooseTrace func(context.Context) (context.Context, bool)

	// MaxConcurrentStreams bounds the calls in flight on one connection. Default: 1024.
	MaxConcurrentStreams uint32
	// StreamWorkers are goroutines kept for calls, so that their stacks need not grow
	// anew. Default: 0, a goroutine for each call.
	StreamWorkers uint32
	// SessionInFlight bounds the commands of one session that are carried out at the same
	// time. Beyond it the client is held back. Default: 1024.
	SessionInFlight int

	// KeepaliveTime is after how much silence a connection is probed, KeepaliveTimeout how
	// long the answer may take. Defaults: 30 s and 10 s.
	KeepaliveTime    time.Duration
	KeepaliveTimeout time.Duration
	// MaxConnectionAge spreads clients over replicas: a connection that old, give or take
	// a tenth, takes no more calls, and is closed after MaxConnectionAgeGrace; sessions are
	// asked to leave in between. Defaults: 30 min and 10 min; a negative age: never. The
	// grace is at least a quarter of the age.
	MaxConnectionAge      time.Duration
	MaxConnectionAgeGrace time.Duration

	// DrainDelay is how long a stopping server, already not ready, goes on taking calls, so
	// that balancers notice first. Default: 0.
	DrainDelay time.Duration
	// DrainTimeout bounds how long calls in flight and sessions have to end; what sessions
	// are told last may take two seconds more. Default: 20 s.
	DrainTimeout time.Duration

	// HealthInterval is how often the storage is asked, HealthTimeout how long it may take.
	// Defaults: 2 s and 1 s.
	HealthInterval time.Duration
	HealthTimeout  time.Duration
}

// withDefaults is the configuration with everything filled in, or all that is wrong
// with it.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	if c.Store == nil {
		faults = append(faults, errors.New("no store"))
	}
	if (c.Auth == nil) == !c.AllowAnonymous {
		faults = append(faults, errors.New("either a token table or AllowAnonymous is needed, and not both"))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if len(c.AnonymousNamespaces) == 0 {
		c.AnonymousNamespaces = []string{"dev"}
	}
	orElse(&c.MaxConcurrentStreams, 1024)
	orElse(&c.SessionInFlight, 1024)
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"KeepaliveTime", &c.KeepaliveTime, 30 * time.Second},
		{"KeepaliveTimeout", &c.KeepaliveTimeout, 10 * time.Second},
		{"MaxConnectionAgeGrace", &c.MaxConnectionAgeGrace, 10 * time.Minute},
		{"DrainDelay", &c.DrainDelay, 0},
		{"DrainTimeout", &c.DrainTimeout, 20 * time.Second},
		{"HealthInterval", &c.HealthInterval, 2 * time.Second},
		{"HealthTimeout", &c.HealthTimeout, time.Second},
	} {
		orElse(d.value, d.or)
		if *d.value < 0 {
			faults = append(faults, fmt.Errorf("%s is negative", d.name))
		}
	}
	orElse(&c.MaxConnectionAge, 30*time.Minute)
	c.MaxConnectionAge = max(c.MaxConnectionAge, 0)
	c.MaxConnectionAgeGrace = max(c.MaxConnectionAgeGrace, c.MaxConnectionAge/4)
	if c.SessionInFlight < 0 {
		faults = append(faults, errors.New("SessionInFlight is negative"))
	}
	return c, errors.Join(faults...)
}

func orElse[T comparable](v *T, or T) {
	var zero T
	if *v == zero {
		*v = or
	}
}
