package idem

import (
	"bytes"
	"slices"
)

// decideClaim walks the gates of a claim in their order; the first that answers ends
// the walk.
func decideClaim(w *World, c *Claim, p *Policy) Decision {
	if w.Event != nil && w.Event.Key != c.Key {
		return refuse(&Error{Code: CodeKeyCollision, Field: "event", Detail: "another key has the same hash"})
	}
	g := &claimGate{w: w, c: c, p: p, id: c.Subject(), a: &ClaimAnswer{Max: p.MaxAttempts}}
	if c.Acquisition.IsZero() {
		if c.Facts.Signature == SignatureFailed || (!c.Facts.Signature.genuine() && p.signatureRequired(w.SeenVerified)) {
			return g.answer(OutcomeRejected)
		}
	} else if w.Event == nil {
		if w.guess() {
			return reread()
		}
		return refuse(&Error{Code: CodeNotFound, Detail: "no such event"})
	}
	g.s = settled(w.Event, w.Now, p)
	g.a.Event = g.s
	g.a.Anomalies = anomalies(w, g.s, &c.Facts)

	if g.s != nil {
		if d, done := g.known(); done {
			return d
		}
	} else if g.selfOriginated() {
		return g.end(EntryIgnored, IgnoredSelf, NoReason, OutcomeSelfOriginated)
	}
	return g.order()
}

// claimGate is the walk of one claim.
type claimGate struct {
	w  *World
	c  *Claim
	p  *Policy
	s  *Event // the settled record, nil for none
	id ID
	d  Decision
	a  *ClaimAnswer

	carrier ID // the event that carried this signal
}

func (g *claimGate) answer(o Outcome) Decision {
	g.a.Outcome = o
	g.a.Advice = o.Advice(g.s != nil && g.s.State == Received)
	g.d.Answer = g.a
	return g.d
}

// anomalies are what is odd about a delivery that meets the settled record s, nil for none.
func anomalies(w *World, s *Event, f *Facts) (list []Anomaly) {
	if f.Signature == VerifiedLate {
		list = append(list, AnomalyLate)
	}
	if s == nil {
		start := int64(w.EpochStart) * 1000
		if before(f.ReceivedAt, start) || before(f.OccurredAt, start) {
			list = append(list, AnomalyRestored)
		}
		return list
	}
	if mismatch(&s.Facts, f) {
		list = append(list, AnomalyMismatch)
	}
	return list
}

func before(ns, start int64) bool { return ns != 0 && start != 0 && ns < start }

// mismatch compares fingerprints when both deliveries carry one, since a provider's
// retry may differ in volatile fields, else payload hashes. An absent one gives no
// verdict.
func mismatch(first, later *Facts) bool {
	if len(first.Fingerprint) > 0 && len(later.Fingerprint) > 0 {
		return !bytes.Equal(first.Fingerprint, later.Fingerprint)
	}
	return len(first.PayloadHash) > 0 && len(later.PayloadHash) > 0 && !bytes.Equal(first.PayloadHash, later.PayloadHash)
}

func (g *claimGate) selfOriginated() bool { return g.p.selfOrigin(g.c.Facts.Origin) }

// selfOrigin reports whether the consumer caused what carries the mark.
func (p *Policy) selfOrigin(mark string) bool {
	return mark != "" && slices.Contains(p.SelfOrigins, mark)
}

// known walks the gates that need a record: the claimant's own, those of its state,
// and the schedule's.
func (g *claimGate) known() (Decision, bool) {
	s, c := g.s, g.c
	if s.Claimant == c.Claimant && s.State == Processing {
		return g.reenter(), true
	}
	if g.ghost() {
		return g.byState(), true
	}
	if g.p.RefuseMismatch && mismatch(&s.Facts, &c.Facts) {
		return g.answer(OutcomeMismatch), true
	}
	if g.replaying() {
		return g.answer(outcomeOf(s.SettledAs)), true
	}
	switch s.State {
	case Received, FailedRetryable:
	case Processing:
		return g.answer(OutcomeInProgress), true
	default:
		return g.byState(), true
	}
	if g.selfOriginated() && s.Total == 0 {
		return g.end(EntryIgnored, IgnoredSelf, NoReason, OutcomeSelfOriginated), true
	}
	if c.Waited && s.State == FailedRetryable && s.End.byOwner() && c.ArrivedAt <= s.EndedAt {
		return g.answer(OutcomeRetryScheduled), true
	}
	if s.DueAt > g.w.Now && !g.waives() {
		if g.w.guess() {
			return reread(), true
		}
		return g.answer(OutcomeRetryScheduled), true
	}
	if s.Attempts >= g.p.MaxAttempts {
		return g.exhaust(), true
	}
	return Decision{}, false
}

// ghost reports whether the claimant's earlier claim has ended: it never gets
// another. A grant whose answer never left the server was no claim.
func (g *claimGate) ghost() bool {
	s, past := g.s, g.w.Past
	if s.Claimant == g.c.Claimant && s.Fence != 0 && s.End != EndUndelivered {
		return true
	}
	return past != nil && past.Claimant == g.c.Claimant && past.End != EndUndelivered
}

