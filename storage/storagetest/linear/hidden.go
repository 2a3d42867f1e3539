package linear

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// What nobody heard of is no operation of the search: it may happen before any of them. A
// state knows its silent successors.

// silent is a state that comes after another by something of which no answer tells.
type silent struct {
	after time.Duration // it was decided or committed after that
	s     *state
}

// unheard are the states that a state may have come to, by things of which no answer tells,
// before the given end; without the state itself.
func (m *model) unheard(s *state, end time.Duration) (out []*state) {
	list := []*state{s}
	for len(list) > 0 {
		t := list[0]
		list = list[1:]
		for _, n := range m.successors(t) {
			if n.after <= end && !slices.Contains(out, n.s) {
				out, list = append(out, n.s), append(list, n.s)
			}
		}
	}
	return out
}

func (m *model) successors(s *state) []silent {
	if s.expanded {
		return s.next
	}
	s.expanded = true
	add := func(after time.Duration, n *state) {
		if n != nil && m.useful(s, n) {
			s.next = append(s.next, silent{after, m.intern(n)})
		}
	}
	for id := range m.p.ids {
		if r := m.rows[rowKey{id, s.version(id) + 1}]; r != nil && !m.told[r] {
			for _, n := range m.hidden(s, r) {
				add(m.p.clock(r.At), n)
			}
			add(m.p.clock(r.At), m.noted(s, r, r.At))
			if _, decided := s.pending[r]; !decided {
				for d, after := range m.hiddenNotes(s, r) {
					s.next = append(s.next, silent{after, m.intern(s.noting(r, d))})
				}
			}
		}
		if l := m.nextLease(s, id); l != nil && !m.heard[l] {
			add(m.p.clock(l.At), m.lease(s, l))
		}
	}
	return s.next
}

// hidden: some call that may have been carried out unheard, or the sweeper, made the entry.
func (m *model) hidden(s *state, r *Row) (out []*state) {
	try := func(cmd idem.Command, from idem.Instant) {
		for _, now := range m.instants(s, from, r.At) {
			for _, w := range m.worlds(s, cmd, now, r.At) {
				d := idem.Decide(w, cmd, m.policy)
				if d.Reread || !makes(&d, r) {
					continue
				}
				if n, why := m.enacted(s, &d, r.At); why == "" && !slices.ContainsFunc(out, n.equal) {
					out = append(out, n)
				}
			}
		}
	}
	for _, c := range m.maybe {
		if !c.during(r.At, lingers) {
			continue
		}
		for _, cmd := range c.commands() {
			try(s.tried(c, cmd), c.InvokedAt)
		}
		if claim, ok := c.Command.(*idem.Claim); ok {
			if e := s.events[r.ID]; e != nil && e.Nonce == claim.Nonce { // its caller had gone
				try(&idem.Release{Undelivered: true, Token: tokenOf(e)}, c.InvokedAt)
			}
		}
	}
	if r.Kind == idem.EntryExpired {
		try(&idem.Settle{Event: r.ID}, r.At)
	}
	return out
}

// hiddenNotes are what a call that may have been carried out unheard may have been decided
// to, and since when, where the entry is yet to be made.
func (m *model) hiddenNotes(s *state, r *Row) iter.Seq2[*idem.Decision, time.Duration] {
	return func(yield func(*idem.Decision, time.Duration) bool) {
		for _, c := range m.maybe {
			if !c.during(r.At, lingers) || c.Command.Subject() != r.ID {
				continue
			}
			for _, cmd := range c.commands() {
				for _, now := range m.instants(s, c.InvokedAt, r.At) {
					cmd := s.tried(c, cmd)
					d := idem.Decide(s.world(cmd, m.policy, now), cmd, m.policy)
					if d.Reread || !makes(&d, r) || d.Event == nil || !rests(d.Answer, d.Event.New) {
						continue
					}
					d.Answer = nil // nobody heard of it
					if !yield(&d, c.Invoked) {
						return
					}
				}
			}
		}
	}
}

func makes(d *idem.Decision, r *Row) bool {
	return slices.ContainsFunc(d.Entries, func(e idem.Entry) bool {
		return e.ID == r.ID && e.Seq == r.Seq && e.Kind == r.Kind && uint8(e.To) == r.State
	})
}

func tokenOf(e *idem.Event) idem.Token {
	return idem.Token{Namespace: e.Key.Namespace, Consumer: e.Key.Consumer, Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce}
}

// lingers is how long a batch may still be at work after its caller was told of a broken
// connection. The replicas are closed, and the database is quiet, before the last look.
const lingers = time.Duration(math.MaxInt64 / 4)
