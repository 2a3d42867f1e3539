package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

var mailer = storage.Group{Namespace: "ns", Consumer: "mailer"}

func receiptOf(event string) *idem.Receive {
	return &idem.Receive{Key: keyOf("ns", event), Facts: idem.Facts{RequestID: "req-" + event, Kind: idem.ProviderFirst}}
}

var acquirers atomic.Int64

func acquiring(most int, wait time.Duration) storage.AcquireQuery {
	return storage.AcquireQuery{
		Group: mailer, Claimant: fmt.Sprint("worker-", acquirers.Add(1), randomID()), Holder: "host", Lease: time.Minute,
		Max: most, Bytes: 1 << 20, Wait: wait, Nonce: randomID,
	}
}

func receiveIn(t testing.TB, s *storage.Service, c *idem.Receive) {
	t.Helper()
	if r := s.Do(context.Background(), c); r.Err != nil {
		t.Fatal(r.Err)
	}
}

func completeIn(t testing.TB, s *storage.Service, a storage.Acquired) {
	t.Helper()
	answer, ok := a.Result.Answer.(*idem.ClaimAnswer)
	if !ok {
		t.Fatalf("acquired with %T", a.Result.Answer)
	}
	if r := s.Do(context.Background(), completeOf(tokenOf(a.Claim, answer), "done")); r.Err != nil {
		t.Error(r.Err)
	}
}

// Who does not want to wait gets an event while there is one, however many ask at the same
// time.
func TestAcquireWithoutWaitingFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet)
	svc := service(t, s, storage.Options{})
	const workers = 64
	for i := range workers {
		receiveIn(t, svc, receiptOf(fmt.Sprint("e", i)))
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	var got atomic.Int64
	for range workers {
		asking.Go(func() {
			out, err := svc.Acquire(context.Background(), acquiring(1, 0))
			if err != nil {
				t.Error(err)
			}
			got.Add(int64(len(out)))
		})
	}
	asking.Wait()
	if got.Load() != workers {
		t.Errorf("%d workers asked at the same time for one of %d events, and %d got one", workers, workers, got.Load())
	}
}

// What another replica has received is noticed: by its notification, or by the poll where
// nobody can listen.
func TestAcquireWhatAnotherReplicaReceived(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"directly", "through PgBouncer"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t, "idemsvc", migrate)
			quick := postgres.Options{Follow: 20 * time.Millisecond, Sweep: -1}
			one, _ := openOn(t, url, quick, func(*pgxpool.Config) {})
			there := url
			how := func(*pgxpool.Config) {}
			if through != "directly" {
				there, how = pgtest.PgBouncer(t, url), describing
			}
			two, _ := openOn(t, there, postgres.Options{Follow: -1, Sweep: -1}, how)
			receiver, worker := service(t, one, storage.Options{}), service(t, two, storage.Options{})
			for i := range 3 {
				got := make(chan []storage.Acquired, 1)
				go func() {
					out, err := worker.Acquire(context.Background(), acquiring(1, 20*time.Second))
					if err != nil {
						t.Error(err)
					}
					got <- out
				}()
				for worker.Stats().Acquiring == 0 {
					time.Sleep(time.Millisecond)
				}
				receiveIn(t, receiver, receiptOf(fmt.Sprint("e", i)))
				out := <-got
				if len(out) != 1 {
					t.Fatalf("event %d: nothing came", i)
				}
				completeIn(t, worker, out[0])
			}
		})
	}
}

// What this replica has received is acquired here at once, long before the list of
// unfinished work knows of it.
func TestAcquireWhatWasJustReceived(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet) // nobody reads behind the journal
	svc := service(t, s, storage.Options{})
	for i := range 5 {
		got := make(chan []storage.Acquired, 1)
		go func() {
			out, _ := svc.Acquire(context.Background(), acquiring(1, 20*time.Second))
			got <- out
		}()
		for svc.Stats().Acquiring == 0 {
			time.Sleep(time.Millisecond)
		}
		receiveIn(t, svc, receiptOf(fmt.Sprint("e", i)))
		if out := <-got; len(out) != 1 {
			t.Fatal("nothing came")
		}
	}
}

