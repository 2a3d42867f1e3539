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

// entry is one entry of the journal, decoded without the store's help.
type entry struct {
	at                time.Time
	xid, epoch, fence int64
	id                [16]byte
	seq, policy       int64
	subject, kind, to int64
	also              map[[17]byte]int64 // versions of the records that changed along with it
}

// name tells records of different kinds apart.
func name(subject int64, id [16]byte) [17]byte {
	return [17]byte(append([]byte{byte(subject)}, id[:]...))
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// entries reads the journal, and checks the hash of each of its rows.
func entries(t testing.TB, q querier) (out []entry) {
	t.Helper()
	rows, err := q.Query(context.Background(), "SELECT at, xid, epoch, heads, body, hash FROM idemsvc.journal ORDER BY epoch, xid")
	if err != nil {
		t.Fatal(err)
	}
	var at time.Time
	var xid, epoch int64
	var heads, body, hash []byte
	_, err = pgx.ForEachRow(rows, []any{&at, &xid, &epoch, &heads, &body, &hash}, func() error {
		if want := wantHash(at, xid, epoch, heads, body); !bytes.Equal(hash, want) {
			t.Errorf("a block of transaction %d has the hash %x, want %x", xid, hash, want)
		}
		out = append(out, decodeBlock(t, entry{at: at, xid: xid, epoch: epoch}, heads, body)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wantHash computes a block's hash from its columns: big-endian numbers, the instant as
// microseconds since 2000.
func wantHash(at time.Time, xid, epoch int64, heads, body []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(len(heads)))
	sum := sha256.Sum256(slices.Concat(b, heads, body))
	return sum[:]
}

func decodeBlock(t testing.TB, in entry, heads, body []byte) (out []entry) {
	t.Helper()
	fences := map[[16]byte]int64{}
	for ; len(heads) >= 24; heads = heads[24:] {
		fences[[16]byte(heads[:16])] = int64(binary.BigEndian.Uint64(heads[16:24]))
	}
	r := tlv.NewReader(body, 1)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		e := in
		e.also = map[[17]byte]int64{}
		var lead [16]byte
		g := f.Sub()
		for f, ok := g.Next(); ok; f, ok = g.Next() {
			switch f.Tag {
			case 1:
				e.id = [16]byte(f.Value)
				lead = e.id
			case 2:
				e.seq = f.Int()
			case 3:
				e.subject = f.Int()
			case 4:
				e.kind = f.Int()
			case 6:
				e.to = f.Int()
			case 8:
				e.policy = f.Int()
			case 21:
				also(f.Sub(), e.also)
			case 40:
				lead = [16]byte(f.Value)
			}
		}
		if err := g.Err(); err != nil {
			t.Errorf("an entry of transaction %d: %v", in.xid, err)
		}
		var won bool
		if e.fence, won = fences[lead]; won {
			out = append(out, e)
		}
	}
	if err := r.Err(); err != nil || len(heads) != 0 {
		t.Errorf("a block of transaction %d: %v, %d bytes of heads are left", in.xid, err, len(heads))
	}
	return out
}

func also(r *tlv.Reader, into map[[17]byte]int64) {
	var subject, seq int64
	var id [16]byte
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			subject = f.Int()
		case 2:
			id = [16]byte(f.Value)
		case 3:
			seq = f.Int()
		}
	}
	into[name(subject, id)] = seq
}

// entriesOf are the entries about one record.
func entriesOf(t testing.TB, q querier, id [16]byte) (out []entry) {
	t.Helper()
	for _, e := range entries(t, q) {
		if e.id == id {
			out = append(out, e)
		}
	}
	return out
}

// checkJournal: the journal tells of each version of each record exactly once, from the
// first to the stored one, and its hashes are those of its columns. A record that was
// forgotten begins anew, and so do the side effects of a forgotten event. Journal and records are
// read in one snapshot: the sweeper ends leases while the test looks.
func checkJournal(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	tx, err := pool.BeginTx(context.Background(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	versions, forgotten := map[[17]byte][]int64{}, map[[17]byte]bool{}
	for _, e := range entries(t, tx) {
		n := name(e.subject, e.id)
		if e.kind == int64(idem.EntryForgotten) {
			if e.seq != int64(len(versions[n]))+1 {
				t.Errorf("%x was forgotten as version %d; the journal tells of %v", e.id, e.seq-1, versions[n])
			}
			delete(versions, n)
			forgotten[n] = true
			continue
		}
		versions[n] = append(versions[n], e.seq)
		for n, seq := range e.also {
			versions[n] = append(versions[n], seq)
		}
	}
	bad := 0
	for subject, table := range map[int64]string{1: "event", 2: "resource", 3: "effect"} {
		owner := "NULL::uuid"
		if table == "effect" {
			owner = "key_event"
		}
		rows, err := tx.Query(context.Background(), "SELECT id, version, "+owner+" FROM idemsvc."+table)
		if err != nil {
			t.Fatal(err)
		}
		var id [16]byte
		var version int64
		var of *[16]byte
		_, err = pgx.ForEachRow(rows, []any{&id, &version, &of}, func() error {
			got := versions[name(subject, id)]
			if of != nil && forgotten[name(1, *of)] {
				got = got[max(0, len(got)-int(version)):] // before are those that went with the event
			}
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
		told := map[string]int64{} // the low half of the transaction that told of a version
		for _, e := range entries(t, pool) {
			if e.subject == 1 {
				told[fmt.Sprintf("%x %d", e.id, e.seq)] = e.xid & 0xffffffff
			}
		}
		rows, err := pool.Query(t.Context(), "SELECT id, version, xmin::text::bigint FROM idemsvc.event")
		if err != nil {
			t.Fatal(err)
		}
		var id [16]byte
		var version, xmin int64
		_, err = pgx.ForEachRow(rows, []any{&id, &version, &xmin}, func() error {
			if told[fmt.Sprintf("%x %d", id, version)] != xmin {
				t.Errorf("%s: the last change of %x, to version %d, has no entry in its transaction", step, id, version)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
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
	for _, e := range entries(t, pool) {
		if e.policy != 7 {
			t.Errorf("the entry of version %d of %x names policy %d, want 7", e.seq, e.id, e.policy)
		}
		if e.subject == 1 && e.fence == 0 {
			t.Errorf("the entry of version %d of %x names no fence", e.seq, e.id)
		}
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
	vacuum(t, pool, "VACUUM")
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
