package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

// roles is a database whose schema belongs to a role without rights beyond it, with a
// runtime and a reader role.
type roles struct {
	super, owner, runtime, reader string // URLs
	runtimeRole, readerRole       string
}

func as(t testing.TB, raw, user string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}

func makeRoles(t *testing.T) roles {
	t.Helper()
	super := pgtest.Database(t, "empty", nil)
	admin := openPool(t, super)
	db := scalar[string](t, admin, "SELECT current_database()")
	id := strings.ToLower(randomID().String()[:8])
	r := roles{super: super, runtimeRole: "run-" + id, readerRole: "read-" + id}
	ownerRole := "own-" + id
	for _, role := range []string{ownerRole, r.runtimeRole, r.readerRole} {
		execSQL(t, admin, fmt.Sprintf("CREATE ROLE %q LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS", role))
	}
	t.Cleanup(func() {
		for _, role := range []string{r.runtimeRole, r.readerRole, ownerRole} {
			_, err := admin.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %q CASCADE", role))
			_, err2 := admin.Exec(context.Background(), fmt.Sprintf("DROP ROLE %q", role))
			if err := errors.Join(err, err2); err != nil {
				t.Error(err)
			}
		}
	})
	execSQL(t, admin, fmt.Sprintf("GRANT CREATE ON DATABASE %q TO %q", db, ownerRole))
	r.owner, r.runtime, r.reader = as(t, super, ownerRole), as(t, super, r.runtimeRole), as(t, super, r.readerRole)
	if _, err := postgres.Migrate(t.Context(), r.owner, postgres.MigrateOptions{RuntimeRole: r.runtimeRole, ReaderRole: r.readerRole}); err != nil {
		t.Fatal(err)
	}
	return r
}

// refusedSQL: each statement is refused for lack of rights.
func refusedSQL(t *testing.T, pool *pgxpool.Pool, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := pool.Exec(t.Context(), sql)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "42501" {
			t.Errorf("%s: %v, want 42501", sql, err)
		}
	}
}

