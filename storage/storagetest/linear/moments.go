package linear

import (
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// during reports whether the call was at work at an instant, or may have been for a while
// after its end.
func (c *Call) during(at idem.Instant, after time.Duration) bool {
	return at >= c.InvokedAt.Add(-slack) && at <= c.ReturnedAt.Add(after)
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
	case *idem.ReceiveAnswer:
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
