package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// aged lets time pass for everything that is stored.
func aged(t testing.TB, pool *pgxpool.Pool, d time.Duration) {
	t.Helper()
	us := d.Microseconds()
	execSQL(t, pool, `UPDATE idemsvc.event SET created_at = created_at - $1 * interval '1 microsecond', granted_at = granted_at - $1 * interval '1 microsecond',
		ended_at = ended_at - $1 * interval '1 microsecond'`, us)
	execSQL(t, pool, "UPDATE idemsvc.effect SET since = since - $1 * interval '1 microsecond'", us)
	execSQL(t, pool, "UPDATE idemsvc.resource SET changed_at = changed_at - $1 * interval '1 microsecond'", us)
}

func finish(t testing.TB, s *postgres.Store, ns string, n int) {
	t.Helper()
	cmds := make([]idem.Command, n)
	for i := range cmds {
		cmds[i] = claimOf(ns, fmt.Sprint("e", i))
	}
	ends := make([]idem.Command, n)
	for i, r := range s.Apply(t.Context(), cmds) {
		ends[i] = completeOf(tokenFrom(t, cmds[i], r), "done")
	}
	for _, r := range s.Apply(t.Context(), ends) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func retain(t testing.TB, s *postgres.Store) {
	t.Helper()
	if leads, err := s.Retain(t.Context()); err != nil || !leads {
		t.Fatalf("retention: leads %v, %v", leads, err)
	}
}

const beyond = 36 * 24 * time.Hour // the default retention of events

// Nothing is left of what hung on an event, the journal tells of its end, and what was
// removed is counted.
func TestRetentionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	again := claimOf("ns", "again")
	first := grantOf(t, s, again)
	must[*idem.EndAnswer](t, s, &idem.Release{Token: first})
	second := claimOf("ns", "again")
	tok := grantOf(t, s, second)
	must[*idem.EffectAnswer](t, s, &idem.RecordEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "mailer", Event: tok.Event, Key: "mail"}, RequestHash: []byte("h"), Result: []byte("m"),
	})
	if err := step(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "done"))
	finish(t, s, "bulk", 1200)
	running := grantOf(t, s, claimOf("ns", "running"))
	aged(t, pool, beyond)
	retain(t, s)
	for _, table := range []string{"attempt", "effect"} {
		if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc."+table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event"); n != 1 {
		t.Errorf("%d events are left, want the running one", n)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.unfinished WHERE id <> $1", [16]byte(running.Event)); n != 0 {
		t.Errorf("%d events are still listed as unfinished", n)
	}
	forgotten := entriesOf(t, pool, tok.Event)
	if last := forgotten[len(forgotten)-1]; last.kind != int64(idem.EntryForgotten) || last.to != int64(idem.Absent) {
		t.Errorf("the journal's last word is %+v", last)
	}
	info, err := s.Info(t.Context())
	if err != nil || info.Retention.Events != 1201 || info.Retention.PassedAt == 0 {
		t.Errorf("%+v, %v", info.Retention, err)
	}
	// Made again in the same moment, it is unfinished work like any other.
	grantOf(t, s, claimOf("ns", "again"))
	if err := step(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.unfinished WHERE id = $1", [16]byte(tok.Event)); n != 1 {
		t.Error("made again, it is not listed as unfinished")
	}
}

// The test that a record may go is part of the statement that removes it: what changed since
// it was read stays.
func TestRetentionTestsWhatItRemoves(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	finish(t, s, "ns", 1)
	id := [16]byte(keyOf("ns", "e0").ID())
	forget := func(version int64, keep time.Duration) int64 {
		return scalar[int64](t, pool, postgres.Statements()["forget_events"], [][16]byte{id}, []int64{version}, []int64{keep.Microseconds()}, []byte{})
	}
	if n := forget(2, time.Hour); n != 0 {
		t.Error("it went before its time")
	}
	aged(t, pool, beyond)
	if n := forget(1, time.Hour); n != 0 {
		t.Error("it went as another version")
	}
	// A replay was asked for.
	must[*idem.EndAnswer](t, s, &idem.Replay{Event: keyOf("ns", "e0").ID(), RequestID: "r"})
	for version := range int64(5) {
		if n := forget(version, time.Hour); n != 0 {
			t.Error("it went while its replay waits")
		}
	}
	execSQL(t, pool, "UPDATE idemsvc.event SET state = 3")
	execSQL(t, pool, "INSERT INTO idemsvc.effect (bucket, id, namespace, scope, consumer, key, version, state, event) VALUES (0, gen_random_uuid(), 'ns', 3, '', 'k', 1, 4, $1)", id)
	if n := forget(3, time.Hour); n != 0 {
		t.Error("it went with a side effect of unknown outcome")
	}
	execSQL(t, pool, "UPDATE idemsvc.effect SET state = 2")
	// Somebody has locked it: it is left, not waited for.
	conn := connectTo(t, pool.Config().ConnString())
	onConn(t, conn, "BEGIN")
	onConn(t, conn, "SELECT FROM idemsvc.event FOR UPDATE")
	if n := forget(3, time.Hour); n != 0 {
		t.Error("a locked row went")
	}
	onConn(t, conn, "ROLLBACK")
	if n := forget(3, time.Hour); n != 1 {
		t.Error("it did not go when nothing stood against it")
	}
}

