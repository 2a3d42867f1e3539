//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// step carries out an op and judges it. The next node is nil when nothing changed.
func (x *explorer) step(n *node, o op) (next *node, broken *violation) {
	if o.do >= stepExpire {
		next = n.pass(o)
		return next, x.afterPass(n, next, o)
	}
	c := n.command(o)
	d := x.decide(n.world(c), c, n.dom.policy)
	next = n.clone()
	if err := next.apply(&d); err != nil {
		return nil, &violation{rule: "store", text: err.Error()}
	}
	if x.see != nil {
		x.see(n, c, &d)
	}
	j := &judge{x: x, n: n, next: next, o: o, c: c, d: &d}
	j.all()
	if j.broken != nil {
		return nil, j.broken
	}
	if !d.Writes() {
		return nil, nil
	}
	return next, nil
}

// judge holds one step against the promises.
type judge struct {
	x       *explorer
	n, next *node
	o       op
	c       idem.Command
	d       *idem.Decision
	broken  *violation
}

func (j *judge) fail(rule, format string, args ...any) {
	if j.broken == nil {
		j.broken = &violation{rule: rule, text: fmt.Sprintf(format, args...) + "; answer " + signature(j.d) + "; before " + j.n.show() + " after " + j.next.show()}
	}
}

func (j *judge) need(ok bool, rule, format string, args ...any) {
	if !ok {
		j.fail(rule, format, args...)
	}
}

// afterPass judges the end of a lease: the event is claimable, held or dead at once.
func (x *explorer) afterPass(n, next *node, o op) *violation {
	if o.do != stepExpire {
		return nil
	}
	e := next.settled(int(o.ev))
	ok := false
	switch {
	case next.evw[o.ev].hold:
		ok = e.State == idem.Held
	case e.State == idem.FailedRetryable:
		ok = e.DueAt <= clock
	case e.State == idem.DeadLettered:
		ok = next.evw[o.ev].counted >= n.dom.policy.MaxAttempts
	default:
		ok = e.ReplayFailed && e.State == e.SettledAs && next.evw[o.ev].counted >= n.dom.policy.MaxAttempts
	}
	if !ok {
		return &violation{rule: "P3 claimable, held or dead", text: "after its lease the event is " + next.show() + " settled " + e.State.String()}
	}
	return nil
}

// unchanged reports whether the stored world is the same but for late reports.
func (j *judge) unchanged() bool {
	return bytes.Equal(j.n.key(nil, false), j.next.key(nil, false))
}

// same reports whether the world is the same once every lease's end is written down.
func (j *judge) same() bool {
	a, b := j.n, j.next
	if s := j.x.sweepTrue(a); s != nil {
		a = s
	}
	if s := j.x.sweepTrue(b); s != nil {
		b = s
	}
	return bytes.Equal(a.key(nil, false), b.key(nil, false))
}

// sweepTrue sweeps by the rules themselves, whatever decider is under test.
func (x *explorer) sweepTrue(n *node) *node {
	y := explorer{decide: idem.Decide}
	return y.sweep(n)
}

func (j *judge) all() {
	j.journal()
	j.refusal()
	if j.broken != nil {
		return
	}
	switch c := j.c.(type) {
	case *idem.Claim:
		j.claim(c)
	case *idem.Receive:
		j.receive(c)
	case *idem.Complete:
		if j.o.do == doForge {
			j.need(j.d.Err != nil && j.d.Err.Code == idem.CodeClaimLost && j.unchanged(), "P2 fenced", "a token with another random part did something")
			break
		}
		j.complete(c)
	case *idem.Fail:
		j.failed(c)
	case *idem.Extend:
		j.extend()
	case *idem.Release:
		j.release(c)
	case *idem.Check:
		j.check(c)
	case *idem.BeginEffect:
		j.begin(c)
	case *idem.RecordEffect:
		j.record(c)
	case *idem.ReportEffect:
		j.report(c)
	case *idem.Settle:
		j.need(j.same(), "settle first", "the sweeper changed more than the lease's end means")
	case *idem.Resolve:
		j.resolve(c)
	case *idem.Replay:
		j.replay(c)
	}
	if j.broken == nil {
		j.states()
	}
}

