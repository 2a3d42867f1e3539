//nolint:errcheck // an answer has the type that its command asks for; a panic shows a broken history
package history

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/idemsvc/idemsvc/idem"
)

// Violation is a broken promise and the calls that show it.
type Violation struct {
	Rule  string // the promise, such as "P1"
	Text  string
	Calls []*Call
}

// String describes the violation for people.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Rule, v.Text)
	for _, c := range v.Calls {
		b.WriteString("\n    " + c.String())
	}
	return b.String()
}

// Check judges a history. An empty result means that nothing was found.
func Check(h History) []Violation {
	k := &checker{h: h, events: map[idem.ID]*events{}, lanes: map[idem.ID]*lanes{}, effects: map[idem.ID]*effects{}}
	k.sort()
	for _, id := range k.order {
		k.owners(k.events[id])
		k.fenced(k.events[id])
		k.results(k.events[id])
		k.repeats(k.events[id])
		k.attempts(k.events[id])
		k.receipts(k.events[id])
		k.decisions(k.events[id])
	}
	for _, id := range sortedIDs(k.lanes) {
		k.lane(k.lanes[id])
	}
	for _, id := range sortedIDs(k.effects) {
		k.effect(k.effects[id])
	}
	k.final()
	return k.found
}

// grant is a claim that was given, with all answers that speak of it.
type grant struct {
	event   idem.ID
	fence   int64
	nonce   idem.ID
	round   int32
	given   *Call // the answer that gave it; of several, the first to return
	granted idem.Instant
	until   idem.Instant // by the grant and the extensions that were answered
	exts    []*Call
	ends    []*Call // calls that may have ended it
	lanes   map[idem.ID]*held
}

// held is a lane that a grant reserved.
type held struct {
	version idem.Version
	fence   int64
	by      *Call
	at      idem.Instant // when it was given, by the database's clock
}

type events struct {
	id     idem.ID
	grants []*grant // by fence
	claims []*Call
	kept   []*Call // receipts
	ends   []*Call // with a token, whichever it names
	acts   []*Call // of operators
}

type lanes struct {
	id      idem.ID
	holders []*grant // by lane fence
	checks  []*Call
}

type effects struct {
	id    idem.ID
	calls []*Call
}

type checker struct {
	h       History
	order   []idem.ID
	events  map[idem.ID]*events
	lanes   map[idem.ID]*lanes
	effects map[idem.ID]*effects
	found   []Violation
}

func sortedIDs[V any](m map[idem.ID]V) []idem.ID {
	ids := make([]idem.ID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return bytes.Compare(ids[i][:], ids[j][:]) < 0 })
	return ids
}

func (k *checker) report(rule, text string, calls ...*Call) {
	k.found = append(k.found, Violation{Rule: rule, Text: text, Calls: calls})
}

// before reports whether a returned before b was invoked. A call of unknown outcome may
// take effect at any later time.
func before(a, b *Call) bool { return a.Unknown == nil && a.Returned < b.Invoked }

// possible reports whether the call may have taken effect.
func possible(c *Call) bool { return c.Err == nil }

// token is the claim token of a command, nil for none.
func token(c idem.Command) *idem.Token {
	switch c := c.(type) {
	case *idem.Complete:
		return &c.Token
	case *idem.Fail:
		return &c.Token
	case *idem.Extend:
		return &c.Token
	case *idem.Release:
		return &c.Token
	case *idem.Check:
		return c.Token
	case *idem.BeginEffect:
		return c.Token
	case *idem.RecordEffect:
		return c.Token
	}
	return nil
}

func (k *checker) event(id idem.ID) *events {
	e := k.events[id]
	if e == nil {
		e = &events{id: id}
		k.events[id] = e
		k.order = append(k.order, id)
	}
	return e
}

func (k *checker) laneOf(id idem.ID) *lanes {
	l := k.lanes[id]
	if l == nil {
		l = &lanes{id: id}
		k.lanes[id] = l
	}
	return l
}

