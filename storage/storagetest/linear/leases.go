package linear

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// Lease is a new end of a lease that the database was seen to store while the row version
// stayed: a heartbeat leaves no entry in the journal, and neither does a test that ends a
// lease by hand.
type Lease struct {
	ID      idem.ID
	Version int64 // the record's
	Until   idem.Instant
	At      idem.Instant // just after it was written, before its commit
	Moved   bool         // by the test
}

// String describes it for people.
func (l *Lease) String() string {
	by := "a heartbeat"
	if l.Moved {
		by = "the test"
	}
	return fmt.Sprintf("stored: the lease of %v #%d ends at %d, by %s at %d", short(l.ID), l.Version, l.Until, by, l.At)
}

// inOrder is the order of writing: a record is locked while it is written.
func (l *Lease) inOrder(o *Lease) int {
	return cmp.Or(bytes.Compare(l.ID[:], o.ID[:]), cmp.Compare(l.Version, o.Version), cmp.Compare(l.At, o.At))
}

// nextLease is the next new end of a record's lease at its row version, nil for none.
func (m *model) nextLease(s *state, id idem.ID) *Lease {
	list, n := m.leases[id], s.leases[id]
	if n < len(list) && list[n].Version == s.version(id) {
		return list[n]
	}
	return nil
}

// lease is the state after a lease has got another end, nil where it cannot get it.
func (m *model) lease(s *state, l *Lease) *state {
	n := s.clone()
	n.leases[l.ID]++
	if e := s.events[l.ID]; e != nil {
		if e.State != idem.Processing || l.Moved != (l.Until <= e.LeaseUntil) || !l.Moved && !m.beats(s, e, l) {
			return nil
		}
		x := *e
		x.LeaseUntil = l.Until
		n.events[l.ID] = &x
		return n
	}
	f := s.effects[l.ID]
	if f == nil || !l.Moved || l.Until > f.LeaseUntil {
		return nil
	}
	x := *f
	x.LeaseUntil = l.Until
	n.effects[l.ID] = &x
	return n
}

// beats reports whether a call that may have been carried out unheard extends the claim
// to just that end.
func (m *model) beats(s *state, e *idem.Event, l *Lease) bool {
	return slices.ContainsFunc(m.maybe, func(c *Call) bool {
		x, ok := c.Command.(*idem.Extend)
		if !ok || x.Token.Event != l.ID || !c.during(l.At, lingers) {
			return false
		}
		at := l.Until.Add(-x.Lease) // when it was written: no test extends beyond MaxClaimAge
		if at > l.At || at < c.InvokedAt.Add(-slack) || e.LeaseUntil <= at {
			return false
		}
		d := idem.Decide(s.world(x, m.policy, at), x, m.policy)
		return d.Err == nil && d.Event != nil && len(d.Entries) == 0
	})
}

// inStep says where a write does not follow what was seen of the leases, and counts the
// heartbeat that it is itself.
func (m *model) inStep(s, n *state, d *idem.Decision) string {
	for id, e := range n.events {
		old := s.events[id]
		switch l := m.nextLease(s, id); {
		case old == nil || e == old:
		case e.Version != old.Version && l != nil:
			return "written before " + l.String()
		case e.Version == old.Version && e.LeaseUntil != old.LeaseUntil:
			if l == nil || l.Moved || l.Until != e.LeaseUntil {
				return "no such lease was stored"
			}
			n.leases[id]++
		}
	}
	for _, w := range d.Effects {
		if l := m.nextLease(s, w.New.ID()); l != nil {
			return "written before " + l.String()
		}
	}
	return ""
}

// heard reports whether an answer tells of a heartbeat.
func (p *part) heard(l *Lease) bool {
	return slices.ContainsFunc(p.calls, func(c *Call) bool {
		a, ok := c.Answer.(*idem.ExtendAnswer)
		x, extends := c.Command.(*idem.Extend)
		return ok && extends && x.Token.Event == l.ID && a.LeaseUntil == l.Until && a.Now.Add(x.Lease) == l.Until
	})
}