// journal: each rise of a row version has its entry, in order, and the entries are a
// chain from the old state to the new one.
func (j *judge) journal() {
	check := func(w *idem.EventWrite) {
		if w == nil {
			return
		}
		var seq int64
		from := idem.Absent
		if w.Old != nil {
			seq, from = w.Old.Version, w.Old.State
		}
		rises := int64(0)
		for _, e := range j.d.Entries {
			if e.Subject != idem.OnEvent || e.ID != w.New.ID() {
				continue
			}
			rises++
			j.need(e.Seq == seq+rises, "P14 journal", "entry %v has number %d after %d", e.Kind, e.Seq, seq)
			j.need(e.From == from, "P14 journal", "entry %v starts from %v, the record was %v", e.Kind, e.From, from)
			from = e.To
		}
		j.need(rises == w.Rises, "P14 journal", "%d entries for a rise of %d", rises, w.Rises)
		j.need(from == w.New.State, "P14 journal", "the entries end in %v, the record in %v", from, w.New.State)
		_, heartbeat := j.c.(*idem.Extend)
		j.need(w.Rises > 0 || heartbeat, "P14 journal", "a change without an entry")
	}
	check(j.d.Event)
	for _, o := range j.d.Owners {
		check(o)
	}
	// Nothing that only grows may fall.
	for i := range j.n.ev {
		a, b := j.n.ev[i], j.next.ev[i]
		if a == nil || b == nil {
			j.need(a == nil, "P3 nothing lost", "a record vanished")
			continue
		}
		j.need(b.Fence >= a.Fence, "P2 fence grows", "the fence fell from %d to %d", a.Fence, b.Fence)
		j.need(b.Version >= a.Version && b.Total >= a.Total && b.Round >= a.Round, "totals never fall", "version, total or round fell")
	}
	for i := range j.n.res {
		a, b := j.n.res[i], j.next.res[i]
		if a == nil || b == nil {
			continue
		}
		j.need(b.LaneFence >= a.LaneFence && b.Version >= a.Version, "P2 fence grows", "a lane fence or row version fell")
		j.need(!a.Applied || (b.Applied && b.Current().Compare(a.Current()) >= 0), "P8 never lowered", "the applied version fell from %d to %d", a.Value, b.Value)
		if a.Owned && (!b.Owned || b.OwnerFence != a.OwnerFence) {
			h := j.n.laneHolder(i)
			j.need(h < 0 || j.n.dom.ids[j.n.grants[h].ev] == j.c.Subject(), "P1 one lane", "a live lane of another claim was taken or freed")
		}
		if !j.mayApply() {
			j.need(a.Applied == b.Applied && (!a.Applied || a.Current() == b.Current()), "P8 applied at completion", "a version was applied by %T", j.c)
		}
	}
	for i, b := range j.next.res {
		if b != nil && j.n.res[i] == nil && !j.mayApply() {
			j.need(!b.Applied, "P8 applied at completion", "a version was applied by %T", j.c)
		}
	}
}

// mayApply reports whether the command may move an applied version.
func (j *judge) mayApply() bool {
	switch c := j.c.(type) {
	case *idem.Complete:
		return true
	case *idem.Resolve:
		return c.To == idem.ResolveProcessed
	case *idem.Check:
		return c.Token == nil
	}
	return false
}

// refusal: a refused command answers nothing and changes nothing but late reports.
func (j *judge) refusal() {
	d := j.d
	j.need(!d.Reread, "total", "a read world was asked to be read again")
	if d.Err == nil {
		j.need(d.Answer != nil, "total", "neither an answer nor a refusal")
		return
	}
	j.need(d.Answer == nil, "refusals change nothing", "a refusal came with an answer")
	j.need(j.unchanged(), "refusals change nothing", "a refused command (%s) changed a record", d.Err.Code)
	if d.Writes() {
		j.need(d.Err.Code == idem.CodeClaimLost && len(d.Entries) == 1 && d.Entries[0].Kind == idem.EntryLateReport,
			"refusals change nothing", "a refusal wrote more than a late report")
	}
}

// lost holds a call whose token stands for nothing: CLAIM_LOST, and nothing changes.
func (j *judge) lost() {
	j.need(j.d.Err != nil && j.d.Err.Code == idem.CodeClaimLost, "P2 fenced", "the claim is lost, and the call was not refused")
}

// rights judges the calls that need a live claim, and reports whether the claim is alive.
func (j *judge) rights() bool {
	switch j.n.standing(int(j.o.g)) {
	case "alive":
		j.need(j.d.Err == nil || j.d.Err.Code != idem.CodeClaimLost && j.d.Err.Code != idem.CodeClaimExpired, "P5 the owner has its rights", "a live claim was refused")
		return true
	case "expired":
		if j.n.grants[j.o.g].retried {
			j.need(j.d.Err != nil && j.unchanged(), "expired claims have no rights", "an expired claim was given a right")
			return false
		}
		j.need(j.d.Err != nil && j.d.Err.Code == idem.CodeClaimExpired, "expired claims have no rights", "an expired claim was given a right")
	case "ended":
		gr := &j.n.grants[j.o.g]
		j.need(j.d.Err != nil && (j.d.Err.Code == idem.CodeAlreadyEnded || j.d.Err.Code == idem.CodeClaimLost && (gr.lost || gr.end == "undelivered")),
			"P2 fenced", "an ended claim was not told so")
	default:
		j.lost()
	}
	return false
}

// ended judges a call by the owner of a claim that has ended.
func (j *judge) ended(call string) {
	gr := &j.n.grants[j.o.g]
	if j.d.Err != nil && j.d.Err.Code == idem.CodeClaimLost && (gr.lost || gr.end == "undelivered") {
		return // an operator decided over it since, or nobody ever had it
	}
	if gr.end != call {
		j.need(j.d.Err != nil && j.d.Err.Code == idem.CodeAlreadyEnded, "P5 safe to repeat", "another ending call was not told that the claim has ended")
		return
	}
	a, ok := j.d.Answer.(*idem.EndAnswer)
	if !ok {
		j.fail("P5 safe to repeat", "the same ending call again was refused")
		return
	}
	j.need(a.Already && a.State == gr.endState && a.Due == gr.endDue, "P5 safe to repeat", "the same ending call again got %v due %d, first %v due %d", a.State, a.Due, gr.endState, gr.endDue)
	j.need(j.unchanged() && !j.d.Writes(), "P5 safe to repeat", "a repeat changed something")
}

func (j *judge) close(call string) {
	gr := &j.next.grants[j.o.g]
	a := j.d.Answer.(*idem.EndAnswer)
	gr.end, gr.endState, gr.endDue = call, a.State, a.Due
	j.next.evw[gr.ev].hold = false
}