func (e *events) grant(fence int64) *grant {
	for _, g := range e.grants {
		if g.fence == fence {
			return g
		}
	}
	return nil
}

// sort files the calls by what they are about.
func (k *checker) sort() {
	calls := k.h.Calls
	sort.SliceStable(calls, func(i, j int) bool { return calls[i].Returned < calls[j].Returned })
	for i := range calls {
		if c := &calls[i]; c.Answer != nil {
			k.sortGrant(c)
		}
	}
	for i := range calls {
		k.sortRest(&calls[i])
	}
	for _, e := range k.events {
		sort.Slice(e.grants, func(i, j int) bool { return e.grants[i].fence < e.grants[j].fence })
		for _, g := range e.grants {
			for id := range g.lanes {
				l := k.laneOf(id)
				l.holders = append(l.holders, g)
			}
		}
	}
	for id, l := range k.lanes {
		sort.Slice(l.holders, func(i, j int) bool { return l.holders[i].lanes[id].fence < l.holders[j].lanes[id].fence })
	}
}

func (k *checker) sortGrant(c *Call) {
	cmd, ok := c.Command.(*idem.Claim)
	a, isClaim := c.Answer.(*idem.ClaimAnswer)
	if !ok || !isClaim || a.Outcome != idem.OutcomeClaimed || a.Event == nil {
		return
	}
	e := k.event(cmd.Key.ID())
	g := e.grant(a.Event.Fence)
	if g == nil {
		g = &grant{event: e.id, fence: a.Event.Fence, nonce: a.Event.Nonce, round: a.Event.Round, given: c, granted: a.Event.GrantedAt, until: a.Event.LeaseUntil, lanes: map[idem.ID]*held{}}
		e.grants = append(e.grants, g)
	} else if g.nonce != a.Event.Nonce {
		k.report("P2", "two claims have one fence", g.given, c)
	}
	if a.Granted && !g.given.Answer.(*idem.ClaimAnswer).Granted {
		g.given = c
	}
	g.until = max(g.until, a.Event.LeaseUntil)
	if o := a.Event.Ordering; o != nil && a.LaneFence != 0 {
		id := o.Resource.ID()
		if l := g.lanes[id]; l == nil {
			g.lanes[id] = &held{version: o.Version, fence: a.LaneFence, by: c, at: a.Event.GrantedAt}
		} else if l.fence != a.LaneFence {
			k.report("P5", "a repeated claim came with another lane fence", l.by, c)
		}
	}
}

func (k *checker) sortRest(c *Call) {
	switch cmd := c.Command.(type) {
	case *idem.Claim:
		e := k.event(cmd.Key.ID())
		e.claims = append(e.claims, c)
	case *idem.Receive:
		e := k.event(cmd.Key.ID())
		e.kept = append(e.kept, c)
	case *idem.Resolve:
		e := k.event(cmd.Event)
		e.acts = append(e.acts, c)
	case *idem.Replay:
		e := k.event(cmd.Event)
		e.acts = append(e.acts, c)
	case *idem.Check:
		l := k.laneOf(cmd.Ordering.Resource.ID())
		l.checks = append(l.checks, c)
		if cmd.Token != nil {
			k.sortReservation(c, cmd)
		}
	case *idem.BeginEffect:
		k.sortEffect(cmd.Key.ID(), c)
	case *idem.RecordEffect:
		k.sortEffect(cmd.Key.ID(), c)
	case *idem.ReportEffect:
		k.sortEffect(cmd.Token.Effect, c)
	}
	if t := token(c.Command); t != nil {
		e := k.event(t.Event)
		e.ends = append(e.ends, c)
		g := e.grant(t.Fence)
		if g == nil || !possible(c) {
			return
		}
		switch c.Command.(type) {
		case *idem.Complete, *idem.Fail, *idem.Release:
			g.ends = append(g.ends, c)
		case *idem.Extend:
			g.exts = append(g.exts, c)
		}
	}
}

