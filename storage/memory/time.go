package memory

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Expire ends the lease of an event's claim, or of an effect's last try, as if it ran
// out this instant. For tests that cannot move the clock.
func (s *Store) Expire(id idem.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if e := s.events[id]; e != nil {
		e.LeaseUntil = min(e.LeaseUntil, now)
		delete(s.inbox.rests, id)
	}
	if f := s.effects[id]; f != nil {
		f.LeaseUntil = min(f.LeaseUntil, now)
	}
}

// Due makes an event that rests due this instant. For tests that cannot move the clock.
func (s *Store) Due(id idem.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.events[id]; e != nil {
		e.DueAt = min(e.DueAt, s.clock())
		delete(s.inbox.rests, id)
	}
}

// Later shifts all stored instants of an event (with its attempts), an effect or a
// resource back by d, so that for this record alone d has passed. For tests that
// cannot move the clock.
func (s *Store) Later(id idem.ID, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.events[id]; e != nil {
		delete(s.inbox.rests, id)
		back(d, &e.LeaseUntil, &e.GrantedAt, &e.EndedAt, &e.DueAt, &e.WaitingSince, &e.NotYetSince, &e.CreatedAt)
		s.entered[id] = s.entered[id].Add(-d)
		for i := range s.attempts[id] {
			a := &s.attempts[id][i]
			back(d, &a.GrantedAt, &a.EndedAt, &a.DueAt)
		}
	}
	if f := s.effects[id]; f != nil {
		back(d, &f.LeaseUntil, &f.Since)
	}
	if r := s.resources[id]; r != nil {
		back(d, &r.GapSince)
		s.changed[id] = s.changed[id].Add(-d)
	}
}

func back(d time.Duration, instants ...*idem.Instant) {
	for _, i := range instants {
		if *i != 0 {
			*i = i.Add(-d)
		}
	}
}
