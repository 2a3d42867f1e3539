package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// stopMargin is what the parts below the server have to end, each.
const stopMargin = 15 * time.Second

// store is the storage and everything below it.
type store struct {
	service *storage.Service
	name    string
	clock   *memory.Clock                 // for callers to move; nil: the store is durable
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
func (c *cli) store(ctx context.Context, cfg *serveConfig, log *slog.Logger, seen *instruments) (*store, error) {
	if cfg.ephemeral {
		fmt.Fprint(c.stderr, ephemeralBanner)
		return openMemory(log, seen), nil
	}
	st := &store{name: "PostgreSQL"}
	if err := st.openPostgres(ctx, cfg, log, seen); err != nil {
		return nil, errors.Join(err, st.close(context.WithoutCancel(ctx)))
	}
	return st, nil
}

// sweepInterval is how often the ends of leases are written down in memory, as in a
// database.
const (
	sweepInterval  = time.Second
	retainInterval = time.Minute // and how often what is past its retention is removed
)

// openMemory makes a store that forgets, whose clock can be moved.
func openMemory(log *slog.Logger, seen *instruments) *store {
	clock := memory.NewRunningClock()
	backend := memory.New(memory.Options{Clock: clock.Now})
	st := &store{name: "memory, NOT DURABLE", clock: clock, service: storage.New(backend, storage.Options{Logger: log, Observer: seen.observer})}
	st.later(seen.flush)
	ctx, stop := context.WithCancel(context.Background())
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		tick := time.NewTicker(sweepInterval)
		defer tick.Stop()
		retain := time.NewTicker(retainInterval)
		defer retain.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				backend.Sweep(ctx)
			case <-retain.C:
				backend.Retain()
			}
		}
	})
	clock.OnMove(func() {
		backend.Sweep(ctx)
		backend.Retain()
		st.service.Recheck()
	})
	st.later(func(context.Context) error {
		stop()
		sweeping.Wait()
		return nil
	})
	st.later(st.service.Close)
	return st
}

const ephemeralBanner = `
  ******************************************************************
  *  NOT DURABLE: everything is kept in memory and forgotten when  *
  *  this process ends. Never use --ephemeral for real events.     *
  ******************************************************************

`

func (s *store) openPostgres(ctx context.Context, cfg *serveConfig, log *slog.Logger, seen *instruments) error {
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
	pool, err := db.pool(ctx, cfg.poolSize, seen.Tracer)
	if err != nil {
		return err
	}
	s.later(func(context.Context) error { pool.Close(); return nil })
	s.later(seen.flush) // while there is still something to look at
	if err := seen.watchPool(pool); err != nil {
		return err
	}
	backend, err := awaitStore(ctx, pool, postgres.Options{Logger: log, Settled: seen.events.Settled}, cfg.startTimeout)
	if err != nil {
		return err
	}
	s.later(func(context.Context) error { backend.Close(); return nil })
	s.later(seen.watchStore(ctx, backend))
	s.service = storage.New(backend, storage.Options{Logger: log, Observer: seen.observer})
	s.later(s.service.Close)
	return nil
}