func (k *checker) sortReservation(c *Call, cmd *idem.Check) {
	a, ok := c.Answer.(*idem.CheckAnswer)
	g := k.event(cmd.Token.Event).grant(cmd.Token.Fence)
	if !ok || g == nil || a.Verdict != idem.VerdictApply {
		return
	}
	id := cmd.Ordering.Resource.ID()
	l := g.lanes[id]
	switch {
	case l == nil:
		g.lanes[id] = &held{version: cmd.Ordering.Version, fence: a.LaneFence, by: c, at: a.Now}
	case l.fence != a.LaneFence:
		k.report("P5", "a second reservation of a lane came with another lane fence", l.by, c)
	case cmd.Ordering.Version.Compare(l.version) > 0:
		l.version = cmd.Ordering.Version
	}
}

func (k *checker) sortEffect(id idem.ID, c *Call) {
	f := k.effects[id]
	if f == nil {
		f = &effects{id: id}
		k.effects[id] = f
	}
	f.calls = append(f.calls, c)
}

// overBy reports whether the grant's claim may have been over when a later call was
// carried out at the given instant: ended, decided over, or its lease run out.
func (k *checker) overBy(g *grant, at idem.Instant, later *Call) bool {
	until := g.until
	for _, c := range g.exts {
		a, ok := c.Answer.(*idem.ExtendAnswer)
		if ok && (before(c, later) || a.Now != 0 && a.Now <= at && !a.Rearmed) {
			until = max(until, a.LeaseUntil)
		}
	}
	if at >= until {
		return true
	}
	for _, c := range g.ends {
		if c.Invoked < later.Returned {
			return true
		}
	}
	for _, c := range k.events[g.event].acts {
		if possible(c) && c.Invoked < later.Returned {
			return true
		}
	}
	return false
}

// owners: one live claim per key, and fences that grow in real time.
func (k *checker) owners(e *events) {
	for i, g := range e.grants {
		for _, n := range e.grants[i+1:] {
			if before(n.given, g.given) {
				k.report("P2", "a later grant has a lower fence", n.given, g.given)
			}
		}
		if i+1 < len(e.grants) {
			n := e.grants[i+1]
			if !k.overBy(g, n.granted, n.given) {
				k.report("P1", "a second claim was given while the first was alive", g.given, n.given)
			}
		}
		if g.until <= g.granted {
			k.report("P12", "a lease was born expired", g.given)
		}
	}
}

// fenced: once a newer grant was answered or an operator decided, no call with an older
// token does anything.
func (k *checker) fenced(e *events) {
	for _, c := range e.ends {
		if c.Answer == nil {
			continue
		}
		t := token(c.Command)
		g := e.grant(t.Fence)
		if g != nil && g.nonce != t.Nonce {
			k.report("P2", "a token with another random part was accepted", c)
			continue
		}
		if repeatOfEnd(c) {
			k.repeated(e, c)
			continue
		}
		for _, n := range e.grants {
			if n.fence > t.Fence && before(n.given, c) {
				k.report("P2", "a call with an older token was accepted after a newer grant", n.given, c)
				break
			}
		}
		for _, act := range e.acts {
			r, ok := act.Command.(*idem.Resolve)
			if ok && decided(act) && r.To != idem.ResolveRetry && before(act, c) && g != nil && before(g.given, act) {
				k.report("P2", "a call was accepted after an operator decided over its claim", act, c)
			}
		}
		if g == nil {
			continue
		}
		for id, l := range g.lanes {
			for _, o := range k.laneOf(id).holders {
				if o != g && o.lanes[id].fence > l.fence && before(o.lanes[id].by, c) {
					k.report("P2", "a call was accepted after a lane of its claim was given on", o.lanes[id].by, c)
				}
			}
		}
	}
}

// repeatOfEnd reports whether the answer says that the call repeats an earlier one, or
// that it changed nothing.
func repeatOfEnd(c *Call) bool {
	a, ok := c.Answer.(*idem.EndAnswer)
	if !ok {
		return false
	}
	_, release := c.Command.(*idem.Release)
	return a.Already || (release && (a.Late || a.State == idem.Processing))
}

