package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// entry is a stored journal entry, all of what its hash covers.
type entry struct {
	at                   time.Time
	id                   [16]byte
	seq, fence, epoch    int64
	policy               int32
	subject, kind, state int16
	body, hash           []byte
}

// wantHash computes the hash from the columns: big-endian, in the order of the statement
// that writes them, the instant as microseconds since 2000.
func (e *entry) wantHash() []byte {
	b := slices.Clone(e.id[:])
	b = binary.BigEndian.AppendUint64(b, uint64(e.seq))
	b = binary.BigEndian.AppendUint64(b, uint64(e.fence))
	b = binary.BigEndian.AppendUint64(b, uint64(e.epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(e.at.UnixMicro()-time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()))
	b = binary.BigEndian.AppendUint32(b, uint32(e.policy))
	for _, v := range []int16{e.subject, e.kind, e.state, 0} {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	sum := sha256.Sum256(append(b, e.body...))
	return sum[:]
}

// also are the records that changed along with the entry's subject.
func (e *entry) also(t testing.TB) map[[17]byte][]int64 {
	t.Helper()
	out := map[[17]byte][]int64{}
	r := tlv.NewReader(e.body, 1)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		if f.Tag != 16 {
			continue
		}
		var name [17]byte
		var seq int64
		g := f.Sub()
		for f, ok := g.Next(); ok; f, ok = g.Next() {
			switch f.Tag {
			case 1:
				name[0] = byte(f.Int())
			case 2:
				copy(name[1:], f.Bytes())
			case 3:
				seq = f.Int()
			}
		}
		out[name] = append(out[name], seq)
	}
	if err := r.Err(); err != nil {
		t.Errorf("body of entry %d of %x: %v", e.seq, e.id, err)
	}
	return out
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func entries(t testing.TB, q querier) (out []entry) {
	t.Helper()
	rows, err := q.Query(context.Background(), "SELECT at, id, seq, fence, epoch, policy, subject, kind, state, body, hash FROM idemsvc.journal ORDER BY epoch, xid, id, seq")
	if err != nil {
		t.Fatal(err)
	}
	out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e entry, err error) {
		err = row.Scan(&e.at, &e.id, &e.seq, &e.fence, &e.epoch, &e.policy, &e.subject, &e.kind, &e.state, &e.body, &e.hash)
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkJournal: the journal tells of each version of each record exactly once, from the
// first to the stored one, and its hashes are those of its columns. Journal and records are
// read in one snapshot: the sweeper ends leases while the test looks.
func checkJournal(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	tx, err := pool.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	versions := map[[17]byte][]int64{}
	for _, e := range entries(t, tx) {
		if want := e.wantHash(); !bytes.Equal(e.hash, want) {
			t.Errorf("entry %d of %x has the hash %x, want %x", e.seq, e.id, e.hash, want)
		}
		name := [17]byte{byte(e.subject)}
		copy(name[1:], e.id[:])
		versions[name] = append(versions[name], e.seq)
		for name, seqs := range e.also(t) {
			versions[name] = append(versions[name], seqs...)
		}
	}
	bad := 0
	for subject, table := range map[byte]string{1: "event", 2: "resource", 3: "effect"} {
		rows, err := tx.Query(context.Background(), "SELECT id, version FROM idemsvc."+table)
		if err != nil {
			t.Fatal(err)
		}
		var id [16]byte
		var version int64
		_, err = pgx.ForEachRow(rows, []any{&id, &version}, func() error {
			name := [17]byte{subject}
			copy(name[1:], id[:])
			got := versions[name]
			slices.Sort(got)
			for i := range max(int(version), len(got)) {
				if int64(len(got)) != version || got[i] != int64(i)+1 {
					if bad++; bad < 10 {
						t.Errorf("%s %x has version %d; the journal tells of %v", table, id, version, got)
					}
					break
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every change has its entry in its own transaction.
func TestP14JournalIsWhole(t *testing.T) {
	t.Parallel()
	o := quiet
	o.Policies = func(idem.EventKey, string) *idem.Policy {
		p := idem.DefaultPolicy()
		p.Version = 7
		return p
	}
	s, pool := openStore(t, o)
	inOneTransaction := func(step string) {
		t.Helper()
		n := scalar[int](t, pool, `SELECT count(*)::int FROM idemsvc.event e JOIN idemsvc.journal j ON j.id = e.id AND j.seq = e.version AND j.subject = 1
			WHERE e.xmin::text::bigint = j.xid & 4294967295`)
		if all := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event"); n != all {
			t.Errorf("%s: %d of %d records have the entry of their last change in its transaction", step, n, all)
		}
	}
	claim := func(event string) idem.Token {
		t.Helper()
		return grantOf(t, s, lane(claimOf("ns", event), "r-"+event, 1))
	}
	end := func(c idem.Command) {
		t.Helper()
		must[*idem.EndAnswer](t, s, c)
		inOneTransaction(fmt.Sprintf("%T", c))
	}

	tok := claim("completed")
	inOneTransaction("claim")
	a := must[*idem.EffectAnswer](t, s, &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "ns", Key: "charge"},
		BeginID: "b", RequestHash: []byte("h"), Target: "bank", Lease: time.Hour, Nonce: randomID(),
	})
	inOneTransaction("begin")
	must[*idem.EffectAnswer](t, s, &idem.ReportEffect{Token: a.Token, State: idem.EffectDone, Result: []byte("ok")})
	must[*idem.EffectAnswer](t, s, &idem.RecordEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "mailer", Event: tok.Event, Key: "mail"}, Result: []byte("ok"), Target: "smtp",
	})
	must[*idem.CheckAnswer](t, s, &idem.Check{Token: &tok, Ordering: *lane(claimOf("ns", "x"), "r2", 5).Ordering})
	inOneTransaction("check")
	end(completeOf(tok, "ok"))
	end(&idem.Replay{Event: tok.Event, RequestID: "again", Who: "op", Why: "test"})
	end(failOf(claim("failed")))
	end(&idem.Fail{Token: claim("terminal"), Error: idem.Failure{Kind: idem.Terminal, Code: "X"}})
	end(&idem.Release{Token: claim("released"), Why: "stop"})
	must[*idem.CheckAnswer](t, s, &idem.Check{By: randomID(), Ordering: *lane(claimOf("ns", "x"), "r3", 5).Ordering})

	held := claimOf("ns", "held")
	held.Stale = idem.Hold
	h := grantOf(t, s, held)
	other := claim("swept")
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = ANY ($1)", [][16]byte{h.Event, other.Event})
	must[*idem.EndAnswer](t, s, &idem.Settle{Event: h.Event})
	end(&idem.Settle{Event: other.Event})
	end(&idem.Resolve{Event: h.Event, To: idem.ResolveProcessed, Result: []byte("by hand"), Who: "op", Why: "known"})

	// A lane taken from an expired owner settles that owner in the same transaction.
	old := claim("owner")
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(old.Event))
	grantOf(t, s, lane(claimOf("ns", "heir"), "r-owner", 2))
	inOneTransaction("taking a lane")

	checkJournal(t, pool)
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.journal WHERE policy <> 7"); n != 0 {
		t.Errorf("%d entries do not name the policy", n)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM (SELECT FROM idemsvc.journal GROUP BY id, seq, subject HAVING count(*) > 1) x"); n != 0 {
		t.Errorf("%d versions are told twice", n)
	}
}

func TestHeartbeatsWriteNoEntry(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	before := rowOf(t, pool, keyOf("ns", "e"))
	var until idem.Instant
	for range 20 {
		a := must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: tok, Lease: time.Hour})
		if a.LeaseUntil < until {
			t.Errorf("the lease shrank from %d to %d", until, a.LeaseUntil)
		}
		until = a.LeaseUntil
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.journal"); n != 1 {
		t.Errorf("%d entries after heartbeats, want 1", n)
	}
	if after := rowOf(t, pool, keyOf("ns", "e")); after != before {
		t.Errorf("the record became %+v, was %+v", after, before)
	}
	stored := scalar[time.Time](t, pool, "SELECT lease_until FROM idemsvc.event")
	if idem.InstantOf(stored) != until {
		t.Errorf("stored lease %v, answered %v", stored, until.Time())
	}
}

