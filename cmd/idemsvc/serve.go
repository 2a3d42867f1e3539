package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// stopMargin is what the parts below the server have to end, each.
const stopMargin = 15 * time.Second

func (c *cli) serveCommands() []command {
	return []command{{
		name: "serve", brief: "Serve the contract over gRPC",
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
	log := c.logger(cfg.logLevel, cfg.logFormat)
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	log.InfoContext(ctx, "starting", append([]any{slog.String("version", version())}, s.logged()...)...)
	if cfg.insecure {
		log.WarnContext(ctx, "INSECURE: other machines may be served without TLS or without tokens, because --insecure-non-loopback is set")
	}

	st, err := c.store(ctx, cfg, log)
	if err != nil {
		return err
	}
	// Beyond the context: stopping takes its time after the signal.
	defer func() { err = errors.Join(err, st.close(context.WithoutCancel(ctx))) }()

	var bg sync.WaitGroup
	defer bg.Wait()
	bctx, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	srv, err := c.server(bctx, cfg, certs, st.service, log, &bg)
	if err != nil {
		return err
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.listen)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	fmt.Fprintf(c.stdout, "idemsvc listens on %s, storage: %s\n", lis.Addr(), st.name)
	log.InfoContext(ctx, "listening", "address", lis.Addr().String(), "storage", st.name)

	select {
	case <-ctx.Done():
	case err = <-served:
		served <- nil
	}
	release() // a second signal ends the process at once
	log.InfoContext(ctx, "stopping")
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drainDelay+cfg.drainTimeout)
	defer cancel()
	srv.Stop(stopCtx)
	return errors.Join(err, <-served)
}

// server makes the server, and keeps its tokens up to date in the background.
func (c *cli) server(ctx context.Context, cfg *serveConfig, certs *tls.Config, store *storage.Service, log *slog.Logger, bg *sync.WaitGroup) (*server.Server, error) {
	sc := server.Config{
		Store: store, Version: version(), Logger: log, TLS: certs, AllowInsecure: cfg.insecure,
		StreamWorkers: uint32(cfg.streamWorkers), //nolint:gosec // checked
		DrainDelay:    cfg.drainDelay, DrainTimeout: cfg.drainTimeout,
	}
	if cfg.tokens == "" {
		sc.AllowAnonymous, sc.AnonymousNamespaces = true, cfg.namespaces
		log.WarnContext(ctx, "without tokens: whoever reaches the address is an admin", "namespaces", cfg.namespaces)
		return server.New(sc)
	}
	table, err := auth.Load(cfg.tokens)
	if err != nil {
		return nil, usageError{fmt.Errorf("--tokens: %w («idemsvc token create» makes the file)", err)}
	}
	bg.Go(func() { table.Watch(ctx, log) })
	sc.Auth = table
	return server.New(sc)
}

// store is the storage and everything below it.
type store struct {
	service *storage.Service
	name    string
	closers []func(context.Context) error // undone last to first
}

// close ends the storage: first what was taken is written down, then what writes it
// ends, from the top to the bottom.
func (s *store) close(ctx context.Context) error {
	var faults []error
	for _, f := range slices.Backward(s.closers) {
		cctx, cancel := context.WithTimeout(ctx, stopMargin)
		faults = append(faults, f(cctx))
		cancel()
	}
	s.closers = nil
	return errors.Join(faults...)
}

func (s *store) later(f func(context.Context) error) { s.closers = append(s.closers, f) }

// store opens the storage that the configuration asks for.
func (c *cli) store(ctx context.Context, cfg *serveConfig, log *slog.Logger) (*store, error) {
	if cfg.ephemeral {
		fmt.Fprint(c.stderr, ephemeralBanner)
		st := &store{name: "memory, NOT DURABLE", service: storage.New(memory.New(memory.Options{}), storage.Options{Logger: log})}
		st.later(st.service.Close)
		return st, nil
	}
	st := &store{name: "PostgreSQL"}
	if err := st.openPostgres(ctx, cfg, log); err != nil {
		return nil, errors.Join(err, st.close(context.WithoutCancel(ctx)))
	}
	return st, nil
}

const ephemeralBanner = `
  ******************************************************************
  *  NOT DURABLE: everything is kept in memory and forgotten when  *
  *  this process ends. Never use --ephemeral for real events.     *
  ******************************************************************

`

func (s *store) openPostgres(ctx context.Context, cfg *serveConfig, log *slog.Logger) error {
	db, err := cfg.database.open(ctx, cfg.poolSize, log.With("program", "postgres"))
	if err != nil {
		return err
	}
	s.later(db.close)
	if db.own != nil {
		s.name = "PostgreSQL " + db.own.Installation().Version + " in " + db.own.DataDir()
		if _, err := postgres.Migrate(ctx, db.url, postgres.MigrateOptions{}); err != nil {
			return err
		}
		kctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		var keeping sync.WaitGroup
		keeping.Go(func() { db.keep(kctx, log) })
		s.later(func(context.Context) error {
			stop()
			keeping.Wait()
			return nil
		})
	}
	pool, err := db.pool(ctx, cfg.poolSize)
	if err != nil {
		return err
	}
	s.later(func(context.Context) error { pool.Close(); return nil })
	backend, err := awaitStore(ctx, pool, postgres.Options{Logger: log}, cfg.startTimeout)
	if err != nil {
		return err
	}
	s.later(func(context.Context) error { backend.Close(); return nil })
	s.service = storage.New(backend, storage.Options{Logger: log})
	s.later(s.service.Close)
	return nil
}
