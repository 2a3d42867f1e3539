package linear

import (
	"reflect"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// A claim that is not given because of others (their lane, their version, their end) leaves
// a note of that on its own record, and nothing else. The write tests that record, and not
// what the others have come to meanwhile: the decision and its note are two points of the
// call's time. It is the same with the predecessors of a version that is given, and with
// what became of side effects, which a claim is told of at its grant and which decides how
// a failure is taken. All of that holds as well for what was done without an answer, by a
// call that was told in the end or by one that never was.

// rests reports whether an answer may rest on records that its own write does not test; e
// is the event's record as written.
func rests(a idem.Answer, e *idem.Event) bool {
	if e == nil {
		return false
	}
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		o := e.Ordering
		return len(a.Effects) > 0 || o != nil && !a.Reentered && (!a.Granted || o.Mode == idem.Sequential)
	case *idem.EndAnswer:
		return !a.Already && e.Effects > 0
	default:
		return false
	}
}

// notes reports whether the call may have been written later than it was decided.
func (c *Call) notes(rows []*Row) bool {
	return rests(c.Answer, eventIn(c.Answer)) && slices.ContainsFunc(rows, func(r *Row) bool {
		return r.ID == c.Command.Subject() && r.At == moment(c.Answer)
	})
}

// noting is the state in which something has been decided: d is still to be written, nil
// where there is nothing to write. It is for a call, or for an entry of the journal that no
// answer tells of.
func (s *state) noting(of any, d *idem.Decision) *state {
	n := s.clone()
	if d != nil {
		own := *d
		own.Answer = nil // it has been compared
		d = &own
	}
	n.pending[of] = d
	return n
}

// noted writes what was decided earlier, if the records that it changes are as they were.
func (m *model) noted(s *state, of any, at idem.Instant) *state {
	d, decided := s.pending[of]
	if !decided {
		return nil
	}
	n := s.clone()
	if d != nil {
		if !s.unchanged(d) {
			return nil
		}
		var why string
		if n, why = m.enacted(s, s.rebased(d), at); why != "" {
			m.why = why
			return nil
		}
		if n == s {
			n = s.clone()
		}
	}
	delete(n.pending, of)
	return n
}

// useful reports whether the search must go on from what a step left: not where something
// decided can no longer be written, and not where it could as well be decided after the
// step, which is another order of the same. What only decides, as a step, does not count:
// of two decisions one comes last.
func (m *model) useful(s, n *state) bool {
	for of, d := range s.pending {
		if _, still := n.pending[of]; !still || d == nil {
			continue
		}
		if !n.unchanged(d) || m.decides(n, of, d) {
			return false
		}
	}
	return true
}

// decides reports whether a state without the decision leads to it.
func (m *model) decides(s *state, of any, d *idem.Decision) bool {
	s = s.clone()
	delete(s.pending, of)
	switch of := of.(type) {
	case *Row:
		for x := range m.hiddenNotes(s, of) {
			if reflect.DeepEqual(x, d) {
				return true
			}
		}
	case *Call:
		at := moment(of.Answer)
		for _, cmd := range of.commands() {
			for _, now := range m.instants(s, of.InvokedAt, at) {
				list, _ := m.decided(s, of, cmd, now, at)
				if slices.ContainsFunc(list, func(n *state) bool { return reflect.DeepEqual(n.pending[of], d) }) {
					return true
				}
			}
		}
	}
	return false
}

// rebased is a decision that keeps the lease which its record has by now.
func (s *state) rebased(d *idem.Decision) *idem.Decision {
	w := d.Event
	if w == nil || w.Old == nil || w.New.LeaseUntil != w.Old.LeaseUntil {
		return d
	}
	own, write, e := *d, *w, *w.New
	e.LeaseUntil = s.events[e.ID()].LeaseUntil
	write.New, own.Event = &e, &write
	return &own
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
	for _, w := range d.Effects {
		id := w.New.ID()
		if f := s.effects[id]; f == nil && w.Old.Version != 0 || f != nil && f.Version != w.Old.Version {
			return false
		}
	}
	return d.Event == nil || same(d.Event.New.ID(), d.Event.Old)
}
