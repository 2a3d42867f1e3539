package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"sync"
	"syscall"

	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/server/auth"
)

func (c *cli) serveCommands() []command {
	return []command{{
		name: "serve", brief: "Serve the contract over gRPC, and as JSON over HTTP where asked",
		about: "Without a database URL it runs a PostgreSQL of its own in the data directory and migrates it; a database that is named must have been migrated with «idemsvc migrate up». Once it listens, it writes one line with its address to the standard output. SIGTERM and SIGINT stop it so that nothing is lost: it turns not ready, lets calls in flight end and writes down what it has taken; a second signal ends it at once.",
		prepare: func() (settings, action) {
			cfg := &serveConfig{}
			s := cfg.settings()
			return s, func(ctx context.Context, args []string) error {
				certs, err := cfg.check()
				if err := errors.Join(noArguments(args), err); err != nil {
					return usageError{err}
				}
				return c.serve(ctx, cfg, certs, s)
			}
		},
	}}
}

// serve runs the server until the context or a signal ends it.
func (c *cli) serve(ctx context.Context, cfg *serveConfig, certs *tls.Config, s settings) (err error) {
	defer c.tune(cfg.gcPercent, cfg.memoryLimit)()
	log, flush := c.logger(cfg.logLevel, cfg.logFormat)
	defer flush()
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	log.InfoContext(ctx, "starting", append([]any{slog.String("version", version())}, s.logged()...)...)
	if cfg.insecure {
		log.WarnContext(ctx, "INSECURE: other machines may be served without TLS or without tokens, because --insecure-non-loopback is set")
	}

	if err := canListen(ctx, cfg); err != nil { // before anything that takes time
		return err
	}
	seen, err := c.instruments(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = seen.flush(context.WithoutCancel(ctx)) }() // where the store did not come so far
	st, err := c.store(ctx, cfg, log, seen)
	if err != nil && ctx.Err() != nil {
		return errors.New("stopped before it was ready")
	}
	if err != nil {
		return err
	}
	// Beyond the context: stopping takes its time after the signal.
	defer func() { err = errors.Join(err, st.close(context.WithoutCancel(ctx))) }()
	page, err := c.serveMetrics(ctx, cfg, certs, seen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.close(context.WithoutCancel(ctx))) }()

	var bg sync.WaitGroup
	defer bg.Wait()
	bctx, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	srv, err := c.server(bctx, cfg, certs, st, seen, &bg)
	if err != nil {
		return err
	}
	at, err := listenAll(ctx, cfg)
	if err != nil {
		return err
	}
	at.metrics = page.url(certs)
	served := at.serve(srv)
	c.listening(cfg, at, certs, st)
	log.InfoContext(ctx, "listening", "address", at.grpc.Addr().String(), "storage", st.name)
	if at.http != nil {
		log.InfoContext(ctx, "JSON over HTTP is served", "address", at.http.Addr().String())
	}

	select {
	case <-ctx.Done():
	case err = <-served:
		served <- nil
	}
	release() // a second signal ends the process at once
	log.InfoContext(ctx, "stopping")
	srv.Stop(context.WithoutCancel(ctx)) // it bounds itself
	for range cap(served) {
		err = errors.Join(err, <-served)
	}
	return err
}

// listening tells who started the server where it is.
func (c *cli) listening(cfg *serveConfig, at *listeners, certs *tls.Config, st *store) {
	addr := at.grpc.Addr().String()
	if !cfg.json {
		more := ""
		if at.http != nil {
			more += ", HTTP: " + at.httpURL(certs)
		}
		if at.metrics != "" {
			more += ", metrics: " + at.metrics
		}
		fmt.Fprintf(c.stdout, "idemsvc listens on %s, storage: %s%s\n", addr, st.name, more)
		return
	}
	line, err := json.Marshal(struct {
		Address string `json:"address"`
		Storage string `json:"storage"`
		Durable bool   `json:"durable"`
		HTTP    string `json:"http,omitempty"`
		Metrics string `json:"metrics,omitempty"`
	}{addr, st.name, st.clock == nil, at.httpURL(certs), at.metrics})
	if err == nil { // it cannot fail
		fmt.Fprintf(c.stdout, "%s\n", line)
	}
}

func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--%s: another program listens on %s: stop it or choose another port (0 takes any that is free): %w", flag, addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return lis, nil
}

// canListen refuses addresses that cannot be listened on.
func canListen(ctx context.Context, cfg *serveConfig) error {
	for _, a := range []struct{ flag, addr string }{{"listen", cfg.listen}, {"http-listen", cfg.httpListen}, {"metrics-listen", cfg.metricsListen}} {
		if a.addr == "" {
			continue
		}
		lis, err := listen(ctx, a.flag, a.addr)
		if err != nil {
			return err
		}
		if err := lis.Close(); err != nil {
			return err
		}
	}
	return nil
}

// server makes the server, and keeps its tokens up to date in the background.
func (c *cli) server(ctx context.Context, cfg *serveConfig, certs *tls.Config, st *store, seen *instruments, bg *sync.WaitGroup) (*server.Server, error) {
	log := seen.log
	sc := server.Config{
		Store: st.service, Version: version(), Logger: log, TLS: certs, AllowInsecure: cfg.insecure,
		StreamWorkers: uint32(cfg.streamWorkers), //nolint:gosec // checked
		DrainDelay:    cfg.drainDelay, DrainTimeout: cfg.drainTimeout,
		TracerProvider: seen.Tracer, ChooseTrace: seen.Choose, MeterProvider: seen.Meter,
	}
	if st.clock != nil {
		sc.TestClock = st.clock
	}
	if cfg.tokens == "" {
		sc.AllowAnonymous, sc.AnonymousNamespaces = true, cfg.namespaces
		log.WarnContext(ctx, "without tokens: whoever reaches the address is an admin", "namespaces", cfg.namespaces)
		return server.New(sc)
	}
	table, err := auth.Load(cfg.tokens)
	if err != nil {
		return nil, usageError{fmt.Errorf("--tokens: %w", noTokens(err))}
	}
	bg.Go(func() { table.Watch(ctx, log) })
	sc.Auth = table
	return server.New(sc)
}
