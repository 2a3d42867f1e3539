package linear

import (
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// The operations of a history, as the search sees them.
type (
	// opCall is a call that was answered or refused.
	opCall struct{ c *Call }
	// opNote is the write of a call that may come after its decision: see [Call.notes].
	opNote struct{ c *Call }
	// opMoved is a lease that a test ended.
	opMoved struct{ m *Moved }
	// opHidden is an entry of the journal that no answer tells of: whatever wrote it.
	opHidden struct{ r *Row }
	// opHeartbeat is an extension that may have been made, once more or at all.
	opHeartbeat struct{ c *Call }
	// opFinal is the look at what is stored in the end.
	opFinal struct {
		views []storage.View
		ids   []idem.ID // the event keys that were looked for
	}
)

// rowKey names an entry of the journal.
type rowKey struct {
	id  idem.ID
	seq int64
}

// model steps the rules over a part of a history.
type model struct {
	policy *idem.Policy
	rows   map[rowKey]*Row
	maybe  []*Call // calls that may have been carried out unheard
	notes  map[*Call]bool

	why string // of the last answer that no step explains, for people
}

// step gives the states that an operation may lead to; none where the rules do not allow it.
func (m *model) step(s *state, op any) []*state {
	switch op := op.(type) {
	case opCall:
		if op.c.Err != nil {
			return m.refused(s, op.c)
		}
		return m.answered(s, op.c)
	case opNote:
		m.why = "its note cannot be written"
		return noted(s, op.c)
	case opMoved:
		m.why = "no such lease runs"
		return moved(s, op.m)
	case opHidden:
		m.why = "nobody's call makes this entry now"
		return m.hidden(s, op.r)
	case opHeartbeat:
		return m.heartbeat(s, op.c)
	case *opFinal:
		if m.why = m.final(s, op); m.why != "" {
			return nil
		}
		return []*state{s}
	}
	return nil
}

// guess is a state as it may be: with the lease of a claim that an unheard extension may
// have moved.
type guess struct {
	*state
	moved idem.ID // whose lease is only guessed, zero for none
}

// guesses are the state as the records say, and with the lease of each event that somebody
// may have extended.
func (s *state) guesses() []guess {
	list := []guess{{state: s}}
	for id, until := range s.maybe {
		e := s.events[id]
		if e == nil || e.LeaseUntil >= until {
			continue
		}
		x := *e
		x.LeaseUntil = until
		n := s.clone()
		n.events[id] = &x
		list = append(list, guess{n, id})
	}
	return list
}

// settle takes the guess of a lease back: only that the claim was alive is known.
func (g guess) settle(s, n *state) *state {
	if g.moved.IsZero() {
		return n
	}
	if n == g.state {
		return s
	}
	if e := n.events[g.moved]; e != nil && e.LeaseUntil == g.events[g.moved].LeaseUntil {
		x := *e
		x.LeaseUntil = s.events[g.moved].LeaseUntil
		n.events[g.moved] = &x
	}
	return n
}

// told is the state in which an extension has told the true end of a lease.
func (s *state) told(c idem.Command, a idem.Answer) *state {
	x, ok := a.(*idem.ExtendAnswer)
	if !ok || s.events[c.Subject()].LeaseUntil == x.LeaseUntil {
		return s
	}
	e := *s.events[c.Subject()]
	e.LeaseUntil = x.LeaseUntil
	n := s.clone()
	n.events[c.Subject()] = &e
	return n
}

// commands are what the store may have decided for a call.
func (c *Call) commands() []idem.Command {
	claim, ok := c.Command.(*idem.Claim)
	if !ok || !c.Waits {
		return []idem.Command{c.Command}
	}
	again := *claim
	again.Waited = true
	return []idem.Command{claim, &again}
}

func (m *model) answered(s *state, c *Call) (out []*state) {
	at := moment(c.Answer)
	for _, cmd := range c.commands() {
		for _, g := range s.guesses() {
			for _, now := range m.instants(g.state, c.InvokedAt, at) {
				n, d, why := m.decided(g, cmd, c.Answer, now, at)
				if why != "" {
					if now == at && g.state == s {
						m.why = why
					}
					continue
				}
				n = g.settle(s, n).told(cmd, c.Answer)
				if !m.notes[c] {
					out = append(out, n)
					continue
				}
				out = append(out, n.noting(c, nil), s.noting(c, d))
			}
		}
	}
	return out
}

// decided asks the rules as of an instant, and compares what they say with an answer whose
// write was made at another.
func (m *model) decided(g guess, cmd idem.Command, got idem.Answer, now, at idem.Instant) (n *state, made *idem.Decision, why string) {
	d := idem.Decide(g.world(cmd, m.policy, now), cmd, m.policy)
	switch {
	case d.Reread:
		return nil, nil, "the rules ask for more"
	case d.Err != nil:
		return nil, nil, "the rules refuse it: " + d.Err.Error()
	case !d.Writes():
		if now != at {
			return nil, nil, "decided as of another moment than it was read"
		}
		d.Finish(at, 0)
		return g.state, &d, compareAnswers(got, d.Answer, g.maybe)
	}
	n, why = m.written(g, &d, at)
	if why != "" {
		return nil, nil, why
	}
	return n, &d, compareAnswers(got, d.Answer, g.maybe)
}

// written applies a decision as the journal says that it was written.
func (m *model) written(g guess, d *idem.Decision, at idem.Instant) (n *state, why string) {
	var fence int64
	for i := range d.Entries {
		e := &d.Entries[i]
		r := m.rows[rowKey{e.ID, e.Seq}]
		switch {
		case r == nil:
			return nil, "the journal has no entry " + e.Kind.String() + " of it"
		case r.Kind != e.Kind || r.State != uint8(e.To) || r.At != at:
			return nil, "the journal has another entry: " + r.String()
		}
		fence = r.Fence
	}
	if why := fenced(d, fence); why != "" {
		return nil, why
	}
	if d.Event != nil && !onTime(g.state, d.Event, at) {
		return nil, "the lease does not allow it at the moment of writing"
	}
	for _, w := range d.Owners {
		if !onTime(g.state, w, at) {
			return nil, "an owner is settled whose lease runs"
		}
	}
	n = g.apply(d, at, fence)
	d.Finish(at, fence)
	return n, ""
}

// fenced: a fence is drawn where one is needed, and higher than any before.
func fenced(d *idem.Decision, fence int64) string {
	if !d.Draws() {
		return ""
	}
	if fence == 0 {
		return "no fence was drawn"
	}
	if w := d.Event; w != nil && w.Draw && w.Old != nil && fence <= w.Old.Fence {
		return "the fence does not grow"
	}
	for _, w := range d.Resources {
		if w.Lane && fence <= w.Old.LaneFence {
			return "the lane fence does not grow"
		}
	}
	return ""
}

// onTime: the write's condition on the lease held at the moment of writing.
func onTime(s *state, w *idem.EventWrite, at idem.Instant) bool {
	switch {
	case w.Live:
		return s.events[w.New.ID()].LeaseUntil > at
	case w.Over:
		return s.events[w.New.ID()].LeaseUntil <= at
	default:
		return true
	}
}

// refused: a refusal carries no moment; any within the call will do. What it notes on the
// record stands in the journal.
func (m *model) refused(s *state, c *Call) (out []*state) {
	for _, g := range s.guesses() {
		for _, now := range append(m.instants(g.state, c.InvokedAt, c.ReturnedAt), c.InvokedAt) {
			d := idem.Decide(g.world(c.Command, m.policy, now), c.Command, m.policy)
			if d.Err == nil || d.Err.Code != c.Err.Code || d.Err.Field != c.Err.Field || !slices.Equal(d.Err.Names, c.Err.Names) {
				m.why = "the rules do not refuse it so"
				continue
			}
			if !d.Writes() {
				return []*state{s}
			}
			r := m.rows[rowKey{d.Entries[0].ID, d.Entries[0].Seq}]
			if r == nil || !c.during(r.At, slack) {
				m.why = "the journal has no entry of what a refusal notes"
				continue
			}
			n, why := m.written(g, &d, r.At)
			if why == "" {
				return append(out, g.settle(s, n))
			}
			m.why = why
		}
	}
	return out
}

// during reports whether the call was at work at an instant, or may have been for a while
// after its end.
func (c *Call) during(at idem.Instant, after time.Duration) bool {
	return at >= c.InvokedAt.Add(-slack) && at <= c.ReturnedAt.Add(after)
}

func moved(s *state, m *Moved) []*state {
	if m.Until == 0 {
		return []*state{s}
	}
	n := s.clone()
	if e := s.events[m.ID]; e != nil && (e.LeaseUntil >= m.Until || s.maybe[m.ID] != 0) {
		x := *e
		x.LeaseUntil = m.Until
		n.events[m.ID] = &x
		return []*state{n}
	}
	if f := s.effects[m.ID]; f != nil && f.LeaseUntil >= m.Until {
		x := *f
		x.LeaseUntil = m.Until
		n.effects[m.ID] = &x
		return []*state{n}
	}
	return nil
}

// instants are the moments as of which a decision may have been made that was written (or
// told) at a given one: that moment itself, and just before each deadline that passed since
// the call began.
func (m *model) instants(s *state, from, at idem.Instant) []idem.Instant {
	list := []idem.Instant{at}
	add := func(deadline idem.Instant) {
		if deadline > from && deadline <= at && !slices.Contains(list, deadline-1) {
			list = append(list, deadline-1)
		}
	}
	p := m.policy
	after := func(i idem.Instant, d time.Duration) {
		if i != 0 {
			add(i.Add(d))
		}
	}
	for _, e := range s.events {
		add(e.LeaseUntil)
		add(e.DueAt)
		after(e.GrantedAt, p.WaiveInterval)
		after(e.GrantedAt, p.MaxClaimAge)
		after(e.NotYetSince, p.NotYetBudget)
		after(e.WaitingSince, p.GapAfter)
	}
	for _, f := range s.effects {
		add(f.LeaseUntil)
	}
	for _, r := range s.resources {
		after(r.GapSince, p.GapAfter)
	}
	return list
}

// moment is when an answer was decided or written.
func moment(a idem.Answer) idem.Instant {
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		return a.Now
	case *idem.EndAnswer:
		return a.Now
	case *idem.ExtendAnswer:
		return a.Now
	case *idem.CheckAnswer:
		return a.Now
	case *idem.EffectAnswer:
		return a.Now
	}
	return 0
}
