// Package ingress is the process that stands between webhook providers and the service: for
// each source of a file it verifies what arrives at a path, keeps it for the workers of the
// source's consumers, and answers the provider. It holds no state but its spools.
package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// Ingress takes the requests of all sources. It is an [http.Handler], safe for concurrent
// use.
type Ingress struct {
	log      *slog.Logger
	sources  map[string]*served // by path
	meters   *meters
	stopping atomic.Bool
}

// served is a source and its handler.
type served struct {
	name    string // the event source
	handler *webhook.Handler
	log     *slog.Logger

	source *Source // with the secrets that are in use
	fault  string  // why the newest ones are not
}

// New makes the handlers of all sources. Close it after the server that it is served by.
// Without a meter provider nothing is counted.
func New(client *idemsvc.Client, cfg *Config, log *slog.Logger, meter metric.MeterProvider) (*Ingress, error) {
	i := &Ingress{log: log, sources: map[string]*served{}}
	for _, s := range cfg.Sources {
		own := log
		receive := []idemsvc.ReceiveOption{idemsvc.ReceiveFor(s.Consumers...)}
		if s.Namespace != "" {
			own = log.With(slog.String("namespace", s.Namespace))
			receive = append(receive, idemsvc.ReceiveIn(s.Namespace))
		}
		opts := append(s.options(), webhook.WithLogger(own), webhook.WithReceiveOptions(receive...))
		h, err := webhook.NewReceiver(client, s.made, opts...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.Path, err), i.Close())
		}
		i.sources[s.Path] = &served{name: s.made.Source(), handler: h, log: own.With(slog.String("path", s.Path), slog.String("source", s.made.Source())), source: s}
		own.Info("source", slog.String("path", s.Path), slog.String("provider", s.made.Name()), slog.String("source", s.made.Source()),
			slog.Any("consumers", s.Consumers), slog.String("outage", s.outage))
		if s.unsigned {
			own.Warn("whoever reaches the path can make up events: nothing is signed", slog.String("path", s.Path), slog.String("source", s.made.Source()))
		}
	}
	var err error
	if i.meters, err = i.newMeters(meter); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// Stopping makes [Ingress] tell balancers that it will go away. It takes requests until its
// server stops.
func (i *Ingress) Stopping() { i.stopping.Store(true) }

// Close ends what goes on beside requests. What is in the spools stays there for the next
// start.
func (i *Ingress) Close() error {
	var errs []error
	for _, s := range i.sources {
		errs = append(errs, s.handler.Close())
	}
	return errors.Join(errs...)
}

// ServeHTTP implements [http.Handler].
func (i *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == healthPath {
		i.health(w, r)
		return
	}
	s := i.sources[r.URL.Path]
	if s == nil {
		i.log.DebugContext(r.Context(), "no source has this path", slog.String("path", r.URL.Path), slog.Int("http_status", http.StatusNotFound))
		i.meters.answered(r.Context(), unknown, http.StatusNotFound, 0)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	began := time.Now()
	seen := &answer{ResponseWriter: w, status: http.StatusOK}
	s.handler.ServeHTTP(seen, r)
	i.meters.answered(r.Context(), s.name, seen.status, time.Since(began))
}

func (i *Ingress) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if i.stopping.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "stopping\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// answer sees the status that is written.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter]. What is left of a body that is too large is
// not read: the server does so by itself only for writers of its own.
func (a *answer) WriteHeader(status int) {
	if status == http.StatusRequestEntityTooLarge {
		a.Header().Set("Connection", "close")
	}
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Serve serves requests on a listener until the context ends. Then it says so on /healthz
// for as long as delay, and gives requests in flight until drain to be answered.
func (i *Ingress) Serve(ctx context.Context, server *http.Server, listen func(*http.Server) error, delay, drain time.Duration) error {
	server.Handler = i
	served := make(chan error, 1)
	go func() { served <- listen(server) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	i.Stopping()
	i.log.Info("stopping")
	wait := time.NewTimer(delay)
	defer wait.Stop()
	select {
	case err := <-served:
		return err
	case <-wait.C:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were cut off, their providers come again: %w", err), server.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// NewServer is the server for the outside: bounded in the time that a request may take to
// arrive, and in its headers.
func NewServer(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
