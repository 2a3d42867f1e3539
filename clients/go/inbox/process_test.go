package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
)

var errBroken = errors.New("broken")

// acknowledged fails unless an answer is a success with the result of the event's work.
func acknowledged(t *testing.T, id string, handled bool, a *idemsvc.Answer, err error) {
	t.Helper()
	if err != nil || !a.Acknowledge() || a.Handled != handled || a.State != pb.EventState_EVENT_STATE_PROCESSED {
		t.Errorf("%s: %+v, %v; handled should be %v", id, a, err, handled)
	}
	if string(a.Result) != "invoice of "+id || a.ContentType != "text/plain" {
		t.Errorf("%s: result %q of type %q", id, a.Result, a.ContentType)
	}
}

// On each rung an event is processed once, and a duplicate gets the stored result.
func TestEachRungProcessesOnce(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		client := memoryService(t).Client()
		for rung, opts := range map[string][]inbox.Option{
			"alone":    nil,
			"observed": {inbox.Observe(client)},
			"enforced": {inbox.Enforce(client)},
			"or local": {inbox.EnforceOrLocal(client, time.Minute)},
		} {
			box := open(opts...)
			for n := range 3 {
				a, err := box.process(t.Context(), event(rung), book(rung))
				acknowledged(t, rung, n == 0, a, err)
			}
			booked(t, pool, rung, 1)
		}
		seen := client.Observations()
		if seen.Agreed+seen.Unanswered != 3 || seen.Agreed == 0 || seen.Extra+seen.Missed+seen.Unrecorded != 0 { // it has a second to answer
			t.Errorf("observed %+v", seen)
		}
	})
}

// An event that arrives many times at once is processed once, and all are told the result.
func TestDeliveriesAtOnceAreOne(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		box := open()
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				a, err := box.process(t.Context(), event("evt_1"), book("evt_1"))
				acknowledged(t, "evt_1", a.Handled, a, err)
			})
		}
		all.Wait()
		booked(t, pool, "evt_1", 1)
	})
}

// Work that fails in whatever way leaves neither marker nor rows, and the next try works.
func TestWorkThatFailsLeavesNothing(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		client := memoryService(t).Client()
		failing := map[string]job{
			"error": func(ctx context.Context, exec statements) (inbox.Result, error) {
				_ = exec(ctx, "INSERT INTO invoice VALUES ('error', 0)")
				return inbox.Result{}, idemsvc.RetryAfter(0, errBroken)
			},
			"panic": func(ctx context.Context, exec statements) (inbox.Result, error) {
				_ = exec(ctx, "INSERT INTO invoice VALUES ('panic', 0)")
				panic("broken")
			},
			"a failed statement that was overlooked": func(ctx context.Context, exec statements) (inbox.Result, error) {
				_ = exec(ctx, "INSERT INTO invoice VALUES ('a failed statement that was overlooked', 0)")
				_ = exec(ctx, "SELECT 1 / 0")
				return inbox.Result{}, nil
			},
			"a result that the service would refuse": func(ctx context.Context, exec statements) (inbox.Result, error) {
				err := exec(ctx, "INSERT INTO invoice VALUES ('a result that the service would refuse', 0)")
				return inbox.Result{Body: make([]byte, 65537)}, err
			},
		}
		for rung, box := range map[string]subject{"alone": open(), "enforced": open(inbox.Enforce(client))} {
			for name, work := range failing {
				id := name
				e := event(rung + " " + id)
				a, err := func() (a *idemsvc.Answer, err error) {
					defer func() {
						if v := recover(); v != nil {
							a, err = &idemsvc.Answer{Advice: idemsvc.RepeatLater}, fmt.Errorf("panic: %v", v)
						}
					}()
					return box.process(t.Context(), e, work)
				}()
				if err == nil || a.Acknowledge() {
					t.Errorf("%s, %s: %+v, %v", rung, name, a, err)
				}
				booked(t, pool, id, 0)
				if n := count(t, pool, "SELECT count(*) FROM idemsvc_inbox WHERE event_id = $1 AND processed_at IS NOT NULL", e.GetEventId()); n != 0 {
					t.Errorf("%s, %s: a marker is left", rung, name)
				}
			}
		}
	})
}

// An event that is ordered needs the service to decide.
func TestTheMarkerDoesNotOrder(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	s := newService(t)
	client := s.client()
	ordered := &idemsvc.Event{Source: "stripe", EventId: "evt_1", Resource: &idemsvc.Resource{Type: "order", Id: "1"}}
	opt := idemsvc.WithOrdering(idemsvc.LatestWins(idemsvc.Sequence(1)))
	for rung, opts := range map[string][]inbox.Option{"alone": nil, "observed": {inbox.Observe(client)}} {
		a, err := drivers["pgx"](t, url, opts...).process(t.Context(), ordered, book("evt_1"), opt)
		if err == nil || a.Acknowledge() {
			t.Errorf("%s: %+v, %v", rung, a, err)
		}
	}
	s.away()
	local := drivers["pgx"](t, url, inbox.EnforceOrLocal(client, 2*time.Second))
	if a, err := local.process(t.Context(), ordered, book("evt_1"), opt); err == nil || a.Acknowledge() {
		t.Errorf("away: %+v, %v", a, err)
	}
	s.start()
	a, err := local.process(t.Context(), ordered, book("evt_1"), opt)
	for errors.Is(err, idemsvc.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, idemsvc.ErrNotNow) { // the connection comes back
		s.endLeases()
		a, err = local.process(t.Context(), ordered, book("evt_1"), opt)
	}
	acknowledged(t, "evt_1", true, a, err)
	booked(t, pool, "evt_1", 1)
}
