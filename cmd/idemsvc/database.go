package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

const (
	// ownDatabase is the database in the PostgreSQL of our own.
	ownDatabase = "idemsvc"
	// connectTimeout bounds one attempt to connect.
	connectTimeout = 5 * time.Second
	// spareConnections are those of the PostgreSQL of our own beside the pool's.
	spareConnections = 30
)

// database is a PostgreSQL to work with: somebody else's, or one of our own.
type database struct {
	url string
	own *embedded.Server // nil: somebody else's
}

// open finds the database, starting one of our own where none is named.
func (d *databaseConfig) open(ctx context.Context, poolSize int, log *slog.Logger) (*database, error) {
	if d.url != "" {
		return &database{url: d.url}, nil
	}
	log.InfoContext(ctx, "starting a PostgreSQL of our own", "directory", d.cluster())
	own, err := embedded.Start(ctx, embedded.Options{
		DataDir: d.cluster(), Durable: true, Logger: log,
		Settings: map[string]string{"max_connections": strconv.Itoa(poolSize + spareConnections)},
	})
	if err != nil {
		return nil, d.advise(err)
	}
	db := &database{url: own.URL(ownDatabase), own: own}
	if err := createDatabase(ctx, own.URL("postgres")); err != nil {
		return nil, errors.Join(err, db.close(ctx))
	}
	return db, nil
}

// cluster is the directory of the PostgreSQL of our own.
func (d *databaseConfig) cluster() string { return filepath.Join(d.dataDir, "postgres") }

// mustExist refuses a data directory that has no database yet: asking about one must not
// make it.
func (d *databaseConfig) mustExist() error {
	if d.url != "" {
		return nil
	}
	there, err := embedded.Exists(d.cluster())
	if err != nil {
		return d.advise(err)
	}
	if there {
		return nil
	}
	return notFound{fmt.Errorf("there is no database in %s: «idemsvc serve» makes one there, --database-url names another", d.dataDir)}
}

// advise adds what to do to an error of the PostgreSQL of our own.
func (d *databaseConfig) advise(err error) error {
	switch {
	case errors.Is(err, embedded.ErrNotFound):
		return fmt.Errorf("name a PostgreSQL that runs with --database-url (IDEMSVC_DATABASE_URL), or have one here for idemsvc to run;\nfor tests, «idemsvc serve --ephemeral» needs none\n%w", err)
	case errors.Is(err, embedded.ErrInUse):
		return fmt.Errorf("--data-dir: %w\nstop that one, or give this one another --data-dir", err)
	default:
		return fmt.Errorf("--data-dir: %w", err)
	}
}

func createDatabase(ctx context.Context, admin string) error {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", ownDatabase).Scan(&there); err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+ownDatabase)
	return err
}

// close stops a PostgreSQL of our own.
func (d *database) close(ctx context.Context) error {
	if d.own == nil {
		return nil
	}
	return d.own.Stop(ctx)
}

// keep starts a PostgreSQL of our own again whenever it dies, until the context ends.
func (d *database) keep(ctx context.Context, log *slog.Logger) {
	if d.own == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.own.Done():
		}
		if ctx.Err() != nil {
			return
		}
		log.ErrorContext(ctx, "PostgreSQL has ended and is started again")
		if err := d.own.Restart(ctx); err != nil {
			log.ErrorContext(ctx, "PostgreSQL does not start and is tried again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// pool makes a pool of connections.
func (d *database) pool(ctx context.Context, size int, tracing trace.TracerProvider) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(d.url)
	if err != nil {
		return nil, usageError{errors.New("--database-url: cannot be read")} // pgx's text may show it
	}
	cfg.MaxConns = int32(size) //nolint:gosec // checked
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	postgres.Tune(cfg)
	if tracing != nil {
		postgres.Trace(cfg, tracing)
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// awaitStore opens the store, waiting up to the timeout for a database that cannot be
// reached.
func awaitStore(ctx context.Context, pool *pgxpool.Pool, o postgres.Options, timeout time.Duration) (*postgres.Store, error) {
	end := time.Now().Add(timeout)
	for {
		store, err := postgres.Open(ctx, pool, o)
		if err == nil || !errors.Is(err, storage.ErrUnavailable) || time.Now().After(end) {
			return store, err
		}
		o.Logger.WarnContext(ctx, "the database cannot be reached and is tried again", "error", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", storage.ErrUnavailable, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}
