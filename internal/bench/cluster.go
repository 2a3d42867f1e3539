package bench

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// The names under which programs are known to PostgreSQL.
const (
	appAdmin  = "idemsvc-bench-admin"
	appDirect = "idemsvc-bench-direct"
	appServer = "idemsvc-bench-server"
)

// undo is what has to be done at the end, the last first.
type undo []func() error

func (u *undo) later(f func() error) { *u = append(*u, f) }

func (u *undo) close() error {
	var faults []error
	for _, f := range slices.Backward(*u) {
		faults = append(faults, f())
	}
	*u = nil
	return errors.Join(faults...)
}

// cluster is the PostgreSQL that is measured.
type cluster struct {
	undo
	own        *embedded.Server // nil: somebody else's
	dir        string           // of our own, for everything that is to be gone afterwards
	postmaster int              // 0: not on this machine
	settings   []string         // for the report
}

// openCluster finds the PostgreSQL of the URL, or starts one of our own that waits for the
// disk as in production. Call close in any case.
func (c *cluster) open(ctx context.Context, databaseURL string, settings map[string]string) (*database, error) {
	at := databaseURL
	if at == "" {
		if err := c.start(ctx, settings); err != nil {
			return nil, err
		}
		at = c.own.URL("postgres")
	}
	db, err := c.database(ctx, at)
	if err != nil {
		return nil, err
	}
	var backend int
	if err := db.admin.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return nil, err
	}
	c.postmaster = postmasterOf(backend)
	for _, name := range []string{
		"server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size", "checkpoint_timeout",
	} {
		var value string
		if err := db.admin.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		c.settings = append(c.settings, name+"="+value)
	}
	return db, nil
}

func (c *cluster) start(ctx context.Context, settings map[string]string) error {
	dir, err := os.MkdirTemp("", "idemsvc-bench-")
	if err != nil {
		return err
	}
	c.dir = dir
	c.later(func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // root's PostgreSQL runs as another user
		return err
	}
	c.own, err = embedded.Start(ctx, embedded.Options{DataDir: filepath.Join(dir, "postgres"), Durable: true, Settings: settings})
	if err != nil {
		return err
	}
	c.later(func() error {
		hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = c.own.Stop(hard) // at once and without a checkpoint: it is thrown away
		return nil
	})
	return nil
}

// database is one database of the cluster, migrated.
type database struct {
	url   string
	admin *pgxpool.Pool
}

func (c *cluster) database(ctx context.Context, at string) (*database, error) {
	if _, err := postgres.Migrate(ctx, at, postgres.MigrateOptions{}); err != nil {
		return nil, err
	}
	admin, err := poolOf(ctx, at, appAdmin, 1, nil)
	if err != nil {
		return nil, err
	}
	c.later(func() error { admin.Close(); return nil })
	return &database{at, admin}, nil
}

// add makes one more database in a cluster of our own.
func (c *cluster) add(ctx context.Context, beside *database, name string) (*database, error) {
	if _, err := beside.admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return nil, err
	}
	return c.database(ctx, c.own.URL(name))
}

func poolOf(ctx context.Context, at, app string, size int, tune func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // pgx's text may show it
	}
	cfg.MaxConns = int32(size) //nolint:gosec // few
	cfg.ConnConfig.RuntimeParams["application_name"] = app
	if tune != nil {
		tune(cfg)
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// withName is a connection string whose sessions have a name.
func withName(at, app string) (string, error) {
	if !strings.Contains(at, "://") {
		return at + " application_name=" + app, nil
	}
	u, err := url.Parse(at)
	if err != nil {
		return "", errors.New("the database URL cannot be read")
	}
	q := u.Query()
	q.Set("application_name", app)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // to PostgreSQL a plus is a plus
	return u.String(), nil
}

// sessions is how many connections the server has.
func (d *database) sessions(ctx context.Context) (n int, err error) {
	err = d.admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", appServer).Scan(&n)
	return n, err
}

// wal is how many bytes of write-ahead log the cluster has written.
func (d *database) wal(ctx context.Context) (n int64, err error) {
	err = d.admin.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n)
	return n, err
}

// autovacuum switches it on or off in a cluster of our own. What it reads would count as
// the buffers of whoever works meanwhile.
func (c *cluster) autovacuum(ctx context.Context, d *database, state string) error {
	if c.own == nil {
		return nil
	}
	if _, err := d.admin.Exec(ctx, "ALTER SYSTEM SET autovacuum = "+state); err != nil {
		return err
	}
	if _, err := d.admin.Exec(ctx, "SELECT pg_reload_conf()"); err != nil || state == "on" {
		return err
	}
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var running int
		if err := d.admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'").Scan(&running); err != nil {
			return err
		}
		if running == 0 {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil // then it counts: it is a long one
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
