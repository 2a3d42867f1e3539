package linear

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/idemsvc/idemsvc/idem"
)

// operations are what the search orders.
func (p *part) operations(m *model) (ops []porcupine.Operation) {
	end := time.Duration(math.MaxInt64)
	add := func(client int, op any, from, to time.Duration) {
		ops = append(ops, porcupine.Operation{ClientId: client, Input: op, Call: int64(from), Return: int64(to)})
	}
	hidden := 1000 // clients that are none
	for _, c := range p.calls {
		if c.Answer != nil || c.Err != nil {
			add(c.Client, opCall{c}, c.earliest(), c.Returned)
			if c.notes(p.rows) {
				hidden++
				m.notes[c] = true
				add(hidden, opNote{c}, c.Invoked, c.Returned)
			}
		}
		if c.unheard() {
			m.maybe = append(m.maybe, c)
		}
		if _, ok := c.Command.(*idem.Extend); ok && (c.Unknown != nil || c.Disturbed) {
			hidden++
			add(hidden, opHeartbeat{c}, c.Invoked, end)
		}
	}
	for _, mv := range p.moved {
		add(mv.Client, opMoved{mv}, mv.Invoked, mv.Returned)
	}
	for _, r := range p.rows {
		if !p.told(r) {
			hidden++
			add(hidden, opHidden{r}, min(p.earliestOf(r), p.seen(r, end)), p.seen(r, end))
		}
	}
	f := &opFinal{}
	for id := range p.ids {
		f.ids = append(f.ids, id)
	}
	for _, v := range p.h.Final {
		if p.ids[v.Event.ID()] {
			f.views = append(f.views, v)
		}
	}
	add(0, f, p.h.FinalInvoked, p.h.FinalReturned)
	return ops
}

// earliest is before when the call surely took no effect: what was only read was read
// after the answer's moment, and so were the records that the write itself tested. An
// answer that rests on others (who is in the way, what became of a side effect) may be
// older than its own write.
func (c *Call) earliest() time.Duration {
	tested := true
	switch a := c.Answer.(type) {
	case *idem.ClaimAnswer:
		ordered := a.Event != nil && a.Event.Ordering != nil
		read := a.Outcome == idem.OutcomeInProgress || a.Outcome == idem.OutcomeAlreadyProcessed
		tested = !c.Waits && len(a.Effects) == 0 && (!ordered || read)
	case *idem.EndAnswer:
		tested = a.Already || a.Event != nil && a.Event.Effects == 0
	case *idem.CheckAnswer:
		tested = a.Verdict != idem.VerdictApply
	case *idem.ExtendAnswer, *idem.EffectAnswer:
	default:
		tested = false
	}
	if !tested {
		return c.Invoked
	}
	return min(max(c.Invoked, c.clock(moment(c.Answer))), c.Returned)
}

// grain is by how much an instant of the database may seem earlier than it was.
const grain = 2 * time.Millisecond

// clock is when an instant was on the clock of the history.
func (c *Call) clock(at idem.Instant) time.Duration {
	return c.Invoked + at.Sub(c.InvokedAt) - grain
}

// earliestOf is before when an entry that no answer tells of was surely not made.
func (p *part) earliestOf(r *Row) time.Duration {
	switch r.Kind {
	case idem.EntryLateReport, idem.EntryExpired, idem.EntryReleased, idem.EntryReentered:
		return max(0, p.calls[0].clock(r.At))
	default:
	}
	from := time.Duration(math.MaxInt64)
	for _, c := range p.calls {
		if c.unheard() && c.during(r.At, lingers) {
			from = min(from, c.Invoked)
		}
	}
	if from == math.MaxInt64 {
		return 0
	}
	return from
}

// unheard reports whether the call may have done something, or once more, of which no
// answer tells. A claim that waited is decided anew until it is told.
func (c *Call) unheard() bool { return c.Unknown != nil || c.Disturbed || c.Waits }

// reports reports whether a refusal of the call may note it on a record.
func (c *Call) reports() bool {
	switch c.Command.(type) {
	case *idem.Complete, *idem.Fail, *idem.ReportEffect:
		return true
	default:
		return false
	}
}

// told reports whether an answer surely tells of the entry: one of the same moment, about
// the same record, or about another one that took over its lane; or the one refusal that
// can have noted it.
func (p *part) told(r *Row) bool {
	noted := r.Kind == idem.EntryLateReport || r.Kind == idem.EntryEffectConflict
	refused := false
	for _, c := range p.calls {
		about := slices.Contains(recordsOf(c.Command), r.ID)
		switch {
		case c.Answer != nil && moment(c.Answer) == r.At && (about || r.Kind == idem.EntryExpired && idem.OrderingOf(c.Command) != nil):
			return true
		case noted && about && c.unheard() && c.reports() && c.during(r.At, lingers):
			return false
		}
		refused = refused || about && c.Err != nil && c.during(r.At, slack)
	}
	return noted && refused
}

// seen is when somebody had surely seen what the entry tells of.
func (p *part) seen(r *Row, end time.Duration) time.Duration {
	for _, c := range p.calls {
		if c.Answer != nil && versionIn(c.Answer, r.ID) >= r.Seq {
			end = min(end, c.Returned)
		}
	}
	for i := range p.h.Final {
		if v := &p.h.Final[i]; v.Event.ID() == r.ID && v.Event.Version >= r.Seq {
			end = min(end, p.h.FinalReturned)
		}
	}
	return end
}

// versionIn is the row version of a record that an answer shows.
func versionIn(a idem.Answer, id idem.ID) int64 {
	var e *idem.Event
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		e = a.Event
	case *idem.EndAnswer:
		e = a.Event
	case *idem.EffectAnswer:
		if a.Effect != nil && a.Effect.ID() == id {
			return a.Effect.Version
		}
	}
	if e != nil && e.ID() == id {
		return e.Version
	}
	return 0
}
