package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// openAlone opens a store over a cluster of the test's own without autovacuum: what becomes of
// dead rows depends on all that runs beside it.
func openAlone(t *testing.T) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	url := pgtest.Cluster(t, embedded.Options{Settings: map[string]string{"autovacuum": "off"}}).URL("postgres")
	if err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return openOn(t, url, quiet)
}

// workedOn are claims with lanes, of which each is extended again and again.
func workedOn(t *testing.T, s *postgres.Store, n int) []idem.Token {
	t.Helper()
	out := make([]idem.Token, n)
	for i := range out {
		out[i] = grantOf(t, s, lane(claimOf("ns", fmt.Sprint("e", i)), fmt.Sprint("r", i), 1))
	}
	follow(t, s)
	return out
}

// heartbeats extends all claims so many times.
func heartbeats(t *testing.T, s *postgres.Store, claims []idem.Token, times int) {
	t.Helper()
	for range times {
		cmds := make([]idem.Command, len(claims))
		for i, tok := range claims {
			cmds[i] = &idem.Extend{Token: tok, Lease: 30 * time.Minute}
		}
		for _, r := range s.Apply(t.Context(), cmds) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
}

// O-36: heartbeats change no indexed column of any table, and no other table than that of
// events.
func TestO36HeartbeatsAreHOT(t *testing.T) {
	t.Parallel()
	s, pool := openAlone(t)
	claims := workedOn(t, s, 20)
	admin := connectTo(t, pool.Config().ConnString())
	counts := func() map[string][2]int {
		t.Helper()
		rows, err := admin.Query(t.Context(), "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'idemsvc' AND n_tup_upd > 0")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		out := map[string][2]int{}
		for rows.Next() {
			var name string
			var n [2]int
			if err := rows.Scan(&name, &n[0], &n[1]); err != nil {
				t.Fatal(err)
			}
			out[name] = n
		}
		return out
	}
	const times = 100
	want := times * len(claims)
	pool.Reset() // sessions report what they did when they end
	eventually(t, 20*time.Second, "sessions have ended", func() bool {
		return scalarOn[int](t, admin, "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()") == 0
	})
	before := counts()
	heartbeats(t, s, claims, times)
	follow(t, s)
	pool.Reset()
	eventually(t, 20*time.Second, "statistics", func() bool { return counts()["event"][0] >= before["event"][0]+want })
	for name, n := range counts() {
		updates, hot := n[0]-before[name][0], n[1]-before[name][1]
		switch {
		case name == "event":
			if updates != want || float64(hot) < 0.95*float64(updates) {
				t.Errorf("%d of %d updates for %d heartbeats were HOT, want more than 95 %%", hot, updates, want)
			}
		case name != "follower" && updates > 0:
			t.Errorf("heartbeats updated %d rows of %s", updates, name)
		}
	}
}

// O-36: no transaction of the service is as old as the work of a client, whatever it waits for
// meanwhile: claims live, an operation is under way, workers and duplicates wait.
func TestO36NoTransactionSpansAClientsWork(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, postgres.Options{})
	svc := service(t, s, storage.Options{})
	c := lane(claimOf("ns", "works"), "r", 1)
	r := svc.Do(t.Context(), c)
	tok := tokenFrom(t, c, r)
	begin := svc.Do(t.Context(), &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "mailer", Event: tok.Event, Key: "charge"},
		BeginID: "b1", RequestHash: []byte("h"), Lease: time.Hour, Nonce: randomID(),
	})
	if begin.Err != nil {
		t.Fatal(begin.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{}, 2)
	go func() {
		_, _ = svc.Acquire(ctx, acquiring(1, time.Minute))
		ended <- struct{}{}
	}()
	go func() {
		_ = svc.Claim(ctx, claimOf("ns", "works"), time.Minute)
		ended <- struct{}{}
	}()
	eventually(t, 20*time.Second, "a worker and a duplicate wait", func() bool { x := svc.Stats(); return x.Acquiring == 1 && x.Waiting == 1 })
	admin := connectTo(t, pool.Config().ConnString())
	var now time.Time
	if err := admin.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "all transactions that had begun by then have ended", func() bool {
		return scalarOn[int](t, admin, `SELECT count(*)::int FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start <= $1`, now) == 0
	})
	if x := svc.Stats(); x.Acquiring != 1 || x.Waiting != 1 {
		t.Errorf("they wait no more: %+v", x)
	}
	cancel()
	<-ended
	<-ended
}

// O-36: dead rows that a long transaction elsewhere keeps are gone after its end by an
// ordinary vacuum beside the work, as autovacuum does it: no VACUUM FULL.
func TestO36DeadRowsGoAfterALongTransaction(t *testing.T) {
	t.Parallel()
	s, pool := openAlone(t)
	claims := workedOn(t, s, 20)
	conn, keeper := connectTo(t, pool.Config().ConnString()), connectTo(t, pool.Config().ConnString())
	var buckets []int16
	var ids [][16]byte
	for _, tok := range claims {
		buckets, ids = append(buckets, tok.Event.Bucket()), append(ids, tok.Event)
	}
	blocks := func() int {
		t.Helper()
		return blocksOf(t, conn, postgres.Statements()["read_events"], []any{buckets, ids})
	}
	size := func() int64 {
		t.Helper()
		return scalar[int64](t, pool, "SELECT pg_relation_size('idemsvc.event') + pg_indexes_size('idemsvc.event')")
	}
	const times = 150
	heartbeats(t, s, claims, times)
	blocks()
	start, small := blocks(), size()
	onConn(t, keeper, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	onConn(t, keeper, "SELECT count(*) FROM idemsvc.event")
	heartbeats(t, s, claims, times)
	held, large := blocks(), size()
	onConn(t, keeper, "ROLLBACK")
	after := 0
	eventually(t, 20*time.Second, "records are read as they were", func() bool {
		vacuum(t, pool, "VACUUM")
		heartbeats(t, s, claims, 2)
		after = blocks()
		return after <= 2*start
	})
	heartbeats(t, s, claims, times)
	last := size()
	t.Logf("blocks for %d records: %d, %d under a long transaction, %d after it; bytes: %d, %d, %d", len(claims), start, held, after, small, large, last)
	if held < 5*start || large < 5*small {
		t.Error("nothing was kept: the test is blind")
	}
	if last > large {
		t.Errorf("the table still grows: %d bytes, %d when the transaction ended", last, large)
	}
}

func scalarOn[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
