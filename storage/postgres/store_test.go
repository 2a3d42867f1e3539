package postgres_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func migrate(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
	return err
}

// quiet are the options of a store without work of its own in the background.
var quiet = postgres.Options{Follow: -1, Sweep: -1}

// openStore opens a store over a database of the test's own.
func openStore(t testing.TB, o postgres.Options) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	pool := openPool(t, pgtest.Database(t, "idemsvc", migrate))
	s, err := postgres.Open(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, pool
}

func openPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	postgres.Tune(cfg)
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// harness lets time pass in the database.
type harness struct {
	store *postgres.Store
	pool  *pgxpool.Pool
}

func (h harness) Backend() storage.Backend { return followed{h.store} }

// step takes a step of the reader behind the journal, after any that another test is
// taking at the same time.
func step(ctx context.Context, s *postgres.Store) error {
	for {
		if n, err := s.Follow(ctx); n >= 0 || err != nil {
			return err
		}
	}
}

// followed takes a step of the reader behind the journal before each look-up.
type followed struct{ *postgres.Store }

func (f followed) Lookup(ctx context.Context, q storage.Query) (storage.Found, error) {
	if err := step(ctx, f.Store); err != nil {
		return storage.Found{}, err
	}
	return f.Store.Lookup(ctx, q)
}

func (f followed) Events(ctx context.Context, namespace, source, eventID string) (storage.Found, error) {
	if err := step(ctx, f.Store); err != nil {
		return storage.Found{}, err
	}
	return f.Store.Events(ctx, namespace, source, eventID)
}

func (f followed) Take(ctx context.Context, q storage.TakeQuery) (storage.Taken, error) {
	if err := step(ctx, f.Store); err != nil {
		return storage.Taken{}, err
	}
	return f.Store.Take(ctx, q)
}

func (h harness) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := h.pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (h harness) Expire(t testing.TB, id idem.ID) {
	t.Helper()
	h.exec(t, "UPDATE idemsvc.event SET lease_until = least(lease_until, clock_timestamp()) WHERE id = $1 AND lease_until IS NOT NULL", [16]byte(id))
	h.exec(t, "UPDATE idemsvc.effect SET lease_until = least(lease_until, clock_timestamp()) WHERE id = $1 AND lease_until IS NOT NULL", [16]byte(id))
	h.hint(t, id)
}

// hint lets the list of unfinished work know what was changed behind the journal's back.
func (h harness) hint(t testing.TB, id idem.ID) {
	t.Helper()
	if err := step(context.Background(), h.store); err != nil {
		t.Fatal(err)
	}
	h.exec(t, `UPDATE idemsvc.unfinished SET due_at = clock_timestamp(), ready_at = least(ready_at, clock_timestamp()),
		acquire_at = least(acquire_at, clock_timestamp()), blocked_until = NULL WHERE id = $1`, [16]byte(id))
}

func (h harness) Due(t testing.TB, id idem.ID) {
	t.Helper()
	h.exec(t, "UPDATE idemsvc.event SET due_at = clock_timestamp() WHERE id = $1 AND due_at > clock_timestamp()", [16]byte(id))
	h.hint(t, id)
}

func (h harness) Later(t testing.TB, id idem.ID, d time.Duration) {
	t.Helper()
	us := d.Microseconds()
	h.exec(t, `UPDATE idemsvc.event SET lease_until = lease_until - $2 * interval '1 microsecond', granted_at = granted_at - $2 * interval '1 microsecond',
		ended_at = ended_at - $2 * interval '1 microsecond', due_at = due_at - $2 * interval '1 microsecond', created_at = created_at - $2 * interval '1 microsecond',
		waiting_since = waiting_since - $2 * interval '1 microsecond', not_yet_since = not_yet_since - $2 * interval '1 microsecond' WHERE id = $1`, [16]byte(id), us)
	if err := step(context.Background(), h.store); err != nil {
		t.Fatal(err)
	}
	h.exec(t, "UPDATE idemsvc.unfinished SET since = since - $2 * interval '1 microsecond' WHERE id = $1", [16]byte(id), us)
	h.exec(t, `UPDATE idemsvc.attempt SET granted_at = granted_at - $2 * interval '1 microsecond', ended_at = ended_at - $2 * interval '1 microsecond',
		due_at = due_at - $2 * interval '1 microsecond' WHERE event = $1`, [16]byte(id), us)
	h.exec(t, "UPDATE idemsvc.effect SET lease_until = lease_until - $2 * interval '1 microsecond', since = since - $2 * interval '1 microsecond' WHERE id = $1", [16]byte(id), us)
	h.exec(t, "UPDATE idemsvc.resource SET gap_since = gap_since - $2 * interval '1 microsecond', changed_at = changed_at - $2 * interval '1 microsecond' WHERE id = $1", [16]byte(id), us)
	h.hint(t, id)
}

