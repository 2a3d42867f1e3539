package idem

import (
	"cmp"
	"strconv"
	"time"
)

// hash names a completion: the same call again gets the same answer.
func (c *Complete) hash() ID {
	parts := []string{"complete", c.ContentType, string(c.Result)}
	parts = append(parts, strconv.Itoa(len(c.Outputs)))
	parts = append(parts, c.Outputs...)
	if c.Applied != nil {
		parts = append(parts, "applied", strconv.FormatInt(c.Applied.Epoch, 10), strconv.FormatInt(c.Applied.Value, 10))
	}
	return Digest(parts...)
}

func (c *Fail) hash() ID {
	return Digest("fail", strconv.Itoa(int(c.Error.Kind)), c.Error.Code, c.Error.Message, strconv.FormatInt(int64(c.RetryAfter), 10))
}

func releaseHash() ID { return Digest("release") }

// ending is what the calls that end a claim have in common: the judgement of the
// token, the repeat of the call that ended it, and the report that comes too late.
func ending(w *World, t *Token, p *Policy, said LateReport) (st standing, e *Event, d Decision, done bool) {
	st, e, past := w.stand(t, p)
	switch st {
	case ended:
		a := e.archive()
		if past != nil {
			a = *past
		}
		if a.EndHash == said.Hash {
			d.Answer = &EndAnswer{
				Event: e, State: a.State, Already: true, Late: a.EndLate, Counted: !a.EndFree, Due: a.DueAt, Number: a.Number, Attempt: a.EndCount, Max: p.MaxAttempts,
			}
			return st, e, d, true
		}
		return st, e, refuse(errEnded(&Event{State: a.State}, a.End)), true
	case lost:
		return st, e, lateReport(w, e, past, t, p, said), true
	case alive, late:
	}
	return st, e, d, false
}

// lateReport refuses a call whose claim was lost, and notes it on the record for the
// operator and the next grant, when the token really was a grant of this record.
func lateReport(w *World, e *Event, past *Attempt, t *Token, p *Policy, said LateReport) Decision {
	d := refuse(errLost())
	mine := e != nil && ((e.Fence == t.Fence && e.Nonce == t.Nonce && e.End != EndUndelivered) || past != nil)
	if w.guess() && e != nil {
		return reread()
	}
	if !mine || said.Call == EndReleased || len(e.LateReports) >= MaxLateReports {
		return d
	}
	for _, r := range e.LateReports {
		if r.Fence == t.Fence && r.Hash == said.Hash {
			return d
		}
	}
	said.Fence, said.Number = t.Fence, e.Total
	if past != nil {
		said.Number = past.Number
	}
	if len(said.Result) > MaxLateResult {
		said.Result, said.Omitted = nil, true
	}
	dr := begin(w, p, &d, e, nil)
	dr.ev.LateReports = append(append([]LateReport(nil), e.LateReports...), said)
	dr.enter(EntryLateReport, e.State, e.Reason, Entry{Late: true, ResultHash: said.Hash, Error: said.Error})
	dr.main()
	return d
}

// reopen starts the draft of a call on a claim that is alive or late.
func reopen(w *World, p *Policy, d *Decision, st standing) *draft {
	dr := begin(w, p, d, w.Event, nil)
	if st == alive {
		dr.ew.Live = true
	} else {
		dr.settle()
		if dr.ev.ReplayDied {
			dr.ev.Replay, dr.ev.ReplayFailed, dr.ev.ReplayDied = true, false, false
		}
	}
	dr.main()
	return dr
}

// close ends the claim in the draft.
func (dr *draft) close(end EndKind, hash ID, to State) {
	e := dr.ev
	e.End, e.EndHash, e.EndState, e.EndCount = end, hash, to, e.Attempts
	e.ByExpiry = false
	dr.ew.Ended = In(0)
}

func (e *Event) answered(a DeliveryAnswer) {
	if a.HTTPStatus != 0 {
		e.Answered = a
	}
}

