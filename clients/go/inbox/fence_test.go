package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
)

// owners claims an event again and again, each time after the lease before is over, and
// returns all claims: the last one is the owner, the others have lost it and do not know.
func owners(t *testing.T, s *idemtest.Server, client *idemsvc.Client, id string, n int) []*idemsvc.Claim {
	t.Helper()
	var out []*idemsvc.Claim
	for range n {
		s.Advance(time.Hour)
		a, err := client.Claim(t.Context(), event(id))
		if err != nil || a.Claim == nil {
			t.Fatalf("%s: %v %v", id, a, err)
		}
		if len(out) > 0 && a.Claim.GetFence() <= out[len(out)-1].GetFence() {
			t.Fatalf("fence %d after %d", a.Claim.GetFence(), out[len(out)-1].GetFence())
		}
		out = append(out, a.Claim)
	}
	return out
}

func fails(context.Context, statements) (inbox.Result, error) { return inbox.Result{}, errBroken }

// Each order in which two owners can come, whose leases overlapped without their knowing.
func TestAnOlderOwnerDoesNotCommitAfterANewer(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		s := memoryService(t)
		client := s.Client(idemsvc.WithConsumer(consumer))
		box := open()
		ctx := t.Context()
		done := func(what string, found bool, d inbox.Done, err error) {
			t.Helper()
			if err != nil || d.Found != found || string(d.Result.Body) != "invoice of "+what {
				t.Errorf("%s: %+v, %v; found should be %v", what, d, err, found)
			}
		}
		fenced := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, inbox.ErrFenced) || !errors.Is(err, idemsvc.ErrClaimLost) {
				t.Errorf("%s: %v", what, err)
			}
		}

		id := "the newer has committed"
		c := owners(t, s, client, id, 2)
		d, err := box.do(ctx, c[1], book(id))
		done(id, false, d, err)
		d, err = box.do(ctx, c[0], fails)
		done(id, true, d, err)
		booked(t, pool, id, 1)

		id = "the older has committed"
		c = owners(t, s, client, id, 2)
		d, err = box.do(ctx, c[0], book(id))
		done(id, false, d, err)
		d, err = box.do(ctx, c[1], fails)
		done(id, true, d, err)
		booked(t, pool, id, 1)

		id = "the newer has failed"
		c = owners(t, s, client, id, 3)
		if _, err = box.do(ctx, c[1], fails); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", id, err)
		}
		_, err = box.do(ctx, c[0], book(id))
		fenced(id, err)
		booked(t, pool, id, 0)
		d, err = box.do(ctx, c[1], book(id)) // the same fence once more
		done(id, false, d, err)
		d, err = box.do(ctx, c[2], fails)
		done(id, true, d, err)
		booked(t, pool, id, 1)

		id = "the newer begins while the older works"
		c = owners(t, s, client, id, 2)
		began, goOn, newer := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(newer)
			<-began
			if err := box.Fence(ctx, c[1]); err != nil { // waits
				t.Error(err)
			}
			select {
			case <-goOn:
			default:
				t.Errorf("%s: its fence was noted while the older could still commit", id)
			}
		}()
		d, err = box.do(ctx, c[0], func(ctx context.Context, exec statements) (inbox.Result, error) {
			close(began)
			waiting(t, pool)
			close(goOn)
			return book(id)(ctx, exec)
		})
		done(id, false, d, err)
		<-newer
		d, err = box.do(ctx, c[1], fails)
		done(id, true, d, err)
		booked(t, pool, id, 1)

		id = "the newer begins between the older's fence and its work"
		c = owners(t, s, client, id, 3)
		for _, claim := range c[1:] {
			if err := box.Fence(ctx, claim); err != nil {
				t.Error(err)
			}
		}
		_, err = box.do(ctx, c[1], book(id))
		fenced(id, err)
		booked(t, pool, id, 0)

		id = "given back and claimed again"
		c = owners(t, s, client, id, 1)
		if _, err := c[0].Release(ctx, "test"); err != nil {
			t.Fatal(err)
		}
		c = append(c, owners(t, s, client, id, 1)...)
		if _, err = box.do(ctx, c[1], fails); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", id, err)
		}
		_, err = box.do(ctx, c[0], book(id))
		fenced(id, err)
		booked(t, pool, id, 0)
	})
}