// still is a server on which nothing writes but the test.
func still(t *testing.T) *embedded.Server {
	t.Helper()
	return cluster(t, embedded.Options{Settings: map[string]string{
		"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1h", "max_wal_size": "8GB",
	}})
}

// Duplicates write nothing: no WAL, no transaction ID, no fence.
func TestDuplicatesWriteNothing(t *testing.T) {
	t.Parallel()
	srv := still(t)
	s, pool := openOn(t, srv.URL("postgres"), quiet)
	const n = 100
	var done, claims, fresh []idem.Command
	for i := range n {
		done = append(done, completeOf(grantOf(t, s, claimOf("ns", fmt.Sprint("done", i))), "ok"))
	}
	for _, r := range s.Apply(t.Context(), done) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for i := range n {
		grantOf(t, s, claimOf("ns", fmt.Sprint("live", i)))
	}
	for i := range n {
		claims = append(claims, claimOf("ns", fmt.Sprint("done", i)), claimOf("ns", fmt.Sprint("live", i)))
		fresh = append(fresh, claimOf("ns", fmt.Sprint("fresh", i)))
	}
	execSQL(t, pool, "VACUUM")
	execSQL(t, pool, "CHECKPOINT")
	state := func() string {
		return scalar[string](t, pool, "SELECT pg_current_wal_insert_lsn()::text || ' ' || pg_snapshot_xmax(pg_current_snapshot())::text || ' ' || (SELECT last_value FROM idemsvc.fence)")
	}
	for _, tt := range []struct {
		name string
		run  func()
	}{
		{"claims, one by one", func() {
			for i := range 5 * n {
				one(s, claims[i%len(claims)])
			}
		}},
		{"claims in batches", func() {
			for range 5 {
				s.Apply(t.Context(), claims)
			}
		}},
		{"completions again", func() {
			for range 5 {
				s.Apply(t.Context(), done)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := state()
			tt.run()
			if after := state(); after != before {
				t.Errorf("position in the WAL, next transaction and last fence are %s, were %s", after, before)
			}
		})
	}
	before := state()
	s.Apply(t.Context(), fresh)
	if state() == before {
		t.Error("first claims seem to write nothing either: the test is blind")
	}
}

// Nearly all updates are HOT: no column that changes is indexed, and pages have room.
func TestUpdatesAreHOT(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 100} {
		t.Run("batches of "+strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			s, pool := openStore(t, quiet)
			const total = 2000
			for i := 0; i < total; i += size {
				cmds := make([]idem.Command, size)
				for j := range cmds {
					cmds[j] = claimOf("ns", fmt.Sprint("e", i+j))
				}
				ends := make([]idem.Command, size)
				for j, r := range s.Apply(t.Context(), cmds) {
					ends[j] = completeOf(tokenFrom(t, cmds[j], r), "ok")
				}
				for _, r := range s.Apply(t.Context(), ends) {
					if r.Err != nil {
						t.Fatal(r.Err)
					}
				}
			}
			admin := connectTo(t, pool.Config().ConnString())
			pool.Reset() // sessions report what they did when they end
			eventually(t, 20*time.Second, "statistics", func() bool {
				var updates, hot int
				err := admin.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'idemsvc.event'::regclass").Scan(&updates, &hot)
				if err != nil {
					t.Fatal(err)
				}
				if updates < total {
					return false
				}
				if float64(hot) < 0.95*float64(updates) {
					t.Errorf("%d of %d updates were HOT, want more than 95 %%", hot, updates)
				}
				return true
			})
		})
	}
}
