package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

func follow(t testing.TB, s *postgres.Store) int64 {
	t.Helper()
	n, err := s.Follow(context.Background())
	if err != nil {
		t.Fatalf("following the journal: %v", err)
	}
	return n
}

func listed(t testing.TB, pool *pgxpool.Pool, key idem.EventKey) bool {
	t.Helper()
	return scalar[bool](t, pool, "SELECT EXISTS (SELECT FROM idemsvc.unfinished WHERE id = $1)", [16]byte(key.ID()))
}

// claimedIn writes what a first claim writes, in a transaction that stays open.
func claimedIn(t *testing.T, s *postgres.Store, pool *pgxpool.Pool, key idem.EventKey) *pgx.Conn {
	t.Helper()
	conn := insertForeign(t, s, pool, key)
	c := claimOf(key.Namespace, key.EventID)
	d := idem.Decide(&idem.World{}, c, idem.DefaultPolicy())
	heads, body := postgres.BlockOf(&d, 1)
	onConn(t, conn, `INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
		SELECT clock_timestamp(), pg_current_xact_id()::text::bigint, epoch, $1, $2, '' FROM idemsvc.meta`, heads, body)
	return conn
}

// Entries are found whatever the order of commits.
func TestFollowerFindsEntriesThatCommitOutOfOrder(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	early, middle := keyOf("ns", "early"), keyOf("ns", "middle")
	one := claimedIn(t, s, pool, early)
	grantOf(t, s, claimOf("ns", "between"))
	two := claimedIn(t, s, pool, middle)
	follow(t, s)
	if !listed(t, pool, keyOf("ns", "between")) {
		t.Error("an open transaction hides what was committed beside it")
	}
	onConn(t, two, "COMMIT")
	follow(t, s)
	if !listed(t, pool, middle) {
		t.Error("the second is not listed")
	}
	grantOf(t, s, claimOf("ns", "later"))
	follow(t, s)
	onConn(t, one, "COMMIT")
	follow(t, s)
	for _, key := range []idem.EventKey{early, keyOf("ns", "later")} {
		if !listed(t, pool, key) {
			t.Errorf("%s is not listed", key.EventID)
		}
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM (SELECT FROM idemsvc.lookup GROUP BY term, id HAVING count(*) > 1) x"); n != 0 {
		t.Errorf("%d look-up rows were written twice", n)
	}
	found, err := s.Lookup(t.Context(), storage.Query{Namespace: "ns", Kind: storage.ByEventID, Value: "early"})
	if err != nil || len(found.Views) != 1 {
		t.Errorf("look-up of the early one: %d, %v", len(found.Views), err)
	}
}

// A long way behind, it reads on in steps, and still finds what was being written while an
// earlier step was taken.
func TestFollowerCatchesUpInSteps(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	const n = 2*postgres.FollowBlocks + 10
	grantOf(t, s, claimOf("ns", "first"))
	follow(t, s)
	late := keyOf("ns", "late")
	conn := claimedIn(t, s, pool, late)
	follow(t, s)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				if r := one(s, claimOf("ns", fmt.Sprint("e", i))); r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
	wg.Wait()
	if got := follow(t, s); got != n {
		t.Errorf("read %d entries, want %d", got, n)
	}
	onConn(t, conn, "COMMIT")
	if got := follow(t, s); got != 1 || !listed(t, pool, late) {
		t.Errorf("read %d entries, want the late one; it is listed: %v", got, listed(t, pool, late))
	}
	unfinishedMatches(t, pool)
}

func TestSnapshotBelow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		xid  int64
		want string
	}{
		{"10:20:10,15", 18, "10:18:10,15"},
		{"10:20:10,15", 15, "10:15:10"},
		{"10:20:10,15", 9, "9:9:"},
		{"20:20:", 12, "12:12:"},
	} {
		if got, err := postgres.SnapshotBelow(tt.in, tt.xid); got != tt.want || err != nil {
			t.Errorf("%s below %d: %s, %v; want %s", tt.in, tt.xid, got, err, tt.want)
		}
	}
	if _, err := postgres.SnapshotBelow("20", 12); err == nil {
		t.Error("what is no snapshot passes")
	}
}