// P03: whatever replicas and workers do, each event is worked on until it is done, by one
// worker at a time; of one resource in the order of its versions.
func TestP03EveryReceivedEventIsProcessed(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	live := postgres.Options{Follow: 20 * time.Millisecond, Sweep: 50 * time.Millisecond, Policies: func(idem.EventKey, string) *idem.Policy {
		p := idem.DefaultPolicy()
		p.StartAt = 1
		return p
	}}
	var services []*storage.Service
	for range 2 {
		s, _ := openOn(t, url, live, func(*pgxpool.Config) {})
		services = append(services, service(t, s, storage.Options{}))
	}
	const plain, lanes, versions = 100, 5, 10
	var receipts []*idem.Receive
	for i := range plain {
		receipts = append(receipts, receiptOf(fmt.Sprint("plain", i)))
	}
	for l := range lanes {
		for v := range versions {
			c := receiptOf(fmt.Sprint("lane", l, "-", versions-v))
			c.Ordering = lane(claimOf("ns", "x"), fmt.Sprint("r", l), int64(versions-v)).Ordering
			c.Ordering.Mode = idem.Sequential
			receipts = append(receipts, c)
		}
	}
	w := &workers{done: map[string]int{}, running: map[string]bool{}, applied: map[string]int64{}}
	ctx, stop := context.WithTimeout(t.Context(), 60*time.Second)
	defer stop()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { w.work(ctx, t, services[i%2], i, stop, len(receipts)) })
	}
	for i, c := range receipts {
		receiveIn(t, services[i%2], c)
	}
	wg.Wait()
	if len(w.done) != len(receipts) {
		t.Errorf("%d of %d events were processed", len(w.done), len(receipts))
	}
	checkJournal(t, openPool(t, url))
}

// workers are those who work in TestP03EveryReceivedEventIsProcessed.
type workers struct {
	mu      sync.Mutex
	done    map[string]int
	running map[string]bool  // by resource
	applied map[string]int64 // the same
	tries   int
}

func (w *workers) work(ctx context.Context, t *testing.T, s *storage.Service, n int, stop func(), all int) {
	t.Helper()
	for ctx.Err() == nil {
		got, err := s.Acquire(ctx, acquiring(1+n%4, 2*time.Second))
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		for _, a := range got {
			w.one(t, s, a)
		}
		w.mu.Lock()
		if len(w.done) == all {
			stop()
		}
		w.mu.Unlock()
	}
}

// one works on an event: every fifth is given back, every seventh fails.
func (w *workers) one(t *testing.T, s *storage.Service, a storage.Acquired) {
	t.Helper()
	answer := a.Result.Answer.(*idem.ClaimAnswer) //nolint:errcheck,forcetypeassert // acquired
	e := answer.Event
	tok := tokenOf(a.Claim, answer)
	w.mu.Lock()
	w.tries++
	n := w.tries
	if o := e.Ordering; o != nil {
		if w.running[o.Resource.Name] {
			t.Errorf("two claims on %s", o.Resource.Name)
		}
		w.running[o.Resource.Name] = true
		if want := w.applied[o.Resource.Name] + 1; o.Version.Value != want {
			t.Errorf("%s: version %d after %d", o.Resource.Name, o.Version.Value, want-1)
		}
	}
	w.mu.Unlock()
	var cmd idem.Command = completeOf(tok, "done")
	switch {
	case n%5 == 0:
		cmd = &idem.Release{Token: tok}
	case n%7 == 0:
		cmd = &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.NotYet, Code: "X"}, RetryAfter: time.Millisecond}
	}
	w.mu.Lock()
	if o := e.Ordering; o != nil {
		w.running[o.Resource.Name] = false // from here on another may have it
		if _, done := cmd.(*idem.Complete); done {
			w.applied[o.Resource.Name] = o.Version.Value
		}
	}
	if _, done := cmd.(*idem.Complete); done {
		w.done[e.Key.EventID]++
		if w.done[e.Key.EventID] > 1 {
			t.Errorf("%s was processed twice", e.Key.EventID)
		}
	}
	w.mu.Unlock()
	if r := s.Do(context.Background(), cmd); r.Err != nil {
		t.Errorf("%T of %s: %v", cmd, e.Key.EventID, r.Err)
	}
}

