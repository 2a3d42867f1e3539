package postgres_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

// describing is how pgx talks through a pooler in transaction mode: it learns the types
// of a statement once, and prepares nothing by name.
func describing(c *pgxpool.Config) {
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
}

// The whole suite passes through a pooler in transaction mode.
func TestConformanceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t, "idemsvc", migrate)
	pool := poolWith(t, pgtest.PgBouncer(t, direct), describing)
	o := quiet
	o.Policies = storagetest.PolicyOf
	s, err := postgres.Open(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	t.Run("Suite", func(t *testing.T) {
		storagetest.Run(t, func(testing.TB) storagetest.Harness { return harness{s, pool} })
	})
	checkJournal(t, openPool(t, direct))
}

// A way to send statements that cannot work is refused when the store is opened, not told
// as a failure of the database at each call.
func TestModesWithoutTypesWorkOrAreRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeCacheStatement} {
		t.Run(mode.String(), func(t *testing.T) {
			pool := poolWith(t, url, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			s, err := postgres.Open(t.Context(), pool, quiet)
			if err != nil {
				return
			}
			defer s.Close()
			if r := one(s, claimOf("ns", mode.String())); r.Err != nil {
				t.Errorf("it opened, and then: %.150s", r.Err.Error())
			}
		})
	}
}

// What a batch sets for itself does not stay on the session that the pooler gives to the
// next one.
func TestSettingsDoNotLeakThroughPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t, "idemsvc", migrate)
	pooled := pgtest.PgBouncer(t, direct)
	s, pool := openOn(t, pooled, quiet, describing)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if r := one(s, claimOf("ns", randomID().String())); r.Err != nil {
					t.Error(r.Err)
				}
				var got, foreign string
				if err := pool.QueryRow(context.Background(), "SELECT current_setting('enable_seqscan'), COALESCE(current_setting('idemsvc.foreign', true), '')").Scan(&got, &foreign); err != nil || got != "on" || foreign != "" {
					t.Errorf("enable_seqscan is %q, idemsvc.foreign %q on a session of the pooler, %v", got, foreign, err)
				}
			}
		})
	}
	wg.Wait()
}

// The pooler's server connections are cut; nobody has to open the store again.
func TestPgBouncerLosesItsServer(t *testing.T) {
	t.Parallel()
	direct := pgtest.Database(t, "idemsvc", migrate)
	pooled := pgtest.PgBouncer(t, direct)
	s, _ := openOn(t, pooled, quiet, describing)
	admin := openPool(t, direct)
	tok := grantOf(t, s, claimOf("ns", "e"))
	for range 5 {
		execSQL(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
		heals(t, s)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}