// freed: an ended claim holds no lane.
func (j *judge) freed() {
	gr := &j.n.grants[j.o.g]
	for i, r := range j.next.res {
		if r != nil && r.Owned {
			j.need(r.Owner != j.n.dom.ids[gr.ev], "P3 no orphaned lane", "the claim has ended and still holds lane %d", i)
		}
	}
}

// receive judges a receipt: the first one makes a record that nobody holds, every later one
// changes nothing.
func (j *judge) receive(c *idem.Receive) {
	a, ok := j.d.Answer.(*idem.ReceiveAnswer)
	if !ok {
		j.need(j.d.Err != nil && j.unchanged(), "P3 nothing lost", "a receipt was neither answered nor refused")
		return
	}
	before, after := j.n.ev[j.o.ev], j.next.ev[j.o.ev]
	if c.Backfill != nil {
		j.need(before == nil || a.Repeated && slices.Contains(before.ReplayIDs, c.Backfill.RequestID), "operators decide", "a consumer was given what it had")
		j.need(a.Outcome == idem.ReceiveStored && (before != nil || after.IsReplay()), "operators decide", "a backfill was answered %v", a.Outcome)
	}
	if before != nil {
		j.need(!a.Fresh && j.unchanged(), "P6 a duplicate is a success", "a later receipt changed something")
		return
	}
	j.need(after != nil && (after.Fence == 0 || after.Signals()) && after.Total == 0, "P1 one owner", "a receipt granted something")
	j.stored(j.o.ev)
	j.need(a.Fresh && after != nil && (after.State == idem.Received || a.Outcome == idem.ReceiveSelfOriginated && after.State == idem.IgnoredSelf),
		"P3 nothing lost", "the receipt was not stored to be worked on")
	j.need(after == nil || after.Ordering == c.Ordering, "P8 news", "the receipt forgot its version")
}

func (j *judge) claim(c *idem.Claim) {
	a, ok := j.d.Answer.(*idem.ClaimAnswer)
	if !ok {
		absent := !c.Acquisition.IsZero() && j.n.ev[j.o.ev] == nil // it makes no record
		j.need(j.d.Err != nil && (j.d.Err.Code == idem.CodeKindMismatch || absent && j.d.Err.Code == idem.CodeNotFound), "total", "a claim was refused")
		return
	}
	i := int(j.o.ev)
	last := j.n.lastGrant(i)
	live := last >= 0 && j.n.standing(last) == "alive"
	told := j.n.told(i)
	if a.Fresh {
		j.stored(j.o.ev)
	}
	j.need(!a.Granted || a.Outcome == idem.OutcomeClaimed, "total", "a grant without its outcome")

	if j.o.do == doClaimAgain {
		g := int(j.o.g)
		for k := range j.n.grants {
			// A claimant whose first grant was never delivered may have had another one.
			if j.n.grants[k].claimant == c.Claimant && j.n.grants[k].ev == i {
				g = k
			}
		}
		j.need(!a.Granted || (j.n.grants[g].end == "undelivered"), "ghosts never claim again", "a claimant whose claim has ended got another")
		if j.n.standing(g) == "alive" {
			gr := j.n.grants[g]
			if j.n.ev[i].Reentries >= idem.MaxReentries {
				j.need(a.Outcome == idem.OutcomeInProgress && j.unchanged(), "P5 safe to repeat", "more re-entries than allowed")
				return
			}
			j.need(a.Outcome == idem.OutcomeClaimed && a.Reentered && a.Event.Fence == gr.fence && a.Event.Nonce == gr.nonce && a.Event.Attempts == j.n.ev[i].Attempts &&
				a.Event.LeaseUntil == j.n.ev[i].LeaseUntil, "P5 safe to repeat", "the claimant's own repeat did not get its claim")
			return
		}
		j.need(!a.Reentered, "P1 one owner", "a claim that is not alive was entered again")
	}
	switch {
	case j.n.evw[i].done && !c.AcceptReplay:
		j.need(a.Outcome == idem.OutcomeAlreadyProcessed, "P6 a duplicate is a success", "a duplicate of a processed event got %v", a.Outcome)
		j.need(j.same(), "P6 a duplicate is a success", "a duplicate of a processed event changed something")
		if a.Outcome == idem.OutcomeAlreadyProcessed && !a.Gone {
			j.need(bytes.Equal(a.Event.Result, j.n.ev[i].Result), "P6 a duplicate is a success", "a duplicate got another result")
		}
		return
	case a.Outcome == idem.OutcomeAlreadyProcessed:
		j.need(told == idem.Processed || a.Gone, "P3 nothing lost", "an event was called processed that is not")
	case live:
		j.need(a.Outcome == idem.OutcomeInProgress && !a.Granted, "P1 one owner", "a live claim stands, and a claim got %v", a.Outcome)
		j.need(j.unchanged(), "P1 one owner", "a claim in vain changed something")
	case told.Finished() || told == idem.Held:
		if !c.AcceptReplay {
			j.need(!a.Granted && j.same(), "end states stay", "a redelivery changed an event that is %v", told)
		}
	}
	if !a.Granted {
		return
	}
	j.granted(c, a)
}

