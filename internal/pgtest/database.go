package pgtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// Database returns the URL of a fresh database, which is dropped when the test
// ends.
//
// The database is a copy of a template that migrate prepares once per process
// and key: the same key must always come with the same migrate function. A nil
// migrate leaves the database empty. The template must not be used after
// migrate has returned.
//
// On the server that pgtest starts, commits do not wait for the disk.
func Database(t testing.TB, key string, migrate func(ctx context.Context, url string) error) string {
	t.Helper()
	f := current(t)
	// Not the test's context: others wait for the server and the template too.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := f.shared(ctx)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	template, err := s.template(ctx, key, migrate)
	if err != nil {
		t.Fatalf("pgtest: template %q: %v", key, err)
	}
	name := s.newName("db")
	if err := s.exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template)); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return s.url(name)
}

// Cluster starts a private server, for tests that kill, restart or configure
// it, and stops it when the test ends. It is durable whatever opts say, its
// data directory is temporary if opts name none, and it accepts 200
// connections unless opts say otherwise.
func Cluster(t testing.TB, opts embedded.Options) *embedded.Server {
	t.Helper()
	f := current(t)
	if opts.DataDir == "" {
		dir, err := f.dir("cluster")
		if err != nil {
			t.Fatalf("pgtest: %v", err)
		}
		// Runs after the server has stopped.
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Errorf("pgtest: %v", err)
			}
		})
		opts.DataDir = dir
	}
	opts.Durable = true
	settings := map[string]string{"max_connections": maxConnections}
	maps.Copy(settings, opts.Settings)
	opts.Settings = settings
	s, err := embedded.Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return s
}
