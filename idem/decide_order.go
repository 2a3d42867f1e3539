package idem

// place is where a version stands against its resource.
type place uint8

const (
	placeNext    place = iota // newer, and the next one where the series is sequential
	placeOlder                // superseded
	placeSkipped              // older, and passed over while it was missing
	placeMine                 // equal, applied by this very event
	placeTied                 // equal, applied by another
	placeGap                  // not the expected one: see gap
	placeIllegal              // the state machine has no such step
)

// gap says what stands between a version and the expected one.
type gap struct {
	expected Version
	known    ID // the lowest recorded and unfinished predecessor, zero for none
	key      EventKey
	state    State
	dead     bool // a recorded predecessor ended without being applied
	missing  bool // at least one predecessor has no record
}

// checkKind refuses a version of another kind or mode than the resource's first use.
func checkKind(r *Resource, o *Ordering) *Error {
	if r.Key != o.Resource {
		return &Error{Code: CodeKeyCollision, Field: "event.resource", Detail: "another resource has the same hash"}
	}
	if r.Kind != NoVersion && o.Version.Kind != NoVersion && r.Kind != o.Version.Kind {
		return &Error{Code: CodeKindMismatch, Field: "ordering.version", Detail: "the resource's series uses the other kind of version"}
	}
	if r.Mode != NoMode && r.Mode != o.Mode {
		return &Error{Code: CodeKindMismatch, Field: "ordering.mode", Detail: "the resource's series uses the other mode"}
	}
	return nil
}

// locate judges a version of the event (or request) by against its resource.
// done says that the event has been processed before, so that it cannot have been
// skipped.
func locate(w *World, p *Policy, r *Resource, o *Ordering, by ID, done bool) (place, gap) {
	v := o.Version
	if r.Applied {
		switch cmp := v.Compare(r.Current()); {
		case cmp < 0:
			if r.Mode == Sequential && v.Epoch == r.Epoch && v.Value >= r.Start && !done && !recorded(w, v, by) && !forgotten(w, v, by) {
				return placeSkipped, gap{}
			}
			return placeOlder, gap{}
		case cmp == 0 && r.AppliedBy == by:
			return placeMine, gap{}
		case cmp == 0:
			return placeTied, gap{}
		}
	} else if o.Mode == Sequential && p.StartAt > 0 && v.Value < p.StartAt {
		return placeOlder, gap{}
	}
	if o.Mode == Sequential {
		if g, is := findGap(w, p, r, v, by); is {
			return placeGap, g
		}
	}
	if t := o.Transition; t != nil {
		m, ok := p.Machines[t.Machine]
		if ok && !m.allows(r.State, t.To, o.Mode == LatestWins) {
			return placeIllegal, gap{}
		}
	}
	return placeNext, gap{}
}

// recorded reports whether another event carries the version.
func recorded(w *World, v Version, by ID) bool {
	for _, m := range w.Members {
		if m.Epoch == v.Epoch && m.Value == v.Value && m.Event != by {
			return true
		}
	}
	return false
}

// forgotten reports whether the event once had a record, which was purged: it was
// finished then.
func forgotten(w *World, v Version, by ID) bool {
	if w.Event != nil {
		return false
	}
	for _, m := range w.Members {
		if m.Epoch == v.Epoch && m.Value == v.Value && m.Event == by {
			return true
		}
	}
	return false
}

// firstExpected is the first version of the series of v's epoch: as the policy says, or
// the lowest that has been seen.
func firstExpected(w *World, p *Policy, r *Resource, v Version, by ID) int64 {
	if !r.Applied && p.StartAt > 0 {
		return min(p.StartAt, v.Value)
	}
	first := v.Value
	for _, m := range w.Members {
		if m.Epoch == v.Epoch && m.Event != by && m.Value < first {
			first = m.Value
		}
	}
	return first
}

// findGap looks at what stands between the applied version and v.
func findGap(w *World, p *Policy, r *Resource, v Version, by ID) (gap, bool) {
	first := firstExpected(w, p, r, v, by)
	if r.Applied && r.Epoch == v.Epoch {
		first = r.Value + 1
	}
	if v.Value <= first {
		return gap{}, false
	}
	g := gap{expected: Version{Kind: v.Kind, Epoch: v.Epoch, Value: first}}
	next := first // the lowest version not accounted for
	for _, m := range w.Members {
		if m.Epoch != v.Epoch || m.Value < first || m.Value >= v.Value || m.Event == by {
			continue
		}
		if m.Value > next {
			g.missing = true
		}
		next = m.Value + 1 // several events may carry one version: each is looked at
		switch m.State {
		case Absent: // its record was purged: it was finished
		case FailedTerminal, DeadLettered:
			g.dead = true
		case Processed, IgnoredStale, IgnoredSelf:
		default:
			g.known, g.key, g.state = m.Event, m.Key, m.State
			g.expected.Value = m.Value
			if g.missing {
				g.expected.Value = first
			}
			return g, true
		}
	}
	if next < v.Value {
		g.missing = true
	}
	return g, g.missing || g.dead
}