// granted judges a new grant and makes the observer remember it.
func (j *judge) granted(c *idem.Claim, a *idem.ClaimAnswer) {
	i := int(j.o.ev)
	e := a.Event
	p := j.n.dom.policy
	j.need(c.AcceptReplay || !e.IsReplay(), "replays are asked for", "a delivery was granted as a replay")
	for g := range j.n.grants {
		gr := &j.n.grants[g]
		j.need(gr.fence < e.Fence, "P2 fence grows", "fence %d came after %d", e.Fence, gr.fence)
		if gr.ev == i {
			j.need(j.n.standing(g) != "alive", "P1 one owner", "a second claim was given while one is alive")
		}
	}
	w := &j.next.evw[i]
	j.need(!w.hold, "P7 unknown is not failed", "an event under HOLD was given again without a decision")
	if e.Round != w.round {
		w.round, w.counted = e.Round, 0
	}
	w.counted++
	j.need(w.counted <= p.MaxAttempts, "attempts are bounded", "grant %d of a round of %d", w.counted, p.MaxAttempts)
	j.need(e.Attempts == w.counted, "attempts are counted", "the record counts %d attempts, %d were given", e.Attempts, w.counted)
	if s := j.n.settled(i); s != nil && s.DueAt > clock {
		j.need(c.Facts.Kind != idem.ClientRepeat, "backoff", "a client's repeat waived the backoff")
		j.need(!s.Waived, "backoff", "the backoff was waived twice within the interval")
	}
	gr := grant{ev: i, fence: e.Fence, nonce: e.Nonce, claimant: e.Claimant}
	o := c.Ordering
	if j.n.ev[i] != nil && j.n.ev[i].Ordering != nil {
		o = j.n.ev[i].Ordering
	}
	if o != nil {
		r := j.n.resAt(o.Resource.ID())
		j.laneGiven(r, o, &gr, a.LaneFence)
		j.need(a.LaneFence == e.Fence, "lane fences", "the lane's fence is not from the claim's draw")
		if o.Mode == idem.Signal {
			j.signalGiven(&gr, o, e)
		}
	}
	j.next.grants = append(j.next.grants, gr)
}

// laneGiven judges a lane that is given, and takes note of those who lost it.
func (j *judge) laneGiven(r int, o *idem.Ordering, gr *grant, fence int64) {
	h := j.n.laneHolder(r)
	j.need(h < 0, "P1 one lane", "lane %d was given while grant %d holds it", r, h)
	j.need(fence > j.n.resw[r].fence, "P2 fence grows", "lane fence %d came after %d", fence, j.n.resw[r].fence)
	w := &j.next.resw[r]
	if w.done && o.Mode != idem.Signal { // what answers a signal is another question
		j.need(o.Version.Compare(w.max) >= 0, "P8 news beats old news", "version %d was given after %d completed", o.Version.Value, w.max.Value)
	}
	if o.Mode == idem.Sequential {
		j.sequential(r, o, j.n.evw[gr.ev].passes)
	}
	w.fence = fence
	for g := range j.next.grants {
		other := &j.next.grants[g]
		for _, l := range other.lanes {
			if l.res == r && other.end == "" && (other.ev != gr.ev || other.fence != gr.fence) {
				other.lost = true
			}
		}
	}
	gr.lanes = append(append([]grantLane(nil), gr.lanes...), grantLane{res: r, v: o.Version, fence: fence})
	rec := j.next.res[r]
	j.need(rec != nil && rec.Owned && rec.Owner == j.n.dom.ids[gr.ev] && rec.OwnerFence == gr.fence && rec.LaneFence == fence, "P1 one lane", "the record does not show the lane's owner")
}

// sequential: a version is given only next after the applied one, unless a rule of the
// policy, or an operator, lets it pass.
func (j *judge) sequential(r int, o *idem.Ordering, passes bool) {
	p := j.n.dom.policy
	rec := j.n.res[r]
	first := p.StartAt
	if rec != nil && rec.Applied {
		first = rec.Value + 1
	}
	if first == 0 {
		return
	}
	for v := first; v < o.Version.Value; v++ {
		state, known := idem.Absent, false
		for _, m := range j.n.members {
			if m.Resource == j.n.dom.resIDs[r] && m.Value == v {
				known = true
				state = j.n.settled(j.n.at(m.Event)).State
			}
		}
		switch {
		case !known:
			j.need(passes || p.Gap == idem.GapSkip && rec != nil && rec.GapSince != 0 && rec.GapSince < clock, "sequential", "version %d was given while %d is missing", o.Version.Value, v)
		case state == idem.FailedTerminal || state == idem.DeadLettered:
			j.need(passes || p.Dead == idem.DeadSkip, "sequential", "version %d was given over the dead %d", o.Version.Value, v)
		case state == idem.Processed || state == idem.IgnoredStale || state == idem.IgnoredSelf:
		default:
			j.fail("sequential", "version %d was given while %d is %v", o.Version.Value, v, state)
		}
	}
}

// openEffects reports whether an effect of the event has no known outcome.
func (j *judge) openEffects(ev int) bool {
	for _, f := range j.n.fx {
		if f != nil && f.Event == j.n.dom.ids[ev] && (f.State == idem.EffectBegun || f.State == idem.EffectUnknown) {
			return true
		}
	}
	return false
}

// overtaken reports whether a later delivery has been answered with a state of its own
// since the claim's lease ended: superseded, or held for another reason. What its last token
// is worth then is not promised. An event that merely waits is not overtaken.
func (j *judge) overtaken(ev int) bool {
	e := j.n.settled(ev)
	switch e.State {
	case idem.IgnoredStale:
		return true
	case idem.Held:
		return !j.n.evw[ev].hold
	default:
		return false
	}
}

