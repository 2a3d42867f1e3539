package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	// producers is how many callers hand events in, one at a time each, and wait for the
	// answer.
	producers = 64
	// payloadBytes is the size of an event's payload.
	payloadBytes = 1024
	// inboxWindow is how many events may be unfinished where workers are to keep up: producers
	// wait then.
	inboxWindow = 1000
	// inboxPatience is how long an event may take to be finished.
	inboxPatience = 30 * time.Second
	// inboxGoal and inboxGoalPostgres are the least ratio of rates, and the most of
	// PostgreSQL's CPU for an event, that were aimed at beside River.
	inboxGoal         = 2
	inboxGoalPostgres = 0.5
)

// inboxSlots are how many handlers run at the same time, all workers together; the fastest is
// taken.
var inboxSlots = []int{64, 256}

// apart tells whether workers begin only when all events are handed in, so that all of them
// have waited.
type apart bool

// inbox hands events in for a while, and ends when workers have finished all of them.
func (s *site) inbox(ctx context.Context, d time.Duration, slots int, alone apart) (events int64, seconds float64, err error) {
	f := &flow{service: s.service, changed: make(chan struct{}, 1), window: inboxWindow}
	if alone {
		f.window = 0
	} else {
		f.begin(ctx, slots)
	}
	defer func() { err = errors.Join(err, f.end()) }()
	started := time.Now()
	received, err := f.receive(ctx, d)
	if err != nil {
		return 0, 0, err
	}
	if alone {
		f.begin(ctx, slots)
	}
	err = f.drained(ctx, received)
	return received, time.Since(started).Seconds(), err
}

// flow is events on their way through the inbox.
type flow struct {
	service *service
	window  int64 // how many may be unfinished; 0: any number
	stop    context.CancelFunc
	working sync.WaitGroup

	received, finished atomic.Int64
	changed            chan struct{} // something was finished

	mu     sync.Mutex
	faults []error
}

// begin starts a worker on each connection.
func (f *flow) begin(ctx context.Context, slots int) {
	ctx, f.stop = context.WithCancel(ctx)
	for _, c := range f.service.streams {
		w := c.Worker(func(context.Context, *idemsvc.Claim) error { return nil },
			idemsvc.WorkerConcurrency(slots/len(f.service.streams)), idemsvc.WorkerAnswered(f.answered))
		f.working.Go(func() {
			if err := w.Run(ctx); err != nil {
				f.failed(err)
			}
		})
	}
}

// end stops the workers, and returns what went wrong.
func (f *flow) end() error {
	if f.stop != nil {
		f.stop()
	}
	f.working.Wait()
	return errors.Join(f.faults...)
}

func (f *flow) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, err)
}

func (f *flow) answered(_ *idemsvc.Claim, a *idemsvc.Answer, err error) {
	if err == nil && a.State != pb.EventState_EVENT_STATE_PROCESSED {
		err = fmt.Errorf("an event that was worked on ended as %v", a.State)
	}
	if err != nil {
		f.failed(err)
	}
	f.finished.Add(1)
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// receive has producers hand events in for a while.
func (f *flow) receive(ctx context.Context, d time.Duration) (int64, error) {
	payload := slices.Repeat([]byte{'x'}, payloadBytes)
	var handing sync.WaitGroup
	end := time.Now().Add(d)
	for i := range producers {
		handing.Go(func() {
			for time.Now().Before(end) {
				if f.window > 0 && f.received.Load()-f.finished.Load() >= f.window {
					if pause(ctx, time.Millisecond) != nil {
						return
					}
					continue
				}
				if err := receiveOne(ctx, f.service, i, payload); err != nil {
					f.failed(err)
					return
				}
				f.received.Add(1)
			}
		})
	}
	handing.Wait()
	return f.received.Load(), ctx.Err()
}

// receiveOne hands one fresh event in.
func receiveOne(ctx context.Context, v *service, caller int, payload []byte) error {
	a, err := v.stream(caller).Receive(ctx, &idemsvc.Event{Source: source, EventId: freshID(), Body: &pb.Event_Payload{Payload: payload}})
	if err == nil && !a.Acknowledge() {
		err = fmt.Errorf("a fresh event was answered %v", a.Advice())
	}
	return err
}

// drained waits until as many events are finished.
func (f *flow) drained(ctx context.Context, events int64) error {
	for f.finished.Load() < events {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.changed:
		case <-time.After(inboxPatience):
			return fmt.Errorf("%d of %d events are finished, and no more within %s", f.finished.Load(), events, inboxPatience)
		}
	}
	return nil
}

// inboxArms are the inbox beside River, or where River is not there, beside another arm.
func (s *site) inboxArms(add func(arm) *arm, other *arm) {
	for _, k := range []struct {
		family, what string
		alone        apart
	}{
		{"inbox", "over a session: ReceiveEvent, then events pushed to a worker, and CompleteEvent", false},
		{"inbox-stored", "the same where workers begin when all events are received", true},
	} {
		a := arm{family: k.family, callers: producers, way: overServer, base: other, what: k.what, whole: func(ctx context.Context, d time.Duration) (int64, float64, error) {
			return s.inbox(ctx, d, s.slots, k.alone)
		}}
		if s.River != "" {
			a.base = add(arm{family: "river" + k.family[len("inbox"):], callers: producers, way: overRiver, what: "River: insert, work, complete; one insert for each event", whole: func(ctx context.Context, d time.Duration) (int64, float64, error) {
				return s.river.do(ctx, s.riverBest.with(d, k.alone))
			}})
			a.goal, a.goalPostgres = inboxGoal, inboxGoalPostgres
		}
		add(a)
	}
}

// tuneInbox finds the number of handlers with which the inbox is fastest.
func (s *site) tuneInbox(ctx context.Context) error {
	best := 0.0
	for _, slots := range inboxSlots {
		a := &arm{family: "inbox", callers: producers, way: overServer, whole: func(ctx context.Context, d time.Duration) (int64, float64, error) {
			return s.inbox(ctx, d, slots, false)
		}}
		r, err := s.slot(ctx, a, s.Duration)
		if err != nil {
			return err
		}
		s.say("the inbox with %d handlers: %.0f events/s, %.0f µs of PostgreSQL's CPU for an event", slots, r.rate(), r.postgres())
		if r.rate() > best {
			best, s.slots = r.rate(), slots
		}
	}
	return nil
}