// repeated: a call is a repeat only of one that may have been carried out before.
func (k *checker) repeated(e *events, c *Call) {
	a := c.Answer.(*idem.EndAnswer)
	if !a.Already {
		return
	}
	for _, o := range e.ends {
		if o != c && possible(o) && o.Invoked < c.Returned && sameCall(o.Command, c.Command) && (o.Answer == nil || !repeatOfEnd(o)) {
			if b, ok := o.Answer.(*idem.EndAnswer); ok && (b.State != a.State || b.Due != a.Due) {
				k.report("P5", "the same call was answered otherwise when it was repeated", o, c)
			}
			return
		}
	}
	k.report("P5", "a call was called a repeat of one that was never made", c)
}

// sameCall reports whether two ending calls are the same one.
func sameCall(a, b idem.Command) bool {
	switch a := a.(type) {
	case *idem.Complete:
		b, ok := b.(*idem.Complete)
		return ok && a.Token == b.Token && bytes.Equal(a.Result, b.Result) && a.ContentType == b.ContentType && strings.Join(a.Outputs, "\x00") == strings.Join(b.Outputs, "\x00")
	case *idem.Fail:
		b, ok := b.(*idem.Fail)
		return ok && a.Token == b.Token && a.Error == b.Error && a.RetryAfter == b.RetryAfter
	case *idem.Release:
		b, ok := b.(*idem.Release)
		return ok && a.Token == b.Token
	}
	return false
}

// done are the calls that may have settled the event as processed.
func (e *events) done() (all, acknowledged []*Call) {
	for _, c := range append(append([]*Call(nil), e.ends...), e.acts...) {
		switch cmd := c.Command.(type) {
		case *idem.Complete:
		case *idem.Resolve:
			if cmd.To != idem.ResolveProcessed {
				continue
			}
		default:
			continue
		}
		if !possible(c) {
			continue
		}
		if a, ok := c.Answer.(*idem.EndAnswer); ok && a.Already {
			continue
		}
		all = append(all, c)
		if c.Answer != nil {
			acknowledged = append(acknowledged, c)
		}
	}
	return all, acknowledged
}

func resultOf(c *Call) []byte {
	switch cmd := c.Command.(type) {
	case *idem.Complete:
		return cmd.Result
	case *idem.Resolve:
		return cmd.Result
	}
	return nil
}

// results: a duplicate is a success that carries a result which was really reported, and
// a processed event is never given again but by a replay.
func (k *checker) results(e *events) {
	all, acked := e.done()
	replays := false
	var firstReplay *Call
	for _, c := range e.acts {
		if _, ok := c.Command.(*idem.Replay); ok && possible(c) {
			replays = true
			if firstReplay == nil || c.Invoked < firstReplay.Invoked {
				firstReplay = c
			}
		}
	}
	if len(acked) > 1 && !replays {
		k.report("P6", "an event was completed twice", acked[0], acked[1])
	}
	for _, c := range e.claims {
		a, ok := c.Answer.(*idem.ClaimAnswer)
		if !ok {
			continue
		}
		if a.Outcome == idem.OutcomeAlreadyProcessed && !a.Gone && a.Event != nil {
			known := false
			for _, d := range all {
				known = known || (d.Invoked < c.Returned && bytes.Equal(resultOf(d), a.Event.Result))
			}
			if !known {
				k.report("P4", "a duplicate was answered with a result that nobody reported", c)
			}
		}
		for _, d := range acked {
			if !before(d, c) {
				continue
			}
			switch {
			case a.Outcome == idem.OutcomeAlreadyProcessed:
				if !replays && a.Event != nil && !bytes.Equal(a.Event.Result, resultOf(d)) {
					k.report("P6", "a duplicate was answered with another result than the acknowledged one", d, c)
				}
			case a.Outcome == idem.OutcomeRejected, a.Outcome == idem.OutcomeMismatch:
			case replays && firstReplay.Invoked < c.Returned && (c.Command.(*idem.Claim).AcceptReplay || e.replayer(c, firstReplay)):
			case a.Outcome == idem.OutcomeClaimed:
				k.report("P6", "an event was given again after its completion was acknowledged", d, c)
			default:
				k.report("P6", "a duplicate of a processed event was answered "+a.Outcome.String(), d, c)
			}
			break
		}
	}
}

