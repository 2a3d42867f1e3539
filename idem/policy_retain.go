package idem

import "time"

// covers reports whether what is kept for the one time is kept for the other, too; zero
// keeps for ever. A need of zero is none.
func covers(keep, need time.Duration) bool { return keep == 0 || keep >= need }

// outlives reports whether what is kept for the one time is kept as long as the other,
// where zero keeps for ever.
func outlives(keep, other time.Duration) bool { return keep == 0 || (other != 0 && keep >= other) }

// Over reports whether nobody has to act on the event any more: it was processed or
// ignored, or an operator has closed it. A dead letter is finished for the rules and not
// over: it waits for a person.
func (e *Event) Over() bool {
	switch e.State {
	case Processed, IgnoredStale, IgnoredSelf:
		return !e.Replay
	case FailedTerminal, DeadLettered:
		return e.Reason == ByOperator && !e.Replay
	default:
		return false
	}
}

// lastSeen is the moment from which the retention of an event that is over counts.
func (e *Event) lastSeen() Instant { return max(e.CreatedAt, e.GrantedAt, e.EndedAt) }

// past reports whether something that is kept for a while since an instant is so no longer.
func past(keep time.Duration, since, now Instant) bool { return keep != 0 && now.Sub(since) > keep }

// ForgetsEvent reports whether the event's record may go, with all that hangs on it. Its
// store must also see that no side effect of it is open.
func (p *Policy) ForgetsEvent(e *Event, now Instant) bool {
	return e.Over() && past(p.KeepEvents, e.lastSeen(), now)
}

// ForgetsPayload reports whether the event needs its payload no longer, which was received
// with its first delivery.
func (p *Policy) ForgetsPayload(e *Event, now Instant) bool {
	return e.Over() && past(p.KeepPayloads, e.CreatedAt, now)
}

// ForgetsEffect reports whether a side effect of a wider scope than one event may go, once no
// event is stored under which it was begun.
func (p *Policy) ForgetsEffect(f *Effect, now Instant) bool {
	return f.Key.Scope != EventScope && (f.State == EffectDone || f.State == EffectNotDone) && past(p.KeepEffects, f.Since, now)
}

// ForgetsResource reports whether what was applied to a resource may go, once no event is
// stored that is ordered by it. changed is its last change.
func (p *Policy) ForgetsResource(r *Resource, changed, now Instant) bool {
	return !r.Owned && r.GapSince == 0 && past(p.KeepVersions, changed, now)
}
