package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/history"
	"github.com/idemsvc/idemsvc/storage/storagetest/model"
)

// replicas are two services on one database of a server whose log is kept.
type replicas struct {
	svc   [2]*storage.Service
	store [2]*postgres.Store
	pool  *pgxpool.Pool
	log   *logLines
}

func twoReplicas(t *testing.T, o postgres.Options) *replicas {
	t.Helper()
	r := &replicas{log: &logLines{}}
	srv := cluster(t, embedded.Options{Logger: slogOf(r.log), Settings: map[string]string{"log_error_verbosity": "verbose", "fsync": "off"}})
	for i := range r.svc {
		r.store[i], r.pool = openOn(t, srv.URL("postgres"), o)
		r.svc[i] = service(t, r.store[i], storage.Options{})
	}
	return r
}

// clean: neither a deadlock nor a broken unique rule has reached the server's log.
func (r *replicas) clean(t *testing.T) {
	t.Helper()
	if bad := r.log.with("40P01", "23505", "40001", "deadlock detected"); len(bad) > 0 {
		t.Errorf("%d lines of the server's log, the first: %s", len(bad), bad[0])
	}
}

// wellBehaved: whatever the trouble, a caller hears of rules or of rows that are locked.
func wellBehaved(t *testing.T, r storage.Result) bool {
	t.Helper()
	var rule *idem.Error
	if r.Err == nil || errors.As(r.Err, &rule) {
		return true
	}
	t.Errorf("a caller was told: %v", r.Err)
	return false
}

// O-05: 64 callers of two replicas claim the same new key, 200 times: one is granted each
// time, and all others hear that it is in progress.
func TestOneGrantAmongManyFirstClaims(t *testing.T) {
	t.Parallel()
	r := twoReplicas(t, postgres.Options{})
	const rounds, callers = 200, 64
	race := func(round int) {
		event := fmt.Sprint("b295a740-898f-41b9-bdd3-1157f3071a0c-", round)
		results := make([]storage.Result, callers)
		var wg sync.WaitGroup
		for i := range callers {
			c := claimOf("ns", event)
			wg.Go(func() { results[i] = r.svc[i%2].Do(context.Background(), c) })
		}
		wg.Wait()
		granted := 0
		for _, res := range results {
			switch outcomeOf(res) {
			case idem.OutcomeClaimed.String():
				granted++
			case idem.OutcomeInProgress.String():
			default:
				t.Errorf("round %d: %s", round, outcomeOf(res))
			}
		}
		if granted != 1 {
			t.Errorf("round %d: %d grants, want 1", round, granted)
		}
	}
	var wg sync.WaitGroup
	for lane := range 4 { // rounds at a time
		wg.Go(func() {
			for round := lane; round < rounds; round += 4 {
				race(round)
			}
		})
	}
	wg.Wait()
	r.clean(t)
	if n := scalar[int](t, r.pool, "SELECT count(*)::int FROM idemsvc.event WHERE total = 1 AND version = 1"); n != rounds {
		t.Errorf("%d of %d records count one attempt", n, rounds)
	}
}

