package linear

import (
	"math"
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
	p       *part
	policy  *idem.Policy
	rows    map[rowKey]*Row
	told    map[*Row]bool         // rows of which an answer surely tells
	leases  map[idem.ID][]*Lease  // by record, in the order of their writing
	heard   map[*Lease]bool       // heartbeats of which an answer tells
	moments map[idem.Instant]bool // of the rows
	maybe   []*Call               // calls that may have been carried out unheard
	notes   map[*Call]bool

	states map[uint64][]*state
	steps  map[stepKey][]*state

	why string // of the last answer that no step explains, for people
}

// step gives the states that an operation may lead to, after whatever nobody heard of may
// have happened before it; none where the rules do not allow it.
func (m *model) step(s *state, op any) []*state {
	k := stepKey{s, op}
	if out, ok := m.steps[k]; ok {
		return out
	}
	out := m.acted(s, op)
	nothing := slices.Contains(out, s)
	if !nothing || !m.reads(op) { // otherwise what was unheard may as well happen later
		for _, t := range m.unheard(s, m.end(op)) {
			for _, n := range m.acted(t, op) {
				if !nothing || n != t {
					out = append(out, n)
				}
			}
		}
	}
	for i := range out {
		out[i] = m.intern(out[i])
	}
	m.steps[k] = out
	return out
}

// stepKey names a step that has been made.
type stepKey struct {
	s  *state
	op any
}

// intern gives equal states one address.
func (m *model) intern(s *state) *state {
	sum := s.sum()
	for _, o := range m.states[sum] {
		if o.equal(s) {
			return o
		}
	}
	m.states[sum] = append(m.states[sum], s)
	return s
}

// reads reports whether an operation surely wrote nothing.
func (m *model) reads(op any) bool {
	x, ok := op.(opCall)
	if !ok {
		return false
	}
	if x.c.Err != nil {
		return !x.c.reports()
	}
	_, extends := x.c.Answer.(*idem.ExtendAnswer)
	return !extends && !m.moments[moment(x.c.Answer)]
}

// end is when an operation was surely over.
func (m *model) end(op any) time.Duration {
	switch op := op.(type) {
	case opCall:
		return op.c.Returned
	case opNote:
		return op.c.Returned
	default:
		return math.MaxInt64
	}
}

// acted are the states that an operation leads to at once and that matter.
func (m *model) acted(s *state, op any) []*state {
	out := m.act(s, op)
	if x, ok := op.(opCall); ok && m.notes[x.c] || len(s.pending) == 0 {
		return out // it only decides
	}
	return slices.DeleteFunc(out, func(n *state) bool { return !m.useful(s, n) })
}

// act gives the states that an operation leads to at once.
func (m *model) act(s *state, op any) []*state {
	switch op := op.(type) {
	case opCall:
		if op.c.Err != nil {
			return m.refused(s, op.c)
		}
		return m.answered(s, op.c)
	case opNote:
		m.why = "its note cannot be written"
		if n := m.noted(s, op.c, moment(op.c.Answer)); n != nil {
			return []*state{n}
		}
		return nil
	case *opFinal:
		if m.why = m.final(s, op); m.why != "" {
			return nil
		}
		return []*state{s}
	}
	return nil
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
	if v := versionIn(c.Answer, c.Command.Subject()); v != 0 && (s.version(c.Command.Subject()) > v || s.version(c.Command.Subject()) < v-2) {
		m.why = "the record has another row version" // one write makes at most two entries of a record
		return nil
	}
	for _, cmd := range c.commands() {
		for _, now := range m.instants(s, c.InvokedAt, at) {
			list, why := m.decided(s, c, cmd, now, at)
			if why != "" && now == at {
				m.why = why
			}
			out = append(out, list...)
		}
	}
	return out
}

// decided asks the rules as of an instant, and compares what they say with an answer whose
// write was made at another.
func (m *model) decided(s *state, c *Call, cmd idem.Command, now, at idem.Instant) (out []*state, why string) {
	for _, w := range m.worlds(s, cmd, now, at) {
		n, no := m.decidedOn(w, s, c, cmd, now, at)
		if no == "" {
			out = append(out, n)
		} else if why == "" {
			why = no
		}
	}
	return out, why
}

// decidedOn asks the rules on one of the worlds that a command may have been decided on.
func (m *model) decidedOn(w *idem.World, s *state, c *Call, cmd idem.Command, now, at idem.Instant) (n *state, why string) {
	d := idem.Decide(w, cmd, m.policy)
	switch {
	case d.Reread:
		return nil, "the rules ask for more"
	case d.Err != nil:
		return nil, "the rules refuse it: " + d.Err.Error()
	case !d.Writes() && now != at:
		return nil, "decided as of another moment than it was read"
	}
	fence, why := m.fenceOf(&d, at)
	if why != "" {
		return nil, why
	}
	d.Finish(at, fence)
	if why := compareAnswers(c.Answer, d.Answer); why != "" {
		return nil, why
	}
	if m.notes[c] {
		if !d.Writes() {
			return s.noting(c, nil), ""
		}
		return s.noting(c, &d), ""
	}
	return m.written(s, &d, at, fence)
}

// fenceOf is the fence that the journal says was drawn for a decision, if it says that the
// decision was written at that moment.
func (m *model) fenceOf(d *idem.Decision, at idem.Instant) (fence int64, why string) {
	for i := range d.Entries {
		e := &d.Entries[i]
		r := m.rows[rowKey{e.ID, e.Seq}]
		switch {
		case r == nil:
			return 0, "the journal has no entry " + e.Kind.String() + " of it"
		case r.Kind != e.Kind || r.State != uint8(e.To) || r.At != at:
			return 0, "the journal has another entry: " + r.String()
		}
		fence = r.Fence
	}
	return fence, fenced(d, fence)
}

// written applies a decision as it was written.
func (m *model) written(s *state, d *idem.Decision, at idem.Instant, fence int64) (n *state, why string) {
	if !d.Writes() {
		return s, ""
	}
	if d.Event != nil && !onTime(s, d.Event, at) {
		return nil, "the lease does not allow it at the moment of writing"
	}
	for _, w := range d.Owners {
		if !onTime(s, w, at) {
			return nil, "an owner is settled whose lease runs"
		}
	}
	n = s.apply(d, at, fence)
	if why := m.inStep(s, n, d); why != "" {
		return nil, why
	}
	return n, ""
}

// enacted is a decision of nobody's answer, written at the given moment.
func (m *model) enacted(s *state, d *idem.Decision, at idem.Instant) (n *state, why string) {
	fence, why := m.fenceOf(d, at)
	if why != "" {
		return nil, why
	}
	return m.written(s, d, at, fence)
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
func (m *model) refused(s *state, c *Call) []*state {
	for _, now := range append(m.instants(s, c.InvokedAt, c.ReturnedAt), c.InvokedAt) {
		d := idem.Decide(s.world(c.Command, m.policy, now), c.Command, m.policy)
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
		n, why := m.enacted(s, &d, r.At)
		if why == "" {
			return []*state{n}
		}
		m.why = why
	}
	return nil
}
