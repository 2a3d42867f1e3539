//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

func (l *lab) check(t *idem.Token, r int, v int64) (*idem.CheckAnswer, *idem.Error) {
	l.t.Helper()
	c := &idem.Check{Token: t, Ordering: *ordering(r, idem.LatestWins, v)}
	if t == nil {
		c.By = number(5000 + v)
	}
	d := l.do(c)
	if d.Err != nil {
		return nil, d.Err
	}
	return d.Answer.(*idem.CheckAnswer), nil
}

func (l *lab) verdict(what string, t *idem.Token, r int, v int64, want idem.Verdict) *idem.CheckAnswer {
	l.t.Helper()
	a, err := l.check(t, r, v)
	if err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
	if a.Verdict != want {
		l.t.Errorf("%s: %v, want %v", what, a.Verdict, want)
	}
	return a
}

// TestCheckWithToken is the table of section 4, with a token.
func TestCheckWithToken(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	first := l.verdict("newer", &tok, 0, 5, idem.VerdictApply)
	if first.LaneFence == 0 || first.LaneFence <= tok.Fence || l.res[0].Applied {
		t.Errorf("a reservation: lane fence %d, applied %v", first.LaneFence, l.res[0].Applied)
	}
	if again := l.verdict("my reservation lives", &tok, 0, 5, idem.VerdictApply); again.LaneFence != first.LaneFence {
		t.Errorf("another lane fence: %d, %d", first.LaneFence, again.LaneFence)
	}
	l.verdict("a second one, lower", &tok, 0, 4, idem.VerdictStale)
	if a := l.verdict("a second one, higher", &tok, 0, 7, idem.VerdictApply); a.LaneFence != first.LaneFence {
		t.Error("a higher reservation draws another lane")
	}
	other := l.grant(1, nil)
	if a := l.verdict("another's lane", &other, 0, 9, idem.VerdictBusy); a.Blocker != eventKey(0) {
		t.Errorf("busy by %v", a.Blocker)
	}
	l.verdict("without a token, another's lane", nil, 0, 9, idem.VerdictBusy)
	l.verdict("another resource", &other, 1, 1, idem.VerdictApply)
	l.end(tok)
	if r := l.res[0]; !r.Applied || r.Value != 7 || r.Owned {
		t.Errorf("after completion: %+v", r)
	}
	l.verdict("older", &other, 0, 6, idem.VerdictStale)
	l.verdict("equal, another's", &other, 0, 7, idem.VerdictTied)
	if a := l.verdict("newer", &other, 0, 8, idem.VerdictApply); a.LaneFence <= first.LaneFence || a.Current == nil || a.Current.Value != 7 {
		t.Errorf("lane fence %d after %d, current %v", a.LaneFence, first.LaneFence, a.Current)
	}
	l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"})
	again := l.grant(0, func(c *idem.Claim) { c.AcceptReplay = true })
	l.do(&idem.Release{Token: other})
	l.verdict("equal, mine, in a replay", &again, 0, 7, idem.VerdictApply)
}

// TestCheckAlreadyApplied: a version that this very event applied.
func TestCheckAlreadyApplied(t *testing.T) {
	l := newLab(t, nil)
	l.end(l.grant(0, version(0, 3)))
	// The event's record was removed and made anew under the same key.
	l.ev[0], l.past[0] = nil, nil
	tok := l.grant(0, nil)
	l.verdict("equal, mine", &tok, 0, 3, idem.VerdictAlready)
}