// O-35: batches over the same 200 keys in opposite orders, on two replicas, with lanes,
// completions, failures, heartbeats, sweeps and the reader behind the journal beside them.
func TestO35OppositeBatchesNeverDeadlock(t *testing.T) {
	t.Parallel()
	span := 5 * time.Second
	if heavy() {
		span = time.Minute
	}
	r := twoReplicas(t, postgres.Options{Follow: 20 * time.Millisecond, Sweep: 50 * time.Millisecond})
	const keys = 200
	var round, grants, ends atomic.Int64
	tokens := make(chan idem.Token, 4*keys)
	// At least the span, and on a slow machine until enough has happened.
	began := time.Now()
	ctx, stop := context.WithTimeout(context.Background(), span+time.Minute)
	defer stop()
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				n := round.Load()
				cmds := make([]idem.Command, keys)
				for k := range cmds {
					c := claimOf("ns", fmt.Sprintf("r%d-%d", n, k))
					if k%2 == 0 {
						lane(c, fmt.Sprint("res", k%40), n*keys+int64(k))
					}
					cmds[k] = c
				}
				if w%2 == 1 {
					slices.Reverse(cmds)
				}
				// The order in which a batch comes is kept: straight to the store, in pieces.
				for part := range slices.Chunk(cmds, 50) {
					for j, res := range r.store[w/3].Apply(context.Background(), part) {
						if errors.Is(res.Err, storage.ErrContended) {
							continue // the service would try it alone
						}
						if !wellBehaved(t, res) {
							return
						}
						if a, ok := res.Answer.(*idem.ClaimAnswer); ok && a.Outcome == idem.OutcomeClaimed && a.Granted {
							grants.Add(1)
							select {
							case tokens <- tokenFrom(t, part[j], res):
							default:
							}
						}
					}
				}
			}
		})
	}
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case tok := <-tokens:
					svc := r.svc[(w+i)%2]
					wellBehaved(t, svc.Do(context.Background(), &idem.Extend{Token: tok, Lease: time.Minute}))
					var end idem.Command = completeOf(tok, "ok")
					switch i % 4 {
					case 1:
						end = failOf(tok)
					case 2:
						end = &idem.Release{Token: tok, Why: "test"}
					}
					if i%10 != 0 { // some are left to the sweeper
						wellBehaved(t, svc.Do(context.Background(), end))
						ends.Add(1)
					}
				}
			}
		})
	}
	wg.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if time.Since(began) >= span && grants.Load() >= keys && ends.Load() >= 50 {
				stop()
			}
			round.Add(1)
			// Some leases are over all of a sudden.
			_, err := r.pool.Exec(context.Background(), `UPDATE idemsvc.event SET lease_until = clock_timestamp() WHERE (bucket, id) IN (
				SELECT bucket, id FROM idemsvc.event WHERE state = 2 AND fence % 7 = 0 ORDER BY bucket, id FOR UPDATE SKIP LOCKED)`)
			if err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	t.Logf("%d grants, %d ends in %d rounds", grants.Load(), ends.Load(), round.Load())
	if grants.Load() < keys || ends.Load() < 50 {
		t.Errorf("hardly anything happened: %d grants, %d ends", grants.Load(), ends.Load())
	}
	r.clean(t)
	checkJournal(t, r.pool)
	if n := scalar[int](t, r.pool, `SELECT count(*)::int FROM idemsvc.resource r LEFT JOIN idemsvc.event e ON e.id = r.owner
		WHERE r.owned AND (e.id IS NULL OR e.state <> 2 OR e.fence <> r.owner_fence)`); n != 0 {
		t.Errorf("O-22: %d lanes belong to claims that have ended", n)
	}
}

// A storm on one key, over two replicas: claims, failures, heartbeats, releases and
// completions; every grant is the only one of its fence, and attempts are counted once.
func TestHotKeyStorm(t *testing.T) {
	t.Parallel()
	o := quiet
	o.Policies = func(idem.EventKey, string) *idem.Policy {
		p := idem.DefaultPolicy()
		p.MaxAttempts, p.MaxReleases = 1_000_000, 1_000_000
		p.WaiveInterval = 0
		return p
	}
	r := twoReplicas(t, o)
	var mu sync.Mutex
	fences := map[int64]int{}
	holding := atomic.Int64{}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				svc := r.svc[(i+n)%2]
				c := lane(claimOf("ns", "hot"), "hot", 1)
				c.Facts.Kind = idem.ProviderRetry
				res := svc.Do(context.Background(), c)
				wellBehaved(t, res)
				a, ok := res.Answer.(*idem.ClaimAnswer)
				if !ok || a.Outcome != idem.OutcomeClaimed {
					continue
				}
				if held := holding.Add(1); held != 1 {
					t.Errorf("%d claims are alive at once", held)
				}
				mu.Lock()
				fences[a.Event.Fence]++
				mu.Unlock()
				tok := tokenOf(c, a)
				wellBehaved(t, svc.Do(context.Background(), &idem.Extend{Token: tok, Lease: time.Minute}))
				holding.Add(-1)
				end := failOf(tok)
				end.RetryAfter = time.Microsecond
				if res := svc.Do(context.Background(), end); res.Err != nil {
					t.Errorf("failure: %v", res.Err)
				}
			}
		})
	}
	wg.Wait()
	for fence, n := range fences {
		if n != 1 {
			t.Errorf("fence %d was given %d times", fence, n)
		}
	}
	row := rowOf(t, r.pool, keyOf("ns", "hot"))
	if int(row.Total) != len(fences) {
		t.Errorf("%d attempts are counted, %d were given", row.Total, len(fences))
	}
	t.Logf("%d grants", len(fences))
	r.clean(t)
	checkJournal(t, r.pool)
}

