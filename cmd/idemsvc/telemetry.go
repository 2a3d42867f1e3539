package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"

	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// metricsPath is where the metrics are on their address.
const metricsPath = "/metrics"

// flushMargin is what sending the last traces and metrics may take when the server stops.
const flushMargin = 5 * time.Second

// instruments are how the server is seen from outside.
type instruments struct {
	*telemetry.Providers
	observer storage.Observer
	events   *telemetry.Events
	log      *slog.Logger
}

// instruments makes what the settings and OpenTelemetry's variables ask for.
func (c *cli) instruments(ctx context.Context, cfg *serveConfig, log *slog.Logger) (*instruments, error) {
	p, err := telemetry.New(ctx, telemetry.Options{
		Getenv:  func(name string) string { v, _ := c.env(name); return v },
		Version: version(), Instance: rand.Text(), Prometheus: cfg.metricsListen != "",
	})
	if err != nil {
		return nil, usageError{err}
	}
	i := &instruments{Providers: p, log: log}
	if p.Tracer != nil || p.Meter != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry could not be sent", "error", err) }))
		log.InfoContext(ctx, "telemetry", "traces", p.Tracer != nil, "metrics", p.Meter != nil)
	}
	if i.observer, err = telemetry.NewBatches(p); err != nil {
		return nil, err
	}
	i.events, err = telemetry.NewEvents(p.Meter)
	return i, err
}

// flush sends what has gathered. A collector that is away keeps nobody from stopping.
func (i *instruments) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushMargin)
	defer cancel()
	if err := i.Close(ctx); err != nil {
		i.log.WarnContext(ctx, "the last traces and metrics could not be sent", "error", err)
	}
	return nil
}

// watchPool shows the pool's numbers.
func (i *instruments) watchPool(pool *pgxpool.Pool) error {
	if i.Meter == nil {
		return nil
	}
	return telemetry.Pool(i.Meter, func() telemetry.PoolStats {
		s := pool.Stat()
		return telemetry.PoolStats{
			Idle: s.IdleConns(), Used: s.AcquiredConns(), Max: s.MaxConns(), Waits: s.EmptyAcquireCount(), WaitTime: s.EmptyAcquireWaitTime(),
		}
	})
}

// watchStore keeps asking the database what is unfinished, until the function that is
// returned is called.
func (i *instruments) watchStore(ctx context.Context, store *postgres.Store) (stop func(context.Context) error) {
	if i.Meter == nil {
		return func(context.Context) error { return nil }
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var asking sync.WaitGroup
	asking.Go(func() {
		if err := telemetry.Survey(ctx, i.Meter, store, i.log); err != nil {
			i.log.ErrorContext(ctx, "no metrics of stored events", "error", err)
		}
	})
	return func(context.Context) error {
		cancel()
		asking.Wait()
		return nil
	}
}

// metricsServer serves the page of metrics.
type metricsServer struct {
	http *http.Server
	addr string // empty: there is none
	done chan error
}

// serveMetrics serves the page of metrics where the settings say.
func (c *cli) serveMetrics(ctx context.Context, cfg *serveConfig, certs *tls.Config, i *instruments) (*metricsServer, error) {
	if cfg.metricsListen == "" {
		return &metricsServer{}, nil
	}
	lis, err := listen(ctx, "metrics-listen", cfg.metricsListen)
	if err != nil {
		return nil, err
	}
	m := &metricsServer{addr: lis.Addr().String(), done: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, bearer(cfg.metricsToken, i.Page))
	m.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(i.log.Handler(), slog.LevelDebug),
	}
	if certs != nil {
		lis = tls.NewListener(lis, certs)
	}
	go func() { m.done <- m.http.Serve(lis) }()
	i.log.InfoContext(ctx, "metrics are served", "address", m.addr, "path", metricsPath)
	return m, nil
}

// close ends the page.
func (m *metricsServer) close(ctx context.Context) error {
	if m.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := m.http.Shutdown(ctx); err != nil {
		_ = m.http.Close()
	}
	if err := <-m.done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// bearer asks for the token, unless that is empty.
func bearer(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the bearer token of --metrics-token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// url is the address of the page, for whoever started the server.
func (m *metricsServer) url(certs *tls.Config) string {
	if m.addr == "" {
		return ""
	}
	scheme := "http"
	if certs != nil {
		scheme = "https"
	}
	return scheme + "://" + m.addr + metricsPath
}
