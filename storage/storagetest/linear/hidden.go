package linear

import (
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// hidden: some call that may have been carried out unheard, or the sweeper, made the entry.
func (m *model) hidden(s *state, r *Row) (out []*state) {
	if s.version(r.ID) >= r.Seq {
		return []*state{s} // with another entry of the same write, or by a call that was answered
	}
	if s.version(r.ID) < r.Seq-2 { // one write makes at most two entries of a record
		return nil
	}
	try := func(cmd idem.Command, from idem.Instant) {
		for _, g := range s.guesses() {
			for _, now := range m.instants(g.state, from, r.At) {
				d := idem.Decide(g.world(cmd, m.policy, now), cmd, m.policy)
				if d.Reread || !makes(&d, r) {
					continue
				}
				if n, why := m.written(g, &d, r.At); why == "" {
					out = append(out, g.settle(s, n))
				}
			}
		}
	}
	for _, c := range m.maybe {
		if !c.during(r.At, lingers) {
			continue
		}
		for _, cmd := range c.commands() {
			try(cmd, c.InvokedAt)
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

func makes(d *idem.Decision, r *Row) bool {
	return slices.ContainsFunc(d.Entries, func(e idem.Entry) bool {
		return e.ID == r.ID && e.Seq == r.Seq && e.Kind == r.Kind && uint8(e.To) == r.State
	})
}

func tokenOf(e *idem.Event) idem.Token {
	return idem.Token{Namespace: e.Key.Namespace, Consumer: e.Key.Consumer, Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce}
}

// lingers is how long a batch may still be at work after its caller was told of a broken
// connection.
const lingers = 20 * time.Second

// heartbeat: an extension leaves nothing in the journal. Whether it was made is left open:
// the claim may live for as long as that would give it.
func (m *model) heartbeat(s *state, c *Call) []*state {
	t := idem.TokenOf(c.Command)
	e := s.events[t.Event]
	if e == nil || e.State != idem.Processing || e.Fence != t.Fence || e.Nonce != t.Nonce {
		return []*state{s}
	}
	n := s.clone()
	n.maybe[t.Event] = max(n.maybe[t.Event], c.ReturnedAt.Add(lingers))
	return []*state{s, n}
}