func (j *judge) complete(c *idem.Complete) {
	gr := &j.n.grants[j.o.g]
	st := j.n.standing(int(j.o.g))
	switch st {
	case "ended":
		j.ended(completion(c))
		return
	case "lost":
		j.lost()
		return
	}
	if j.d.Err != nil && j.overtaken(gr.ev) {
		j.lost()
		return
	}
	if j.d.Err != nil && j.tooOld(gr, c) {
		return
	}
	if j.d.Err != nil {
		j.need(j.d.Err.Code == idem.CodeOpenEffects && j.openEffects(gr.ev) && !c.AllowUnknown, "facts are never refused", "a completion was refused: %v", j.d.Err)
		return
	}
	j.need(c.AllowUnknown || !j.openEffects(gr.ev), "no completion over open effects", "a completion passed over an open effect")
	a := j.d.Answer.(*idem.EndAnswer)
	e := j.next.ev[gr.ev]
	j.need(e.State == idem.Processed && a.State == idem.Processed && bytes.Equal(e.Result, c.Result), "P4 answer after commit", "a completion came to %v", e.State)
	j.need(a.Late == (st == "expired"), "late calls are flagged", "late=%v for a claim that is %s", a.Late, st)
	j.freed()
	for _, l := range gr.lanes {
		if j.n.signals(gr.ev) {
			j.fetched(gr, l.res, c)
			continue
		}
		r := j.next.res[l.res]
		j.need(r.Applied && r.Current().Compare(l.v) >= 0, "P8 applied at completion", "the reserved version was not applied")
		if w := &j.next.resw[l.res]; !w.done || l.v.Compare(w.max) > 0 {
			w.done, w.max = true, l.v
		}
	}
	for k, f := range j.n.fx {
		if f != nil && f.Event == j.n.dom.ids[gr.ev] && f.State == idem.EffectBegun {
			j.need(j.next.fx[k].State == idem.EffectUnknown, "P7 unknown is not failed", "an effect left open by a completion is not unknown")
			j.next.fxw[k].running, j.next.fxw[k].unknown = false, true
		}
	}
	j.next.evw[gr.ev].done = true
	j.next.evw[gr.ev].counted = 0
	j.close(completion(c))
}

func (j *judge) failed(c *idem.Fail) {
	gr := &j.n.grants[j.o.g]
	call := "fail:" + c.Error.Code
	st := j.n.standing(int(j.o.g))
	switch {
	case st == "ended":
		j.ended(call)
		return
	case st == "lost", gr.retried:
		j.lost()
		return
	case j.d.Err != nil && j.overtaken(gr.ev):
		j.lost()
		return
	case j.d.Err != nil:
		j.fail("facts are never refused", "a failure was refused: %v", j.d.Err)
		return
	}
	a := j.d.Answer.(*idem.EndAnswer)
	before, e := j.n.settled(gr.ev), j.next.ev[gr.ev]
	j.need(a.Late == (st == "expired"), "late calls are flagged", "late=%v for a claim that is %s", a.Late, st)
	j.freed()
	w := &j.next.evw[gr.ev]
	replay := j.n.ev[gr.ev].Replay || before.ReplayFailed
	unknown := false
	for k, f := range j.n.fx {
		if f != nil && f.Event == j.n.dom.ids[gr.ev] && j.n.fxw[k].unknown && f.OnUnknown == idem.UnknownHold {
			unknown = true
		}
	}
	switch {
	case c.Error.Kind == idem.Terminal:
		j.need(e.State == idem.FailedTerminal || (replay && e.State == e.SettledAs), "outcome of a failure", "a terminal failure came to %v", e.State)
	case before.State == idem.DeadLettered:
		j.need(e.State == idem.DeadLettered, "end states stay", "a late failure took a dead letter to %v", e.State)
		w.counted = e.Attempts
	case before.ReplayDied: // as a dead letter: its attempts were used up
		j.need(e.State == e.SettledAs, "end states stay", "a late failure took a replay that died to %v", e.State)
		w.counted = e.Attempts
	case c.Error.Kind == idem.NotYet:
		w.counted--
	case unknown && !replay:
		j.need(e.State == idem.Held, "P7 unknown is not failed", "a failure with an unknown effect under HOLD came to %v", e.State)
	case w.counted >= j.n.dom.policy.MaxAttempts:
		j.need(e.State == idem.DeadLettered || (replay && e.State == e.SettledAs) || (unknown && e.State == idem.Held), "attempts are bounded", "the last attempt's failure came to %v", e.State)
	default:
		j.need(e.State == idem.FailedRetryable || (replay && (e.State == e.SettledAs || unknown)), "outcome of a failure", "a retryable failure came to %v", e.State)
	}
	j.need(e.Attempts == w.counted, "attempts are counted", "the record counts %d attempts, %d were given", e.Attempts, w.counted)
	j.need(e.State != idem.FailedRetryable || e.DueAt > clock, "backoff", "a failure is due at once")
	j.close(call)
}