// O-34: one record that cannot be granted, for whatever reason, does not keep the others from
// workers, is not first in every take, and is granted once nothing stands against it.
func TestO34OneBadRecordDoesNotStopAcquiring(t *testing.T) {
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
			const n = 100
			must[*idem.ReceiveAnswer](t, s, receiptOf("odd")) // the one that is due for longest
			for i := range n - 1 {
				must[*idem.ReceiveAnswer](t, s, receiptOf(fmt.Sprint("e", i)))
			}
			follow(t, s)
			svc := service(t, s, storage.Options{Logger: slogOf(lines)})
			mend := tt.make(t, pool, id)
			got := map[string]bool{}
			acquire := func() {
				t.Helper()
				out, err := svc.Acquire(t.Context(), acquiring(20, 0))
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range out {
					got[a.Claim.Key.EventID] = true
				}
			}
			for range n/20 + 2 {
				acquire()
			}
			if len(got) != n-1 || got["odd"] {
				t.Errorf("acquired %d of %d, the odd one: %v", len(got), n-1, got["odd"])
			}
			if !tt.silent && len(lines.with(bad.ID().String())) == 0 {
				t.Error("no line of the log names it")
			}
			mend()
			execSQL(t, pool, "UPDATE idemsvc.unfinished SET acquire_at = clock_timestamp(), taken_until = NULL WHERE id = $1", id) // its pause is over
			acquire()
			if !got["odd"] {
				t.Error("once it is mended it is not granted")
			}
		})
	}
}

// A worker that comes again for what it has been granted is not told that there is nothing,
// only since the record is locked just then.
func TestRepeatedAcquisitionIsNotToldNothing(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	must[*idem.ReceiveAnswer](t, s, receiptOf("e"))
	follow(t, s)
	svc := service(t, s, storage.Options{})
	q := acquiring(20, 0)
	first, err := svc.Acquire(t.Context(), q)
	if err != nil || len(first) != 1 {
		t.Fatalf("acquired %d, %v", len(first), err)
	}
	stranger := connectTo(t, pool.Config().ConnString())
	onConn(t, stranger, "BEGIN")
	onConn(t, stranger, "SELECT FROM idemsvc.event FOR UPDATE")
	if got, err := svc.Acquire(t.Context(), q); !errors.Is(err, storage.ErrContended) {
		t.Errorf("while it is locked: acquired %d, %v; want %v", len(got), err, storage.ErrContended)
	}
	onConn(t, stranger, "ROLLBACK")
	again, err := svc.Acquire(t.Context(), q)
	if err != nil || len(again) != 1 || again[0].Claim.Key.EventID != "e" {
		t.Errorf("afterwards: acquired %d, %v", len(again), err)
	}
}

// O-36: while a transaction elsewhere keeps dead entries in the index, taking what is due
// does not walk over them each time.
func TestO36TakingPassesDeadEntriesBy(t *testing.T) {
	t.Parallel()
	sent := &sentStatements{args: map[string][]any{}}
	s, pool := openOn(t, pgtest.Database(t, "idemsvc", migrate), quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	keeper := connectTo(t, pool.Config().ConnString())
	execSQL(t, pool, `INSERT INTO idemsvc.unfinished (bucket, id, seq, state, since, namespace, consumer, ready_at, acquire_at)
		SELECT get_byte(uuid_send(id), 0), id, 1, 1, clock_timestamp(), 'ns', 'mailer', clock_timestamp() - interval '1 hour', clock_timestamp() - interval '1 hour' + i * interval '1 ms'
		FROM (SELECT i, gen_random_uuid() AS id FROM generate_series(1, 20000) i) n`)
	onConn(t, keeper, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	onConn(t, keeper, "SELECT count(*) FROM idemsvc.unfinished")
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET acquire_at = NULL")
	take := func(want int) {
		t.Helper()
		taken, err := s.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: mailer, Max: 10}}})
		if err != nil || len(taken.Due) != want {
			t.Fatalf("%d taken, %v", len(taken.Due), err)
		}
	}
	must[*idem.ReceiveAnswer](t, s, receiptOf("e1")) // tells the store the time
	follow(t, s)
	take(1) // looks at everything
	must[*idem.ReceiveAnswer](t, s, receiptOf("e2"))
	follow(t, s)
	sent.reset()
	take(1)
	sql := postgres.Statements()["take"]
	args, ok := sent.of(sql)
	if !ok {
		t.Fatal("it did not ask")
	}
	all := append([]any(nil), args...)
	all[2] = []time.Time{time.Unix(0, 0)}
	conn := connectTo(t, pool.Config().ConnString())
	if near, far := blocksOf(t, conn, sql, args), blocksOf(t, conn, sql, all); near > 60 || far < 2*near {
		t.Errorf("it touched %d blocks, where everything has %d", near, far)
	}
}