// replayer reports whether the claim's claimant was given a replay of the event: its own
// repeats get that claim.
func (e *events) replayer(c, replay *Call) bool {
	for _, o := range e.claims {
		a, ok := o.Answer.(*idem.ClaimAnswer)
		if ok && a.Outcome == idem.OutcomeClaimed && o.Command.(*idem.Claim).Claimant == c.Command.(*idem.Claim).Claimant && replay.Invoked < o.Returned {
			return true
		}
	}
	return false
}

// repeats: a claimant has one claim, and none after it ended.
func (k *checker) repeats(e *events) {
	type first struct {
		c     *Call
		fence int64
	}
	byClaimant := map[string]first{}
	for _, c := range e.claims {
		a, ok := c.Answer.(*idem.ClaimAnswer)
		if !ok || a.Outcome != idem.OutcomeClaimed || a.Event == nil {
			continue
		}
		cl := c.Command.(*idem.Claim).Claimant
		f, seen := byClaimant[cl]
		switch {
		case !seen:
			byClaimant[cl] = first{c, a.Event.Fence}
		case f.fence != a.Event.Fence && !k.undelivered(e, f.fence):
			k.report("P5", "one claimant got two claims", f.c, c)
		}
		if g := e.grant(a.Event.Fence); g != nil && a.Reentered {
			for _, end := range g.ends {
				if end.Answer != nil && before(end, c) && !repeatOfEnd(end) {
					k.report("P5", "a claimant got its claim again after it had ended", end, c)
				}
			}
		}
	}
}

// undelivered reports whether the claim may have been taken back because its answer
// never left.
func (k *checker) undelivered(e *events, fence int64) bool {
	g := e.grant(fence)
	if g == nil {
		return false
	}
	for _, c := range g.ends {
		if r, ok := c.Command.(*idem.Release); ok && r.Undelivered {
			return true
		}
	}
	return false
}

// attempts: no round has more grants that count than allowed.
func (k *checker) attempts(e *events) {
	if k.h.Max == 0 {
		return
	}
	count := map[int32]int32{}
	last := map[int32]*Call{}
	for _, g := range e.grants {
		if a := g.given.Answer.(*idem.ClaimAnswer); a.Event.Attempts > k.h.Max {
			k.report("attempts", "a grant counts beyond the maximum", g.given)
		}
		free := false
		for _, c := range g.ends {
			switch cmd := c.Command.(type) {
			case *idem.Release:
				free = true
			case *idem.Fail:
				free = free || cmd.Error.Kind == idem.NotYet
			}
		}
		if !free {
			count[g.round]++
			last[g.round] = g.given
		}
	}
	for r, n := range count {
		if n > k.h.Max {
			k.report("attempts", fmt.Sprintf("%d grants that count in round %d, %d are allowed", n, r, k.h.Max), last[r])
		}
	}
}