// TestCheckWithoutToken compares and advances at once.
func TestCheckWithoutToken(t *testing.T) {
	l := newLab(t, nil)
	a := l.verdict("newer", nil, 0, 5, idem.VerdictApply)
	if !l.res[0].Applied || l.res[0].Value != 5 || l.res[0].Owned || a.LaneFence == 0 {
		t.Errorf("not applied: %+v", l.res[0])
	}
	if again := l.verdict("a repeat", nil, 0, 5, idem.VerdictApply); again.LaneFence != a.LaneFence {
		t.Error("a repeat got another answer")
	}
	l.verdict("older", nil, 0, 4, idem.VerdictStale)
	c := &idem.Check{Ordering: *ordering(0, idem.LatestWins, 5), By: number(1)}
	if d := l.do(c); d.Answer.(*idem.CheckAnswer).Verdict != idem.VerdictTied {
		t.Errorf("equal, another request: %s", short(&d))
	}
	c = &idem.Check{Ordering: *ordering(1, idem.Sequential, 1), By: number(1)}
	if d := l.do(c); d.Err == nil || d.Err.Code != idem.CodeInvalid {
		t.Errorf("SEQUENTIAL without a token: %s", short(&d))
	}
	tok := l.grant(0, version(1, 1))
	l.expire(0)
	l.verdict("the owner's lease is over", nil, 1, 2, idem.VerdictApply)
	if l.state(0) != "FAILED_RETRYABLE*" || l.ev[0].State == idem.Processing {
		t.Errorf("the owner was not settled on the way: %s", l.state(0))
	}
	if d := l.do(&idem.Complete{Token: tok}); short(&d) != "CLAIM_LOST" {
		t.Errorf("a late completion after its lane was given on: %s", short(&d))
	}
}

// TestCheckSequence: gaps carry what is expected.
func TestCheckSequence(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.StartAt = 1 })
	tok := l.grant(0, nil)
	ask := func(v int64) *idem.CheckAnswer {
		d := l.do(&idem.Check{Token: &tok, Ordering: *ordering(0, idem.Sequential, v)})
		return d.Answer.(*idem.CheckAnswer)
	}
	if a := ask(3); a.Verdict != idem.VerdictGap || a.Expected == nil || a.Expected.Value != 1 {
		t.Errorf("a gap: %+v", a)
	}
	l.grant(1, sequence(1))
	if a := ask(2); a.Verdict != idem.VerdictGap || a.Blocker != eventKey(1) || a.Known != idem.Processing {
		t.Errorf("a known predecessor: %+v", a)
	}
}

// TestSeriesIsFixed: another kind or mode than the first use is refused.
func TestSeriesIsFixed(t *testing.T) {
	l := newLab(t, nil)
	l.end(l.grant(0, version(0, 1)))
	moment := ordering(0, idem.LatestWins, 9)
	moment.Version.Kind = idem.Moment
	for _, o := range []*idem.Ordering{moment, ordering(0, idem.Sequential, 9)} {
		if d := l.do(l.newClaim(1, func(c *idem.Claim) { c.Ordering = o })); d.Err == nil || d.Err.Code != idem.CodeKindMismatch || l.ev[1] != nil {
			t.Errorf("%+v: %s", o, short(&d))
		}
		if d := l.do(&idem.Check{Ordering: *o, By: number(1)}); d.Err == nil || (d.Err.Code != idem.CodeKindMismatch && d.Err.Code != idem.CodeInvalid) {
			t.Errorf("check %+v: %s", o, short(&d))
		}
	}
}