// What a freed resource offers stays offered, whatever else about it is tried in vain: that
// it was tried in vain itself, before, does not matter any more.
func TestWhatIsFreedIsNotPutOffAgain(t *testing.T) {
	t.Parallel()
	s, _ := openOn(t, pgtest.Database(t, "idemsvc", migrate), quiet)
	take := func(want string) {
		t.Helper()
		follow(t, s)
		taken, err := s.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: mailer, Max: 10}}})
		names := ""
		for _, e := range taken.Due {
			names += e.Key.EventID
		}
		if err != nil || names != want {
			t.Fatalf("offered %q, %v; want %q", names, err, want)
		}
	}
	second := receiptOf("e2")
	second.Ordering = sequential(claimOf("ns", "e2"), "r", 2).Ordering
	must[*idem.ReceiveAnswer](t, s, second)
	take("e2")
	rest := func() {
		t.Helper()
		if err := s.Rest(t.Context(), []storage.Rest{{Event: second.Key.ID(), In: time.Hour}}); err != nil { // it was early
			t.Fatal(err)
		}
	}
	rest()
	take("")
	first := grantOf(t, s, sequential(claimOf("ns", "e1"), "r", 1))
	follow(t, s)
	must[*idem.EndAnswer](t, s, completeOf(first, "done"))
	follow(t, s)
	if r := one(s, sequential(claimOf("ns", "e3"), "r", 3)); outcomeOf(r) != idem.OutcomeAwaiting.String() {
		t.Fatal(outcomeOf(r))
	}
	rest() // by one who found it early before the first was done
	take("e2")
}

// What is taken is kept from others, and no index is told of it.
func TestTakingTouchesNoIndex(t *testing.T) {
	t.Parallel()
	s, pool := openOn(t, pgtest.Database(t, "idemsvc", migrate), quiet)
	const n = 50
	for i := range n {
		must[*idem.ReceiveAnswer](t, s, receiptOf(fmt.Sprint("e", i)))
	}
	follow(t, s)
	before := unfinishedWrites(t, pool)
	took := 0
	for range n/10 + 1 { // the last finds nothing more
		taken, err := s.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: mailer, Max: 10}}})
		if err != nil {
			t.Fatal(err)
		}
		took += len(taken.Due)
	}
	after := unfinishedWrites(t, pool)
	if took != n || after.updated-before.updated != n || after.hot-before.hot != n {
		t.Errorf("%d events were taken of %d, with %d updates, %d of them without the indexes", took, n, after.updated-before.updated, after.hot-before.hot)
	}
}

type tableWrites struct{ updated, hot int64 }

// unfinishedWrites is how often rows of the list of unfinished work were changed.
func unfinishedWrites(t *testing.T, pool *pgxpool.Pool) (w tableWrites) {
	t.Helper()
	for _, c := range pool.AcquireAllIdle(t.Context()) { // each tells what it did when its next transaction ends
		_, err := c.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
		c.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	err := pool.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'idemsvc' AND relname = 'unfinished'").Scan(&w.updated, &w.hot)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// blocksOf is how many blocks a statement touches.
func blocksOf(t *testing.T, conn *pgx.Conn, sql string, args []any) int {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), postgres.Statements()["begin"]); err != nil {
		t.Fatal(err)
	}
	var plan []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	var out []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(plan, &out); err != nil {
		t.Fatal(err)
	}
	return out[0].Plan.Hit + out[0].Plan.Read
}