// lane: one live lane per resource, lane fences that grow, and no older version after a
// newer one completed.
func (k *checker) lane(l *lanes) {
	for i, g := range l.holders {
		h := g.lanes[l.id]
		for _, n := range l.holders[i+1:] {
			nh := n.lanes[l.id]
			if nh.fence == h.fence {
				k.report("P2", "two claims have one lane fence", h.by, nh.by)
			} else if before(nh.by, h.by) {
				k.report("P2", "a later lane has a lower fence", nh.by, h.by)
			}
		}
		if i+1 < len(l.holders) {
			n := l.holders[i+1]
			if nh := n.lanes[l.id]; nh.fence != h.fence && !k.overBy(g, nh.at, nh.by) {
				k.report("P1", "a lane was given on while its owner's claim was alive", h.by, nh.by)
			}
		}
	}
	// Completed versions, as far as they were acknowledged.
	type version struct {
		v idem.Version
		c *Call
	}
	var sure, maybe []version
	for _, g := range l.holders {
		for _, c := range g.ends {
			cmd, ok := c.Command.(*idem.Complete)
			if !ok {
				continue
			}
			v := g.lanes[l.id].version
			if cmd.Applied != nil && cmd.Applied.Compare(v) > 0 {
				v = *cmd.Applied
			}
			maybe = append(maybe, version{v, c})
			if c.Answer != nil {
				sure = append(sure, version{v, c})
			}
		}
		for _, c := range k.events[g.event].acts {
			if r, ok := c.Command.(*idem.Resolve); ok && r.To == idem.ResolveProcessed && possible(c) {
				maybe = append(maybe, version{g.lanes[l.id].version, c})
			}
		}
	}
	for _, c := range l.checks {
		cmd := c.Command.(*idem.Check)
		a, ok := c.Answer.(*idem.CheckAnswer)
		if cmd.Token == nil && possible(c) {
			maybe = append(maybe, version{cmd.Ordering.Version, c})
			if ok && a.Verdict == idem.VerdictApply {
				sure = append(sure, version{cmd.Ordering.Version, c})
			}
		}
	}
	for _, g := range l.holders {
		h := g.lanes[l.id]
		for _, s := range sure {
			if before(s.c, h.by) && s.v.Compare(h.version) > 0 {
				k.report("P8", fmt.Sprintf("version %d was given after %d had completed", h.version.Value, s.v.Value), s.c, h.by)
			}
		}
	}
	for _, c := range l.checks {
		a, ok := c.Answer.(*idem.CheckAnswer)
		if !ok {
			continue
		}
		v := c.Command.(*idem.Check).Ordering.Version
		switch a.Verdict {
		case idem.VerdictApply:
			for _, s := range sure {
				if s.c != c && before(s.c, c) && s.v.Compare(v) > 0 && c.Command.(*idem.Check).Token == nil {
					k.report("P8", fmt.Sprintf("version %d was applied after %d", v.Value, s.v.Value), s.c, c)
				}
			}
		case idem.VerdictStale:
			known := false
			for _, m := range maybe {
				known = known || (m.c.Invoked < c.Returned && m.v.Compare(v) > 0)
			}
			if t := c.Command.(*idem.Check).Token; t != nil && !known {
				// A lower second reservation by the same claim is stale too.
				if g := k.event(t.Event).grant(t.Fence); g != nil && g.lanes[l.id] != nil {
					known = true
				}
			}
			if !known {
				k.report("P8", fmt.Sprintf("version %d was called stale, and nothing newer completed", v.Value), c)
			}
		default:
		}
		for _, s := range sure {
			if before(s.c, c) && (a.Current == nil || a.Current.Compare(s.v) < 0) {
				k.report("P8", "a version that completed is not the current one, nor is a newer", s.c, c)
			}
		}
	}
}