// TestLanesAreFreed by each end of a claim but a hold that keeps them, and by nothing
// else: no lane of another claim.
func TestLanesAreFreed(t *testing.T) {
	for name, c := range map[string]struct {
		claim func(*idem.Claim)
		end   func(l *lab, t idem.Token)
		owned bool
	}{
		"complete":          {nil, func(l *lab, t idem.Token) { l.end(t) }, false},
		"fail":              {nil, func(l *lab, t idem.Token) { l.fail(t) }, false},
		"terminal":          {nil, func(l *lab, t idem.Token) { l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.Terminal}}) }, false},
		"not yet":           {nil, func(l *lab, t idem.Token) { l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.NotYet}}) }, false},
		"release":           {nil, func(l *lab, t idem.Token) { l.do(&idem.Release{Token: t}) }, false},
		"undelivered":       {nil, func(l *lab, t idem.Token) { l.do(&idem.Release{Token: t, Undelivered: true}) }, false},
		"lease":             {nil, func(l *lab, _ idem.Token) { l.expire(0); l.sweep(0) }, false},
		"lease, held":       {held, func(l *lab, _ idem.Token) { l.expire(0); l.sweep(0) }, true},
		"held, then failed": {held, func(l *lab, t idem.Token) { l.expire(0); l.sweep(0); l.fail(t) }, false},
		"held, then retried": {held, func(l *lab, _ idem.Token) {
			l.expire(0)
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
		}, false},
		"held, then terminal": {held, func(l *lab, _ idem.Token) {
			l.expire(0)
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveTerminal})
		}, false},
		"held, then processed": {held, func(l *lab, _ idem.Token) {
			l.expire(0)
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveProcessed})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			tok := l.grant(0, func(k *idem.Claim) {
				k.Ordering = ordering(0, idem.LatestWins, 1)
				if c.claim != nil {
					c.claim(k)
				}
			})
			other := l.grant(1, version(1, 1))
			c.end(l, tok)
			if l.res[0].Owned != c.owned {
				t.Errorf("owned=%v", l.res[0].Owned)
			}
			if !l.res[1].Owned || l.res[1].OwnerFence != other.Fence {
				t.Error("another claim's lane was freed")
			}
			applied := name == "complete" || name == "held, then processed"
			if l.res[0].Applied != applied {
				t.Errorf("applied=%v", l.res[0].Applied)
			}
		})
	}
}

// TestAppliedVersion: the version that was really fetched counts, and none is lowered.
func TestAppliedVersion(t *testing.T) {
	apply := func(v int64) *idem.Version { x := ordering(0, idem.LatestWins, v).Version; return &x }
	l := newLab(t, nil)
	tok := l.grant(0, version(0, 3))
	l.do(&idem.Complete{Token: tok, Applied: apply(8)})
	if l.res[0].Value != 8 {
		t.Errorf("applied %d", l.res[0].Value)
	}
	l.want("what was fetched along", l.claim(1, version(0, 5)), idem.OutcomeStale, idem.IgnoredStale)
	tok = l.grant(2, version(0, 9))
	l.do(&idem.Complete{Token: tok, Applied: apply(2)})
	if l.res[0].Value != 9 {
		t.Errorf("a lower applied version counts: %d", l.res[0].Value)
	}
	l = newLab(t, nil)
	tok = l.grant(0, nil)
	d := l.do(&idem.Complete{Token: tok, Applied: apply(2)})
	if d.Err == nil || d.Err.Code != idem.CodeInvalid || l.state(0) != "PROCESSING" {
		t.Errorf("without a lane: %s; a refused completion leaves the claim alive: %s", short(&d), l.state(0))
	}
}

// TestWaiters of a gap: its clock starts with the oldest one.
func TestWaiters(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.StartAt = 1 })
	l.claim(0, sequence(2))
	if l.res[0] == nil || l.res[0].GapSince != clock || l.ev[0].WaitingSince != clock {
		t.Fatal("the gap's clock did not start")
	}
	l.edit(0, func(e *idem.Event) { e.WaitingSince = clock - 7 })
	l.claim(1, sequence(3))
	l.claim(0, sequence(2))
	if l.ev[0].WaitingSince != clock-7 || l.ev[0].Waiting.Kind != idem.WaitingPredecessor {
		t.Error("waiting starts anew with each delivery")
	}
	l.end(l.grant(2, sequence(1)))
	l.end(l.grant(0, sequence(2)))
	if l.ev[0].Waiting.Kind != idem.NotWaiting || l.ev[0].WaitingSince != 0 || l.res[0].GapSince != 0 {
		t.Error("what was waited for came, and the event still waits")
	}
}

