package linear

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// state is all records of a part of the store, as the rules would have left them. It is
// never changed: a step makes a new one that shares what it did not touch.
type state struct {
	events    map[idem.ID]*idem.Event
	attempts  map[idem.ID][]idem.Attempt // oldest first
	effects   map[idem.ID]*idem.Effect
	resources map[idem.ID]*idem.Resource
	members   map[idem.ID][]idem.Member // by resource, ordered

	leases map[idem.ID]int // how many of the new ends of a record's lease have come

	// pending are the notes that were decided and are not written yet; nil for one that has
	// nothing to write.
	pending map[any]*idem.Decision

	hash uint64

	next     []silent // see [model.successors]
	expanded bool
}

func newState() *state {
	return &state{
		events: map[idem.ID]*idem.Event{}, attempts: map[idem.ID][]idem.Attempt{}, effects: map[idem.ID]*idem.Effect{},
		resources: map[idem.ID]*idem.Resource{}, members: map[idem.ID][]idem.Member{}, leases: map[idem.ID]int{},
		pending: map[any]*idem.Decision{},
	}
}

func (s *state) clone() *state {
	return &state{
		events: maps.Clone(s.events), attempts: maps.Clone(s.attempts), effects: maps.Clone(s.effects),
		resources: maps.Clone(s.resources), members: maps.Clone(s.members), leases: maps.Clone(s.leases),
		pending: maps.Clone(s.pending),
	}
}

// version is the row version of a record, 0 where there is none.
func (s *state) version(id idem.ID) int64 {
	if e := s.events[id]; e != nil {
		return e.Version
	}
	if f := s.effects[id]; f != nil {
		return f.Version
	}
	if r := s.resources[id]; r != nil {
		return r.Version
	}
	return 0
}

// equal compares all that is stored.
func (s *state) equal(o *state) bool {
	return s == o || s.sum() == o.sum() && sameRecords(s.events, o.events) && sameRecords(s.effects, o.effects) && sameRecords(s.resources, o.resources) &&
		reflect.DeepEqual(s.attempts, o.attempts) && reflect.DeepEqual(s.members, o.members) && maps.Equal(s.leases, o.leases) &&
		reflect.DeepEqual(s.pending, o.pending)
}

func sameRecords[T any](a, b map[idem.ID]*T) bool {
	return maps.EqualFunc(a, b, func(x, y *T) bool { return x == y || reflect.DeepEqual(x, y) })
}

// sum is a hash that equal states share: of what changes with nearly every step.
func (s *state) sum() uint64 {
	if s.hash != 0 {
		return s.hash
	}
	h := uint64(len(s.events)) + uint64(len(s.pending))<<8 + 1
	mix := func(id idem.ID, more ...int64) {
		x := uint64(14695981039346656037)
		for _, b := range id {
			x = (x ^ uint64(b)) * 1099511628211
		}
		for _, v := range more {
			x = (x ^ uint64(v)) * 1099511628211 //nolint:gosec // a hash
		}
		h += x
	}
	for id, e := range s.events {
		mix(id, e.Version, e.Fence, int64(e.LeaseUntil), int64(e.State))
	}
	for id, f := range s.effects {
		mix(id, f.Version, int64(f.LeaseUntil))
	}
	for id, r := range s.resources {
		mix(id, r.Version, r.LaneFence)
	}
	s.hash = h
	return h
}

// world is what a command is decided on at an instant.
func (s *state) world(c idem.Command, p *idem.Policy, now idem.Instant) *idem.World {
	w := &idem.World{Now: now, Resources: map[idem.ID]*idem.Resource{}, Owners: map[idem.ID]*idem.Event{}, Policies: func(*idem.Event) *idem.Policy { return p }}
	subject := c.Subject()
	if e := s.events[subject]; e != nil {
		w.Event, w.Effects = e, s.effectsOf(subject)
		for _, l := range e.Lanes {
			s.addResource(w, l.Resource)
		}
	}
	w.Past, w.Signals = s.past(c), s.signals(c)
	if id, ok := idem.EffectOf(c); ok {
		w.Effect = s.effects[id]
	}
	o := idem.OrderingOf(c)
	if _, claim := c.(*idem.Claim); claim && w.Event != nil && w.Event.Ordering != nil {
		o = w.Event.Ordering // a record keeps the ordering of its first claim
	}
	if o == nil {
		return w
	}
	id := o.Resource.ID()
	s.addResource(w, id)
	for _, r := range w.Resources {
		if e := s.events[r.Owner]; r.Owned && e != nil {
			w.Owners[r.Owner] = e
		}
	}
	for _, e := range w.Owners {
		for _, l := range e.Lanes {
			s.addResource(w, l.Resource)
		}
	}
	if o.Mode == idem.Sequential {
		w.Members = s.membersFor(o, p, now)
	}
	return w
}