// effect: one PERFORM at a time, none after DONE, and one value for all.
func (k *checker) effect(f *effects) {
	type done struct {
		gen   int32
		value string
		c     *Call
	}
	var sure, maybe []done
	var performs, answers []*Call
	for _, c := range f.calls {
		a, ok := c.Answer.(*idem.EffectAnswer)
		switch cmd := c.Command.(type) {
		case *idem.ReportEffect:
			if cmd.State == idem.EffectDone && possible(c) {
				maybe = append(maybe, done{cmd.Token.Generation, string(cmd.Result), c})
				if ok && a.Verdict == idem.EffectReportedDone {
					sure = append(sure, done{cmd.Token.Generation, string(cmd.Result), c})
				}
			}
			if cmd.State == idem.EffectDone && c.Err != nil && !f.passed(cmd.Token.Generation, c) {
				k.report("P16", "an outcome that happened was refused", c)
			}
		case *idem.RecordEffect:
			if possible(c) {
				maybe = append(maybe, done{0, string(cmd.Result), c})
			}
			if ok && a.Verdict == idem.EffectRecorded {
				sure = append(sure, done{a.Effect.Generation, string(cmd.Result), c})
			}
		case *idem.BeginEffect:
			if ok && a.Verdict == idem.EffectPerform {
				performs = append(performs, c)
			}
		}
		if !ok {
			continue
		}
		if a.Verdict == idem.EffectMismatch && a.Effect != nil {
			k.report("P10", "REQUEST_MISMATCH told of the other's record", c)
		}
		if a.Effect != nil && a.Effect.State == idem.EffectDone {
			answers = append(answers, c)
		}
	}
	for i, s := range sure {
		for _, o := range sure[i+1:] {
			if o.gen == s.gen && o.value != s.value {
				k.report("effects", "two values were accepted as the outcome", s.c, o.c)
			}
		}
	}
	for _, c := range answers {
		a := c.Answer.(*idem.EffectAnswer)
		known := false
		for _, m := range maybe {
			known = known || (m.value == string(a.Effect.Result) && m.c.Invoked < c.Returned)
		}
		if !known {
			k.report("effects", "ALREADY_DONE with a value that nobody reported", c)
		}
		for _, s := range sure {
			if s.gen == a.Effect.Generation && s.value != string(a.Effect.Result) {
				k.report("effects", "two answers give two outcomes of one effect", s.c, c)
			}
		}
	}
	tokens := map[[2]int32]*Call{}
	keys := map[int32]*Call{}
	for i, c := range performs {
		a := c.Answer.(*idem.EffectAnswer)
		for _, s := range sure {
			if before(s.c, c) && s.gen == a.Token.Generation {
				k.report("effects", "PERFORM after the outcome was acknowledged", s.c, c)
			}
		}
		try := [2]int32{a.Token.Generation, a.Token.Number}
		if o := tokens[try]; o != nil {
			if oa := o.Answer.(*idem.EffectAnswer); oa.Token.Nonce != a.Token.Nonce || o.Command.(*idem.BeginEffect).BeginID != c.Command.(*idem.BeginEffect).BeginID {
				k.report("effects", "one try was given to two", o, c)
			}
		} else {
			tokens[try] = c
		}
		if o := keys[a.Token.Generation]; o != nil && o.Answer.(*idem.EffectAnswer).Effect.DownstreamKey() != a.Effect.DownstreamKey() {
			k.report("effects", "the downstream key changed within a generation", o, c)
		}
		keys[a.Token.Generation] = c
		for _, o := range performs[:i] {
			k.overlap(f, o, c)
		}
	}
}

// passed reports whether a later generation of the effect may have begun before the call
// was carried out: what the pages promise about reports holds within a generation.
func (f *effects) passed(generation int32, c *Call) bool {
	for _, o := range f.calls {
		switch o.Command.(type) {
		case *idem.BeginEffect, *idem.RecordEffect:
		default:
			continue
		}
		if o.Invoked > c.Returned || !possible(o) {
			continue
		}
		a, ok := o.Answer.(*idem.EffectAnswer)
		if !ok || a.Effect != nil && a.Effect.Generation > generation {
			return true
		}
	}
	return false
}