// TestOperators is the table of section 6.
func TestOperators(t *testing.T) {
	states := map[string]func(l *lab){
		"HELD*":            func(l *lab) { l.grant(0, held); l.expire(0) },
		"HELD":             func(l *lab) { l.end(l.grant(1, version(0, 1))); l.claim(0, version(0, 1)) },
		"DEAD_LETTERED*":   func(l *lab) { l.p.MaxAttempts = 1; l.grant(0, nil); l.expire(0) },
		"DEAD_LETTERED":    func(l *lab) { l.p.MaxAttempts = 1; l.fail(l.grant(0, nil)) },
		"FAILED_TERMINAL":  func(l *lab) { l.do(&idem.Fail{Token: l.grant(0, nil), Error: idem.Failure{Kind: idem.Terminal}}) },
		"BLOCKED_LOOP":     func(l *lab) { l.ev[0] = &idem.Event{Key: eventKey(0), Version: 1, State: idem.BlockedLoop} },
		"PROCESSING":       func(l *lab) { l.grant(0, nil) },
		"PROCESSED":        func(l *lab) { l.end(l.grant(0, nil)) },
		"FAILED_RETRYABLE": func(l *lab) { l.fail(l.grant(0, nil)) },
		"RECEIVED":         func(l *lab) { l.do(&idem.Release{Token: l.grant(0, nil)}) },
		"IGNORED_STALE":    func(l *lab) { l.end(l.grant(1, version(0, 2))); l.claim(0, version(0, 1)) },
	}
	legal := map[string]string{ // processed, retry, terminal, replay
		"HELD*": "PROCESSED RECEIVED* FAILED_TERMINAL -", "HELD": "PROCESSED RECEIVED FAILED_TERMINAL -",
		"DEAD_LETTERED*": "- RECEIVED* - RECEIVED", "DEAD_LETTERED": "- RECEIVED - RECEIVED", "FAILED_TERMINAL": "- RECEIVED - RECEIVED",
		"BLOCKED_LOOP": "- RECEIVED - -", "PROCESSING": "- - - -", "PROCESSED": "- - - RECEIVED", "FAILED_RETRYABLE": "- - - -", "RECEIVED": "- - - -",
		"IGNORED_STALE": "- - - RECEIVED",
	}
	for name, reach := range states {
		for i, want := range fields(legal[name]) {
			l := newLab(t, nil)
			reach(l)
			if got := l.state(0); got != name {
				t.Fatalf("the state is %s, not %s", got, name)
			}
			before := l.ev[0]
			c := []idem.Command{
				&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveProcessed, Who: "op", Why: "looked"},
				&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry, Who: "op", Why: "looked"},
				&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveTerminal, Who: "op", Why: "looked"},
				&idem.Replay{Event: l.dom.ids[0], RequestID: "r", Who: "op", Why: "looked"},
			}[i]
			d := l.do(c)
			switch {
			case want == "-":
				if d.Err == nil || l.ev[0] != before {
					t.Errorf("%s: %T %d is not refused", name, c, i)
				}
			case d.Err != nil || l.state(0) != want:
				t.Errorf("%s: %T %d came to %s %v, want %s", name, c, i, l.state(0), d.Err, want)
			default:
				last := d.Entries[len(d.Entries)-1]
				if last.Who != "op" || last.Why != "looked" {
					t.Errorf("%s: the entry does not say who: %+v", name, last)
				}
				if e := l.ev[0]; want[:8] == "RECEIVED" && (e.Attempts != 0 || e.Round != before.Round+1 || e.Total != before.Total) {
					t.Errorf("%s: a new round has %d attempts, total %d", name, e.Attempts, e.Total)
				}
			}
		}
	}
	l := newLab(t, nil)
	for _, c := range []idem.Command{&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry}, &idem.Replay{Event: l.dom.ids[0], RequestID: "r"}} {
		if d := l.do(c); d.Err == nil || d.Err.Code != idem.CodeNotFound {
			t.Errorf("%T of nothing: %s", c, short(&d))
		}
	}
}

func fields(s string) (out []string) {
	for len(s) > 0 {
		i := 0
		for i < len(s) && s[i] != ' ' {
			i++
		}
		out = append(out, s[:i])
		s = s[min(len(s), i+1):]
	}
	return out
}

