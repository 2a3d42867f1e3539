package memory

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// policyOf is the policy for a command: that of its event's record, else that of the
// key it names.
func (s *Store) policyOf(c idem.Command) *idem.Policy {
	if e := s.events[c.Subject()]; e != nil {
		return s.policyOfEvent(e)
	}
	switch c := c.(type) {
	case *idem.Claim:
		return s.policy(c.Key, c.Facts.Type)
	case *idem.Receive:
		return s.policy(c.Key, c.Facts.Type)
	case *idem.Check:
		return s.policy(consumerKey(c.Ordering.Resource.Namespace, c.Ordering.Resource.Consumer), "")
	case *idem.BeginEffect:
		return s.policy(consumerKey(c.Key.Namespace, c.Key.Consumer), "")
	case *idem.RecordEffect:
		return s.policy(consumerKey(c.Key.Namespace, c.Key.Consumer), "")
	case *idem.ResolveEffect:
		return s.policy(consumerKey(c.Key.Namespace, c.Key.Consumer), "")
	case *idem.ReportEffect:
		if f := s.effects[c.Token.Effect]; f != nil {
			if e := s.events[f.Event]; e != nil {
				return s.policyOfEvent(e)
			}
		}
		return s.policy(consumerKey(c.Token.Namespace, ""), "")
	default:
		return s.policy(idem.EventKey{}, "")
	}
}

func (s *Store) policyOfEvent(e *idem.Event) *idem.Policy { return s.policy(e.Key, e.Facts.Type) }

func consumerKey(namespace, consumer string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: namespace}, Consumer: consumer}
}

// world gathers what a command is decided on. Records are copies: decisions and
// answers hold on to them.
func (s *Store) world(c idem.Command, p *idem.Policy, now idem.Instant) *idem.World {
	w := &idem.World{
		Now: now, EpochStart: s.epochStart, Policies: s.policyOfEvent,
		Resources: map[idem.ID]*idem.Resource{}, Owners: map[idem.ID]*idem.Event{},
	}
	subject := c.Subject()
	if e := s.events[subject]; e != nil {
		w.Event = cloneEvent(e)
		w.Effects = s.effectsOf(subject)
		for _, l := range e.Lanes {
			s.addResource(w, l.Resource)
		}
	}
	w.Past = s.past(c)
	if _, ok := c.(*idem.Complete); ok && w.Event != nil && w.Event.Signals() {
		w.Signals = s.signalsBeside(w.Event)
	}
	if id, ok := idem.EffectOf(c); ok {
		w.Effect = cloneEffect(s.effects[id])
	}
	if a, ok := idem.ArrivalOf(c); ok {
		w.SeenVerified = s.verified[source{a.Key.Namespace, a.Key.Source}]
	}
	if o := ordering(c, w.Event); o != nil {
		id := o.Resource.ID()
		s.addResource(w, id)
		s.addOwners(w)
		w.Members = s.membersFor(o, s.resources[id], p, now)
	}
	return w
}

// ordering is what the command is ordered by: a record keeps the ordering of its first
// claim, whatever a later one says.
func ordering(c idem.Command, e *idem.Event) *idem.Ordering {
	switch c := c.(type) {
	case *idem.Claim:
		if e != nil && e.Ordering != nil {
			return e.Ordering
		}
		return c.Ordering
	case *idem.Receive:
		return c.Ordering
	case *idem.Check:
		return &c.Ordering
	default:
		return nil
	}
}

func (s *Store) addResource(w *idem.World, id idem.ID) {
	if r := s.resources[id]; r != nil && w.Resources[id] == nil {
		w.Resources[id] = cloneResource(r)
	}
}

// addOwners adds the events that own lanes of the resources at hand, and the other
// resources of those events: settling an owner frees them all.
func (s *Store) addOwners(w *idem.World) {
	for _, r := range w.Resources {
		if !r.Owned {
			continue
		}
		if e := s.events[r.Owner]; e != nil {
			w.Owners[r.Owner] = cloneEvent(e)
		}
	}
	for _, e := range w.Owners {
		for _, l := range e.Lanes {
			s.addResource(w, l.Resource)
		}
	}
}

// past is the earlier attempt that a token or a claimant names. Of a claimant's it is
// the latest one; a grant whose answer never left the server counts only when there is
// no other.
func (s *Store) past(c idem.Command) *idem.Attempt {
	attempts := s.attempts[c.Subject()]
	claim, ok := c.(*idem.Claim)
	if !ok {
		fence, named := fenceOf(c)
		for i := range attempts {
			if named && attempts[i].Fence == fence {
				a := cloneAttempt(&attempts[i])
				return &a
			}
		}
		return nil
	}
	var found *idem.Attempt
	for i := range attempts {
		a := &attempts[i]
		if a.Claimant == claim.Claimant && (found == nil || a.End != idem.EndUndelivered || found.End == idem.EndUndelivered) {
			found = a
		}
	}
	if found == nil {
		return nil
	}
	a := cloneAttempt(found)
	return &a
}

func fenceOf(c idem.Command) (fence int64, ok bool) {
	var t *idem.Token
	switch c := c.(type) {
	case *idem.Complete:
		t = &c.Token
	case *idem.Fail:
		t = &c.Token
	case *idem.Extend:
		t = &c.Token
	case *idem.Release:
		t = &c.Token
	case *idem.Check:
		t = c.Token
	case *idem.BeginEffect:
		t = c.Token
	case *idem.RecordEffect:
		t = c.Token
	}
	if t == nil {
		return 0, false
	}
	return t.Fence, true
}

// effectsOf are the effects that were last begun or recorded under an event, in the
// order of their last change.
func (s *Store) effectsOf(id idem.ID) []*idem.Effect {
	var out []*idem.Effect
	for effect := range s.under[id] {
		if f := s.effects[effect]; f != nil && f.Event == id {
			out = append(out, cloneEffect(f))
		}
	}
	slices.SortFunc(out, func(a, b *idem.Effect) int {
		ai, bi := a.ID(), b.ID()
		return cmp.Or(cmp.Compare(a.Since, b.Since), bytes.Compare(ai[:], bi[:]))
	})
	return out
}

// membersFor are the members that stand between what was applied and the ordering's
// version, and those of that version itself. Where nothing of the version's epoch was
// applied, the series begins with its lowest member.
func (s *Store) membersFor(o *idem.Ordering, r *idem.Resource, p *idem.Policy, now idem.Instant) []idem.MemberEvent {
	if o.Mode != idem.Sequential {
		return nil
	}
	v := o.Version
	from := int64(minValue)
	switch {
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
			me.Key, me.State = e.Key, s.settled(e, now).State
		}
		if out = append(out, me); len(out) == maxMembers {
			break
		}
	}
	return out
}

const minValue = -1 << 63

// settled is the record as of an instant, under its own policy.
func (s *Store) settled(e *idem.Event, now idem.Instant) *idem.Event {
	return idem.Settled(e, now, s.policyOfEvent(e))
}

// signalsBeside are the pending signals about the resource of one, those that arrived first.
func (s *Store) signalsBeside(e *idem.Event) []*idem.Event {
	var list []*idem.Event
	for id := range s.inbox.open[storage.GroupOf(e.Key)] {
		o := s.events[id]
		if o.Signals() && o.Ordering.Resource == e.Ordering.Resource && id != e.ID() {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *idem.Event) int { return cmp.Compare(a.Fence, b.Fence) })
	list = list[:min(len(list), idem.MaxFold)]
	for i, o := range list {
		list[i] = cloneEvent(o)
	}
	return list
}
