package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// inbox is what the store knows of events that workers could acquire. It is guarded by the
// store's mutex, but for those who listen.
type inbox struct {
	serial int64
	open   map[storage.Group]map[idem.ID]int64 // not finished, in the order of their arrival
	rests  map[idem.ID]rest
	made   map[idem.ID][]idem.ID // what acquisitions were granted

	mu        *sync.Mutex
	listeners map[*listener]bool
}

type listener struct {
	f func(about func(storage.Group) bool)
}

// rest is an event that is not offered for a while.
type rest struct {
	until idem.Instant
	lane  idem.ID
}

func newInbox() inbox {
	return inbox{
		open: map[storage.Group]map[idem.ID]int64{}, rests: map[idem.ID]rest{}, made: map[idem.ID][]idem.ID{},
		mu: &sync.Mutex{}, listeners: map[*listener]bool{},
	}
}

// put notes a new version of an event's record.
func (b *inbox) put(e *idem.Event) {
	id, g := e.ID(), storage.GroupOf(e.Key)
	if e.State != idem.Received || e.Waiting.Kind == idem.NotWaiting { // else it was tried in vain, and rests
		delete(b.rests, id)
		if e.Ordering != nil {
			b.touch(e.Ordering.Resource.ID())
		}
	}
	if e.State.Finished() {
		delete(b.open[g], id)
		if len(b.open[g]) == 0 {
			delete(b.open, g)
		}
		return
	}
	if b.open[g] == nil {
		b.open[g] = map[idem.ID]int64{}
	}
	if _, known := b.open[g][id]; !known {
		b.serial++
		b.open[g][id] = b.serial
	}
}

// touch ends the rests of events about a resource: what they wait for may have happened.
func (b *inbox) touch(lane idem.ID) {
	for id, r := range b.rests {
		if r.lane == lane {
			delete(b.rests, id)
		}
	}
}

// tell calls whoever listens.
func (b *inbox) tell(d *idem.Decision) {
	var touched []storage.Group
	if d.Event != nil {
		touched = append(touched, storage.GroupOf(d.Event.New.Key))
	}
	for _, r := range d.Resources {
		touched = append(touched, storage.Group{Namespace: r.New.Key.Namespace, Consumer: r.New.Key.Consumer})
	}
	if len(touched) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.listeners {
		l.f(func(g storage.Group) bool { return slices.Contains(touched, g) })
	}
}

// Listen implements [storage.Backend].
func (s *Store) Listen(ctx context.Context, f func(about func(storage.Group) bool)) {
	b, l := &s.inbox, &listener{f}
	b.mu.Lock()
	b.listeners[l] = true
	b.mu.Unlock()
	<-ctx.Done()
	b.mu.Lock()
	delete(b.listeners, l)
	b.mu.Unlock()
}

// acquire remembers what an acquisition was granted.
func (s *Store) acquire(c idem.Command, d *idem.Decision) {
	claim, ok := c.(*idem.Claim)
	a, _ := d.Answer.(*idem.ClaimAnswer)
	if ok && a != nil && a.Granted {
		s.inbox.made[claim.Acquisition] = append(s.inbox.made[claim.Acquisition], claim.Key.ID())
	}
}

// Take implements [storage.Backend].
func (s *Store) Take(ctx context.Context, q storage.TakeQuery) (storage.Taken, error) {
	if err := ctx.Err(); err != nil {
		return storage.Taken{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := storage.Taken{Now: s.clock(), Again: map[idem.ID][]*idem.Event{}}
	for _, w := range q.Wanted {
		list := s.due(w, out.Now)
		if len(list) == w.Max {
			out.Full = append(out.Full, w.Group)
		}
		for _, e := range list {
			s.inbox.rests[e.ID()] = restOf(e, out.Now.Add(storage.TakeFor))
			out.Due = append(out.Due, cloneEvent(e))
		}
	}
	for _, lane := range q.Lanes {
		out.Next = append(out.Next, s.next(lane, out.Now)...)
	}
	for _, id := range q.Again {
		for _, event := range s.inbox.made[id] {
			out.Again[id] = append(out.Again[id], cloneEvent(s.events[event]))
		}
	}
	return out, nil
}

// due are the events of a group that could be granted, of each lane the next one.
func (s *Store) due(w storage.Wanted, now idem.Instant) []*idem.Event {
	heads := map[idem.ID]*idem.Event{}
	var list []*idem.Event
	for id := range s.inbox.open[w.Group] {
		e := s.settled(s.events[id], now)
		if !acquirable(e, now) || s.inbox.rests[id].until > now {
			continue
		}
		if e.Ordering == nil {
			list = append(list, e)
			continue
		}
		lane := e.Ordering.Resource.ID()
		if h := heads[lane]; h == nil || storage.Ranks(e, h) {
			heads[lane] = e
		}
	}
	for lane, e := range heads {
		if !s.busy(lane, now) {
			list = append(list, e)
		}
	}
	order := s.inbox.open[w.Group]
	slices.SortFunc(list, func(a, b *idem.Event) int {
		return cmp.Or(cmp.Compare(readySince(a), readySince(b)), cmp.Compare(order[a.ID()], order[b.ID()]))
	})
	return list[:min(len(list), w.Max)]
}

// next are the events about a resource in the order of their ranks.
func (s *Store) next(lane idem.ID, now idem.Instant) []*idem.Event {
	r := s.resources[lane]
	if r == nil || s.busy(lane, now) {
		return nil
	}
	var list []*idem.Event
	for id := range s.inbox.open[storage.Group{Namespace: r.Key.Namespace, Consumer: r.Key.Consumer}] {
		if e := s.settled(s.events[id], now); e.Ordering != nil && e.Ordering.Resource == r.Key && acquirable(e, now) {
			list = append(list, cloneEvent(e))
		}
	}
	slices.SortFunc(list, func(a, b *idem.Event) int {
		switch {
		case storage.Ranks(a, b):
			return -1
		case storage.Ranks(b, a):
			return 1
		default:
			return 0
		}
	})
	return list
}

func acquirable(e *idem.Event, now idem.Instant) bool {
	return (e.State == idem.Received || e.State == idem.FailedRetryable) && e.DueAt <= now
}

// busy reports whether a live claim holds the lane.
func (s *Store) busy(lane idem.ID, now idem.Instant) bool {
	r := s.resources[lane]
	if r == nil || !r.Owned {
		return false
	}
	owner := s.events[r.Owner]
	return owner != nil && owner.Fence == r.OwnerFence && owner.State == idem.Processing && owner.LeaseUntil > now
}

// readySince is since when the event could be granted, as far as it alone is concerned.
func readySince(e *idem.Event) idem.Instant { return cmp.Or(e.DueAt, e.EndedAt, e.CreatedAt) }

// Rest implements [storage.Backend].
func (s *Store) Rest(ctx context.Context, list []storage.Rest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for _, r := range list {
		_, taken := s.inbox.rests[r.Event]
		delete(s.inbox.rests, r.Event)
		if e := s.events[r.Event]; e != nil && taken && r.In > 0 {
			s.inbox.rests[r.Event] = restOf(e, now.Add(r.In))
		}
	}
	return nil
}

func restOf(e *idem.Event, until idem.Instant) rest {
	r := rest{until: until}
	if e.Ordering != nil {
		r.lane = e.Ordering.Resource.ID()
	}
	return r
}