func (j *judge) extend() {
	gr := &j.next.grants[j.o.g]
	switch st := j.n.standing(int(j.o.g)); {
	case st == "ended":
		j.need(j.d.Err != nil && (j.d.Err.Code == idem.CodeAlreadyEnded || j.d.Err.Code == idem.CodeClaimLost && (gr.lost || gr.end == "undelivered")),
			"P2 fenced", "an ended claim was extended")
		return
	case st == "lost", gr.retried:
		j.lost()
		return
	case j.d.Err != nil && j.overtaken(gr.ev):
		j.lost()
		return
	case j.d.Err != nil:
		j.fail("P5 the owner has its rights", "an extension was refused: %v", j.d.Err)
		return
	case st == "alive":
		j.need(j.next.ev[gr.ev].LeaseUntil >= j.n.ev[gr.ev].LeaseUntil, "heartbeats never shorten", "the lease shrank")
		return
	}
	a := j.d.Answer.(*idem.ExtendAnswer)
	e := j.next.ev[gr.ev]
	j.need(a.Rearmed && e.State == idem.Processing && e.LeaseUntil > clock, "extend revives", "an expired claim was not armed again")
	j.need(e.Attempts == j.n.ev[gr.ev].Attempts && e.Fence == gr.fence, "attempts are counted", "an armed claim counts anew")
	for _, l := range gr.lanes {
		r := j.next.res[l.res]
		j.need(r.Owned && r.OwnerFence == gr.fence && r.LaneFence == l.fence, "extend revives", "a freed lane was not taken again")
	}
	gr.expired = false
	j.next.evw[gr.ev].hold = false
	j.next.extends++
}

func (j *judge) release(c *idem.Release) {
	gr := &j.n.grants[j.o.g]
	st := j.n.standing(int(j.o.g))
	switch st {
	case "ended":
		if gr.end == "undelivered" {
			j.need(j.unchanged(), "P5 safe to repeat", "an undelivered grant's release again changed something")
			return
		}
		j.ended("release")
		return
	case "lost":
		j.lost()
		return
	case "expired":
		j.need(j.d.Err == nil && j.unchanged() && !j.d.Writes(), "a late release changes nothing", "a late release did something")
		return
	}
	if c.Undelivered && j.n.ev[gr.ev].Reentries > 0 {
		j.need(j.unchanged(), "ghosts never claim again", "a claim that was entered again was taken back as undelivered")
		return
	}
	if j.d.Err != nil {
		j.fail("P5 the owner has its rights", "a release was refused")
		return
	}
	e := j.next.ev[gr.ev]
	w := &j.next.evw[gr.ev]
	if !gr.began && j.n.ev[gr.ev].Releases < j.n.dom.policy.MaxReleases {
		w.counted--
	}
	j.freed()
	j.need(e.Attempts == w.counted, "attempts are counted", "the record counts %d attempts, %d were given", e.Attempts, w.counted)
	for k, f := range j.n.fx {
		if f != nil && f.Event == j.n.dom.ids[gr.ev] && f.Fence == gr.fence && f.State == idem.EffectBegun {
			j.need(j.next.fx[k].State == idem.EffectUnknown, "P7 unknown is not failed", "a released claim's effect is not unknown")
			j.next.fxw[k].running, j.next.fxw[k].unknown = false, true
		}
	}
	if c.Undelivered {
		j.close("undelivered")
	} else {
		j.close("release")
	}
}

func (j *judge) check(c *idem.Check) {
	r := j.n.resAt(c.Ordering.Resource.ID())
	if c.Token == nil {
		a, ok := j.d.Answer.(*idem.CheckAnswer)
		if !ok {
			return
		}
		if a.Verdict != idem.VerdictApply || !j.d.Writes() {
			return
		}
		j.need(j.n.laneHolder(r) < 0, "P1 one lane", "a lane was overridden while a claim holds it")
		w := &j.next.resw[r]
		j.need(!w.done || c.Ordering.Version.Compare(w.max) > 0, "P8 news beats old news", "an older version was applied")
		j.need(j.next.res[r].Value == c.Ordering.Version.Value && j.next.res[r].Applied, "P4 answer after commit", "an applied version is not stored")
		w.done, w.max = true, c.Ordering.Version
		j.need(a.LaneFence > w.fence, "P2 fence grows", "lane fence %d came after %d", a.LaneFence, w.fence)
		w.fence = a.LaneFence
		for g := range j.next.grants {
			for _, l := range j.next.grants[g].lanes {
				if l.res == r && j.next.grants[g].end == "" {
					j.next.grants[g].lost = true
				}
			}
		}
		return
	}
	if !j.rights() || j.d.Err != nil {
		return
	}
	a := j.d.Answer.(*idem.CheckAnswer)
	gr := &j.next.grants[j.o.g]
	for k, l := range gr.lanes {
		if l.res != r {
			continue
		}
		switch cmp := c.Ordering.Version.Compare(l.v); {
		case cmp == 0:
			j.need(a.Verdict == idem.VerdictApply && a.LaneFence == l.fence && !j.d.Writes(), "a reservation is repeatable", "the same reservation again got %v", a.Verdict)
		case cmp < 0:
			j.need(a.Verdict == idem.VerdictStale, "P8 news beats old news", "an older version was reserved over a newer one")
		case a.Verdict == idem.VerdictApply:
			lanes := append([]grantLane(nil), gr.lanes...)
			lanes[k].v = c.Ordering.Version
			gr.lanes = lanes
		}
		return
	}
	h := j.n.laneHolder(r)
	w := j.n.resw[r]
	switch a.Verdict {
	case idem.VerdictApply:
		j.laneGiven(r, &c.Ordering, gr, a.LaneFence)
	case idem.VerdictBusy:
		j.need(h >= 0, "P1 one lane", "a free lane was called busy")
	case idem.VerdictStale:
		j.need(w.done && c.Ordering.Version.Compare(w.max) < 0, "only a completed version supersedes", "a version was called stale")
	default:
	}
	if h >= 0 && (!w.done || c.Ordering.Version.Compare(w.max) > 0) && c.Ordering.Mode == idem.LatestWins {
		j.need(a.Verdict == idem.VerdictBusy, "P1 one lane", "a held lane got %v", a.Verdict)
	}
}

