package idem

// expiry is what the end of the lease means for the record.
func expiry(e *Event, p *Policy) (State, Reason) {
	switch {
	case e.Stale == Hold:
		return Held, LeaseExpired
	case e.Attempts >= p.MaxAttempts:
		return DeadLettered, LeaseExpired
	default:
		return FailedRetryable, LeaseExpired
	}
}

// settled is the record as the lease's end leaves it. Expiry is a fact of time: the
// answer is the same whether or not anybody has written it down.
func settled(e *Event, now Instant, p *Policy) *Event {
	if e == nil || e.State != Processing || e.LeaseUntil > now {
		return e
	}
	w := &World{Now: now}
	dr := begin(w, p, &Decision{}, e, nil)
	dr.settle()
	return dr.ev
}

// Settled is the record as of an instant: what its lease's end means is applied.
func Settled(e *Event, now Instant, p *Policy) *Event { return settled(e, now, p) }

// settle writes the lease's end into the draft, when it has come.
func (dr *draft) settle() bool {
	e := dr.ev
	if e.State != Processing || e.LeaseUntil > dr.w.Now {
		return false
	}
	dr.ew.Over = true
	to, reason := expiry(e, dr.p)
	if to != Held || !dr.p.HeldLanes {
		dr.freeLanes()
	}
	e.ByExpiry = true
	e.End = EndExpired
	e.Error = Failure{Kind: Retryable, Code: LeaseExpired.String(), Message: "the lease ended without a word from the claim's owner"}
	dr.ew.Ended, e.EndedAt = At(e.LeaseUntil), e.LeaseUntil
	dr.ew.Due, e.DueAt = Clear(), 0
	if to == DeadLettered && e.Replay {
		to = dr.endReplay()
		e.ReplayDied = true
	}
	e.EndState = to
	dr.enter(EntryExpired, to, reason, Entry{})
	return true
}

// endReplay ends a replay without success: the event stays what it was settled as.
func (dr *draft) endReplay() State {
	dr.ev.Replay, dr.ev.ReplayFailed, dr.ev.ReplayDied = false, true, false
	return dr.ev.SettledAs
}

func decideSettle(w *World, p *Policy) Decision {
	var d Decision
	if w.Event == nil || w.guess() {
		d.Reread = w.guess()
		if !d.Reread {
			d.Answer = &EndAnswer{}
		}
		return d
	}
	a := &EndAnswer{Event: w.Event, State: w.Event.State, Already: true}
	d.Answer = a
	dr := begin(w, p, &d, w.Event, nil)
	if dr.settle() {
		dr.main()
		d.touchResources()
		a.Already = false
	}
	return d
}
