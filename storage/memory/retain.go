package memory

import (
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Retain removes what is past its retention, and returns how much that was.
func (s *Store) Retain() storage.Retention {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	var gone storage.Retention
	for id, e := range s.events {
		p := s.policyOfEvent(e)
		if p.ForgetsPayload(e, now) && s.payloads[e.Key.EventRef.ID()] != nil && s.allOver(e.Key.EventRef) {
			delete(s.payloads, e.Key.EventRef.ID())
			gone.Payloads++
		}
		if p.ForgetsEvent(e, now) && !s.holdsOn(id, e) {
			s.forgetEvent(id, e, p)
			gone.Events++
		}
	}
	for id, f := range s.effects {
		p := s.policy(consumerKey(f.Key.Namespace, f.Key.Consumer), "")
		if p.ForgetsEffect(f, now) && s.events[f.Event] == nil {
			delete(s.effects, id)
			s.entry(idem.OnEffect, id, f.Version, idem.Absent, p)
			gone.Effects++
		}
	}
	for id, r := range s.resources {
		p := s.policy(consumerKey(r.Key.Namespace, r.Key.Consumer), "")
		if p.ForgetsResource(r, s.changed[id], now) && !s.referred(id, r) {
			delete(s.resources, id)
			delete(s.members, id)
			delete(s.changed, id)
			s.entry(idem.OnResource, id, r.Version, idem.Absent, p)
			gone.Resources++
		}
	}
	s.removed.PassedAt = now
	s.removed.Events += gone.Events
	s.removed.Effects += gone.Effects
	s.removed.Resources += gone.Resources
	s.removed.Payloads += gone.Payloads
	return gone
}

// allOver reports whether no consumer has yet to finish the event.
func (s *Store) allOver(ref idem.EventRef) bool {
	for _, id := range s.stored[ref.Namespace] {
		if e := s.events[id]; e.Key.EventRef == ref && !e.Over() {
			return false
		}
	}
	return true
}

// holdsOn reports whether a side effect of the event is open, or a lane its own.
func (s *Store) holdsOn(id idem.ID, e *idem.Event) bool {
	for effect := range s.under[id] {
		if f := s.effects[effect]; f != nil && f.Event == id && (f.State == idem.EffectBegun || f.State == idem.EffectUnknown) {
			return true
		}
	}
	return slices.ContainsFunc(e.Lanes, func(l idem.Lane) bool {
		r := s.resources[l.Resource]
		return r != nil && r.Owned && r.Owner == id
	})
}

func (s *Store) forgetEvent(id idem.ID, e *idem.Event, p *idem.Policy) {
	for effect := range s.under[id] {
		if f := s.effects[effect]; f != nil && f.Event == id && f.Key.Scope == idem.EventScope {
			delete(s.effects, effect)
		}
	}
	delete(s.under, id)
	delete(s.events, id)
	delete(s.attempts, id)
	delete(s.deliveries, id)
	for _, ns := range []string{"", e.Key.Namespace} {
		s.stored[ns] = slices.DeleteFunc(s.stored[ns], func(x idem.ID) bool { return x == id })
	}
	s.entry(idem.OnEvent, id, e.Version, e.State, p)
}

func (s *Store) entry(subject idem.Subject, id idem.ID, version int64, from idem.State, p *idem.Policy) {
	s.journal = append(s.journal, idem.Entry{
		Kind: idem.EntryForgotten, Subject: subject, ID: id, Seq: version + 1, From: from, Policy: p.Version,
	})
}

// referred reports whether a stored event is ordered by the resource, or applied or owned it.
func (s *Store) referred(id idem.ID, r *idem.Resource) bool {
	if s.events[r.AppliedBy] != nil || s.events[r.Owner] != nil {
		return true
	}
	for _, e := range s.stored[r.Key.Namespace] {
		if o := s.events[e].Ordering; o != nil && o.Resource.ID() == id {
			return true
		}
	}
	return false
}