func (j *judge) begin(c *idem.BeginEffect) {
	if !j.rights() || j.d.Err != nil {
		return
	}
	k := int(j.o.a)
	a := j.d.Answer.(*idem.EffectAnswer)
	w := &j.next.fxw[k]
	f := j.n.fx[k]
	other := f != nil && len(f.RequestHash) > 0 && !bytes.Equal(f.RequestHash, c.RequestHash)
	switch a.Verdict {
	case idem.EffectPerform:
		if a.Repeat {
			j.need(w.running && !w.done && !j.d.Writes(), "effects once", "a repeated try got PERFORM though it no longer runs")
			return
		}
		j.need(!w.running, "effects once", "a second PERFORM while the first one's lease runs")
		gen := a.Effect.Generation
		j.need(gen == w.generation || w.generation == 0 || (w.not && other && gen == w.generation+1), "effects once", "generation %d after %d", gen, w.generation)
		j.need(!w.done, "effects once", "PERFORM after DONE")
		if w.unknown {
			j.need(!other, "effects once", "another request's PERFORM over an unknown outcome")
			j.need(f.OnUnknown != idem.UnknownHold && c.OnUnknown != idem.UnknownHold, "P7 unknown is not failed", "PERFORM over an unknown outcome under HOLD")
		}
		key := a.Effect.DownstreamKey()
		j.need(gen != w.generation || key == w.downstream, "effects once", "the downstream key changed within a generation")
		*w = effectWatch{running: true, generation: gen, downstream: key}
		j.next.grants[j.o.g].began = true
	case idem.EffectAlreadyDone:
		j.need(w.done && string(a.Effect.Result) == w.value && !other, "effects once", "ALREADY_DONE with %q, reported was %q", a.Effect.Result, w.value)
	case idem.EffectInProgress:
		j.need(w.running, "effects once", "IN_PROGRESS and nothing runs")
	case idem.EffectOutcomeOpen:
		j.need(w.unknown, "effects once", "OUTCOME_UNKNOWN and it is known")
	case idem.EffectMismatch:
		j.need(other && a.Effect == nil, "mismatch tells nothing", "REQUEST_MISMATCH carries the other's record")
	default:
	}
	if w.done {
		j.need(a.Verdict == idem.EffectAlreadyDone || a.Verdict == idem.EffectMismatch, "effects once", "an effect that is done got %v", a.Verdict)
	}
}

func (j *judge) record(c *idem.RecordEffect) {
	if !j.rights() || j.d.Err != nil {
		return
	}
	k := int(j.o.a)
	a := j.d.Answer.(*idem.EffectAnswer)
	w := &j.next.fxw[k]
	switch a.Verdict {
	case idem.EffectRecorded:
		j.need(!w.done && !w.unknown, "effects once", "an outcome was recorded over another")
		f := j.n.fx[k]
		j.need(!w.running || (f.Event == j.n.dom.ids[j.n.grants[j.o.g].ev] && f.Fence == j.n.grants[j.o.g].fence), "effects once", "another's running effect was recorded over")
		w.done, w.running, w.unknown, w.not, w.value = true, false, false, false, string(c.Result)
		w.generation = a.Effect.Generation
		w.downstream = a.Effect.DownstreamKey()
	case idem.EffectAlreadyDone:
		j.need(w.done && string(a.Effect.Result) == w.value, "effects once", "ALREADY_DONE with %q, reported was %q", a.Effect.Result, w.value)
	default:
	}
}

func (j *judge) report(c *idem.ReportEffect) {
	k := int(j.o.a)
	w := &j.next.fxw[k]
	if j.d.Err != nil {
		j.need(c.State != idem.EffectDone, "P16 facts are never refused", "an outcome that happened was refused")
		return
	}
	a := j.d.Answer.(*idem.EffectAnswer)
	f := j.next.fx[k]
	switch {
	case w.done:
		j.need(f.State == idem.EffectDone && string(f.Result) == w.value, "the first value wins", "a later report changed what was done")
	case c.State == idem.EffectDone:
		j.need(f.State == idem.EffectDone && bytes.Equal(f.Result, c.Result) && a.Verdict == idem.EffectReportedDone, "P16 facts are never refused", "a report of DONE was not kept")
		*w = effectWatch{done: true, value: string(c.Result), generation: w.generation, downstream: w.downstream}
	case f.State == idem.EffectNotDone:
		for _, t := range f.Tries {
			j.need(!t.Open, "P7 unknown is not failed", "NOT_DONE while a try's outcome is open")
		}
		w.running, w.unknown, w.not = false, false, true
	case f.State == idem.EffectUnknown:
		w.running, w.unknown, w.not = false, true, false
	}
}