// O-34: a row that cannot be removed is told of, and its neighbours go.
func TestO34OneBadRowDoesNotStopRetention(t *testing.T) {
	t.Parallel()
	log := &logLines{}
	o := quiet
	o.Logger = slogOf(log)
	s, pool := openStore(t, o)
	finish(t, s, "ns", 500)
	execSQL(t, pool, `CREATE FUNCTION public.stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'it stays' USING ERRCODE = '23514'; END $$`)
	execSQL(t, pool, "CREATE TRIGGER stay BEFORE DELETE ON idemsvc.event FOR EACH ROW WHEN (OLD.event_id = 'e77') EXECUTE FUNCTION public.stay()")
	execSQL(t, pool, "UPDATE idemsvc.event SET facts = '\\xff' WHERE event_id = 'e88'") // and one that cannot be read
	aged(t, pool, beyond)
	retain(t, s)
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event"); n != 2 {
		t.Errorf("%d events are left, want the two that cannot go", n)
	}
	for _, event := range []string{"e77", "e88"} {
		if len(log.with(keyOf("ns", event).ID().String())) == 0 {
			t.Errorf("nothing was told of %s", event)
		}
	}
}

// One replica leads; when it has not been heard of for a while, another one does.
func TestOneReplicaLeadsRetention(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	other, _ := openOn(t, pool.Config().ConnString(), quiet)
	execSQL(t, pool, "UPDATE idemsvc.retention SET holder = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 minute'")
	for _, r := range []*postgres.Store{s, other} {
		if leads, err := r.Retain(t.Context()); leads || err != nil {
			t.Errorf("leads %v beside another, %v", leads, err)
		}
	}
	execSQL(t, pool, "UPDATE idemsvc.retention SET lease_until = clock_timestamp()")
	retain(t, other)
	retain(t, s)
	// And it runs by itself.
	finish(t, s, "ns", 3)
	aged(t, pool, beyond)
	openOn(t, pool.Config().ConnString(), postgres.Options{Follow: -1, Retain: time.Millisecond})
	eventually(t, 30*time.Second, "the background removes what is past its retention", func() bool {
		return scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event") == 0
	})
}