// Random histories of concurrent callers on two replicas keep the promises.
func TestHistoriesOnTwoReplicas(t *testing.T) {
	t.Parallel()
	p := idem.DefaultPolicy()
	p.MaxAttempts, p.Lease = 3, idem.MinLease
	p.Backoff = idem.Backoff{Base: 50 * time.Millisecond, Factor: 2, Cap: 200 * time.Millisecond}
	r := twoReplicas(t, postgres.Options{Policies: func(idem.EventKey, string) *idem.Policy { return p }})
	seeds, steps := uint64(2), 250
	if heavy() {
		seeds, steps = 20, 2000
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		var n atomic.Int64
		apply := func(ctx context.Context, c idem.Command) storage.Result {
			return r.svc[n.Add(1)%2].Do(ctx, c)
		}
		h := history.Drive(t, apply, history.Options{
			Seed: seed, Steps: steps, Max: p.MaxAttempts, Operators: seed%2 == 0, Namespace: fmt.Sprint("history", seed), Reader: r.store[0],
		})
		for _, v := range history.Check(h) {
			t.Error(v.String())
		}
		unknown := 0
		for i := range h.Calls {
			if h.Calls[i].Unknown != nil {
				unknown++
				if unknown == 1 {
					t.Errorf("a caller was told: %v", h.Calls[i].Unknown)
				}
			}
		}
		t.Logf("seed %d: %d calls", seed, len(h.Calls))
	}
	r.clean(t)
	checkJournal(t, r.pool)
}

// Random histories get the same answers and leave the same records as the rules say.
func TestModel(t *testing.T) {
	if !heavy() {
		setFlag(t, "rapid.checks", "12")
	}
	setFlag(t, "rapid.nofailfile", "true") // the seed is printed
	t.Parallel()
	model.Check(t, shared(t))
}

// setFlag sets a flag of rapid, which nothing else in this package uses, unless the
// command line does.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

