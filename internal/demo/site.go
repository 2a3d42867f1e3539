package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// Schemas of the two runs.
const (
	schemaNaive   = "demo_naive"
	schemaGuarded = "demo_idemsvc"
)

// site is where it takes place: a database, and idemsvc in a process of its own.
type site struct {
	url     string
	server  *childproc.Listener
	said    childproc.Tail
	closers []func() error
}

func (s *site) later(f func() error) { s.closers = append(s.closers, f) }

func (s *site) close() error {
	var faults []error
	for _, f := range slices.Backward(s.closers) {
		faults = append(faults, f())
	}
	s.closers = nil
	return errors.Join(faults...)
}

func openSite(ctx context.Context, o Options) (*site, error) {
	s := &site{url: o.DatabaseURL}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) open(ctx context.Context, o Options) error {
	if s.url == "" {
		if err := s.startDatabase(ctx); err != nil {
			return err
		}
	}
	if err := s.makeSchemas(ctx); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, s.url, postgres.MigrateOptions{}); err != nil {
		return err
	}
	return s.serve(ctx, o.Program)
}

// startDatabase starts a PostgreSQL that waits for the disk as in production, in a
// temporary directory.
func (s *site) startDatabase(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "idemsvc-demo-")
	if err != nil {
		return err
	}
	s.later(func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // root's PostgreSQL runs as another user
		return err
	}
	own, err := embedded.Start(ctx, embedded.Options{DataDir: dir + "/postgres", Durable: true})
	if err != nil {
		return err
	}
	s.later(func() error { return own.Stop(context.WithoutCancel(ctx)) })
	s.url = own.URL("postgres")
	return nil
}

// makeSchemas makes the tables of both runs.
func (s *site) makeSchemas(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(s.url)
	if err != nil {
		return errors.New("the database URL cannot be read") // pgx's text may show it
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	schemas := []string{schemaNaive, schemaGuarded}
	var there string
	err = conn.QueryRow(ctx, "SELECT coalesce(min(nspname::text), '') FROM pg_namespace WHERE nspname = 'idemsvc' OR nspname = ANY($1)", schemas).Scan(&there)
	if err != nil {
		return err
	}
	if there != "" {
		return fmt.Errorf("the database has a schema %s already: use an empty database", there)
	}
	for _, schema := range schemas {
		if _, err := conn.Exec(ctx, "CREATE SCHEMA "+schema+"; SET search_path TO "+schema+";"+schemaSQL); err != nil {
			return err
		}
	}
	return nil
}

// serve starts idemsvc on the database.
func (s *site) serve(ctx context.Context, program []string) error {
	args := append(slices.Clone(program[1:]), "serve")
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program[0], args...) //nolint:gosec // this program
	cmd.Env = append(childproc.Environ("IDEMSVC_"),
		"IDEMSVC_DATABASE_URL="+s.url, "IDEMSVC_LISTEN=127.0.0.1:0", "IDEMSVC_NAMESPACES="+namespace, "IDEMSVC_LOG_LEVEL=error")
	cmd.Stderr = &s.said
	server, err := childproc.StartListener(cmd, startTime)
	if err != nil {
		return fmt.Errorf("idemsvc: %w%s", err, s.said.String())
	}
	s.server = server
	s.later(func() error {
		if err := server.Stop(startTime); err != nil {
			return fmt.Errorf("idemsvc: %w%s", err, s.said.String())
		}
		return nil
	})
	return nil
}