// A transaction that has written and idles, here or in another database of the cluster,
// delays nothing.
func TestIdleWriterDelaysNothing(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	for _, url := range []string{pool.Config().ConnString(), pgtest.Database(t, "empty", nil)} {
		idle := connectTo(t, url)
		onConn(t, idle, "BEGIN")
		onConn(t, idle, "CREATE TABLE public.idle (x int)")
	}
	for i := range 3 {
		c := claimOf("ns", fmt.Sprint("e", i))
		tok := grantOf(t, s, c)
		if n := follow(t, s); n != 1 || !listed(t, pool, c.Key) {
			t.Errorf("read %d entries, listed %v", n, listed(t, pool, c.Key))
		}
		must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
		if n := follow(t, s); n != 1 || listed(t, pool, c.Key) {
			t.Errorf("read %d entries, still listed %v", n, listed(t, pool, c.Key))
		}
	}
}

// unfinishedMatches: the list holds exactly the records that are not finished.
func unfinishedMatches(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if n := scalar[int](t, pool, `SELECT count(*)::int FROM idemsvc.event e FULL JOIN idemsvc.unfinished u USING (bucket, id)
		WHERE (e.id IS NOT NULL AND e.state IN (1, 2, 4, 5, 6, 8, 9)) <> (u.id IS NOT NULL) OR (u.id IS NOT NULL AND (u.state <> e.state OR u.seq <> e.version))`); n != 0 {
		t.Errorf("%d records are listed wrongly", n)
	}
}