// A million waiting events, half of them about one resource, cost a taker no more than a few.
func TestTakingAmongAMillion(t *testing.T) {
	if !heavy() {
		t.Skip("IDEMSVC_TEST_HEAVY is not set; TestExplain looks at the plans")
	}
	t.Parallel()
	s, pool := openStore(t, quiet)
	must[*idem.ReceiveAnswer](t, s, receiptOf("seed"))
	follow(t, s)
	for _, sql := range []string{
		`INSERT INTO idemsvc.event (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, lease_us, total, effects, state, by_expiry, detail)
		 SELECT get_byte(uuid_send(n.id), 0), n.id, clock_timestamp(), 'ns', 'mailer', 'shop', 'e' || i, e.facts, 1, 0, 0, 0, 0, 1, false, e.detail
		 FROM (SELECT i, gen_random_uuid() AS id FROM generate_series(1, 1000000) i) n, idemsvc.event e WHERE e.event_id = 'seed'`,
		`INSERT INTO idemsvc.unfinished (bucket, id, seq, state, since, due_at, namespace, consumer, ready_at, acquire_at, lane, rank_epoch, rank_value)
		 SELECT e.bucket, e.id, 1, 1, e.created_at, e.created_at, 'ns', 'mailer', e.created_at,
			CASE WHEN n.i > 500000 OR n.i = 1 THEN e.created_at END, CASE WHEN n.i <= 500000 THEN '00000000-0000-0000-0000-000000000001'::uuid END, 0, n.i
		 FROM idemsvc.event e, LATERAL (SELECT substr(e.event_id, 2)::integer AS i) n WHERE e.event_id LIKE 'e%'`,
	} {
		execSQL(t, pool, sql)
	}
	vacuum(t, pool, "VACUUM (ANALYZE)")
	conn := connectTo(t, pool.Config().ConnString())
	st := postgres.Statements()
	group, lanes := []any{[]string{"ns"}, []string{"mailer"}, []time.Time{time.Unix(0, 0)}, []int32{100}, int64(1e7)}, [][16]byte{{15: 1}}
	for name, args := range map[string][]any{"take": group, "take_lane": {lanes}} {
		if n := blocksOf(t, conn, st[name], args); n > 3000 {
			t.Errorf("%s touched %d blocks", name, n)
		} else {
			t.Logf("%s touched %d blocks", name, n)
		}
	}
	began := time.Now()
	taken, err := s.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: mailer, Max: 100}}})
	if err != nil || len(taken.Due) != 100 {
		t.Fatalf("%d, %v", len(taken.Due), err)
	}
	t.Logf("100 were taken in %v", time.Since(began))
}

// Replicas are told of which consumers something has become due, and of no others.
func TestListenTellsOfWhom(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	one, _ := openOn(t, url, quiet, func(*pgxpool.Config) {})
	two, _ := openOn(t, url, quiet, func(*pgxpool.Config) {})
	ctx, stop := context.WithCancel(t.Context())
	told := make(chan [2]bool, 16)
	var listening sync.WaitGroup
	listening.Go(func() {
		two.Listen(ctx, func(about func(storage.Group) bool) {
			told <- [2]bool{about(mailer), about(storage.Group{Namespace: "ns", Consumer: "another"})}
		})
	})
	if got := <-told; got != [2]bool{true, true} {
		t.Errorf("for what came before: %v", got)
	}
	must[*idem.ReceiveAnswer](t, one, receiptOf("e1"))
	follow(t, one)
	if got := <-told; got != [2]bool{true, false} {
		t.Errorf("of a receipt: %v", got)
	}
	// A resource that becomes free: the event that waits for it has become due.
	for i := range 2 {
		c := receiptOf(fmt.Sprint("v", i))
		c.Ordering = lane(claimOf("ns", "x"), "r", int64(i)).Ordering
		must[*idem.ReceiveAnswer](t, one, c)
	}
	tok := grantOf(t, one, acquisitionOf("w", &idem.Event{Key: keyOf("ns", "v0"), Ordering: lane(claimOf("ns", "x"), "r", 0).Ordering}))
	follow(t, one) // v1 waits
	for len(told) > 0 {
		<-told
	}
	must[*idem.EndAnswer](t, one, failOf(tok))
	follow(t, one)
	if got := <-told; got != [2]bool{true, false} {
		t.Errorf("of a free resource: %v", got)
	}
	stop()
	listening.Wait()
}

// What was acquired is remembered as long as anybody may repeat the call, and no longer.
func TestAcquisitionsAreForgotten(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	execSQL(t, pool, `INSERT INTO idemsvc.acquired (id, at, events)
		SELECT gen_random_uuid(), clock_timestamp() - CASE WHEN i <= 6000 THEN interval '16 minutes' ELSE interval '14 minutes' END, '{}' FROM generate_series(1, 6100) i`)
	if err := s.ForgetAcquisitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int64](t, pool, "SELECT count(*) FROM idemsvc.acquired"); n != 100 {
		t.Errorf("%d are left, want 100", n)
	}
}