// order walks the gates of a claim that look at its resource, and grants.
func (g *claimGate) order() Decision {
	o := g.c.Ordering
	if g.s != nil && g.s.Ordering != nil {
		o = g.s.Ordering
	}
	if o == nil {
		return g.grant(nil, nil, false)
	}
	if o.Transition != nil {
		if _, ok := g.p.Machines[o.Transition.Machine]; !ok {
			return refuse(&Error{Code: CodeUnknownMach, Field: "ordering.transition.machine", Detail: "no policy defines this state machine"})
		}
	}
	if o.Mode == Sequential && g.w.guess() {
		return reread() // a guess knows nothing of the versions before it
	}
	id := o.Resource.ID()
	r := g.w.resource(id, o.Resource)
	if err := checkKind(r, o); err != nil {
		return refuse(err)
	}
	if o.Mode == Signal {
		return g.signal(r, o)
	}
	me := g.id
	replay := g.s != nil && g.s.Replay
	if r.Applied {
		cur := r.Current()
		g.a.Current = &cur
		if len(r.Print) > 0 && string(r.Print) == string(g.c.Facts.Fingerprint) {
			g.a.Anomalies = append(g.a.Anomalies, AnomalyUnchanged)
		}
	}
	where, gp := locate(g.w, g.p, r, o, me, replay)
	tied := false
	switch where {
	case placeOlder:
		return g.end(EntryIgnored, IgnoredStale, NoReason, OutcomeStale)
	case placeSkipped:
		return g.end(EntryHeld, Held, SkippedGap, OutcomeHeld)
	case placeMine:
		if !replay {
			g.a.Gone = g.s == nil || g.s.State != Processed
			return g.answer(OutcomeAlreadyProcessed)
		}
	case placeTied:
		var d Decision
		var done bool
		if tied, d, done = g.tie(o); done {
			return d
		}
	case placeIllegal:
		if g.p.IllegalEnds {
			return g.end(EntryIgnored, FailedTerminal, IllegalStep, OutcomeIllegal)
		}
		return g.wait(Waiting{Kind: WaitingStep}, OutcomeIllegal)
	case placeGap:
		if d, done := g.gap(r, o, gp); done {
			return d
		}
	case placeNext:
	}
	return g.lane(r, o, tied)
}

func (g *claimGate) tie(o *Ordering) (tied bool, d Decision, done bool) {
	rule := g.p.TieSequence
	if o.Version.Kind == Moment {
		rule = g.p.TieMoment
	}
	if g.letPass() {
		rule = TieApply
	}
	switch rule {
	case TieApply:
		return true, d, false
	case TieSkip:
		return false, g.end(EntryIgnored, IgnoredStale, TiedVersion, OutcomeVersionTied), true
	default:
		return false, g.end(EntryHeld, Held, TiedVersion, OutcomeVersionTied), true
	}
}

// gap applies the rules for what is missing or dead before the version. A known and
// unfinished predecessor is waited for, never skipped.
func (g *claimGate) gap(r *Resource, o *Ordering, gp gap) (Decision, bool) {
	g.a.Expected = &gp.expected
	g.a.Blocker = gp.key
	if !gp.known.IsZero() {
		return g.await(r, o, gp), true
	}
	if g.letPass() {
		return Decision{}, false
	}
	if gp.missing {
		since := r.GapSince
		if g.s != nil && g.s.Waiting.Kind == WaitingPredecessor && (since == 0 || g.s.WaitingSince < since) {
			since = g.s.WaitingSince // it has waited since before the gap moved
		}
		passed := since != 0 && g.p.Gap != GapWait && g.w.Now.Sub(since) >= g.p.GapAfter
		if g.p.Gap != GapWait && !passed {
			g.a.GapIn = g.p.GapAfter
			if since != 0 {
				g.a.GapIn -= g.w.Now.Sub(since)
			}
		}
		switch {
		case g.w.guess():
			return reread(), true
		case !passed:
			return g.await(r, o, gp), true
		case g.p.Gap == GapHold:
			return g.end(EntryHeld, Held, GapTimeout, OutcomeHeld), true
		}
	}
	if gp.dead {
		switch g.p.Dead {
		case DeadWait:
			return g.await(r, o, gp), true
		case DeadHold:
			return g.end(EntryHeld, Held, DeadPredecessor, OutcomeHeld), true
		case DeadSkip:
		}
	}
	return Decision{}, false
}