// replaying reports whether a replay is under way that the caller does not ask for: it is
// told what the event was settled as. While the replay of an event that was not processed
// runs, it is in progress for everybody.
func (g *claimGate) replaying() bool {
	is := g.s.Replay && !g.c.AcceptReplay && (g.s.State != Processing || g.s.SettledAs == Processed)
	g.a.Replaying = g.a.Replaying || is
	return is
}

// byState answers with the record's state.
func (g *claimGate) byState() Decision {
	if g.replaying() {
		return g.answer(outcomeOf(g.s.SettledAs))
	}
	return g.answer(outcomeOf(g.s.State))
}

func outcomeOf(s State) Outcome {
	switch s {
	case Processing:
		return OutcomeInProgress
	case Processed:
		return OutcomeAlreadyProcessed
	case FailedTerminal:
		return OutcomeFailedTerminal
	case DeadLettered:
		return OutcomeDeadLettered
	case IgnoredStale:
		return OutcomeStale
	case Held:
		return OutcomeHeld
	case BlockedLoop:
		return OutcomeLoopBlocked
	case IgnoredSelf:
		return OutcomeSelfOriginated
	default:
		return OutcomeRetryScheduled
	}
}

// reenter gives the claimant the claim it already has.
func (g *claimGate) reenter() Decision {
	if g.s.Reentries >= MaxReentries {
		return g.answer(OutcomeInProgress)
	}
	if g.w.guess() && g.s.Effects > 0 {
		return reread()
	}
	dr := begin(g.w, g.p, &g.d, g.w.Event, nil)
	dr.ev.Reentries++
	dr.ew.Live = true
	dr.enter(EntryReentered, Processing, dr.ev.Reason, Entry{Claimant: g.c.Claimant})
	dr.main()
	g.a.Reentered = true
	g.a.LaneFence = g.laneFence()
	g.grantFacts(g.s)
	return g.answer(OutcomeClaimed)
}

// laneFence is the fence of the lane that the claim's own ordering reserved.
func (g *claimGate) laneFence() int64 {
	if o := g.s.Ordering; o != nil {
		if r := g.w.Resources[o.Resource.ID()]; r != nil && r.Owner == g.s.ID() {
			return r.LaneFence
		}
	}
	return 0
}

// grantFacts fills in what comes with every grant: effects done earlier, the error
// before, the reports that came too late.
func (g *claimGate) grantFacts(s *Event) {
	if s == nil {
		return
	}
	g.a.Effects = g.w.Effects
	g.a.Previous = s.Error
	g.a.Late = s.LateReports
}

// waives reports whether a provider's redelivery is granted before it is due: our
// backoff must not cost the provider's last retry. It holds for a call that arrived
// after the failure was committed, and once per interval, so that waiters and
// client repeats cannot burn all attempts in one blip.
func (g *claimGate) waives() bool {
	s, c := g.s, g.c
	switch {
	case s.State != FailedRetryable || !c.Facts.Kind.fromProvider():
		return false
	case c.ArrivedAt != 0 && c.ArrivedAt <= s.EndedAt:
		return false
	case s.Waived && g.w.Now.Sub(s.GrantedAt) < g.p.WaiveInterval:
		return false
	default:
		return true
	}
}

// exhaust dead-letters a record whose attempts are used up under the current policy.
func (g *claimGate) exhaust() Decision {
	dr := begin(g.w, g.p, &g.d, g.w.Event, nil)
	dr.settle()
	to := DeadLettered
	if dr.ev.Replay {
		to = dr.endReplay()
	}
	dr.enter(EntryDeadLettered, to, AttemptsExhausted, Entry{})
	dr.main()
	g.d.touchResources()
	return g.answer(outcomeOf(to))
}

// end takes the record to a state without a grant.
func (g *claimGate) end(kind EntryKind, to State, reason Reason, o Outcome) Decision {
	dr := g.draft()
	if dr.ev.Replay && to.Finished() {
		to = dr.endReplay()
	}
	dr.ev.Waiting = Waiting{}
	dr.ew.WaitingSince = Clear()
	dr.ev.ByExpiry = false
	dr.ev.CarriedBy = g.carrier
	dr.enter(kind, to, reason, Entry{Claimant: g.c.Claimant, Holder: g.c.Holder, Carrier: g.carrier})
	dr.main()
	g.d.touchResources()
	return g.answer(o)
}

// wait records that the delivery came and what it waits for. Nothing is written when
// nothing changed.
func (g *claimGate) wait(wt Waiting, o Outcome) Decision {
	if g.s != nil && g.s.State == Received && g.s.Waiting == wt && len(g.d.Resources) == 0 && len(g.d.Owners) == 0 {
		return g.answer(o)
	}
	dr := g.draft()
	if dr.ev.Waiting.Kind == NotWaiting {
		dr.ew.WaitingSince = In(0)
	}
	dr.ev.Waiting = wt
	dr.arrive()
	dr.enter(EntryWaiting, Received, NoReason, Entry{Claimant: g.c.Claimant, Holder: g.c.Holder})
	dr.main()
	g.d.touchResources()
	g.s = dr.ev
	return g.answer(o)
}