// A replica reads behind what it wrote at its next step, and again where another was at it;
// one that does nothing looks seldom, and still finds what another left.
func TestAnIdleReplicaSeldomReads(t *testing.T) {
	t.Parallel()
	sent := &sentStatements{args: map[string][]any{}}
	url := pgtest.Database(t, "idemsvc", migrate)
	s, pool := openOn(t, url, quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	other, _ := openOn(t, url, quiet)
	read := s.Reading(0)
	step := func() (asked bool) {
		t.Helper()
		sent.reset()
		if err := read(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(sent.texts()) > 0
	}
	step()
	for i := range 3 {
		key := keyOf("ns", fmt.Sprint("own", i))
		grantOf(t, s, claimOf("ns", key.EventID))
		if !step() || !listed(t, pool, key) {
			t.Error("what this replica wrote is not read at once")
		}
	}
	key := keyOf("ns", "another's")
	grantOf(t, other, claimOf("ns", key.EventID))
	steps := 1
	for !step() && steps < 10 {
		steps++
	}
	if steps != 4 || !listed(t, pool, key) {
		t.Errorf("what another replica left was looked for at step %d, and is listed: %v", steps, listed(t, pool, key))
	}

	// The cursor was moved just now: the step is left to whoever did, and made up for.
	read = s.Reading(time.Hour)
	key = keyOf("ns", "beside")
	grantOf(t, s, claimOf("ns", key.EventID))
	if !step() || listed(t, pool, key) {
		t.Error("a step beside another replica's was not left to that one")
	}
	read = s.Reading(0)
	if !step() || !listed(t, pool, key) {
		t.Error("what another replica may not have read is not read at the next step")
	}
}

// Two replicas that take steps at once read every entry, and each once.
func TestTwoReplicasFollowAtOnce(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	other, _ := openOn(t, pool.Config().ConnString(), quiet)
	var read atomic.Int64
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for _, r := range []*postgres.Store{s, other, s, other} {
		readers.Go(func() {
			for !stop.Load() {
				n, err := r.Follow(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if n > 0 {
					read.Add(n)
				}
			}
		})
	}
	for w, b := range []*postgres.Store{s, other} {
		writers.Go(func() {
			for i := range 150 {
				c := claimOf("ns", fmt.Sprintf("w%d-%d", w, i))
				r := one(b, c)
				a, ok := r.Answer.(*idem.ClaimAnswer)
				if !ok {
					t.Error(r.Err)
					return
				}
				tok := tokenOf(c, a)
				switch i % 3 {
				case 0:
					r = one(b, completeOf(tok, "ok"))
				case 1:
					r = one(b, failOf(tok))
				}
				if r.Err != nil {
					t.Error(r.Err)
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if n := follow(t, s); n > 0 {
		read.Add(n)
	}
	unfinishedMatches(t, pool)
	if n := int64(len(entries(t, pool))); n != read.Load() {
		t.Errorf("%d entries were read, there are %d", read.Load(), n)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM (SELECT FROM idemsvc.lookup GROUP BY term, id HAVING count(*) > 1) x"); n != 0 {
		t.Errorf("%d look-up rows were written twice", n)
	}
}

// A step that is cut off anywhere is taken again, as if it had not been begun, or had been
// finished.
func TestFollowerCutOff(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	p := newProxy(t)
	s, _ := openOn(t, url, quiet, p.dial, func(c *pgxpool.Config) {
		c.MaxConns = 1
		// The pool's probe of an idle connection would take the cut, and hide it.
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	})
	direct, pool := openOn(t, url, quiet)
	follow(t, s)
	for _, toServer := range []bool{true, false} {
		for n := range 30 {
			follow(t, s) // on a connection that is made: a cut attempt to connect is repeated by the driver
			grantOf(t, direct, claimOf("ns", fmt.Sprint("e", n, toServer)))
			p.cutAfter(n, toServer, false)
			_, err := s.Follow(t.Context())
			if fired := p.heal(); !fired {
				break
			} else if err == nil {
				t.Errorf("cut after %d messages: no error", n)
			}
		}
		follow(t, s)
		unfinishedMatches(t, pool)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM (SELECT FROM idemsvc.lookup GROUP BY term, id HAVING count(*) > 1) x"); n != 0 {
		t.Errorf("%d look-up rows were written twice", n)
	}
}

// The database's clock steps back: what is written after that is found all the same.
func TestFollowerFindsEntriesAfterClockStepsBack(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	follow(t, s)
	// As if the last step had been taken by a clock that was two hours ahead.
	execSQL(t, pool, "UPDATE idemsvc.follower SET read_at = read_at + interval '2 hours'")
	grantOf(t, s, claimOf("ns", "e"))
	for range 3 {
		follow(t, s)
	}
	if !listed(t, pool, keyOf("ns", "e")) {
		t.Error("it is never listed, so that it is never swept")
	}
}

// The cost of a step does not grow with the journal behind it.
func TestFollowerReadsNoOldEntries(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	grantOf(t, s, claimOf("ns", "model"))
	execSQL(t, pool, `INSERT INTO idemsvc.journal SELECT clock_timestamp(), pg_current_xact_id()::text::bigint, 1, heads, body, hash
		FROM idemsvc.journal, generate_series(1, 20000)`)
	follow(t, s)
	grantOf(t, s, claimOf("ns", "e"))
	var buffers int
	conn := connectTo(t, pool.Config().ConnString())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), postgres.Statements()["begin"]); err != nil {
		t.Fatal(err)
	}
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+postgres.Statements()["follow_read"], 0, postgres.FollowBlocks).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	if buffers = plan[0].Plan.Hit + plan[0].Plan.Read; buffers > 150 {
		t.Errorf("a step over one new entry read %d pages behind 20,000 old entries", buffers)
	}
}

func expire(t testing.TB, pool *pgxpool.Pool, ids ...[16]byte) {
	t.Helper()
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = ANY ($1)", ids)
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() - interval '1 s' WHERE id = ANY ($1)", ids)
}

func sweep(t testing.TB, s *postgres.Store) int {
	t.Helper()
	n, err := s.Sweep(context.Background())
	if err != nil {
		t.Fatalf("sweep: %v", err)
	}
	return n
}

// The sweeper settles expired claims and only those: one that was extended lives on, and
// is looked at again when its lease is over.
func TestSweepSettlesExpiredClaimsOnly(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	over := grantOf(t, s, claimOf("ns", "over"))
	grantOf(t, s, claimOf("ns", "live"))
	extended := grantOf(t, s, claimOf("ns", "extended"))
	done := grantOf(t, s, claimOf("ns", "done"))
	must[*idem.EndAnswer](t, s, failOf(done))
	follow(t, s)
	expire(t, pool, over.Event)
	a := must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: extended, Lease: time.Hour})
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(extended.Event))
	if n := sweep(t, s); n != 1 {
		t.Errorf("settled %d, want 1", n)
	}
	for event, want := range map[string]idem.State{"over": idem.FailedRetryable, "live": idem.Processing, "extended": idem.Processing} {
		if row := rowOf(t, pool, keyOf("ns", event)); idem.State(row.State) != want {
			t.Errorf("%s is %s, want %s", event, idem.State(row.State), want)
		}
	}
	due := scalar[time.Time](t, pool, "SELECT due_at FROM idemsvc.unfinished WHERE id = $1", [16]byte(extended.Event))
	if idem.InstantOf(due) != a.LeaseUntil {
		t.Errorf("the extended claim is looked at again at %v, its lease ends at %v", due, a.LeaseUntil.Time())
	}
	follow(t, s)
	if n := sweep(t, s); n != 0 {
		t.Errorf("settled %d more", n)
	}
	unfinishedMatches(t, pool)
	checkJournal(t, pool)
}

// O-01: a claim that completed, or was given anew, between the sweeper's read and its
// write stays as it is.
func TestSweepOnAStaleList(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	p := newProxy(t)
	o := quiet
	sweeper, _ := openOn(t, url, o, p.dial)
	s, pool := openOn(t, url, o)
	warm := grantOf(t, s, claimOf("ns", "warm"))
	follow(t, s)
	expire(t, pool, warm.Event)
	if n := sweep(t, sweeper); n != 1 { // its statements are ready now
		t.Fatalf("settled %d, want 1", n)
	}
	a, b, c := grantOf(t, s, claimOf("ns", "a")), grantOf(t, s, claimOf("ns", "b")), grantOf(t, s, claimOf("ns", "c"))
	follow(t, s)
	expire(t, pool, a.Event, b.Event, c.Event)

	p.delayAnswers(700 * time.Millisecond)
	settled := make(chan int, 1)
	go func() { settled <- sweep(t, sweeper) }()
	// The list has been read once the entries were put off.
	eventually(t, 10*time.Second, "the sweeper read its list", func() bool {
		return scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.unfinished WHERE state = 2 AND due_at > clock_timestamp() AND id = ANY ($1)",
			[][16]byte{a.Event, b.Event, c.Event}) == 3
	})
	must[*idem.EndAnswer](t, s, completeOf(a, "ok"))
	again := claimOf("ns", "b")
	again.Facts.Kind = idem.ProviderRetry
	bb := grantOf(t, s, again)
	lease := scalar[time.Time](t, pool, "SELECT lease_until FROM idemsvc.event WHERE id = $1", [16]byte(b.Event))
	p.delayAnswers(0)
	if n := <-settled; n != 1 {
		t.Errorf("settled %d, want 1", n)
	}
	if row := rowOf(t, pool, keyOf("ns", "a")); idem.State(row.State) != idem.Processed {
		t.Errorf("a is %s", idem.State(row.State))
	}
	row := rowOf(t, pool, keyOf("ns", "b"))
	if idem.State(row.State) != idem.Processing || row.Fence != bb.Fence || row.Total != 2 {
		t.Errorf("b is %s under fence %d (want %d), attempt %d", idem.State(row.State), row.Fence, bb.Fence, row.Total)
	}
	if now := scalar[time.Time](t, pool, "SELECT lease_until FROM idemsvc.event WHERE id = $1", [16]byte(b.Event)); !now.Equal(lease) {
		t.Errorf("the lease of b became %v, was %v", now, lease)
	}
	if row := rowOf(t, pool, keyOf("ns", "c")); idem.State(row.State) != idem.FailedRetryable {
		t.Errorf("c is %s", idem.State(row.State))
	}
	must[*idem.EndAnswer](t, s, completeOf(bb, "ok"))
}

// manyExpired are 500 claims whose lease is over, one of them of the event «odd».
func manyExpired(t *testing.T, s *postgres.Store, pool *pgxpool.Pool) {
	t.Helper()
	cmds := make([]idem.Command, 500)
	for i := range cmds {
		cmds[i] = claimOf("ns", fmt.Sprint("e", i))
	}
	cmds[250] = claimOf("ns", "odd")
	for _, r := range s.Apply(t.Context(), cmds) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	follow(t, s)
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s'")
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() - interval '1 minute'")
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() - interval '1 hour' WHERE id = $1", [16]byte(keyOf("ns", "odd").ID()))
}

// odd is what can be wrong with the record of the event «odd» of one batch. Its make
// returns what puts it right again.
type odd struct {
	name   string
	silent bool // nobody is told: the list leaves it out
	make   func(t *testing.T, pool *pgxpool.Pool, id [16]byte) (mend func())
}

var oddities = []odd{
	{"event locked by a stranger", false, func(t *testing.T, pool *pgxpool.Pool, id [16]byte) func() {
		t.Helper()
		return lockedBy(t, pool, "event", id)
	}},
	{"list entry locked by a stranger", true, func(t *testing.T, pool *pgxpool.Pool, id [16]byte) func() {
		t.Helper()
		return lockedBy(t, pool, "unfinished", id)
	}},
	{"violates a constraint", false, func(t *testing.T, pool *pgxpool.Pool, _ [16]byte) func() {
		t.Helper()
		trouble(t, pool, "23514", "NEW.event_id = 'odd'")
		return func() { execSQL(t, pool, "DROP TRIGGER trouble ON idemsvc.event") }
	}},
	{"its entry cannot be written", false, func(t *testing.T, pool *pgxpool.Pool, id [16]byte) func() {
		t.Helper()
		execSQL(t, pool, fmt.Sprintf(`ALTER TABLE idemsvc.journal ADD CONSTRAINT odd CHECK (position('\x%x'::bytea IN heads) = 0) NOT VALID`, id))
		return func() { execSQL(t, pool, "ALTER TABLE idemsvc.journal DROP CONSTRAINT odd") }
	}},
	{"cannot be read", false, func(t *testing.T, pool *pgxpool.Pool, id [16]byte) func() {
		t.Helper()
		detail := scalar[[]byte](t, pool, "SELECT detail FROM idemsvc.event WHERE id = $1", id)
		execSQL(t, pool, `UPDATE idemsvc.event SET detail = '\xff' WHERE id = $1`, id)
		return func() { execSQL(t, pool, "UPDATE idemsvc.event SET detail = $2 WHERE id = $1", id, detail) }
	}},
	{"deadlocks", false, func(t *testing.T, pool *pgxpool.Pool, _ [16]byte) func() {
		t.Helper()
		trouble(t, pool, "40P01", "NEW.event_id = 'odd'")
		return func() { execSQL(t, pool, "DROP TRIGGER trouble ON idemsvc.event") }
	}},
}

// lockedBy locks an event's row in a table until it is mended.
func lockedBy(t *testing.T, pool *pgxpool.Pool, table string, id [16]byte) func() {
	t.Helper()
	conn := connectTo(t, pool.Config().ConnString())
	onConn(t, conn, "BEGIN")
	onConn(t, conn, "SELECT FROM idemsvc."+table+" WHERE id = $1 FOR UPDATE", id)
	return func() { onConn(t, conn, "ROLLBACK") }
}

// O-34: one record that cannot be settled, for whatever reason, does not stop the others,
// is not first in every sweep, and is settled once nothing stands against it.
func TestO34OneBadRecordDoesNotStopTheSweep(t *testing.T) {
	t.Parallel()
	bad := keyOf("ns", "odd")
	id := [16]byte(bad.ID())
	for _, tt := range oddities {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := &logLines{}
			o := quiet
			o.Logger = slogOf(lines)
			s, pool := openStore(t, o)
			manyExpired(t, s, pool)
			mend := tt.make(t, pool, id)
			settled := 0
			for range 2 {
				settled += sweep(t, s)
			}
			if settled != 499 {
				t.Errorf("settled %d of 499 in two sweeps", settled)
			}
			if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event WHERE state = 4"); n != 499 {
				t.Errorf("%d are stored as settled", n)
			}
			if !tt.silent {
				// It does not stay first in line, and it is named in the log.
				if !scalar[bool](t, pool, "SELECT due_at > clock_timestamp() FROM idemsvc.unfinished WHERE id = $1", id) {
					t.Error("it is first in line again")
				}
				if len(lines.with(bad.ID().String())) == 0 {
					t.Error("no line of the log names it")
				}
			}
			mend()
			execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() WHERE id = $1", id) // its pause is over
			if n := sweep(t, s); n != 1 || idem.State(rowOf(t, pool, bad).State) != idem.FailedRetryable {
				t.Errorf("once it is mended %d are settled, and it is %v", n, idem.State(rowOf(t, pool, bad).State))
			}
		})
	}
}