func (h harness) Retain(t testing.TB) {
	t.Helper()
	eventually(t, time.Minute, "the lead for retention", func() bool {
		leads, err := h.store.Retain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return leads
	})
}

// shared opens one store for all tests of a suite: each works in a namespace of its own.
func shared(t *testing.T) storagetest.Open {
	t.Helper()
	var once sync.Once
	var h harness
	parent := t
	return func(testing.TB) storagetest.Harness {
		once.Do(func() {
			o := quiet
			o.Policies = storagetest.PolicyOf
			h.store, h.pool = openStore(parent, o)
		})
		return h
	}
}

func TestConformance(t *testing.T) { storagetest.Run(t, shared(t)) }

func ExampleStore() {
	fmt.Println(postgres.RequiredSchema())
	// Output: 10
}

// Claims of events that another replica knows are read first once that is what they mostly
// are, and inserted first again when it is no longer so. Both are answered rightly all along.
func TestDuplicatesOfAnotherReplica(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	other, _ := openOn(t, pool.Config().ConnString(), quiet)
	fences := func() int64 { return scalar[int64](t, pool, "SELECT last_value FROM idemsvc.fence") }
	const n = 300
	batch := func(b *postgres.Store, from, to int, want idem.Outcome) {
		t.Helper()
		var cmds []idem.Command
		for i := from; i < to; i++ {
			cmds = append(cmds, claimOf("ns", fmt.Sprint("e", i)))
		}
		for _, r := range b.Apply(t.Context(), cmds) {
			if outcomeOf(r) != want.String() {
				t.Errorf("answered %s, want %s", outcomeOf(r), want)
			}
		}
	}
	batch(s, 0, n, idem.OutcomeClaimed)
	before := fences()
	batch(other, 0, n/2, idem.OutcomeInProgress)
	middle := fences()
	batch(other, n/2, n, idem.OutcomeInProgress)
	if after := fences(); after != middle || middle == before {
		t.Errorf("fences were drawn in vain: %d, then %d; want some, then none", middle-before, after-middle)
	}
	for i := range 3 {
		batch(other, n*(i+1), n*(i+2), idem.OutcomeClaimed)
	}
	if used := fences() - middle; used != 3*n {
		t.Errorf("%d fences for %d fresh claims", used, 3*n)
	}
}

// A result names the transaction that wrote it, as the row does; one that wrote nothing
// names none.
func TestResultsNameTheirTransaction(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	xmin := func(table string) int64 {
		return scalar[int64](t, pool, "SELECT xmin::text::bigint FROM idemsvc."+table)
	}
	c := claimOf("ns", "e")
	res := one(s, c)
	if res.TxID == 0 || res.TxID&0xffffffff != xmin("event") {
		t.Errorf("first claim: transaction %d, the row names %d", res.TxID, xmin("event"))
	}
	tok := tokenFrom(t, c, res)
	res = one(s, &idem.Check{Token: &tok, Ordering: *lane(claimOf("ns", "x"), "r", 5).Ordering})
	if res.TxID == 0 || res.TxID&0xffffffff != xmin("resource") {
		t.Errorf("check: transaction %d, the row names %d", res.TxID, xmin("resource"))
	}
	res = one(s, completeOf(tok, "ok"))
	if res.TxID == 0 || res.TxID&0xffffffff != xmin("event") {
		t.Errorf("completion: transaction %d, the row names %d", res.TxID, xmin("event"))
	}
	if res := one(s, c); res.Err != nil || res.TxID != 0 {
		t.Errorf("duplicate: transaction %d, %v; want none", res.TxID, res.Err)
	}
}