// TestResolveProcessedWithoutItsLane settles the event and applies nothing, where held
// lanes are freed and given on.
func TestResolveProcessedWithoutItsLane(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.HeldLanes = false })
	tok := l.grant(0, func(c *idem.Claim) { held(c); version(0, 5)(c) })
	l.expire(0)
	l.end(l.grant(1, version(0, 3)))
	if d := l.do(&idem.Complete{Token: tok}); short(&d) != "CLAIM_LOST" {
		t.Errorf("the held claim completes without its lane: %s", short(&d))
	}
	l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveProcessed})
	if l.state(0) != "PROCESSED" || l.res[0].Value != 3 {
		t.Errorf("%s, version %d", l.state(0), l.res[0].Value)
	}
}

// TestLateReportsAreKept on the record, once, and come with the next grant.
func TestLateReportsAreKept(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 3 })
	old := l.grant(0, nil)
	l.expire(0)
	l.grant(0, nil)
	for range 2 {
		l.do(&idem.Complete{Token: old, Result: []byte("r")})
	}
	l.do(&idem.Fail{Token: old, Error: idem.Failure{Kind: idem.Retryable, Code: "L"}})
	if n := len(l.ev[0].LateReports); n != 2 || l.ev[0].LateReports[0].Fence != old.Fence || l.ev[0].LateReports[0].Call != idem.EndCompleted {
		t.Fatalf("%d late reports: %+v", n, l.ev[0].LateReports)
	}
	l.expire(0)
	if a := l.claim(0, nil); len(a.Late) != 2 || len(a.Event.LateReports) != 0 || len(l.past[0][1].Late) != 2 {
		t.Errorf("the next grant is told %d late reports, the attempt keeps %d", len(a.Late), len(l.past[0][1].Late))
	}
	for i := range 2 * idem.MaxLateReports {
		l.do(&idem.Complete{Token: old, Result: []byte{byte(i)}})
	}
	if len(l.ev[0].LateReports) != idem.MaxLateReports {
		t.Errorf("%d late reports are kept", len(l.ev[0].LateReports))
	}
}

// TestHeartbeats are monotone and capped.
func TestHeartbeats(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	was := l.ev[0].LeaseUntil
	row := l.ev[0].Version
	l.do(&idem.Extend{Token: tok, Lease: idem.MinLease})
	if l.ev[0].LeaseUntil != was || l.ev[0].Version != row {
		t.Errorf("a short heartbeat: %v, row version %d", l.ev[0].LeaseUntil.Sub(was), l.ev[0].Version)
	}
	for _, granted := range []time.Duration{idem.MinLease, 3 * l.p.Lease} {
		l := newLab(t, nil)
		tok := l.grant(0, func(c *idem.Claim) { c.Lease = granted })
		l.edit(0, func(e *idem.Event) { e.LeaseUntil = clock.Add(1) })
		l.do(&idem.Extend{Token: tok})
		if got := l.ev[0].LeaseUntil.Sub(clock); got != granted {
			t.Errorf("a heartbeat that names no length extends a claim granted for %v by %v", granted, got)
		}
		l.expire(0)
		l.do(&idem.Extend{Token: tok})
		if got := l.ev[0].LeaseUntil.Sub(clock); got != granted {
			t.Errorf("a claim granted for %v is armed again for %v", granted, got)
		}
	}
	l.p.MaxClaimAge = l.p.Lease * 2
	d := l.do(&idem.Extend{Token: tok, Lease: idem.MaxLeaseCeiling})
	if got := l.ev[0].LeaseUntil.Sub(l.ev[0].GrantedAt); got != l.p.MaxClaimAge || len(d.Entries) != 0 {
		t.Errorf("a zombie is extended to %v", got)
	}
	l.edit(0, func(e *idem.Event) { e.GrantedAt = clock.Add(-l.p.MaxClaimAge) })
	l.expire(0)
	if d := l.do(&idem.Extend{Token: tok}); d.Err == nil {
		t.Error("a claim older than the longest allowed is armed again")
	}
}