// What is listed and has no record, as after a purge by hand, does not stop the sweep.
func TestListedEventsWithoutRecordDoNotStopTheSweep(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	follow(t, s)
	expire(t, pool, tok.Event)
	execSQL(t, pool, `INSERT INTO idemsvc.unfinished SELECT get_byte(uuid_send(x.id), 0), x.id, 1, 2, clock_timestamp(), clock_timestamp() - interval '1 hour', 'ns', 'c'
		FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 600)) x`)
	settled := 0
	for range 3 {
		settled += sweep(t, s)
	}
	if settled != 1 {
		t.Error("the expired claim behind them is never settled")
	}
}

// O-28: leases are judged by the database's clock alone, whatever the session's idea of
// time zones and formats.
func TestSessionSettingsMoveNoLease(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	plain, pool := openOn(t, url, quiet)
	for i, settings := range []map[string]string{
		{"TimeZone": "Asia/Kolkata", "DateStyle": "ISO, MDY"},
		{"TimeZone": "America/St_Johns", "DateStyle": "ISO, DMY", "IntervalStyle": "sql_standard"},
		{"TimeZone": "Asia/Kolkata", "DateStyle": "SQL, DMY", "bytea_output": "escape"},
		{"TimeZone": "Australia/Sydney", "DateStyle": "German"},
		{"TimeZone": "UTC", "DateStyle": "Postgres, MDY", "extra_float_digits": "0"},
	} {
		t.Run(fmt.Sprint(settings), func(t *testing.T) {
			s, _ := openOn(t, url, quiet, func(c *pgxpool.Config) {
				maps.Copy(c.ConnConfig.RuntimeParams, settings)
			})
			old := claimOf("ns", fmt.Sprint("old", i))
			tok := grantOf(t, plain, old)
			if _, err := postgres.NewEpoch(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			// An old claim whose lease was over at the end of its epoch has all of it again,
			// and no more.
			execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 minute' WHERE id = $1", [16]byte(tok.Event))
			for _, b := range []storage.Backend{s, plain} {
				a := must[*idem.ClaimAnswer](t, b, claimOf("ns", old.Key.EventID))
				if a.Outcome != idem.OutcomeInProgress || a.RetryIn < 9*time.Minute || a.RetryIn > 10*time.Minute {
					t.Errorf("%s, %v left, want about 10 minutes", a.Outcome, a.RetryIn)
				}
			}
			var lost *idem.Error
			if r := one(s, &idem.Check{Token: &tok, Ordering: *lane(claimOf("ns", "x"), fmt.Sprint("r", i), 1).Ordering}); errors.As(r.Err, &lost) {
				t.Errorf("check under the old claim: %v", r.Err)
			}
			execSQL(t, pool, "UPDATE idemsvc.meta SET epoch_started_at = epoch_started_at - interval '11 minutes'")
			if a := must[*idem.ClaimAnswer](t, s, claimOf("ns", old.Key.EventID)); a.Outcome != idem.OutcomeClaimed {
				// Settled as a failure that is due now, or granted at once.
				t.Errorf("after the whole lease: %s, want CLAIMED", a.Outcome)
			}
			if row := rowOf(t, pool, old.Key); row.Total != 2 {
				t.Errorf("%d attempts, want 2", row.Total)
			}
		})
	}
}
