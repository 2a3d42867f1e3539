package history

import (
	"bytes"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// stored reports whether the answer to a receipt or claim says that the event is stored.
func stored(c *Call) bool {
	switch a := c.Answer.(type) {
	case *idem.ReceiveAnswer:
		return a.Outcome != idem.ReceiveRejected
	case *idem.ClaimAnswer:
		return a.Outcome != idem.OutcomeRejected
	default:
		return false
	}
}

// brings reports whether a call may have brought the event: an acquisition takes what is
// there.
func brings(c *Call) bool {
	claim, ok := c.Command.(*idem.Claim)
	return possible(c) && (!ok || claim.Acquisition.IsZero())
}

// receipts: what was received stays, is received once, and is acquired only then.
func (k *checker) receipts(e *events) {
	all := slices.Concat(e.kept, e.claims)
	for _, c := range e.kept {
		a, ok := c.Answer.(*idem.ReceiveAnswer)
		if !ok {
			continue
		}
		if a.Outcome == idem.ReceiveDuplicate && !e.brought(c) {
			k.report("P3", "a first receipt was called a duplicate", c)
		}
		for _, o := range all {
			if a.Fresh && before(o, c) && stored(o) {
				k.report("P6", "an event was stored as new that had been brought before", o, c)
				break
			}
		}
		for _, o := range e.claims {
			if stored(c) && before(c, o) && o.Err != nil && o.Err.Code == idem.CodeNotFound {
				k.report("P3", "an event that was received was not found", c, o)
			}
		}
	}
	for _, c := range e.claims {
		claim, _ := c.Command.(*idem.Claim)
		if a, ok := c.Answer.(*idem.ClaimAnswer); ok && !claim.Acquisition.IsZero() && (a.Fresh || !e.brought(c)) {
			k.report("P3", "an event was acquired that nobody had brought", c)
		}
	}
}

// brought reports whether another call may have brought the event before one was answered.
func (e *events) brought(c *Call) bool {
	return slices.ContainsFunc(slices.Concat(e.kept, e.claims), func(o *Call) bool {
		return o != c && o.Invoked < c.Returned && brings(o)
	})
}

// decided reports whether an operator's call was acknowledged, and not as one that had been
// carried out before.
func decided(c *Call) bool {
	a, ok := c.Answer.(*idem.EndAnswer)
	return ok && !a.Already
}

// decisions: one request decides once, and is told the same when it comes again.
func (k *checker) decisions(e *events) {
	byRequest := map[string][]*Call{}
	for _, c := range e.acts {
		if r, ok := c.Command.(*idem.Resolve); ok && r.RequestID != "" && possible(c) {
			byRequest[r.RequestID] = append(byRequest[r.RequestID], c)
		}
	}
	for _, calls := range byRequest {
		var first *Call
		for _, c := range calls {
			if !decided(c) {
				continue
			}
			if first != nil {
				k.report("P5", "one request has decided twice", first, c)
			}
			first = c
		}
		for _, c := range calls {
			a, ok := c.Answer.(*idem.EndAnswer)
			if !ok || !a.Already {
				continue
			}
			made := slices.ContainsFunc(calls, func(o *Call) bool {
				told, heard := o.Answer.(*idem.EndAnswer)
				return o != c && o.Invoked < c.Returned && sameDecision(o, c) && (!heard || !told.Already && told.State == a.State)
			})
			if !made {
				k.report("P5", "a decision was called a repeat of one that was never made so", c)
			}
		}
	}
}

func sameDecision(a, b *Call) bool {
	x, _ := a.Command.(*idem.Resolve)
	y, _ := b.Command.(*idem.Resolve)
	return x.To == y.To && bytes.Equal(x.Result, y.Result)
}