// Partitions go whole once they are past every retention; what belongs to unfinished work
// moves on first, and of the journal nothing goes that has not been read.
func TestPartitionsArePastEveryRetention(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	dead := claimOf("ns", "dead")
	dead.Facts.Correlation = "corr-dead"
	dead.Payload, dead.Facts.PayloadSize, dead.Facts.PayloadHash = []byte("{}"), 2, []byte("h")
	tok := grantOf(t, s, dead)
	must[*idem.EndAnswer](t, s, &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Terminal, Code: "X"}})
	over := claimOf("ns", "over")
	over.Payload, over.Facts.PayloadSize, over.Facts.PayloadHash = []byte("{}"), 2, []byte("h")
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, over), "done"))
	if err := s.RecordDeliveries(t.Context(), []storage.Delivery{{Event: tok.Event, Key: dead.Key, Identity: randomID(), Outcome: idem.OutcomeFailedTerminal}}); err != nil {
		t.Fatal(err)
	}
	if err := step(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	// A day that lies 40 days back, with what was written today, and one that lies 20 back.
	old, young := time.Now().UTC().AddDate(0, 0, -40), time.Now().UTC().AddDate(0, 0, -20)
	for _, table := range []struct{ name, at, all string }{
		{"payload", "received_at", "ref, hash, payload"}, {"delivery", "recorded_at", "event, identity, detail"},
		{"lookup", "at", "term, id"}, {"journal", "at", "xid, epoch, heads, body, hash"},
	} {
		for _, day := range []time.Time{old, young} {
			part := table.name + "_" + day.Format("20060102")
			execSQL(t, pool, fmt.Sprintf("CREATE TABLE idemsvc.%s PARTITION OF idemsvc.%s FOR VALUES FROM ('%s') TO ('%s')",
				part, table.name, day.Format(time.DateOnly)+" 00:00Z", day.AddDate(0, 0, 1).Format(time.DateOnly)+" 00:00Z"))
		}
		execSQL(t, pool, fmt.Sprintf("WITH x AS (DELETE FROM idemsvc.%[1]s RETURNING *) INSERT INTO idemsvc.%[1]s (%[2]s, %[3]s) SELECT '%[4]s 12:00Z', %[3]s FROM x",
			table.name, table.at, table.all, old.Format(time.DateOnly)))
	}
	execSQL(t, pool, "UPDATE idemsvc.follower SET read_at = clock_timestamp() - interval '40 days'")
	parts := func(table string) []string {
		rows, err := pool.Query(t.Context(), "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::text::regclass", "idemsvc."+table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var out []string
		for rows.Next() {
			var n string
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
		return out
	}
	has := func(table string, day time.Time) bool {
		return slices.Contains(parts(table), table+"_"+day.Format("20060102"))
	}
	retain(t, s)
	for table, want := range map[string][2]bool{"payload": {false, false}, "delivery": {false, true}, "lookup": {false, true}, "journal": {true, true}} {
		if got := [2]bool{has(table, old), has(table, young)}; got != want {
			t.Errorf("%s: the partitions of 40 and of 20 days ago are there: %v, want %v", table, got, want)
		}
	}
	if err := step(t.Context(), s); err != nil { // which has read the journal now
		t.Fatal(err)
	}
	retain(t, s)
	if has("journal", old) || !has("journal", young) {
		t.Errorf("journal: %v", parts("journal"))
	}
	// The dead letter has all that it had; what is over has lost its payload.
	found, err := s.Lookup(t.Context(), storage.Query{Namespace: "ns", Kind: storage.ByCorrelation, Value: "corr-dead"})
	if err != nil || len(found.Views) != 1 || len(found.Views[0].Deliveries) != 1 {
		t.Errorf("the dead letter is found %d times: %v", len(found.Views), err)
	}
	for event, want := range map[string]bool{"dead": true, "over": false} {
		if _, ok, err := s.Payload(t.Context(), keyOf("ns", event).EventRef); err != nil || ok != want {
			t.Errorf("payload of %s: %v, want %v, %v", event, ok, want, err)
		}
	}
	// One policy that keeps for ever keeps them.
	execSQL(t, pool, fmt.Sprintf("CREATE TABLE idemsvc.lookup_%s PARTITION OF idemsvc.lookup FOR VALUES FROM ('%s') TO ('%s')", old.Format("20060102"),
		old.Format(time.DateOnly)+" 00:00Z", old.AddDate(0, 0, 1).Format(time.DateOnly)+" 00:00Z"))
	rules := []idem.Rule{{Consumer: "archive", Set: map[string]string{"retain_events": "forever"}}}
	if bad := idem.CheckRules(rules); bad != nil {
		t.Fatal(bad)
	}
	apply(t, s, "other", 0, rules)
	retain(t, s)
	if !has("lookup", old) {
		t.Error("a partition went though a policy keeps it for ever")
	}
}

// The function that drops partitions keeps what is young, whoever calls it.
func TestRetireSeesForItself(t *testing.T) {
	t.Parallel()
	_, pool := openStore(t, quiet)
	before := scalar[int](t, pool, "SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'idemsvc.journal'::regclass")
	if n := scalar[int](t, pool, "SELECT idemsvc.retire('journal', 'infinity')"); n != 0 {
		t.Error("it dropped a partition of today")
	}
	if after := scalar[int](t, pool, "SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'idemsvc.journal'::regclass"); after != before {
		t.Errorf("%d partitions, then %d", before, after)
	}
	if _, err := pool.Exec(t.Context(), "SELECT idemsvc.retire('event', 'infinity')"); err == nil {
		t.Error("a table that is not divided by time was taken")
	}
}

// Policies decide for how long: each event by its own.
func TestRetentionIsByPolicy(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	rules := []idem.Rule{{Consumer: "mailer", Type: "short", Set: map[string]string{"retain_events": "2d", "retain_payloads": "1d", "longest_resend": "1d"}}}
	if bad := idem.CheckRules(rules); bad != nil {
		t.Fatal(bad)
	}
	apply(t, s, "ns", 0, rules)
	for _, e := range []struct{ ns, event, typ string }{{"ns", "short", "short"}, {"ns", "long", "long"}, {"other", "short", "short"}} {
		c := claimOf(e.ns, e.event)
		c.Facts.Type = e.typ
		c.Payload, c.Facts.PayloadSize, c.Facts.PayloadHash = []byte("{}"), 2, []byte("h")
		must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, c), "done"))
	}
	left := func() (events, payloads int) {
		return scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event"), scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.payload")
	}
	aged(t, pool, 36*time.Hour)
	retain(t, s)
	if e, p := left(); e != 3 || p != 2 {
		t.Errorf("after 36 hours %d events and %d payloads are left, want 3 and 2", e, p)
	}
	aged(t, pool, 24*time.Hour)
	retain(t, s)
	if e, _ := left(); e != 2 {
		t.Errorf("after 60 hours %d events are left, want 2", e)
	}
}
