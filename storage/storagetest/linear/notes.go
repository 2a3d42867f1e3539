package linear

import (
	"github.com/idemsvc/idemsvc/idem"
)

// A claim that is not given because of others (their lane, their version, their end) leaves
// a note of that on its own record, and nothing else. The write tests that record, and not
// what the others have come to meanwhile: the decision and its note are two points of the
// call's time.

// notes reports whether the call may have left such a note.
func (c *Call) notes(rows []*Row) bool {
	a, ok := c.Answer.(*idem.ClaimAnswer)
	if !ok || a.Granted || a.Reentered || a.Event == nil || a.Event.Ordering == nil {
		return false
	}
	id := a.Event.ID()
	for _, r := range rows {
		if r.ID == id && r.At == a.Now {
			return true
		}
	}
	return false
}

// noting is the state in which a call has been decided: d is still to be written, nil for
// a call that has left nothing to write.
func (s *state) noting(c *Call, d *idem.Decision) *state {
	n := s.clone()
	n.pending[c] = d
	return n
}

// noted writes a note, if the records that it changes are as they were.
func noted(s *state, c *Call) []*state {
	d, decided := s.pending[c]
	if !decided {
		return nil
	}
	n := s
	if d != nil {
		if !s.unchanged(d) {
			return nil
		}
		n = s.apply(d, moment(c.Answer), 0)
	} else {
		n = s.clone()
	}
	delete(n.pending, c)
	return []*state{n}
}

// unchanged reports whether the records that a decision changes have their row versions.
func (s *state) unchanged(d *idem.Decision) bool {
	same := func(id idem.ID, old *idem.Event) bool {
		e := s.events[id]
		return old == nil && e == nil || old != nil && e != nil && old.Version == e.Version
	}
	for _, w := range d.Owners {
		if !same(w.New.ID(), w.Old) {
			return false
		}
	}
	for _, w := range d.Resources {
		id := w.New.Key.ID()
		if r := s.resources[id]; r == nil && w.Old.Version != 0 || r != nil && r.Version != w.Old.Version {
			return false
		}
	}
	return d.Event == nil || same(d.Event.New.ID(), d.Event.Old)
}
