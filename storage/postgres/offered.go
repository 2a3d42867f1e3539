package postgres

import (
	"github.com/idemsvc/idemsvc/idem"
)

// maxOffered is how many records are remembered for the claims that workers get of them:
// more than rounds in flight may take.
const maxOffered = 4096

// offer remembers a record that a worker may be granted in a moment, as it was just read or
// received, so that its claim need not read it again. Only a record with nothing beside it is
// remembered: no attempt, side effect or resource that the rules would ask about.
func (s *Store) offer(e *idem.Event) {
	if e.State == idem.Received && e.Total == 0 && e.Effects == 0 && e.Ordering == nil && len(e.Lanes) == 0 && !e.Replay {
		s.offered.put(e.ID(), e)
	}
}

// guessOffered decides the claim of an event that a worker acquires on the record that was
// offered. The time at hand is as good as that of a read: nothing that the rules ask of such a
// record becomes false by waiting, and the write tests that the record is still the same.
func (s *Store) guessOffered(it *item) {
	e, ok := s.offered.get(it.subject())
	if !ok {
		it.read = needAll
		return
	}
	s.offered.drop(it.subject()) // one claim; whoever comes again has missed, or repeats
	s.guess(it, &idem.World{Now: s.Clock(), Event: e}, needAll)
}