// A delivery that two replicas record at once is kept once.
func TestDeliveryRecordedByTwoReplicasIsKeptOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	a, pool := openOn(t, url, quiet)
	b, _ := openOn(t, url, quiet)
	tok := grantOf(t, a, claimOf("ns", "e"))
	for range 50 {
		d := []storage.Delivery{{Event: tok.Event, Key: keyOf("ns", "e"), Identity: randomID()}}
		var wg sync.WaitGroup
		for _, s := range []*postgres.Store{a, b, a, b} {
			wg.Go(func() {
				if err := s.RecordDeliveries(context.Background(), d); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.delivery"); n != 50 {
		t.Errorf("%d records of 50 deliveries", n)
	}
}

// What a replica remembers of a resource is a guess. Nothing is answered or written on it
// that the write does not test.
func TestStaleGuessDecidesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	a, pool := openOn(t, url, quiet)
	b, _ := openOn(t, url, quiet)
	check := func(tok *idem.Token, name string, value int64) *idem.Check {
		return &idem.Check{Token: tok, Ordering: *lane(claimOf("ns", "x"), name, value).Ordering}
	}
	// granted on b, while a remembers the resource as an earlier owner left it, and the
	// event from a heartbeat.
	granted := func(t *testing.T, name string) (tok idem.Token, laneFence int64) {
		t.Helper()
		must[*idem.EndAnswer](t, a, completeOf(grantOf(t, a, lane(claimOf("ns", name+"-first"), name, 1)), "ok"))
		c := lane(claimOf("ns", name+"-second"), name, 2)
		ans := must[*idem.ClaimAnswer](t, b, c)
		tok = tokenOf(c, ans)
		must[*idem.ExtendAnswer](t, a, &idem.Extend{Token: tok, Lease: time.Hour})
		return tok, ans.LaneFence
	}
	resource := func(t *testing.T, name string) (owned bool, value int64) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "SELECT owned, value FROM idemsvc.resource WHERE name = $1", name).Scan(&owned, &value); err != nil {
			t.Fatal(err)
		}
		return owned, value
	}
	t.Run("the same version again", func(t *testing.T) {
		tok, fence := granted(t, "same")
		if ans := must[*idem.CheckAnswer](t, a, check(&tok, "same", 2)); ans.Verdict != idem.VerdictApply || ans.LaneFence != fence {
			t.Errorf("%s under lane fence %d, want APPLY under %d", ans.Verdict, ans.LaneFence, fence)
		}
	})
	t.Run("a higher version instead", func(t *testing.T) {
		tok, fence := granted(t, "higher")
		if ans := must[*idem.CheckAnswer](t, a, check(&tok, "higher", 3)); ans.Verdict != idem.VerdictApply || ans.LaneFence != fence {
			t.Errorf("%s under lane fence %d, want APPLY under %d", ans.Verdict, ans.LaneFence, fence)
		}
		must[*idem.EndAnswer](t, a, completeOf(tok, "ok"))
		if owned, value := resource(t, "higher"); owned || value != 3 {
			t.Errorf("after completion: owned %v, version %d", owned, value)
		}
	})
	t.Run("completion", func(t *testing.T) {
		tok, _ := granted(t, "done")
		must[*idem.EndAnswer](t, a, completeOf(tok, "ok"))
		if owned, value := resource(t, "done"); owned || value != 2 {
			t.Errorf("O-22: owned %v, version %d; want a free lane and version 2", owned, value)
		}
	})
	t.Run("failure", func(t *testing.T) {
		tok, _ := granted(t, "failed")
		must[*idem.EndAnswer](t, a, failOf(tok))
		if owned, value := resource(t, "failed"); owned || value != 1 {
			t.Errorf("O-22: owned %v, version %d; want a free lane and version 1", owned, value)
		}
		if ans := must[*idem.ClaimAnswer](t, b, lane(claimOf("ns", "failed-next"), "failed", 7)); ans.Outcome != idem.OutcomeClaimed {
			t.Errorf("O-22: the next on the lane: %s by %s, want CLAIMED", ans.Outcome, ans.Blocker.EventID)
		}
	})
	t.Run("release", func(t *testing.T) {
		tok, _ := granted(t, "released")
		must[*idem.EndAnswer](t, a, &idem.Release{Token: tok, Why: "stop"})
		if owned, value := resource(t, "released"); owned || value != 1 {
			t.Errorf("O-22: owned %v, version %d; want a free lane and version 1", owned, value)
		}
	})
	t.Run("a tie that is none any more", func(t *testing.T) {
		must[*idem.EndAnswer](t, a, completeOf(grantOf(t, a, lane(claimOf("ns", "tie-5"), "tie", 5)), "ok"))
		must[*idem.EndAnswer](t, b, completeOf(grantOf(t, b, lane(claimOf("ns", "tie-6"), "tie", 6)), "ok"))
		if ans := must[*idem.ClaimAnswer](t, a, lane(claimOf("ns", "tie-late"), "tie", 5)); ans.Outcome != idem.OutcomeStale {
			t.Errorf("an older version: %s (%s), want STALE", ans.Outcome, ans.Event.State)
		}
	})
	t.Run("a lane that is free again", func(t *testing.T) {
		tok := grantOf(t, a, lane(claimOf("ns", "free-1"), "free", 1))
		must[*idem.EndAnswer](t, b, completeOf(tok, "ok"))
		grantOf(t, a, lane(claimOf("ns", "free-2"), "free", 2))
	})
	checkJournal(t, pool)
}

// P6: while a replay of a processed event runs, a claimant whose own claim of it has ended
// is told so too: the one who processed it, and one who had failed before.
func TestOwnersDuplicateDuringReplayIsAlreadyProcessed(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	failed, c := claimOf("ns", "e"), claimOf("ns", "e")
	must[*idem.EndAnswer](t, s, failOf(grantOf(t, s, failed)))
	execSQL(t, pool, "UPDATE idemsvc.event SET due_at = clock_timestamp() - interval '1 s'")
	tok := grantOf(t, s, c)
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
	must[*idem.EndAnswer](t, s, &idem.Replay{Event: tok.Event, RequestID: "again", Who: "op", Why: "test"})
	claimants := []struct {
		name  string
		claim *idem.Claim
	}{{"the one who processed it", c}, {"one who had failed", failed}, {"somebody else", claimOf("ns", "e")}}
	ask := func(state string) {
		t.Helper()
		for _, x := range claimants {
			if a := must[*idem.ClaimAnswer](t, s, x.claim); a.Outcome != idem.OutcomeAlreadyProcessed {
				t.Errorf("replay %s: %s is told %s, want ALREADY_PROCESSED", state, x.name, a.Outcome)
			}
		}
	}
	ask("waiting")
	run := claimOf("ns", "e")
	run.AcceptReplay = true
	again := grantOf(t, s, run)
	ask("running")
	must[*idem.EndAnswer](t, s, failOf(again))
	ask("failed, to be tried again")
}
