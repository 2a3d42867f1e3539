package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/idemsvc/idemsvc/idem"
)

// operations are what the search orders.
func (p *part) operations(m *model) (ops []porcupine.Operation) {
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

// clock is when an instant was on the clock of the history, or a little before.
func (c *Call) clock(at idem.Instant) time.Duration {
	return c.Invoked + at.Sub(c.InvokedAt) - grain
}

func (p *part) clock(at idem.Instant) time.Duration { return p.calls[0].clock(at) }

// unheard reports whether the call may have done something, or once more, of which no
// answer tells. A claim that waited is decided anew until it is told.
func (c *Call) unheard() bool { return c.Unknown != nil || c.Disturbed || c.Waits || c.Vain }

// reports reports whether a refusal of the call may note it on a record.
func (c *Call) reports() bool {
	switch c.Command.(type) {
	case *idem.Complete, *idem.Fail, *idem.ReportEffect:
		return true
	default:
		return false
	}
}

// told reports whether an answer surely tells of the entry, or the one refusal that can
// have noted it.
func (p *part) told(r *Row) bool {
	noted := r.Kind == idem.EntryLateReport || r.Kind == idem.EntryEffectConflict
	// A lease's end is written on the way, and so is the end of a signal that another carried.
	shown, refused, doubt := false, false, r.Kind == idem.EntryExpired || r.Kind == idem.EntryIgnored && p.signals()
	for _, c := range p.calls {
		if c.tells(r) {
			return true
		}
		about := slices.Contains(RecordsOf(c.Command), r.ID)
		shown = shown || about && c.Answer != nil && moment(c.Answer) == r.At
		refused = refused || about && c.Err != nil && c.during(r.At, slack)
		doubt = doubt || about && c.unheard() && c.during(r.At, lingers)
	}
	return !doubt && (shown || noted && refused)
}

// signals reports whether the part's events are signals.
func (p *part) signals() bool {
	return slices.ContainsFunc(p.calls, func(c *Call) bool {
		o := idem.OrderingOf(c.Command)
		return o != nil && o.Mode == idem.Signal
	})
}

// tells reports whether the answer is surely that of the write which made the entry. It is
// not by their moment alone: others are decided in the same trip to the database.
func (c *Call) tells(r *Row) bool {
	if c.Answer == nil || moment(c.Answer) != r.At {
		return false
	}
	if v := versionIn(c.Answer, r.ID); v != r.Seq && (v != r.Seq+1 || r.Kind != idem.EntryExpired) {
		return false
	}
	switch a := c.Answer.(type) {
	case *idem.ClaimAnswer:
		return a.Granted || a.Reentered
	case *idem.ReceiveAnswer:
		return a.Fresh
	case *idem.EndAnswer:
		return !a.Already
	case *idem.ExtendAnswer:
		return a.Rearmed
	case *idem.EffectAnswer:
		return !a.Repeat && (a.Verdict == idem.EffectPerform || a.Verdict >= idem.EffectReportedDone)
	default:
		return false
	}
}

// versionIn is the row version of a record that an answer shows.
func versionIn(a idem.Answer, id idem.ID) int64 {
	if f, ok := a.(*idem.EffectAnswer); ok && f.Effect != nil && f.Effect.ID() == id {
		return f.Effect.Version
	}
	if e := eventIn(a); e != nil && e.ID() == id {
		return e.Version
	}
	return 0
}

// eventIn is the event's record that an answer shows, nil for none.
func eventIn(a idem.Answer) *idem.Event {
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		return a.Event
	case *idem.ReceiveAnswer:
		return a.Event
	case *idem.EndAnswer:
		return a.Event
	case *idem.ExtendAnswer:
		return a.Event
	}
	return nil
}