func (s *state) addResource(w *idem.World, id idem.ID) {
	if r := s.resources[id]; r != nil {
		w.Resources[id] = r
	}
}

func (s *state) effectsOf(event idem.ID) []*idem.Effect {
	var out []*idem.Effect
	for _, f := range s.effects {
		if f.Event == event {
			out = append(out, f)
		}
	}
	sortEffects(out)
	return out
}

func sortEffects(list []*idem.Effect) {
	slices.SortFunc(list, func(a, b *idem.Effect) int {
		ai, bi := a.ID(), b.ID()
		return bytes.Compare(ai[:], bi[:])
	})
}

// past is the earlier attempt that a token or a claimant names: of a claimant's the
// latest, one whose answer never left only when there is no other.
func (s *state) past(c idem.Command) *idem.Attempt {
	list := s.attempts[c.Subject()]
	claim, ok := c.(*idem.Claim)
	if !ok {
		t := idem.TokenOf(c)
		for i := range list {
			if t != nil && list[i].Fence == t.Fence {
				return &list[i]
			}
		}
		return nil
	}
	var found *idem.Attempt
	for i := range list {
		if a := &list[i]; a.Claimant == claim.Claimant && (found == nil || a.End != idem.EndUndelivered || found.End == idem.EndUndelivered) {
			found = a
		}
	}
	return found
}

// membersFor are the members that stand between what was applied and the ordering's
// version, and those of that version itself.
func (s *state) membersFor(o *idem.Ordering, p *idem.Policy, now idem.Instant) []idem.MemberEvent {
	v := o.Version
	from := int64(-1 << 63)
	switch r := s.resources[o.Resource.ID()]; {
	case r != nil && r.Applied && r.Epoch == v.Epoch:
		from = min(r.Value+1, v.Value)
	case (r == nil || !r.Applied) && p.StartAt > 0:
		from = min(p.StartAt, v.Value)
	}
	var out []idem.MemberEvent
	for _, m := range s.members[o.Resource.ID()] {
		if m.Epoch != v.Epoch || m.Value < from || m.Value > v.Value {
			continue
		}
		me := idem.MemberEvent{Member: m}
		if e := s.events[m.Event]; e != nil {
			me.Key, me.State = e.Key, idem.Settled(e, now, p).State
		}
		out = append(out, me)
	}
	return out
}

// apply is the state after a decision, written at the given moment with the fence drawn.
func (s *state) apply(d *idem.Decision, at idem.Instant, fence int64) *state {
	n := s.clone()
	put := func(w *idem.EventWrite) {
		e := w.Apply(at, fence)
		e.Identify(idem.ID{}) // records are compared without it
		n.events[e.ID()] = e
	}
	for _, w := range d.Owners {
		put(w)
	}
	if d.Event != nil {
		put(d.Event)
	}
	for _, w := range d.Resources {
		r := w.Apply(at, fence)
		n.resources[r.Key.ID()] = r
	}
	for _, w := range d.Effects {
		f := w.Apply(at)
		n.effects[f.ID()] = f
	}
	for i := range d.Attempts {
		a := d.Attempts[i]
		n.attempts[a.Event] = append(slices.Clip(n.attempts[a.Event]), a)
	}
	if m := d.Member; m != nil {
		all := n.members[m.Resource]
		at, known := slices.BinarySearchFunc(all, *m, func(a, b idem.Member) int {
			return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Value, b.Value), bytes.Compare(a.Event[:], b.Event[:]))
		})
		if !known {
			n.members[m.Resource] = slices.Insert(slices.Clone(all), at, *m)
		}
	}
	return n
}
