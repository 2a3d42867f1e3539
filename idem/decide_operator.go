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
	hash := Digest("resolve", string(rune(c.To)), c.ContentType, string(c.Result))
	switch was, err := decided(w.Event.Decided, c.RequestID, hash); {
	case err != nil:
		return refuse(err)
	case was != nil:
		d.Answer = &EndAnswer{Event: s, State: was.State, Already: true, Attempt: s.Attempts, Max: p.MaxAttempts}
		return d
	}
	legal := false
	switch c.To {
	case ResolveProcessed, ResolveTerminal:
		legal = s.State == Held
	case ResolveRetry:
		switch s.State {
		case Held, BlockedLoop, DeadLettered, FailedTerminal:
			legal = true
		default:
			legal = s.Waiting.Kind == WaitingPredecessor
		}
	}
	if !legal {
		return refuse(&Error{Code: CodeNotResolvable, Field: "to", Detail: "an event in state " + s.State.String() + " has no such resolution"})
	}
	dr := begin(w, p, &d, w.Event, nil)
	dr.settle()
	dr.main()
	e := dr.ev
	entry := Entry{Who: c.Who, Why: c.Why, Request: c.RequestID}
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
		e.Waiting, e.ReplayFailed = Waiting{}, false
		e.LetPass = s.outOfTurn()
		dr.ew.Due, dr.ew.NotYetSince, dr.ew.WaitingSince = Clear(), Clear(), Clear()
		dr.enter(EntryResolved, Received, ByOperator, entry)
	}
	e.Decided = remember(e.Decided, Decided{Request: c.RequestID, Hash: hash, State: e.State})
	d.touchResources()
	d.Answer = &EndAnswer{Event: s, State: e.State, Attempt: e.Attempts, Max: p.MaxAttempts}
	return d
}

// outOfTurn reports whether the event is held, or waits, for what is missing or dead before
// its version, or beside it: to try it again means that it runs without.
func (e *Event) outOfTurn() bool {
	if e.State != Held {
		return e.Waiting.Kind == WaitingPredecessor
	}
	return e.Reason == GapTimeout || e.Reason == DeadPredecessor || e.Reason == TiedVersion
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
		v := l.Version
		if e.signals(l) {
			v = dr.cover(l, nil)
		}
		dr.applyLane(l, v, e.Facts.Fingerprint)
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
	switch {
	case e.Replay:
		return refuse(refuseReplay(ReplayRunning, "a replay of the event is under way"))
	case !e.State.Finished():
		return refuse(refuseReplay(ReplayUnfinished, "an event in state "+e.State.String()+" is not finished"))
	case c.Unprocessed && e.State == Processed:
		return refuse(refuseReplay(ReplayProcessed, "the event has been processed; a replay of it must be asked for"))
	}
	dr := begin(w, p, &d, w.Event, nil)
	dr.settle()
	dr.main()
	ev := dr.ev
	ev.SettledAs = ev.State
	ev.Replay, ev.ReplayFailed, ev.ReplayDied, ev.LetPass = true, false, false, false
	ev.ReplayIDs = append(slices.Clone(ev.ReplayIDs[max(0, len(ev.ReplayIDs)-MaxReplays+1):]), c.RequestID)
	ev.Replays++
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

// Why a replay is refused, as the first of the refusal's names.
const (
	ReplayRunning    = "REPLAY_RUNNING"
	ReplayUnfinished = "NOT_FINISHED"
	ReplayProcessed  = "ALREADY_PROCESSED"
	ReplayReceived   = "ALREADY_RECEIVED"
	ReplaySelf       = "SELF_ORIGINATED"
	ReplayUnsigned   = "REJECTED_SIGNATURE"
)

func refuseReplay(reason, detail string) *Error {
	return &Error{Code: CodeReplayRefused, Detail: detail, Names: []string{reason}}
}

func decideResolveEffect(w *World, c *ResolveEffect, p *Policy) Decision {
	f := w.Effect
	if f == nil || f.Version == 0 || f.State == EffectAbsent {
		return refuse(&Error{Code: CodeNotFound, Detail: "no such side effect"})
	}
	if w.guess() {
		return reread()
	}
	if f.Key != c.Key.Scoped() {
		return refuse(&Error{Code: CodeKeyCollision, Field: "key", Detail: "another effect has the same hash"})
	}
	k := &effectCall{w: w, p: p, f: f, key: f.Key, a: &EffectAnswer{}}
	k.d.Answer = k.a
	hash := Digest("resolve effect", string(rune(c.To)), c.ContentType, string(c.Result))
	switch was, err := decided(f.Decided, c.RequestID, hash); {
	case err != nil:
		return refuse(err)
	case was != nil:
		k.a.Repeat = true
		return k.answer(decidedVerdict(EffectState(was.State)))
	}
	state := f.stateAt(w.Now)
	n := f.clone()
	switch {
	case c.To == EffectWasDone && (state == EffectUnknown || state == EffectNotDone):
		n.done(c.Result, c.ContentType)
	case c.To == EffectWasNot && state == EffectUnknown:
		n.notDone()
	case c.To == EffectRedo && state == EffectDone:
		n.again()
	default:
		return refuse(&Error{Code: CodeNotResolvable, Field: "to", Detail: "a side effect in state " + state.String() + " has no such resolution"})
	}
	n.Decided = remember(f.Decided, Decided{Request: c.RequestID, Hash: hash, State: State(n.State)})
	d := k.report(n, Clear(), decidedVerdict(n.State))
	e := &d.Entries[len(d.Entries)-1]
	e.Kind, e.Reason, e.Who, e.Why, e.Request = EntryResolved, ByOperator, c.Who, c.Why, c.RequestID
	return d
}

// decidedVerdict is what is answered about an effect that an operator has decided about.
func decidedVerdict(s EffectState) EffectVerdict {
	if s == EffectDone {
		return EffectReportedDone
	}
	return EffectReportedNot
}

// notDone closes all tries: none of them took place.
func (e *Effect) notDone() {
	e.State, e.Error = EffectNotDone, Failure{}
	for i := range e.Tries {
		e.Tries[i].Open = false
	}
}

// again begins a generation in which nothing has been tried. Tokens of the one before are
// worth nothing in it.
func (e *Effect) again() {
	e.Generation++
	e.State, e.OnUnknown, e.RequestHash, e.Intent, e.Tries = EffectNotDone, UnknownByPolicy, nil, nil, nil
	e.Result, e.ContentType, e.Error = nil, "", Failure{}
}
