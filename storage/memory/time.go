package memory

import (
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Clock is a clock for tests: it stands still until it is moved. The zero value shows
// no instant at all; start with [NewClock].
type Clock struct{ now atomic.Int64 }

// NewClock is a clock that shows the given instant.
func NewClock(start idem.Instant) *Clock {
	c := &Clock{}
	c.now.Store(int64(start))
	return c
}

// Now is the instant that the clock shows.
func (c *Clock) Now() idem.Instant { return idem.Instant(c.now.Load()) }

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) { c.now.Add(d.Microseconds()) }

// Expire ends the lease of an event's claim, or of an effect's last try, as if it ran
// out this instant. For tests that cannot move the clock.
func (s *Store) Expire(id idem.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if e := s.events[id]; e != nil {
		e.LeaseUntil = min(e.LeaseUntil, now)
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
	}
}

// Later shifts all stored instants of an event (with its attempts), an effect or a
// resource back by d, so that for this record alone d has passed. For tests that
// cannot move the clock.
func (s *Store) Later(id idem.ID, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.events[id]; e != nil {
		back(d, &e.LeaseUntil, &e.GrantedAt, &e.EndedAt, &e.DueAt, &e.WaitingSince, &e.NotYetSince, &e.CreatedAt)
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
	}
}

func back(d time.Duration, instants ...*idem.Instant) {
	for _, i := range instants {
		if *i != 0 {
			*i = i.Add(-d)
		}
	}
}