// Every statement of the store may be sent by the runtime role.
func TestRuntimeRoleRunsEveryStatement(t *testing.T) {
	t.Parallel()
	sent := &sentStatements{args: map[string][]any{}}
	r := makeRoles(t)
	exercise(t, r.runtime, sent)
	// The database has moved to another cluster.
	execSQL(t, openPool(t, r.owner), "UPDATE idemsvc.meta SET system_identifier = 1")
	openOn(t, r.runtime, quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	for name, sql := range postgres.Statements() {
		// halt takes a token of the future; apply is sent with the parts that are needed.
		if _, ok := sent.of(sql); !ok && name != "halt" && name != "apply" {
			t.Errorf("%s was not sent", name)
		}
	}
}

// The whole suite runs as the runtime role.
func TestConformanceAsRuntimeRole(t *testing.T) {
	if !heavy() {
		t.Skip("IDEMSVC_TEST_HEAVY is not set; see TestRuntimeRoleRunsEveryStatement")
	}
	t.Parallel()
	r := makeRoles(t)
	pool := openPool(t, r.runtime)
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
	checkJournal(t, pool)
}

func TestRuntimeRoleRunsBackgroundWork(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	s, pool := openOn(t, r.runtime, quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	if _, err := s.Follow(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	owner := openPool(t, r.owner)
	execSQL(t, owner, fmt.Sprintf("DROP TABLE idemsvc.journal_%[1]s, idemsvc.delivery_%[1]s", time.Now().UTC().AddDate(0, 0, 3).Format("20060102")))
	if err := s.MakePartitions(t.Context()); err != nil {
		t.Error(err)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'idemsvc.journal'::regclass"); n != 9 {
		t.Errorf("%d partitions of the journal, want 8 days and the default", n)
	}
	retain(t, s)
	apply(t, s, "ns", 0, attemptsRule("3"))
	refusedSQL(t, pool, "UPDATE idemsvc.policy SET applied_by = 'nobody'", "DELETE FROM idemsvc.policy")
	epoch, err := postgres.NewEpoch(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if next := grantOf(t, s, claimOf("ns", "next")); next.Fence>>41 != epoch {
		t.Errorf("fence %d in epoch %d", next.Fence, epoch)
	}
	if b, err := s.Secret(t.Context()); err != nil || len(b) != 32 {
		t.Errorf("secret: %d bytes, %v", len(b), err)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

func TestRuntimeRoleHasNoDDL(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	pool := openPool(t, r.runtime)
	day := time.Now().UTC().Format("20060102")
	refusedSQL(t, pool,
		"CREATE TABLE idemsvc.mine (x int)", "CREATE SCHEMA mine", "CREATE TABLE public.mine (x int)",
		"DROP TABLE idemsvc.event", "ALTER TABLE idemsvc.event ADD COLUMN x int", "CREATE INDEX ON idemsvc.event (state)",
		"DROP TABLE idemsvc.journal_"+day, "TRUNCATE idemsvc.journal", "TRUNCATE idemsvc.event",
		"ALTER FUNCTION idemsvc.make_partitions(integer) OWNER TO CURRENT_USER", "DROP SCHEMA idemsvc CASCADE",
		"ALTER SEQUENCE idemsvc.fence RESTART", "SELECT setval('idemsvc.fence', 1)",
	)
}

func TestRuntimeRoleCannotAlterTheJournal(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	s, pool := openOn(t, r.runtime, quiet)
	grantOf(t, s, claimOf("ns", "e"))
	refusedSQL(t, pool, "UPDATE idemsvc.journal SET body = ''", "DELETE FROM idemsvc.journal")
	rows, err := openPool(t, r.super).Query(t.Context(), "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'idemsvc.journal'::regclass")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var part string
		if err := rows.Scan(&part); err != nil {
			t.Fatal(err)
		}
		// The partitions must not be a way around it.
		refusedSQL(t, pool, "UPDATE "+part+" SET body = ''", "DELETE FROM "+part, "TRUNCATE "+part)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
}

func TestRuntimeRoleCannotChangeSecretOrHistory(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	refusedSQL(t, openPool(t, r.runtime),
		"UPDATE idemsvc.secret SET token = token", "DELETE FROM idemsvc.secret", "INSERT INTO idemsvc.secret (one, token) VALUES (true, sha256(''))",
		"UPDATE idemsvc.schema_migration SET version = 9", "DELETE FROM idemsvc.schema_migration", "INSERT INTO idemsvc.schema_migration VALUES (99, 'x')",
	)
}

func TestReaderRoleReadsAllButTheSecretAndWritesNothing(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	s, _ := openOn(t, r.runtime, quiet)
	grantOf(t, s, claimOf("ns", "e"))
	pool := openPool(t, r.reader)
	refusedSQL(t, pool, "SELECT * FROM idemsvc.secret", "SELECT token FROM idemsvc.secret", "TABLE idemsvc.secret",
		"SELECT nextval('idemsvc.fence')", "SELECT idemsvc.make_partitions(1)", "CREATE TABLE idemsvc.mine (x int)")
	for _, table := range []string{"meta", "event", "attempt", "resource", "member", "effect", "source", "payload", "delivery", "rejected", "journal", "lookup", "unfinished", "follower", "schema_migration"} {
		if _, err := pool.Exec(t.Context(), "SELECT * FROM idemsvc."+table); err != nil {
			t.Errorf("reading %s: %v", table, err)
		}
		refusedSQL(t, pool, "DELETE FROM idemsvc."+table, "INSERT INTO idemsvc."+table+" DEFAULT VALUES")
	}
	refusedSQL(t, pool, "UPDATE idemsvc.meta SET halted = true", "UPDATE idemsvc.event SET state = 3", "SELECT * FROM idemsvc.event FOR UPDATE")
}

// A later migration run that names other roles takes nothing away, and one that names the
// same changes nothing.
func TestMigrationIsIdempotent(t *testing.T) {
	t.Parallel()
	r := makeRoles(t)
	s, pool := openOn(t, r.runtime, quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	secret, err := s.Secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []postgres.MigrateOptions{{RuntimeRole: r.runtimeRole, ReaderRole: r.readerRole}, {}} {
		took, err := postgres.Migrate(t.Context(), r.owner, o)
		if err != nil || len(took) != 0 {
			t.Errorf("again: took %d steps, %v", len(took), err)
		}
	}
	again, err := s.Secret(t.Context())
	if err != nil || string(again) != string(secret) {
		t.Errorf("the secret changed, or %v", err)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
	refusedSQL(t, pool, "DELETE FROM idemsvc.journal")
}

func TestMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	for _, roled := range []bool{false, true} {
		t.Run(fmt.Sprintf("with roles %v", roled), func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t, "empty", nil)
			var o postgres.MigrateOptions
			if roled {
				admin := openPool(t, url)
				role := "run-" + randomID().String()[:8]
				execSQL(t, admin, fmt.Sprintf("CREATE ROLE %q", role))
				t.Cleanup(func() {
					_, err := admin.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %q", role))
					_, err2 := admin.Exec(context.Background(), fmt.Sprintf("DROP ROLE %q", role))
					if err := errors.Join(err, err2); err != nil {
						t.Error(err)
					}
				})
				o.RuntimeRole = role
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			steps := 0
			for range 8 {
				wg.Go(func() {
					took, err := postgres.Migrate(t.Context(), url, o)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					steps += len(took)
				})
			}
			wg.Wait()
			if want := len(postgres.Migrations()); steps != want {
				t.Errorf("%d steps were taken, want %d", steps, want)
			}
		})
	}
}

func TestNewerSchemaIsAcceptedAndOlderRefused(t *testing.T) {
	t.Parallel()
	pool := openPool(t, pgtest.Database(t, "idemsvc", migrate))
	execSQL(t, pool, "INSERT INTO idemsvc.schema_migration (version, name) VALUES (9999, 'of a newer program')")
	s, err := postgres.Open(t.Context(), pool, quiet)
	if err != nil {
		t.Fatalf("newer schema: %v", err)
	}
	s.Close()
	execSQL(t, pool, "DELETE FROM idemsvc.schema_migration")
	if s, err := postgres.Open(t.Context(), pool, quiet); !errors.Is(err, storage.ErrSchema) || !strings.Contains(err.Error(), "idemsvc migrate up") {
		t.Errorf("older schema: %v, want ErrSchema and the command to run", err)
		if err == nil {
			s.Close()
		}
	}
	empty := openPool(t, pgtest.Database(t, "empty", nil))
	if s, err := postgres.Open(t.Context(), empty, quiet); !errors.Is(err, storage.ErrSchema) || !strings.Contains(err.Error(), "idemsvc migrate up") {
		t.Errorf("no schema: %v, want ErrSchema and the command to run", err)
		if err == nil {
			s.Close()
		}
	}
}

// The statements need READ COMMITTED: the store's own connections set it, and where they may
// not (behind a transaction pooler), a database of another level is refused.
func TestOtherIsolation(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	admin := connectTo(t, url)
	onConn(t, admin, "ALTER DATABASE "+pgx.Identifier{admin.Config().Database}.Sanitize()+" SET default_transaction_isolation = 'repeatable read'")
	s, _ := openOn(t, url, quiet)
	grantOf(t, s, claimOf("ns", "e"))
	pool := poolWith(t, url, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe })
	if s, err := postgres.Open(t.Context(), pool, quiet); err == nil || !strings.Contains(err.Error(), "read committed") {
		t.Errorf("got %v", err)
		if err == nil {
			s.Close()
		}
	}
}

func TestPartitionsAreMadeAhead(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	for _, parent := range []string{"payload", "delivery", "journal", "lookup"} {
		for d := range 8 {
			part := fmt.Sprintf("idemsvc.%s_%s", parent, time.Now().UTC().AddDate(0, 0, d).Format("20060102"))
			if !scalar[bool](t, pool, "SELECT to_regclass($1) IS NOT NULL", part) {
				t.Errorf("no partition %s", part)
			}
		}
	}
	if n := scalar[int](t, pool, "SELECT idemsvc.make_partitions(7)"); n != 0 {
		t.Errorf("made %d again", n)
	}
	if n := scalar[int](t, pool, "SELECT idemsvc.make_partitions(9)"); n != 8 {
		t.Errorf("made %d for two more days, want 8", n)
	}
	if err := s.MakePartitions(t.Context()); err != nil {
		t.Error(err)
	}
	// Each has the indexes and the storage of its parent.
	if n := scalar[int](t, pool, `SELECT count(*)::int FROM pg_inherits i WHERE inhparent = 'idemsvc.journal'::regclass
		AND NOT EXISTS (SELECT FROM pg_index x WHERE x.indrelid = i.inhrelid)`); n != 0 {
		t.Errorf("%d partitions of the journal have no index", n)
	}
}

// Rows of days without a partition go to the default one, and stay there: making that
// day's partition is left out and does not stop the others.
func TestDefaultPartitionCatchesRows(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	today := time.Now().UTC().Format("20060102")
	for _, parent := range []string{"payload", "delivery", "journal", "lookup"} {
		execSQL(t, pool, "DROP TABLE idemsvc."+parent+"_"+today)
	}
	c := claimOf("ns", "e")
	c.Payload, c.Facts.PayloadHash = []byte("{}"), []byte("hash")
	tok := grantOf(t, s, c)
	if err := s.RecordDeliveries(t.Context(), []storage.Delivery{{Event: tok.Event, Key: c.Key, Identity: randomID()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{"payload", "delivery", "journal", "lookup"} {
		if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc."+parent+"_default"); n == 0 {
			t.Errorf("the default partition of %s is empty", parent)
		}
	}
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format("20060102")
	execSQL(t, pool, "DROP TABLE idemsvc.journal_"+tomorrow)
	if err := s.MakePartitions(t.Context()); err != nil {
		t.Errorf("with rows in the default partitions: %v", err)
	}
	if !scalar[bool](t, pool, "SELECT to_regclass($1) IS NOT NULL", "idemsvc.journal_"+tomorrow) {
		t.Error("the partition of tomorrow was not made")
	}
	found, err := s.Lookup(t.Context(), storage.Query{Namespace: "ns", Kind: storage.ByRequestID, Value: c.Facts.RequestID})
	if err != nil || len(found.Views) != 1 {
		t.Errorf("look-up: %d, %v", len(found.Views), err)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// Partitions are made while batches run, and nobody hears of it.
func TestPartitionsAreMadeBesideBatches(t *testing.T) {
	t.Parallel()
	lines := &logLines{}
	srv := cluster(t, embedded.Options{Logger: slogOf(lines)})
	s, pool := openOn(t, srv.URL("postgres"), quiet)
	workThrough(t, s, func() *pgxpool.Pool { return pool }, func() {
		for d := 8; d < 28; d++ {
			execSQL(t, pool, "SELECT idemsvc.make_partitions($1)", d)
		}
	})
	if bad := lines.with("deadlock"); len(bad) > 0 {
		t.Errorf("the server's log: %q", bad)
	}
}