// overlap: a try begins when the one before it was reported, given up, or ran out.
func (k *checker) overlap(f *effects, x, y *Call) {
	a, b := x.Answer.(*idem.EffectAnswer), y.Answer.(*idem.EffectAnswer)
	if a.Token.Generation > b.Token.Generation || (a.Token.Generation == b.Token.Generation && a.Token.Number > b.Token.Number) {
		x, y, a, b = y, x, b, a
	}
	if a.Token.Number == b.Token.Number && a.Token.Generation == b.Token.Generation || b.Repeat {
		return
	}
	if before(y, x) && !a.Repeat {
		k.report("effects", "a later try has a lower number", y, x)
	}
	if b.Now >= a.Effect.LeaseUntil {
		return
	}
	for _, c := range f.calls {
		r, ok := c.Command.(*idem.ReportEffect)
		if ok && possible(c) && r.Token.Generation == a.Token.Generation && c.Invoked < y.Returned {
			return
		}
	}
	if t := x.Command.(*idem.BeginEffect).Token; t != nil {
		for _, c := range k.event(t.Event).ends {
			switch c.Command.(type) {
			case *idem.Release, *idem.Complete:
				if possible(c) && c.Invoked < y.Returned {
					return // a release, and a completion that allows it, leave the effect unknown
				}
			}
		}
	}
	k.report("effects", "a second PERFORM while the first one's lease runs", x, y)
}

// final: what was acknowledged is stored.
func (k *checker) final() {
	for i := range k.h.Final {
		v := &k.h.Final[i]
		e := k.events[v.Event.ID()]
		if e == nil {
			continue
		}
		_, acked := e.done()
		if len(acked) > 0 {
			told := v.Event.State
			if v.Event.Replay {
				told = v.Event.SettledAs
			}
			ok := false
			all, _ := e.done()
			for _, c := range all {
				ok = ok || bytes.Equal(resultOf(c), v.Event.Result)
			}
			if told != idem.Processed && v.Event.State != idem.Processed || !ok {
				k.report("P4", fmt.Sprintf("an acknowledged completion is not stored: the event is %v with %q", v.Event.State, v.Event.Result), acked[len(acked)-1])
			}
		}
		stored := map[int64]bool{v.Event.Fence: true}
		for _, a := range v.Attempts {
			stored[a.Fence] = true
		}
		for _, g := range e.grants {
			if g.fence > v.Event.Fence {
				k.report("P4", fmt.Sprintf("a grant was answered with fence %d, stored is %d", g.fence, v.Event.Fence), g.given)
			} else if !stored[g.fence] {
				k.report("P14", "a grant left no attempt", g.given)
			}
		}
		for _, r := range v.Resources {
			k.finalResource(r)
		}
		for _, f := range v.Effects {
			k.finalEffect(f)
		}
	}
	for id, e := range k.events {
		if len(k.h.Final) == 0 {
			break
		}
		found := false
		for i := range k.h.Final {
			found = found || k.h.Final[i].Event.ID() == id
		}
		if !found && len(e.grants) > 0 {
			k.report("P3", "an event that was given has no record", e.grants[0].given)
		}
		for _, c := range e.kept {
			if !found && stored(c) {
				k.report("P3", "an event that was received has no record", c)
				break
			}
		}
	}
}

func (k *checker) finalResource(r *idem.Resource) {
	l := k.lanes[r.Key.ID()]
	if l == nil {
		return
	}
	for _, g := range l.holders {
		h := g.lanes[l.id]
		if h.fence > r.LaneFence {
			k.report("P4", fmt.Sprintf("a lane was given with fence %d, stored is %d", h.fence, r.LaneFence), h.by)
		}
		for _, c := range g.ends {
			if _, ok := c.Command.(*idem.Complete); ok && c.Answer != nil && (!r.Applied || r.Current().Compare(h.version) < 0) {
				k.report("P8", "a completed version is not stored as applied", c)
			}
		}
	}
}

func (k *checker) finalEffect(f *idem.Effect) {
	e := k.effects[f.ID()]
	if e == nil {
		return
	}
	for _, c := range e.calls {
		a, ok := c.Answer.(*idem.EffectAnswer)
		if !ok || a.Effect == nil || a.Effect.State != idem.EffectDone || a.Effect.Generation != f.Generation {
			continue
		}
		if f.State != idem.EffectDone || !bytes.Equal(f.Result, a.Effect.Result) {
			k.report("P4", fmt.Sprintf("an acknowledged outcome is not stored: the effect is %v with %q", f.State, f.Result), c)
			return
		}
	}
}