// draft starts the write of the subject: the stored record, settled, or a fresh one.
func (g *claimGate) draft() *draft {
	if g.w.Event == nil {
		e := &Event{Key: g.c.Key, Facts: g.c.Facts, Round: 1, Stale: g.stale(), Ordering: g.c.Ordering}
		e.Identify(g.id)
		g.a.Fresh = true
		g.d.Member = g.member()
		return begin(g.w, g.p, &g.d, nil, e)
	}
	dr := begin(g.w, g.p, &g.d, g.w.Event, nil)
	dr.settle()
	if dr.ev.Ordering == nil && g.c.Ordering != nil {
		g.d.Member = g.member()
		dr.ev.Ordering = g.c.Ordering
	}
	return dr
}

func (g *claimGate) member() *Member { return memberOf(g.c.Ordering, g.id) }

// memberOf is the record that an event carries a version of a sequential series, nil for
// one that is ordered otherwise.
func memberOf(o *Ordering, event ID) *Member {
	if o == nil || o.Mode != Sequential {
		return nil
	}
	return &Member{Resource: o.Resource.ID(), Epoch: o.Version.Epoch, Value: o.Version.Value, Event: event}
}

func (g *claimGate) stale() StaleClaim {
	if g.c.Stale != StaleByPolicy {
		return g.c.Stale
	}
	return g.p.Stale
}

// grant is the last gate: the claim is given. lane is the resource whose lane comes
// with it, nil for none.
func (g *claimGate) grant(lane *ResourceWrite, o *Ordering, tied bool) Decision {
	c := g.c
	if g.s != nil && g.w.guess() {
		return reread()
	}
	waived := g.s != nil && g.s.DueAt > g.w.Now
	g.grantFacts(g.s)
	if g.s != nil {
		g.a.PreviousEnd, g.a.PreviousTrace = g.s.End, g.s.GrantTrace()
	}
	dr := g.draft()
	e := dr.ev
	if e.Total != 0 {
		g.d.Attempts = append(g.d.Attempts, e.archive())
	}
	e.ByExpiry = false
	e.Nonce, e.Claimant, e.Holder = c.Nonce, c.Claimant, c.Holder
	e.Lease = g.p.lease(c.Lease)
	e.Reentries, e.Began, e.Tied, e.Waived = 0, false, tied, waived
	e.Backfill = e.Backfill && c.AcceptReplay // a delivery is granted for itself
	e.AttemptHash, e.GrantRound, e.GrantReplay = c.Facts.PayloadHash, e.Round, e.IsReplay()
	if e.Trace = ""; !g.a.Fresh {
		e.Trace = c.Facts.TraceParent
	}
	e.ReplayDied = false
	e.End, e.EndHash, e.EndState = NotEnded, ID{}, Absent
	e.EndLate, e.EndFree, e.EndWhy, e.EndCount, e.EndDelay = false, false, "", 0, 0
	e.Waiting = Waiting{}
	e.LateReports = nil
	e.CarriedBy = ID{}
	e.Attempts++
	e.Total++
	e.Lanes = nil
	if lane != nil {
		e.Lanes = []Lane{g.w.laneOf(g.p, lane.Old, o, g.id)}
		lane.Lane, lane.OwnFence = true, true
		lane.New.Owned, lane.New.Owner = true, e.ID()
	}
	dr.ew.Draw = true
	dr.ew.Lease = In(e.Lease)
	dr.ew.Granted = In(0)
	dr.ew.Ended, dr.ew.Due, dr.ew.WaitingSince = Clear(), Clear(), Clear()
	dr.enter(EntryClaimed, Processing, NoReason, Entry{Claimant: c.Claimant, Holder: c.Holder})
	dr.main()
	g.d.touchResources()
	g.a.Granted = true
	return g.answer(OutcomeClaimed)
}

// endDue is when the ending call said that the event is due again.
func (e *Event) endDue() Instant {
	if e.EndDelay <= 0 {
		return 0
	}
	return e.EndedAt.Add(e.EndDelay)
}

// archive is the record's last grant as an attempt of its own, kept when the next
// one is made.
func (e *Event) archive() Attempt {
	a := Attempt{
		Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce, Round: e.GrantRound, Number: e.Total,
		Claimant: e.Claimant, Holder: e.Holder, GrantedAt: e.GrantedAt, EndedAt: e.EndedAt,
		End: e.End, EndHash: e.EndHash, DueAt: e.endDue(), AttemptHash: e.AttemptHash, Trace: e.GrantTrace(), Error: e.Error,
		State: e.EndState, EndLate: e.EndLate, EndFree: e.EndFree, EndWhy: e.EndWhy, EndCount: e.EndCount, Replay: e.GrantReplay, Late: e.LateReports,
	}
	if e.End == EndCompleted {
		a.Result, a.ContentType = e.Result, e.ContentType
	}
	return a
}
