package idem

import "slices"

func decideResolve(w *World, c *Resolve, p *Policy) Decision {
	if w.Event == nil {
		return refuse(&Error{Code: CodeNotFound, Detail: "no such event"})
	}
	if w.guess() {
		return reread()
	}
	s := settled(w.Event, w.Now, p)
	var d Decision
	legal := false
	switch c.To {
	case ResolveProcessed, ResolveTerminal:
		legal = s.State == Held
	case ResolveRetry:
		switch s.State {
		case Held, BlockedLoop, DeadLettered, FailedTerminal:
			legal = true
		default:
		}
	}
	if !legal {
		return refuse(&Error{Code: CodeNotResolvable, Field: "to", Detail: "an event in state " + s.State.String() + " has no such resolution"})
	}
	dr := begin(w, p, &d, w.Event, nil)
	dr.settle()
	dr.main()
	e := dr.ev
	entry := Entry{Who: c.Who, Why: c.Why}
	switch c.To {
	case ResolveProcessed:
		entry.Applied = dr.resolveProcessed(c)
		dr.enter(EntryResolved, Processed, ByOperator, entry)
	case ResolveTerminal:
		dr.freeLanes()
		to := FailedTerminal
		if e.Replay {
			to = dr.endReplay()
		}
		e.End, e.ByExpiry = EndResolved, false
		dr.ew.Ended = In(0)
		dr.enter(EntryResolved, to, ByOperator, entry)
	case ResolveRetry:
		dr.freeLanes()
		e.Round++
		e.Attempts, e.Releases = 0, 0
		e.Waiting = Waiting{}
		dr.ew.Due, dr.ew.NotYetSince, dr.ew.WaitingSince = Clear(), Clear(), Clear()
		dr.enter(EntryResolved, Received, ByOperator, entry)
	}
	d.touchResources()
	d.Answer = &EndAnswer{Event: s, State: e.State, Attempt: e.Attempts, Max: p.MaxAttempts}
	return d
}

// resolveProcessed settles the event as done. Its versions are applied where the lanes
// still stand; where one was given on, newer state may have been written since.
func (dr *draft) resolveProcessed(c *Resolve) []Lane {
	e := dr.ev
	var applied []Lane
	for _, l := range e.Lanes {
		r := dr.w.Resources[l.Resource]
		if r == nil || r.Owner != e.ID() || r.OwnerFence != e.Fence {
			continue
		}
		dr.applyLane(l, l.Version, e.Facts.Fingerprint)
		applied = append(applied, l)
	}
	e.End, e.ByExpiry = EndResolved, false
	e.Result, e.ContentType, e.Outputs = c.Result, c.ContentType, nil
	e.Error = Failure{}
	e.Replay, e.ReplayFailed, e.ReplayDied, e.SettledAs = false, false, false, Processed
	dr.ew.Due, dr.ew.Ended = Clear(), In(0)
	return applied
}

func decideReplay(w *World, c *Replay, p *Policy) Decision {
	if w.Event == nil {
		return refuse(&Error{Code: CodeNotFound, Detail: "no such event"})
	}
	if w.guess() {
		return reread()
	}
	e := settled(w.Event, w.Now, p)
	var d Decision
	a := &EndAnswer{Event: e, State: e.State, Attempt: e.Attempts, Max: p.MaxAttempts}
	d.Answer = a
	if slices.Contains(e.ReplayIDs, c.RequestID) {
		a.Already = true
		return d
	}
	if e.Replay || !e.State.Finished() {
		return refuse(&Error{Code: CodeReplayRefused, Detail: "an event in state " + e.State.String() + " is not finished, or its replay is under way"})
	}
	dr := begin(w, p, &d, w.Event, nil)
	dr.settle()
	dr.main()
	ev := dr.ev
	ev.SettledAs = ev.State
	ev.Replay, ev.ReplayFailed, ev.ReplayDied = true, false, false
	ev.ReplayIDs = append(slices.Clone(ev.ReplayIDs[max(0, len(ev.ReplayIDs)-MaxReplays+1):]), c.RequestID)
	ev.Round++
	ev.Attempts, ev.Releases = 0, 0
	ev.ByExpiry = false
	ev.Waiting = Waiting{}
	dr.ew.Due, dr.ew.NotYetSince, dr.ew.WaitingSince = Clear(), Clear(), Clear()
	dr.enter(EntryReplay, Received, ByOperator, Entry{Who: c.Who, Why: c.Why, Request: c.RequestID})
	d.touchResources()
	a.State = Received
	return d
}
