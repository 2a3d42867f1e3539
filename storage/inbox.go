package storage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// How the inbox paces itself.
const (
	acquirePoll  = time.Second // how often it asks where nothing tells it to
	acquireWarm  = 2 * time.Second
	acquireRound = 512 // events of one round
	acquireGroup = 256 // of one group
	acquireLanes = 64
	acquireFresh = 1024 // events that were just received, for each group
	acquireAtOne = 2    // rounds in flight
	takeTimeout  = 15 * time.Second
)

// inbox brings together workers that wait for events, and events that are due. It asks the
// backend once for all of them: when something happened here that may make an event due, when
// the backend says that something has happened elsewhere, and once a second otherwise.
type inbox struct {
	s      *Service
	kick   chan struct{}
	rounds chan struct{} // a place for each round in flight

	mu      sync.Mutex
	active  atomic.Bool // there are desks
	desks   map[Group]*desk
	flying  map[idem.ID]bool // events of which a claim is on its way
	turn    int
	running bool
	closed  bool
}

// desk is what is known of one group while somebody waits for its events.
type desk struct {
	waiting []*acquirer // in their order
	fresh   []*idem.Event
	lanes   map[idem.ID]bool // may have become free; true: what is older there is superseded
	dirty   bool             // something happened since the backend was asked
	asked   time.Time
	used    time.Time
}

func newInbox(s *Service) *inbox {
	return &inbox{
		s: s, kick: make(chan struct{}, 1), rounds: make(chan struct{}, acquireAtOne),
		desks: map[Group]*desk{}, flying: map[idem.ID]bool{},
	}
}

func (b *inbox) ring() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, d := range b.desks {
		n += len(d.waiting)
	}
	return n
}

// join lets an acquirer wait. The backend is asked at once unless it was a moment ago and
// nothing has happened since.
func (b *inbox) join(a *acquirer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	d := b.desks[a.q.Group]
	if d == nil {
		d = &desk{lanes: map[idem.ID]bool{}, dirty: true}
		b.desks[a.q.Group] = d
		b.active.Store(true)
	}
	d.used = time.Now()
	d.waiting = append(d.waiting, a)
	if d.dirty || len(d.fresh) > 0 || a.q.Wait <= 0 || time.Since(d.asked) >= acquirePoll {
		d.dirty = true
		b.ring()
	}
	if !b.running {
		b.running = true
		b.s.wg.Go(b.run)
	}
	return nil
}

// leave takes an acquirer away, and is false while it is being granted something: then it is
// told of that, unless it is gone. One that does not want to wait is looked for once.
func (b *inbox) leave(a *acquirer, gone bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case a.state == acquirerDone:
		return false
	case a.state == acquirerGranted && gone:
		a.state = acquirerGone
		return true
	case a.state == acquirerGranted, !gone && !a.served:
		a.late = true
		b.hurry(a)
		return false
	}
	b.remove(a)
	a.state = acquirerDone
	return true
}

// hurry has an acquirer looked for now that nobody has looked for yet.
func (b *inbox) hurry(a *acquirer) {
	if d := b.desks[a.q.Group]; d != nil && a.state == acquirerWaits {
		d.dirty = true
		b.ring()
	}
}

func (b *inbox) remove(a *acquirer) {
	d := b.desks[a.q.Group]
	if d == nil {
		return
	}
	d.used = time.Now()
	if i := slices.Index(d.waiting, a); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
}

// answer tells an acquirer. The caller holds the lock.
func (a *acquirer) answer(out []Acquired, err error) {
	a.state, a.out, a.err = acquirerDone, out, err
	close(a.done)
}

// run asks in turn until nobody has waited for a while.
func (b *inbox) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { b.s.backend.Listen(ctx, b.heard) })
	defer listening.Wait()
	defer cancel()
	ticker := time.NewTicker(acquirePoll)
	defer ticker.Stop()
	for {
		tick := false
		select {
		case <-ticker.C:
			tick = true
		case <-b.kick:
		}
		if b.over(tick) {
			return
		}
		b.rounds <- struct{}{}
		b.round(tick)
	}
}

// over ends the inbox's work: for good when the service closes, or as long as nobody comes.
func (b *inbox) over(tick bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g, d := range b.desks {
		if b.closed {
			for _, a := range d.waiting {
				a.answer(nil, nil)
			}
			d.waiting = nil
		}
		if len(d.waiting) == 0 && (b.closed || tick && time.Since(d.used) >= acquireWarm) {
			delete(b.desks, g)
		}
	}
	if b.closed || tick && len(b.desks) == 0 {
		b.active.Store(false)
		b.running = false
		return true
	}
	return false
}

// heard notes that something may have become due elsewhere.
func (b *inbox) heard(about func(Group) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g, d := range b.desks {
		if about(g) {
			d.dirty = true
			b.ring()
		}
	}
}

// noted hears of every result: what makes an event due here, or a lane free, is acted on
// without waiting for the list of unfinished work.
func (b *inbox) noted(r Result) {
	if r.Err != nil || !b.active.Load() {
		return
	}
	var e *idem.Event
	switch a := r.Answer.(type) {
	case *idem.ReceiveAnswer:
		if !a.Fresh {
			return
		}
		e = a.Event
	case *idem.EndAnswer:
		e = a.Event
	}
	if e == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.desks[GroupOf(e.Key)]
	if d == nil {
		return
	}
	if e.Ordering != nil {
		d.lane(e.Ordering.Resource.ID(), false)
	}
	for _, l := range e.Lanes {
		d.lane(l.Resource, false)
	}
	due := (e.State == idem.Received || e.State == idem.FailedRetryable) && e.DueAt <= b.s.backend.Clock()
	if due && len(d.fresh) < acquireFresh {
		d.fresh = append(d.fresh, e)
	}
	if due || len(d.lanes) > 0 {
		d.dirty = true
		if len(d.waiting) > 0 {
			b.ring()
		}
	}
}

func (d *desk) lane(id idem.ID, superseded bool) {
	if len(d.lanes) < acquireLanes {
		d.lanes[id] = d.lanes[id] || superseded
	}
}

func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.ring()
}

// pauseOf is when an event that was tried in vain is tried again, if nothing happens before
// that it waits for. The longer it has waited, the longer it is left alone.
func pauseOf(a *idem.ClaimAnswer) (d time.Duration, ok bool) {
	const least, most = 5 * time.Second, 10 * time.Minute
	switch a.Outcome {
	case idem.OutcomeRetryScheduled:
		return a.RetryIn, a.RetryIn > 0
	case idem.OutcomeResourceBusy, idem.OutcomeAwaiting, idem.OutcomeIllegal:
	default:
		return 0, false
	}
	if a.Event == nil || a.Event.State != idem.Received {
		return 0, false
	}
	if a.GapIn > 0 {
		return min(a.GapIn, most), true
	}
	return max(least, min(a.Now.Sub(a.Event.WaitingSince)/2, most)), true
}

// itsOwn reports whether a claim's error is about its event alone - the rules refuse it, its
// rows are locked, cannot be read or cannot be written - and so no reason to turn whoever
// acquires away.
func itsOwn(err error) bool {
	return !slices.ContainsFunc([]error{ErrUnavailable, ErrFull, ErrOverloaded, ErrClosed, ErrRestored, ErrSchema}, func(all error) bool { return errors.Is(err, all) })
}
