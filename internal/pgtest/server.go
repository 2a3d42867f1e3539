package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// databaseURLEnv names a running server to use instead of starting one.
const databaseURLEnv = "IDEMSVC_TEST_DATABASE_URL"

// maxConnections is more than parallel tests with pools of their own need.
const maxConnections = "200"

// server is where databases are created.
type server struct {
	admin    *url.URL         // a database to give commands in
	embedded *embedded.Server // nil if the server is not ours
	prefix   string           // of database names; unique to this process
	count    atomic.Int64

	mu        sync.Mutex
	templates map[string]*template
}

// template is a migrated database to copy.
type template struct {
	once sync.Once
	name string
	err  error
}

// openServer returns the server that the environment names, or starts one.
func (f *fixture) openServer(ctx context.Context) (*server, error) {
	s := &server{
		prefix:    "idemsvc_test_" + strings.ToLower(rand.Text()[:10]),
		templates: make(map[string]*template),
	}
	adminURL := os.Getenv(databaseURLEnv)
	if adminURL == "" {
		dir, err := f.dirLocked("shared")
		if err != nil {
			return nil, err
		}
		s.embedded, err = embedded.Start(ctx, embedded.Options{
			DataDir:  dir,
			Settings: map[string]string{"max_connections": maxConnections},
		})
		if err != nil {
			return nil, err
		}
		adminURL = s.embedded.URL("postgres")
	}
	u, err := url.Parse(adminURL)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, fmt.Errorf("%s is not a postgres:// URL", databaseURLEnv)
	}
	s.admin = u
	return s, nil
}

// url is a connection string for the database.
func (s *server) url(database string) string {
	u := *s.admin
	u.Path = "/" + database
	return u.String()
}

// exec runs commands, each in a transaction of its own.
func (s *server) exec(ctx context.Context, commands ...string) (err error) {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, sql := range commands {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// newName is a database name that no other process uses.
func (s *server) newName(kind string) string {
	return fmt.Sprintf("%s_%s%d", s.prefix, kind, s.count.Add(1))
}

// template returns the name of the template for the key, creating it at the
// first call. Other callers with the key wait for that.
func (s *server) template(ctx context.Context, key string, migrate func(context.Context, string) error) (string, error) {
	s.mu.Lock()
	t, ok := s.templates[key]
	if !ok {
		t = &template{name: s.newName("template")}
		s.templates[key] = t
	}
	s.mu.Unlock()
	t.once.Do(func() { t.err = s.createTemplate(ctx, t.name, migrate) })
	return t.name, t.err
}

func (s *server) createTemplate(ctx context.Context, name string, migrate func(context.Context, string) error) error {
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	if migrate != nil {
		if err := migrate(ctx, s.url(name)); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	// A database that has sessions cannot be copied.
	return s.exec(ctx,
		"ALTER DATABASE "+name+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '"+name+"'",
	)
}

func (s *server) close(ctx context.Context) error {
	if s.embedded != nil {
		return errors.Join(s.embedded.Stop(ctx), os.RemoveAll(filepath.Dir(s.embedded.ClusterDir())))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, t := range s.templates {
		errs = append(errs, s.exec(ctx, "DROP DATABASE IF EXISTS "+t.name+" WITH (FORCE)"))
	}
	return errors.Join(errs...)
}