func decideComplete(w *World, c *Complete, p *Policy) Decision {
	st, e, d, done := ending(w, &c.Token, p, LateReport{Call: EndCompleted, Hash: c.hash(), Result: c.Result, ContentType: c.ContentType})
	if done {
		return d
	}
	if w.guess() && (!w.effectsClosed(e) || e.Signals()) {
		return reread()
	}
	if err := checkApplied(w, e, c.Applied); err != nil {
		return refuse(err)
	}
	var open []string
	for _, f := range w.Effects {
		if f.Event == e.ID() && f.open() {
			open = append(open, f.Key.Key)
		}
	}
	if len(open) > 0 && !c.AllowUnknown {
		return refuse(&Error{Code: CodeOpenEffects, Detail: "side effects were begun and their outcome has not been reported", Names: open})
	}
	dr := reopen(w, p, &d, st)
	for _, f := range w.Effects {
		if f.Event == e.ID() && f.State == EffectBegun {
			d.Effects = append(d.Effects, unknown(f))
		}
	}
	ev := dr.ev
	var applied []Lane
	for _, l := range ev.Lanes {
		v := l.Version
		switch {
		case ev.signals(l):
			v = dr.cover(l, c.Applied)
		case c.Applied != nil && c.Applied.Compare(v) > 0 && len(ev.Lanes) == 1:
			v = *c.Applied
		}
		dr.applyLane(l, v, ev.Facts.Fingerprint)
		l.Version = v
		applied = append(applied, l)
	}
	dr.close(EndCompleted, c.hash(), Processed)
	ev.EndLate = st == late
	ev.answered(c.Answered)
	ev.Result, ev.ContentType, ev.Outputs = c.Result, c.ContentType, c.Outputs
	ev.Error = Failure{}
	ev.Replay, ev.ReplayFailed, ev.SettledAs = false, false, Processed
	ev.Waiting = Waiting{}
	dr.ew.Due, dr.ew.WaitingSince, dr.ew.NotYetSince = Clear(), Clear(), Clear()
	dr.fold()
	dr.enter(EntryCompleted, Processed, NoReason, Entry{Late: st == late, ResultHash: c.hash(), Outputs: c.Outputs, Applied: applied})
	d.touchResources()
	d.touchEffects()
	d.Answer = &EndAnswer{Event: e, State: Processed, Late: st == late, Counted: true, Number: ev.Total, Attempt: ev.Attempts, Max: p.MaxAttempts}
	return d
}

// checkApplied refuses a version that cannot have been fetched for the claim's resource.
func checkApplied(w *World, e *Event, v *Version) *Error {
	if v == nil {
		return nil
	}
	if e.Signals() {
		return checkFetched(w, e.Ordering, *v)
	}
	if len(e.Lanes) != 1 {
		return &Error{Code: CodeInvalid, Field: "applied_version", Detail: "needs a claim that reserved exactly one resource"}
	}
	if e.Lanes[0].Version.Kind != v.Kind {
		return &Error{Code: CodeKindMismatch, Field: "applied_version", Detail: "the resource's series uses the other kind of version"}
	}
	return nil
}

func unknown(f *Effect) *EffectWrite {
	n := f.clone()
	n.State = EffectUnknown
	return &EffectWrite{Old: f, New: n, Lease: Clear()}
}

func decideFail(w *World, c *Fail, p *Policy) Decision {
	call := EndFailed
	switch c.Error.Kind {
	case Terminal:
		call = EndRejected
	case NotYet:
		call = EndNotYet
	case NoFailure, Retryable:
	}
	said := LateReport{Call: call, Hash: c.hash(), Error: c.Error}
	st, e, d, done := ending(w, &c.Token, p, said)
	if done {
		return d
	}
	if st == late && e.Round != e.GrantRound { // an operator has begun a new round
		return lateReport(w, w.Event, nil, &c.Token, p, said)
	}
	if w.guess() && (e.Effects > 0 || c.Error.Kind == NotYet) {
		return reread()
	}
	dr := reopen(w, p, &d, st)
	dr.freeLanes()
	if st == late {
		for _, l := range dr.ev.Lanes {
			dr.resource(l.Resource, ResourceKey{}) // free already: written all the same, which tests that it was not given on
		}
	}
	to, reason := dr.failTo(c, st == late && (e.State == DeadLettered || e.ReplayDied))
	ev := dr.ev
	if to == DeadLettered || to == FailedTerminal {
		if ev.Replay {
			to = dr.endReplay()
		}
	}
	if to == FailedRetryable {
		delay := c.RetryAfter
		if delay <= 0 {
			n := max(1, ev.Attempts)
			if call == EndNotYet && e.NotYetSince != 0 { // its attempts do not count
				n = max(n, p.Backoff.After(w.Now.Sub(e.NotYetSince)))
			}
			delay = p.Backoff.Delay(n, c.Draw)
		}
		delay = max(delay, time.Microsecond) // what instants tell apart
		dr.ew.Due, ev.EndDelay = In(delay), delay
	} else {
		dr.ew.Due = Clear()
	}
	dr.close(call, c.hash(), to)
	ev.EndLate, ev.EndFree = st == late, call == EndNotYet
	ev.answered(c.Answered)
	ev.Error = c.Error
	dr.enter(EntryFailed, to, reason, Entry{Late: st == late, Error: c.Error})
	d.touchResources()
	d.Answer = &EndAnswer{Event: e, State: to, Late: st == late, Counted: call != EndNotYet, Number: ev.Total, Attempt: ev.Attempts, Max: p.MaxAttempts}
	return d
}