// letPass reports whether an operator has decided that the event runs out of turn.
func (g *claimGate) letPass() bool { return g.s != nil && g.s.LetPass }

// await records that the event waits for its predecessor, and starts the gap's clock
// with its first waiter.
func (g *claimGate) await(r *Resource, o *Ordering, gp gap) Decision {
	if gp.missing && r.GapSince == 0 {
		c := *r
		c.Kind, c.Mode = o.Version.Kind, o.Mode
		g.d.Resources = append(g.d.Resources, &ResourceWrite{Old: r, New: &c, GapSince: In(0)})
	}
	return g.wait(Waiting{Kind: WaitingPredecessor, Event: gp.known, Expected: gp.expected}, OutcomeAwaiting)
}

// lane takes the resource's lane, settling an owner whose lease is over on the way.
func (g *claimGate) lane(r *Resource, o *Ordering, tied bool) Decision {
	busy, rr := laneBusy(g.w, g.p, &g.d, r, g.id)
	if rr {
		return reread()
	}
	if busy {
		g.a.Blocker = g.w.Owners[r.Owner].Key
		return g.wait(Waiting{Kind: WaitingLane, Event: r.Owner}, OutcomeResourceBusy)
	}
	rw := takeLane(g.w, &g.d, r, o)
	return g.grant(rw, o, tied)
}

// laneBusy reports whether another event's claim owns the lane. An owner whose lease
// is over is settled within the same decision.
func laneBusy(w *World, p *Policy, d *Decision, r *Resource, me ID) (busy, again bool) {
	if !r.Owned || r.Owner == me {
		return false, false
	}
	if w.guess() {
		return false, true
	}
	owner := w.Owners[r.Owner]
	if owner == nil || owner.Fence != r.OwnerFence {
		return false, false // its claim has ended since the resource was read; the write will test that
	}
	switch {
	case owner.live(w.Now):
		return true, false
	case owner.State == Held:
		return w.policyOf(owner, p).HeldLanes, false
	case owner.State != Processing:
		return false, false
	}
	p = w.policyOf(owner, p)
	dr := begin(w, p, d, owner, nil)
	dr.settle()
	if dr.ev.State == Held && p.HeldLanes {
		// Held by expiry and keeping its lanes: the fact is left to the sweeper.
		d.Entries = d.Entries[:len(d.Entries)-1]
		return true, false
	}
	d.Owners = append(d.Owners, dr.ew)
	return false, false
}

// takeLane is the pending write of a resource whose lane is about to be given.
func takeLane(w *World, d *Decision, r *Resource, o *Ordering) *ResourceWrite {
	dr := &draft{w: w, d: d}
	rw := dr.resource(r.Key.ID(), r.Key)
	rw.New.Mode = o.Mode
	if o.Version.Kind != NoVersion {
		rw.New.Kind = o.Version.Kind
	}
	return rw
}

// applyLane marks the lane's version as applied by the event, and frees the lane. A
// version is never lowered.
func (dr *draft) applyLane(l Lane, v Version, fingerprint []byte) {
	rw := dr.resource(l.Resource, ResourceKey{})
	r := rw.New
	if r.Owner == dr.ev.ID() && r.OwnerFence == dr.ev.Fence {
		r.Owned = false
	}
	if v.Kind == NoVersion { // what was fetched is not told
		return
	}
	if dr.ev.signals(l) { // it carries no state of its own
		fingerprint = nil
	}
	if !r.Applied || v.Compare(r.Current()) >= 0 {
		if (!r.Applied || v.Epoch != r.Epoch) && !dr.ev.signals(l) {
			r.Start = min(l.Start, v.Value)
		}
		r.Applied, r.Kind, r.Epoch, r.Value = true, v.Kind, v.Epoch, v.Value
		r.AppliedBy = dr.ev.ID()
		r.Print = fingerprint
		if l.Machine != "" {
			r.Machine, r.State = l.Machine, l.To
		}
		rw.GapSince = Clear()
	}
}