func (j *judge) resolve(c *idem.Resolve) {
	i := int(j.o.ev)
	switch j.o.do {
	case doDecideAgain:
		a, ok := j.d.Answer.(*idem.EndAnswer)
		j.need(ok && a.Already && j.unchanged() && !j.d.Writes(), "P5 safe to repeat", "a decision that was repeated by its request was taken again")
		return
	case doDecideOtherwise:
		j.need(j.d.Err != nil && j.unchanged(), "operators decide", "one request has decided twice")
		return
	default:
	}
	if j.d.Err != nil {
		s, waits := j.n.settled(i).State, j.n.settled(i).Waiting.Kind == idem.WaitingPredecessor
		switch {
		case s == idem.Held, c.To == idem.ResolveRetry && waits, c.To == idem.ResolveRetry && (s == idem.BlockedLoop || s == idem.DeadLettered || s == idem.FailedTerminal):
			j.fail("operators decide", "a decision about an event that is %v was refused", s)
		}
		return
	}
	j.next.acts++
	w := &j.next.evw[i]
	w.hold = false
	w.decided, w.request = j.o.do, c.RequestID
	e := j.next.ev[i]
	last := j.n.lastGrant(i)
	switch c.To {
	case idem.ResolveProcessed:
		j.need(e.State == idem.Processed, "operators decide", "resolve processed came to %v", e.State)
		if last >= 0 && j.n.standing(last) == "expired" {
			for _, l := range j.n.grants[last].lanes {
				if j.n.signals(i) {
					j.covered(&j.n.grants[last], l.res)
					continue
				}
				if rw := &j.next.resw[l.res]; !rw.done || l.v.Compare(rw.max) > 0 {
					rw.done, rw.max = true, l.v
				}
				j.need(j.next.res[l.res].Applied, "operators decide", "a standing lane's version was not applied")
			}
		} else {
			for r := range j.n.res {
				if a, b := j.n.res[r], j.next.res[r]; a != nil {
					j.need(a.Current() == b.Current(), "operators decide", "a version was applied whose lane was given on")
				}
			}
		}
		w.done = true
		w.counted = 0
	case idem.ResolveTerminal:
		j.need(e.State == idem.FailedTerminal || e.SettledAs == e.State, "operators decide", "resolve terminal came to %v", e.State)
	case idem.ResolveRetry:
		j.need(e.State == idem.Received && e.Round == j.n.ev[i].Round+1 && e.Attempts == 0, "operators decide", "resolve retry came to %v", e.State)
		w.counted = 0
		before := j.n.settled(i)
		w.passes = before.Waiting.Kind == idem.WaitingPredecessor
		if before.State == idem.Held {
			w.passes = before.Reason == idem.GapTimeout || before.Reason == idem.DeadPredecessor || before.Reason == idem.TiedVersion
		}
	}
	for g := range j.next.grants {
		gr := &j.next.grants[g]
		switch {
		case gr.ev != i:
		case c.To != idem.ResolveRetry:
			gr.lost = true
		case gr.end == "":
			gr.retried = true
		}
	}
}

func (j *judge) replay(c *idem.Replay) {
	i := int(j.o.ev)
	before := j.n.settled(i)
	if j.d.Err != nil {
		j.need(!before.State.Finished() || before.Replay, "operators decide", "the replay of a finished event was refused")
		return
	}
	if j.d.Answer.(*idem.EndAnswer).Already {
		j.need(j.unchanged() && slices.Contains(before.ReplayIDs, c.RequestID), "P5 safe to repeat", "a repeated request for a replay changed something")
		return
	}
	e := j.next.ev[i]
	j.need(before.State.Finished() && !before.Replay, "operators decide", "a replay of an event that is %v", before.State)
	j.need(e.Replay && e.SettledAs == before.State && bytes.Equal(e.Result, before.Result), "a replay keeps what was settled", "settled as %v, was %v", e.SettledAs, before.State)
	j.next.acts++
	j.next.evw[i].counted, j.next.evw[i].carried, j.next.evw[i].passes = 0, false, false // it is to be fetched again
	for g := range j.next.grants {
		if gr := &j.next.grants[g]; gr.ev == i && gr.end == "" {
			// The record starts anew; what its last token is worth is not promised. It is
			// taken for lost, as after an operator's other decisions.
			gr.lost = true
		}
	}
}

// states judges the world after a step, whatever the step was.
func (j *judge) states() {
	p := j.n.dom.policy
	for i := range j.n.dom.events {
		e := j.next.ev[i]
		if e == nil {
			continue
		}
		j.need(e.Attempts >= 0 && e.Attempts <= p.MaxAttempts, "attempts are bounded", "%d attempts of %d", e.Attempts, p.MaxAttempts)
		if j.next.evw[i].done {
			told := j.next.told(i)
			j.need(told == idem.Processed, "P6 a duplicate is a success", "event %d was processed, and duplicates are told %v", i, told)
		}
		s := j.next.settled(i)
		j.need(!s.Replay || !s.State.Finished(), "a replay ends", "event %d is %v and its replay is still under way", i, s.State)
		last := j.next.lastGrant(i)
		live := s.State == idem.Processing
		j.need(live == (last >= 0 && j.next.standing(last) == "alive"), "P1 one owner", "event %d is %v against what was answered", i, s.State)
		if j.next.evw[i].hold {
			j.need(s.State == idem.Held, "P7 unknown is not failed", "event %d left HELD for %v without a decision", i, s.State)
		}
	}
	j.carriedOnes()
	for k, r := range j.next.res {
		if r == nil || !r.Owned {
			continue
		}
		o := j.n.at(r.Owner)
		if o < 0 || j.next.ev[o] == nil {
			j.fail("P3 no orphaned lane", "lane %d belongs to nobody", k)
			continue
		}
		e := j.next.ev[o]
		named := false
		for _, l := range e.Lanes {
			named = named || l.Resource == j.n.dom.resIDs[k]
		}
		j.need(named && e.Fence == r.OwnerFence, "P3 no orphaned lane", "lane %d names a claim that does not name it", k)
		switch e.State {
		case idem.Processing:
		case idem.Held:
			j.need(p.HeldLanes, "P3 no orphaned lane", "lane %d is kept by a held event against the policy", k)
		default:
			j.fail("P3 no orphaned lane", "lane %d belongs to an event that is %v", k, e.State)
		}
	}
}