// failTo is where a failure takes the record. dead says that its attempts were used up
// when its lease ended: that stays, whatever the late report says.
func (dr *draft) failTo(c *Fail, dead bool) (State, Reason) {
	e, p := dr.ev, dr.p
	switch {
	case c.Error.Kind == Terminal:
		return FailedTerminal, Reported
	case dead:
		return DeadLettered, AttemptsExhausted
	case c.Error.Kind == NotYet:
		// What it needs does not exist yet: not the handler's failure. The attempt does
		// not count; patience has a budget of its own.
		e.Attempts--
		if e.NotYetSince == 0 {
			dr.ew.NotYetSince = In(0)
		} else if dr.w.Now.Sub(e.NotYetSince) >= p.NotYetBudget {
			return DeadLettered, NotYetExhausted
		}
		return FailedRetryable, Reported
	}
	for _, f := range dr.w.Effects {
		if f.Event == e.ID() && f.stateAt(dr.w.Now) == EffectUnknown && f.OnUnknown == UnknownHold {
			return Held, UnknownEffect
		}
	}
	if e.Attempts >= p.MaxAttempts {
		return DeadLettered, AttemptsExhausted
	}
	return FailedRetryable, Reported
}

func decideExtend(w *World, c *Extend, p *Policy) Decision {
	st, e, past := w.stand(&c.Token, p)
	var d Decision
	switch {
	case st == lost, st == late && e.Round != e.GrantRound:
		return refuse(errLost())
	case st == ended:
		if past != nil {
			return refuse(errEnded(&Event{State: past.State}, past.End))
		}
		return refuse(errEnded(e, e.End))
	}
	lease := p.lease(cmp.Or(c.Lease, e.Lease))
	limit := e.GrantedAt.Add(p.MaxClaimAge)
	a := &ExtendAnswer{LeaseUntil: e.LeaseUntil, Event: e}
	d.Answer = a
	if st == alive {
		dr := begin(w, p, &d, w.Event, nil)
		dr.ew.Live = true
		dr.ew.Lease, dr.ew.ExtendCap = In(lease), limit
		dr.main()
		return d
	}
	if limit <= w.Now {
		return refuse(&Error{Code: CodeClaimExpired, Detail: "the claim is older than the longest claim allowed"})
	}
	dr := reopen(w, p, &d, st)
	for _, l := range dr.ev.Lanes {
		dr.resource(l.Resource, ResourceKey{}).New.Owned = true
	}
	dr.ev.ByExpiry, dr.ev.End, dr.ev.EndState = false, NotEnded, Absent
	dr.ev.Waiting = Waiting{}
	dr.ew.WaitingSince = Clear()
	dr.ev.Error = Failure{}
	dr.ew.Ended, dr.ew.Due = Clear(), Clear()
	dr.ew.Lease = In(min(lease, limit.Sub(w.Now)))
	dr.enter(EntryRearmed, Processing, NoReason, Entry{Late: true})
	d.touchResources()
	a.Rearmed = true
	return d
}

func decideRelease(w *World, c *Release, p *Policy) Decision {
	hash := releaseHash()
	st, e, d, done := ending(w, &c.Token, p, LateReport{Call: EndReleased, Hash: hash})
	if done {
		return d
	}
	if st == late || (c.Undelivered && e.Reentries > 0) {
		d.Answer = &EndAnswer{Event: e, State: e.State, Late: st == late, Counted: true, Due: e.DueAt, Number: e.Total, Attempt: e.Attempts, Max: p.MaxAttempts}
		return d
	}
	if w.guess() && e.Effects > 0 {
		return reread()
	}
	dr := reopen(w, p, &d, st)
	dr.freeLanes()
	ev := dr.ev
	for _, f := range w.Effects {
		if f.Event == ev.ID() && f.Fence == ev.Fence && f.State == EffectBegun {
			d.Effects = append(d.Effects, unknown(f))
		}
	}
	counted := !c.Undelivered && (ev.Began || ev.Releases >= p.MaxReleases)
	if !counted {
		ev.Attempts--
	}
	end := EndReleased
	if c.Undelivered {
		end = EndUndelivered
	} else {
		ev.Releases++
	}
	dr.close(end, hash, Received)
	ev.EndFree, ev.EndWhy = !counted, c.Why
	dr.ew.Due = In(p.ReleaseDelay)
	if c.Undelivered || p.ReleaseDelay <= 0 {
		dr.ew.Due = Clear()
	} else {
		ev.EndDelay = p.ReleaseDelay
	}
	dr.enter(EntryReleased, Received, NoReason, Entry{Why: c.Why})
	d.touchResources()
	d.touchEffects()
	d.Answer = &EndAnswer{Event: e, State: Received, Counted: counted, Number: ev.Total, Attempt: ev.Attempts, Max: p.MaxAttempts}
	return d
}