// waiting waits until somebody in the database waits for a lock.
func waiting(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	until(t, "a transaction waits", func() bool {
		return count(t, pool, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	})
}

func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !met(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// Many owners of one event at once, of whom some fail: its row is written once at most; all
// who are told that it was processed are told the same; whoever commits does so before any
// newer one has begun; and the last owner gets it done.
func TestOwnersAtOnce(t *testing.T) {
	t.Parallel()
	_, pool := consumerDB(t)
	s := memoryService(t)
	client := s.Client(idemsvc.WithConsumer(consumer))
	box, err := pgxinbox.New(pool, namespace, consumer)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for round := range 40 {
		id := fmt.Sprint("evt_", round)
		claims := owners(t, s, client, id, 6)
		var clock atomic.Int64 // orders what happens
		began := make([]atomic.Int64, len(claims))
		var mu sync.Mutex
		results := map[string]int{}
		workedUntil := map[int]int64{} // by owners whose work was committed
		var all sync.WaitGroup
		for i, claim := range claims {
			for range 2 { // the same fence twice
				fail := rand.IntN(3) == 0 && i < len(claims)-1
				all.Go(func() {
					if err := box.Fence(t.Context(), claim); err != nil {
						t.Error(err)
						return
					}
					began[i].CompareAndSwap(0, clock.Add(1))
					var end int64
					d, err := box.Do(t.Context(), claim, func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
						if fail {
							return inbox.Result{}, errBroken
						}
						_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1, $2)", id, claim.GetFence())
						end = clock.Add(1)
						return inbox.Result{Body: fmt.Append(nil, claim.GetFence())}, err
					})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						results[string(d.Result.Body)]++
						if !d.Found {
							workedUntil[i] = end
						}
					case errors.Is(err, inbox.ErrFenced):
						refused++
					case !errors.Is(err, errBroken):
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		booked(t, pool, id, 1)
		if len(results) != 1 || len(workedUntil) != 1 {
			t.Errorf("%s: results %v, committed by %v", id, results, workedUntil)
		}
		for winner, end := range workedUntil {
			if n := count(t, pool, "SELECT count(*) FROM invoice WHERE event_id = $1 AND fence = $2", id, claims[winner].GetFence()); n != 1 {
				t.Errorf("%s: the row is not the winner's", id)
			}
			for newer := winner + 1; newer < len(claims); newer++ {
				if b := began[newer].Load(); b < end {
					t.Errorf("%s: owner %d worked until %d, owner %d had begun at %d", id, winner, end, newer, b)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nobody was ever refused: this shows nothing")
	}
}

// A replay works once more, however often its attempts die, and what comes late of the run
// before it changes nothing.
func TestAReplayWorksOnceMore(t *testing.T) {
	t.Parallel()
	_, pool := consumerDB(t)
	s := memoryService(t)
	client := s.Client(idemsvc.WithConsumer(consumer))
	box, err := pgxinbox.New(pool, namespace, consumer, inbox.Enforce(client))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) inbox.Work[pgx.Tx] {
		return func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
			_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ('evt_1', 0)")
			return inbox.Result{Body: []byte(text)}, err
		}
	}
	zombie := owners(t, s, client, "evt_1", 1)[0]
	s.Advance(time.Hour)
	if a, err := box.Process(t.Context(), event("evt_1"), write("first")); err != nil || string(a.Result) != "first" {
		t.Fatalf("%+v, %v", a, err)
	}
	replay(t, client, "evt_1")
	for n, want := range []struct {
		found bool
		body  string
	}{{false, "second"}, {true, "second"}} { // it dies before it can tell the service
		s.Advance(time.Hour)
		a, err := client.Claim(t.Context(), event("evt_1"), idemsvc.AcceptReplay())
		if err != nil || a.Claim == nil || !a.Claim.GetIsReplay() {
			t.Fatalf("%d: %v, %v", n, a, err)
		}
		d, err := box.Do(t.Context(), a.Claim, write("second"))
		if err != nil || d.Found != want.found || string(d.Result.Body) != want.body {
			t.Errorf("%d: %+v, %v", n, d, err)
		}
		if d, err := box.Do(t.Context(), zombie, write("zombie")); err != nil || !d.Found {
			t.Errorf("%d: of the first run: %+v, %v", n, d, err)
		}
		if n == 1 {
			if _, err := a.Claim.Complete(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	booked(t, pool, "evt_1", 2)
	if a, err := box.Process(t.Context(), event("evt_1"), write("third")); err != nil || a.Handled || string(a.Result) != "second" {
		t.Errorf("%+v, %v", a, err)
	}
}
