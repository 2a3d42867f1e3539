//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// lab is a small store to which commands are given one after the other.
type lab struct {
	t *testing.T
	store
	p *idem.Policy
	n int64 // names given out
}

func newLab(t *testing.T, change func(*idem.Policy)) *lab {
	t.Helper()
	p := smallPolicy(change)
	d := (&domain{name: t.Name(), policy: p, events: []eventDef{{key: eventKey(0)}, {key: eventKey(1)}, {key: eventKey(2)}},
		resources: []idem.ResourceKey{resourceKey(0), resourceKey(1)}, effects: []effectDef{{}}}).prepare()
	return &lab{t: t, store: store{dom: d}, p: p}
}

// do decides and stores.
func (l *lab) do(c idem.Command) idem.Decision {
	l.t.Helper()
	d := idem.Decide(l.world(c), c, l.p)
	if err := l.apply(&d); err != nil {
		l.t.Fatalf("%T: %v", c, err)
	}
	return d
}

func (l *lab) fresh() int64 { l.n++; return l.n }

// newClaim is a claim by a new claimant, a provider's redelivery unless it is the first.
func (l *lab) newClaim(ev int, change func(*idem.Claim)) *idem.Claim {
	c := &idem.Claim{Key: eventKey(ev), Claimant: fmt.Sprintf("claimant %d", l.fresh()), Nonce: number(l.fresh())}
	c.Facts.Kind = idem.ProviderRetry
	if change != nil {
		change(c)
	}
	return c
}

func (l *lab) claim(ev int, change func(*idem.Claim)) *idem.ClaimAnswer {
	l.t.Helper()
	d := l.do(l.newClaim(ev, change))
	if d.Err != nil {
		l.t.Fatalf("claim refused: %v", d.Err)
	}
	return d.Answer.(*idem.ClaimAnswer)
}

// grant claims and demands to be given it.
func (l *lab) grant(ev int, change func(*idem.Claim)) idem.Token {
	l.t.Helper()
	a := l.claim(ev, change)
	if !a.Granted {
		l.t.Fatalf("event %d: %v, want CLAIMED", ev, a.Outcome)
	}
	return idem.Token{Namespace: "ns", Consumer: "billing", Event: a.Event.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce}
}

func (l *lab) want(what string, a *idem.ClaimAnswer, o idem.Outcome, s idem.State) {
	l.t.Helper()
	var got idem.State
	if a.Event != nil {
		got = a.Event.State
	}
	if a.Outcome != o || got != s {
		l.t.Errorf("%s: %v in %v, want %v in %v", what, a.Outcome, got, o, s)
	}
}

// edit changes a stored record as time or a hand does.
func (l *lab) edit(ev int, change func(*idem.Event)) {
	e := *l.ev[ev]
	change(&e)
	l.ev[ev] = &e
}

func (l *lab) expire(ev int)    { l.edit(ev, func(e *idem.Event) { e.LeaseUntil = clock }) }
func (l *lab) comeDue(ev int)   { l.edit(ev, func(e *idem.Event) { e.DueAt = clock }) }
func (l *lab) sweep(ev int)     { l.do(&idem.Settle{Event: l.dom.ids[ev]}) }
func (l *lab) end(t idem.Token) { l.do(&idem.Complete{Token: t, Result: []byte("result")}) }
func (l *lab) fail(t idem.Token) {
	l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.Retryable, Code: "X"}})
}
func (l *lab) state(ev int) string {
	e := idem.Settled(l.ev[ev], clock, l.p)
	if e.ByExpiry {
		return e.State.String() + "*"
	}
	return e.State.String()
}

func version(r int, v int64) func(*idem.Claim) {
	return func(c *idem.Claim) { c.Ordering = ordering(r, idem.LatestWins, v) }
}

func sequence(v int64) func(*idem.Claim) {
	return func(c *idem.Claim) { c.Ordering = ordering(0, idem.Sequential, v) }
}

func held(c *idem.Claim) { c.Stale = idem.Hold }

// TestGateSignature is gate 1: no record is read or written.
func TestGateSignature(t *testing.T) {
	for _, c := range []struct {
		policy   idem.SignaturePolicy
		sig      idem.Signature
		seen     bool
		rejected bool
	}{
		{idem.SignatureOptional, idem.SignatureFailed, false, true},
		{idem.SignatureOptional, idem.NotChecked, true, false},
		{idem.SignatureRequired, idem.NotChecked, false, true},
		{idem.SignatureRequired, idem.SignatureUnspecified, false, true},
		{idem.SignatureRequired, idem.Verified, false, false},
		{idem.SignatureRequired, idem.VerifiedLate, false, false},
		{idem.SignatureLearned, idem.NotChecked, false, false},
		{idem.SignatureLearned, idem.NotChecked, true, true},
		{idem.SignatureLearned, idem.Verified, true, false},
	} {
		l := newLab(t, func(p *idem.Policy) { p.Signature = c.policy })
		cmd := l.newClaim(0, func(k *idem.Claim) { k.Facts.Signature = c.sig })
		w := l.world(cmd)
		w.SeenVerified = c.seen
		d := idem.Decide(w, cmd, l.p)
		a := d.Answer.(*idem.ClaimAnswer)
		if got := a.Outcome == idem.OutcomeRejected; got != c.rejected {
			t.Errorf("%+v: rejected=%v", c, got)
		}
		if c.rejected && (d.Writes() || a.Event != nil || len(a.Anomalies) > 0) {
			t.Errorf("%+v: a rejected delivery wrote or read a record", c)
		}
	}
}

// TestGates walks the gates of a claim, each in a world of its own.
func TestGates(t *testing.T) {
	selves := func(p *idem.Policy) { p.SelfOrigins = []string{"me"} }
	bySelf := func(c *idem.Claim) { c.Facts.Origin = "me" }
	ties := func(r idem.TieRule) func(*idem.Policy) { return func(p *idem.Policy) { p.TieSequence = r } }
	machine := func(ends bool) func(*idem.Policy) {
		return func(p *idem.Policy) {
			p.Machines = map[string]idem.Machine{"m": {Initial: "a", Edges: map[string][]string{"a": {"b"}}}}
			p.IllegalEnds = ends
		}
	}
	illegal := func(c *idem.Claim) {
		c.Ordering = ordering(0, idem.LatestWins, 1)
		c.Ordering.Transition = &idem.Transition{Machine: "m", To: "z"}
	}
	moment := func(c *idem.Claim) {
		c.Ordering = ordering(0, idem.LatestWins, 1)
		c.Ordering.Version.Kind = idem.Moment
	}
	hash := func(h string) func(*idem.Claim) { return func(c *idem.Claim) { c.Facts.PayloadHash = []byte(h) } }
	for _, c := range []struct {
		gate   string
		policy func(*idem.Policy)
		setup  func(l *lab)
		ev     int
		claim  func(*idem.Claim)
		want   idem.Outcome
		state  idem.State
		writes bool
	}{
		{"3: a ghost after completion", nil, func(l *lab) { l.end(l.grant(0, func(c *idem.Claim) { c.Claimant = "ghost" })) }, 0, func(c *idem.Claim) { c.Claimant = "ghost" }, idem.OutcomeAlreadyProcessed, idem.Processed, false},
		{"3: a ghost after failure", nil, func(l *lab) { l.fail(l.grant(0, func(c *idem.Claim) { c.Claimant = "ghost" })) }, 0, func(c *idem.Claim) { c.Claimant = "ghost" }, idem.OutcomeRetryScheduled, idem.FailedRetryable, false},
		{"3: a ghost after a release", nil, func(l *lab) {
			l.do(&idem.Release{Token: l.grant(0, func(c *idem.Claim) { c.Claimant = "ghost" })})
		}, 0, func(c *idem.Claim) { c.Claimant = "ghost" }, idem.OutcomeRetryScheduled, idem.Received, false},
		{"3: a ghost of an archived attempt", nil, func(l *lab) {
			l.grant(0, func(c *idem.Claim) { c.Claimant = "ghost" })
			l.expire(0)
			l.fail(l.grant(0, nil))
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
		}, 0, func(c *idem.Claim) { c.Claimant = "ghost" }, idem.OutcomeRetryScheduled, idem.Received, false},
		{"4: another payload refused", func(p *idem.Policy) { p.RefuseMismatch = true }, func(l *lab) { l.fail(l.grant(0, hash("a"))) }, 0, hash("b"), idem.OutcomeMismatch, idem.FailedRetryable, false},
		{"4: an absent hash gives no verdict", func(p *idem.Policy) { p.RefuseMismatch = true }, func(l *lab) { l.fail(l.grant(0, hash("a"))) }, 0, nil, idem.OutcomeClaimed, idem.Processing, true},
		{"4: another payload flagged", nil, func(l *lab) { l.fail(l.grant(0, hash("a"))) }, 0, hash("b"), idem.OutcomeClaimed, idem.Processing, true},
		{"5: alive", nil, func(l *lab) { l.grant(0, nil) }, 0, nil, idem.OutcomeInProgress, idem.Processing, false},
		{"6: processed", nil, func(l *lab) { l.end(l.grant(0, nil)) }, 0, nil, idem.OutcomeAlreadyProcessed, idem.Processed, false},
		{"6: under a replay of a processed one", nil, func(l *lab) {
			l.end(l.grant(0, nil))
			l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"})
		}, 0, nil, idem.OutcomeAlreadyProcessed, idem.Received, false},
		{"6: a replay that is accepted", nil, func(l *lab) {
			l.end(l.grant(0, nil))
			l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"})
		}, 0, func(c *idem.Claim) { c.AcceptReplay = true }, idem.OutcomeClaimed, idem.Processing, true},
		{"7: failed terminally", nil, func(l *lab) { l.do(&idem.Fail{Token: l.grant(0, nil), Error: idem.Failure{Kind: idem.Terminal}}) }, 0, nil, idem.OutcomeFailedTerminal, idem.FailedTerminal, false},
		{"7: dead-lettered by the lease's end", func(p *idem.Policy) { p.MaxAttempts = 1 }, func(l *lab) { l.grant(0, nil); l.expire(0) }, 0, nil, idem.OutcomeDeadLettered, idem.DeadLettered, false},
		{"7: held by the lease's end", nil, func(l *lab) { l.grant(0, held); l.expire(0) }, 0, nil, idem.OutcomeHeld, idem.Held, false},
		{"7: ignored as stale", nil, func(l *lab) { l.end(l.grant(1, version(0, 2))); l.claim(0, version(0, 1)) }, 0, version(0, 1), idem.OutcomeStale, idem.IgnoredStale, false},
		{"7: blocked by the loop rule", nil, func(l *lab) {
			l.ev[0] = &idem.Event{Key: eventKey(0), Version: 1, State: idem.BlockedLoop}
		}, 0, nil, idem.OutcomeLoopBlocked, idem.BlockedLoop, false},
		{"8: self-originated", selves, nil, 0, bySelf, idem.OutcomeSelfOriginated, idem.IgnoredSelf, true},
		{"8: another origin", selves, nil, 0, func(c *idem.Claim) { c.Facts.Origin = "them" }, idem.OutcomeClaimed, idem.Processing, true},
		{"9: not due", nil, func(l *lab) { l.fail(l.grant(0, nil)) }, 0, func(c *idem.Claim) { c.Facts.Kind = idem.ClientRepeat }, idem.OutcomeRetryScheduled, idem.FailedRetryable, false},
		{"9: not due, a requeue of ours", nil, func(l *lab) { l.fail(l.grant(0, nil)) }, 0, func(c *idem.Claim) { c.Facts.Kind = idem.ConsumerRequeue }, idem.OutcomeRetryScheduled, idem.FailedRetryable, false},
		{"9: waived for a provider", nil, func(l *lab) { l.fail(l.grant(0, nil)) }, 0, nil, idem.OutcomeClaimed, idem.Processing, true},
		{"9: arrived before the failure", nil, func(l *lab) { l.fail(l.grant(0, nil)) }, 0, func(c *idem.Claim) { c.ArrivedAt = clock }, idem.OutcomeRetryScheduled, idem.FailedRetryable, false},
		{"9: waived a moment ago", func(p *idem.Policy) { p.MaxAttempts = 5 }, func(l *lab) { l.fail(l.grant(0, nil)); l.fail(l.grant(0, nil)) }, 0, nil, idem.OutcomeRetryScheduled, idem.FailedRetryable, false},
		{"9: due", nil, func(l *lab) { l.fail(l.grant(0, nil)); l.comeDue(0) }, 0, func(c *idem.Claim) { c.Facts.Kind = idem.ClientRepeat }, idem.OutcomeClaimed, idem.Processing, true},
		{"9: a released claim rests, for a provider too", func(p *idem.Policy) { p.ReleaseDelay = time.Minute }, func(l *lab) { l.do(&idem.Release{Token: l.grant(0, nil)}) }, 0, nil, idem.OutcomeRetryScheduled, idem.Received, false},
		{"10: fewer attempts allowed now", nil, func(l *lab) { l.fail(l.grant(0, nil)); l.p.MaxAttempts = 1 }, 0, nil, idem.OutcomeDeadLettered, idem.DeadLettered, true},
		{"11: older", nil, func(l *lab) { l.end(l.grant(1, version(0, 2))) }, 0, version(0, 1), idem.OutcomeStale, idem.IgnoredStale, true},
		{"11: an older epoch", nil, func(l *lab) {
			l.end(l.grant(1, func(c *idem.Claim) { c.Ordering = ordering(0, idem.LatestWins, 1); c.Ordering.Version.Epoch = 1 }))
		}, 0, version(0, 9), idem.OutcomeStale, idem.IgnoredStale, true},
		{"11: a retry after newer state", nil, func(l *lab) {
			l.fail(l.grant(0, version(0, 1)))
			l.end(l.grant(1, version(0, 2)))
		}, 0, version(0, 1), idem.OutcomeStale, idem.IgnoredStale, true},
		{"11: a newer one that failed supersedes nothing", nil, func(l *lab) { l.fail(l.grant(1, version(0, 2))) }, 0, version(0, 1), idem.OutcomeClaimed, idem.Processing, true},
		{"12: purged", nil, func(l *lab) { l.end(l.grant(0, version(0, 1))); l.ev[0] = nil }, 0, version(0, 1), idem.OutcomeAlreadyProcessed, idem.Absent, false},
		{"12: tied, held", ties(idem.TieHold), func(l *lab) { l.end(l.grant(1, version(0, 1))) }, 0, version(0, 1), idem.OutcomeVersionTied, idem.Held, true},
		{"12: tied, skipped", ties(idem.TieSkip), func(l *lab) { l.end(l.grant(1, version(0, 1))) }, 0, version(0, 1), idem.OutcomeVersionTied, idem.IgnoredStale, true},
		{"12: tied, applied", ties(idem.TieApply), func(l *lab) { l.end(l.grant(1, version(0, 1))) }, 0, version(0, 1), idem.OutcomeClaimed, idem.Processing, true},
		{"12: instants tie every day", nil, func(l *lab) { l.end(l.grant(1, moment)) }, 0, moment, idem.OutcomeClaimed, idem.Processing, true},
		{"13: illegal, waits", machine(false), nil, 0, illegal, idem.OutcomeIllegal, idem.Received, true},
		{"13: illegal, ends", machine(true), nil, 0, illegal, idem.OutcomeIllegal, idem.FailedTerminal, true},
		{"14: the predecessor is missing", func(p *idem.Policy) { p.StartAt = 1 }, nil, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, true},
		{"14: the predecessor is unfinished", func(p *idem.Policy) { p.StartAt = 1 }, func(l *lab) { l.grant(1, sequence(1)) }, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, true},
		{"14: nothing new to write", func(p *idem.Policy) { p.StartAt = 1 }, func(l *lab) { l.claim(0, sequence(2)) }, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, false},
		{"14: the gap rule has not come", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute }, func(l *lab) { l.claim(0, sequence(2)) }, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, false},
		{"14: the gap rule passes", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute }, func(l *lab) { l.claim(0, sequence(2)); l.ageGap() }, 0, sequence(2), idem.OutcomeClaimed, idem.Processing, true},
		{"14: the gap rule holds", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapHold, time.Minute }, func(l *lab) { l.claim(0, sequence(2)); l.ageGap() }, 0, sequence(2), idem.OutcomeHeld, idem.Held, true},
		{"14: never past a known predecessor", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute }, func(l *lab) { l.claim(0, sequence(2)); l.ageGap(); l.grant(1, sequence(1)) }, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, true},
		{"14: a dead predecessor holds", func(p *idem.Policy) { p.StartAt = 1 }, killFirst, 0, sequence(2), idem.OutcomeHeld, idem.Held, true},
		{"14: a dead predecessor is waited for", func(p *idem.Policy) { p.StartAt, p.Dead = 1, idem.DeadWait }, killFirst, 0, sequence(2), idem.OutcomeAwaiting, idem.Received, true},
		{"14: a dead predecessor is skipped", func(p *idem.Policy) { p.StartAt, p.Dead = 1, idem.DeadSkip }, killFirst, 0, sequence(2), idem.OutcomeClaimed, idem.Processing, true},
		{"14: a predecessor that was skipped", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute }, func(l *lab) {
			l.claim(1, sequence(2))
			l.ageGap()
			l.end(l.grant(1, sequence(2)))
		}, 0, sequence(1), idem.OutcomeHeld, idem.Held, true},
		{"14: a predecessor that was skipped within a sequence", func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute }, func(l *lab) {
			l.end(l.grant(1, sequence(1)))
			l.claim(2, sequence(3))
			l.ageGap()
			l.end(l.grant(2, sequence(3)))
		}, 0, sequence(2), idem.OutcomeHeld, idem.Held, true},
		{"14: a redelivery of a purged, finished predecessor", func(p *idem.Policy) { p.StartAt = 1 }, func(l *lab) {
			l.end(l.grant(0, sequence(1)))
			l.end(l.grant(1, sequence(2)))
			l.ev[0] = nil
		}, 0, sequence(1), idem.OutcomeStale, idem.IgnoredStale, true},
		{"15: the lane is taken", nil, func(l *lab) { l.grant(1, version(0, 2)) }, 0, version(0, 1), idem.OutcomeResourceBusy, idem.Received, true},
		{"15: held and keeping its lane", nil, func(l *lab) {
			l.grant(1, func(c *idem.Claim) { held(c); version(0, 2)(c) })
			l.expire(1)
		}, 0, version(0, 3), idem.OutcomeResourceBusy, idem.Received, true},
		{"15: held and freeing its lane", func(p *idem.Policy) { p.HeldLanes = false }, func(l *lab) {
			l.grant(1, func(c *idem.Claim) { held(c); version(0, 2)(c) })
			l.expire(1)
		}, 0, version(0, 3), idem.OutcomeClaimed, idem.Processing, true},
		{"15b: the owner's lease is over", nil, func(l *lab) { l.grant(1, version(0, 2)); l.expire(1) }, 0, version(0, 1), idem.OutcomeClaimed, idem.Processing, true},
		{"16: the first of all", nil, nil, 0, nil, idem.OutcomeClaimed, idem.Processing, true},
	} {
		t.Run(c.gate, func(t *testing.T) {
			l := newLab(t, c.policy)
			if c.setup != nil {
				c.setup(l)
			}
			d := l.do(l.newClaim(c.ev, c.claim))
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			l.want(c.gate, d.Answer.(*idem.ClaimAnswer), c.want, c.state)
			if d.Writes() != c.writes {
				t.Errorf("writes=%v, want %v", d.Writes(), c.writes)
			}
		})
	}
}

func (l *lab) ageGap() {
	r := *l.res[0]
	r.GapSince = clock - idem.Instant(time.Hour.Microseconds())
	l.res[0] = &r
}

func killFirst(l *lab) {
	l.do(&idem.Fail{Token: l.grant(1, sequence(1)), Error: idem.Failure{Kind: idem.Terminal}})
}

// TestReentry is gate 2: the same token and expiry, at most three times.
func TestReentry(t *testing.T) {
	l := newLab(t, nil)
	c := l.newClaim(0, version(0, 1))
	first := l.do(c).Answer.(*idem.ClaimAnswer)
	for i := range idem.MaxReentries {
		again := *c
		again.Nonce = number(1000 + int64(i))
		a := l.do(&again).Answer.(*idem.ClaimAnswer)
		if a.Outcome != idem.OutcomeClaimed || !a.Reentered || a.Granted || a.Event.Nonce != first.Event.Nonce || a.Event.Fence != first.Event.Fence ||
			a.Event.LeaseUntil != first.Event.LeaseUntil || a.LaneFence != first.LaneFence || a.Event.Attempts != 1 {
			t.Errorf("re-entry %d: %+v", i, a)
		}
	}
	l.want("one too many", l.do(c).Answer.(*idem.ClaimAnswer), idem.OutcomeInProgress, idem.Processing)
}

// TestGrant is gate 16: what a grant carries.
func TestGrant(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 3 })
	tok := l.grant(0, func(c *idem.Claim) { c.Facts.PayloadHash = []byte("a") })
	eff := idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "billing", Event: tok.Event, Key: "mail"}
	l.do(&idem.RecordEffect{Token: &tok, Key: eff, Result: []byte("sent")})
	l.fail(tok)
	l.do(&idem.Complete{Token: idem.Token{Namespace: "ns", Consumer: "billing", Event: tok.Event, Fence: tok.Fence, Nonce: tok.Nonce}, Result: []byte("other end")})
	a := l.claim(0, func(c *idem.Claim) { c.Facts.PayloadHash = []byte("b"); c.Lease = time.Hour * 100 })
	switch {
	case !a.Granted || a.Event.Attempts != 2 || a.Event.Total != 2 || a.Event.Fence <= tok.Fence || a.Event.Nonce == tok.Nonce:
		t.Errorf("a second grant: %+v", a.Event)
	case len(a.Effects) != 1 || string(a.Effects[0].Result) != "sent":
		t.Errorf("effects done earlier: %v", a.Effects)
	case a.Previous.Code != "X":
		t.Errorf("the error before: %+v", a.Previous)
	case string(a.Event.AttemptHash) != "b" || string(a.Event.Facts.PayloadHash) != "a":
		t.Error("the record keeps the first hash, the attempt its own")
	case a.Event.LeaseUntil != clock.Add(idem.MaxLeaseCeiling):
		t.Errorf("the lease is not capped: %v", a.Event.LeaseUntil.Sub(clock))
	case !a.Event.Waived:
		t.Error("the waiver is not noted")
	case len(l.past[0]) != 1 || l.past[0][0].Fence != tok.Fence || l.past[0][0].End != idem.EndFailed:
		t.Errorf("the ended claim left no attempt: %+v", l.past[0])
	}
}

// TestAnomalies decide nothing and are told.
func TestAnomalies(t *testing.T) {
	l := newLab(t, nil)
	l.grant(0, func(c *idem.Claim) { c.Facts.PayloadHash = []byte("a") })
	a := l.claim(0, func(c *idem.Claim) { c.Facts.PayloadHash = []byte("b"); c.Facts.Signature = idem.VerifiedLate })
	if !slices.Equal(a.Anomalies, []idem.Anomaly{idem.AnomalyLate, idem.AnomalyMismatch}) || a.Outcome != idem.OutcomeInProgress {
		t.Errorf("%v %v", a.Outcome, a.Anomalies)
	}
	c := l.newClaim(1, func(c *idem.Claim) { c.Facts.OccurredAt = 5 })
	w := l.world(c)
	w.EpochStart = clock
	d := idem.Decide(w, c, l.p)
	if a := d.Answer.(*idem.ClaimAnswer); !slices.Equal(a.Anomalies, []idem.Anomaly{idem.AnomalyRestored}) {
		t.Errorf("first seen after a restore: %v", a.Anomalies)
	}
}

// TestSectionThree: each call with a token, in each standing of the token.
func TestSectionThree(t *testing.T) {
	result := func(r string) func(idem.Token) idem.Command {
		return func(t idem.Token) idem.Command { return &idem.Complete{Token: t, Result: []byte(r)} }
	}
	failure := func(k idem.FailureKind) func(idem.Token) idem.Command {
		return func(t idem.Token) idem.Command {
			return &idem.Fail{Token: t, Error: idem.Failure{Kind: k, Code: "F"}, Draw: 0.5}
		}
	}
	calls := map[string]func(idem.Token) idem.Command{
		"complete":        result("r"),
		"fail":            failure(idem.Retryable),
		"fail terminally": failure(idem.Terminal),
		"extend":          func(t idem.Token) idem.Command { return &idem.Extend{Token: t} },
		"release":         func(t idem.Token) idem.Command { return &idem.Release{Token: t} },
		"check": func(t idem.Token) idem.Command {
			return &idem.Check{Token: &t, Ordering: *ordering(1, idem.LatestWins, 1)}
		},
		"begin": func(t idem.Token) idem.Command {
			return &idem.BeginEffect{Token: &t, Key: eventEffect(t), BeginID: "b"}
		},
		"record": func(t idem.Token) idem.Command {
			return &idem.RecordEffect{Token: &t, Key: eventEffect(t), Result: []byte("v")}
		},
		"complete another": result("another"),
	}
	retry := func(l *lab) { l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry}) }
	standings := map[string]struct {
		attempts int32
		claim    func(*idem.Claim)
		reach    func(l *lab, t idem.Token)
		want     string // call:answer, separated by commas
	}{
		"alive": {2, nil, func(*lab, idem.Token) {},
			"complete:PROCESSED,fail:FAILED_RETRYABLE,fail terminally:FAILED_TERMINAL,extend:ok,release:RECEIVED,check:APPLY,begin:PERFORM,record:RECORDED,complete another:PROCESSED"},
		"alive, last attempt": {1, nil, func(*lab, idem.Token) {}, "fail:DEAD_LETTERED,release:RECEIVED"},
		"expired": {2, nil, func(l *lab, _ idem.Token) { l.expire(0) },
			"complete:PROCESSED late,fail:FAILED_RETRYABLE late,fail terminally:FAILED_TERMINAL late,extend:rearmed,release:FAILED_RETRYABLE late,check:CLAIM_EXPIRED,begin:CLAIM_EXPIRED,record:CLAIM_EXPIRED"},
		"expired and swept": {2, nil, func(l *lab, _ idem.Token) { l.expire(0); l.sweep(0) },
			"complete:PROCESSED late,fail:FAILED_RETRYABLE late,fail terminally:FAILED_TERMINAL late,extend:rearmed,release:FAILED_RETRYABLE late,check:CLAIM_EXPIRED,begin:CLAIM_EXPIRED,record:CLAIM_EXPIRED"},
		"dead by expiry": {1, nil, func(l *lab, _ idem.Token) { l.expire(0); l.sweep(0) },
			"complete:PROCESSED late,fail:DEAD_LETTERED late,extend:rearmed,release:DEAD_LETTERED late,check:CLAIM_EXPIRED"},
		"held by expiry": {2, held, func(l *lab, _ idem.Token) { l.expire(0); l.sweep(0) },
			"complete:PROCESSED late,fail:FAILED_RETRYABLE late,fail terminally:FAILED_TERMINAL late,extend:rearmed,release:HELD late,begin:CLAIM_EXPIRED"},
		"retried by an operator": {2, held, func(l *lab, _ idem.Token) { l.expire(0); retry(l) },
			"complete:PROCESSED late,fail:CLAIM_LOST,extend:CLAIM_LOST"},
		"completed": {2, nil, func(l *lab, t idem.Token) { l.do(result("r")(t)) },
			"complete:PROCESSED already,complete another:ALREADY_ENDED,fail:ALREADY_ENDED,fail terminally:ALREADY_ENDED,extend:ALREADY_ENDED,release:ALREADY_ENDED,check:ALREADY_ENDED,begin:ALREADY_ENDED,record:ALREADY_ENDED"},
		"failed": {2, nil, func(l *lab, t idem.Token) { l.do(failure(idem.Retryable)(t)) },
			"complete:ALREADY_ENDED,fail:FAILED_RETRYABLE already,fail terminally:ALREADY_ENDED,extend:ALREADY_ENDED,release:ALREADY_ENDED,check:ALREADY_ENDED"},
		"failed, then given on": {2, nil, func(l *lab, t idem.Token) { l.do(failure(idem.Retryable)(t)); l.grant(0, nil) },
			"complete:ALREADY_ENDED,fail:FAILED_RETRYABLE already,extend:ALREADY_ENDED"},
		"released": {2, nil, func(l *lab, t idem.Token) { l.do(&idem.Release{Token: t}) },
			"release:RECEIVED already,complete:ALREADY_ENDED,extend:ALREADY_ENDED"},
		"given on": {2, nil, func(l *lab, _ idem.Token) { l.expire(0); l.grant(0, nil) },
			"complete:CLAIM_LOST,fail:CLAIM_LOST,fail terminally:CLAIM_LOST,extend:CLAIM_LOST,release:CLAIM_LOST,check:CLAIM_LOST,begin:CLAIM_LOST,record:CLAIM_LOST"},
		"its lane given on": {2, version(0, 1), func(l *lab, _ idem.Token) { l.expire(0); l.grant(1, version(0, 2)) },
			"complete:CLAIM_LOST,fail:CLAIM_LOST,extend:CLAIM_LOST,check:CLAIM_LOST,begin:CLAIM_LOST"},
		"its lane given on and free again": {2, version(0, 1), func(l *lab, _ idem.Token) { l.expire(0); l.fail(l.grant(1, version(0, 2))) },
			"complete:CLAIM_LOST,fail:CLAIM_LOST,extend:CLAIM_LOST"},
		"resolved as processed": {2, held, func(l *lab, _ idem.Token) {
			l.expire(0)
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveProcessed})
		}, "complete:CLAIM_LOST,fail:CLAIM_LOST,extend:CLAIM_LOST,release:CLAIM_LOST,check:CLAIM_LOST,begin:CLAIM_LOST"},
		"resolved as terminal": {2, held, func(l *lab, _ idem.Token) {
			l.expire(0)
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveTerminal})
		}, "complete:CLAIM_LOST,fail:CLAIM_LOST,extend:CLAIM_LOST"},
		"without a record": {2, nil, func(l *lab, _ idem.Token) { l.ev[0] = nil },
			"complete:CLAIM_LOST,fail:CLAIM_LOST,extend:CLAIM_LOST,release:CLAIM_LOST,check:CLAIM_LOST,begin:CLAIM_LOST,record:CLAIM_LOST"},
	}
	for name, s := range standings {
		for want := range strings.SplitSeq(s.want, ",") {
			call, answer, _ := strings.Cut(want, ":")
			t.Run(name+"/"+call, func(t *testing.T) {
				l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = s.attempts })
				tok := l.grant(0, s.claim)
				s.reach(l, tok)
				d := l.do(calls[call](tok))
				if got := short(&d); got != answer {
					t.Errorf("%s, want %s", got, answer)
				}
				if d.Err != nil && d.Writes() && (d.Err.Code != idem.CodeClaimLost || len(d.Entries) != 1 || d.Entries[0].Kind != idem.EntryLateReport) {
					t.Error("a refusal wrote")
				}
			})
		}
	}
}

func eventEffect(t idem.Token) idem.EffectKey {
	return idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "billing", Event: t.Event, Key: "mail"}
}

// short is an answer in a few words.
func short(d *idem.Decision) string {
	if d.Err != nil {
		return string(d.Err.Code)
	}
	switch a := d.Answer.(type) {
	case *idem.EndAnswer:
		s := a.State.String()
		if a.Already {
			s += " already"
		}
		if a.Late {
			s += " late"
		}
		return s
	case *idem.ExtendAnswer:
		if a.Rearmed {
			return "rearmed"
		}
		return "ok"
	case *idem.CheckAnswer:
		return a.Verdict.String()
	case *idem.EffectAnswer:
		return a.Verdict.String()
	case *idem.ClaimAnswer:
		return a.Outcome.String()
	}
	return "?"
}

// TestForeignTokens: a token of another namespace or consumer is lost, as one without a
// record is.
func TestForeignTokens(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	for name, change := range map[string]func(*idem.Token){
		"namespace":   func(t *idem.Token) { t.Namespace = "other" },
		"consumer":    func(t *idem.Token) { t.Consumer = "other" },
		"random part": func(t *idem.Token) { t.Nonce[0] ^= 1 },
		"older fence": func(t *idem.Token) { t.Fence-- },
		"newer fence": func(t *idem.Token) { t.Fence++ },
	} {
		x := tok
		change(&x)
		d := l.do(&idem.Complete{Token: x, Result: []byte("r")})
		if d.Err == nil || d.Err.Code != idem.CodeClaimLost || d.Writes() {
			t.Errorf("%s: %s, writes=%v", name, short(&d), d.Writes())
		}
	}
}

// TestRepeatsGetTheirAnswer: the same ending call gets the same answer, field for field,
// as long as the event is kept.
func TestRepeatsGetTheirAnswer(t *testing.T) {
	type answer struct {
		State   idem.State
		Due     idem.Instant
		Counted bool
		Attempt int32
		Late    bool
	}
	of := func(d idem.Decision) answer {
		a := d.Answer.(*idem.EndAnswer)
		return answer{a.State, a.Due, a.Counted, a.Attempt, a.Late}
	}
	fail := func(k idem.FailureKind) func(idem.Token) idem.Command {
		return func(t idem.Token) idem.Command { return &idem.Fail{Token: t, Error: idem.Failure{Kind: k}, Draw: 0.25} }
	}
	for name, call := range map[string]func(idem.Token) idem.Command{
		"complete": func(t idem.Token) idem.Command { return &idem.Complete{Token: t, Result: []byte("r")} },
		"fail":     fail(idem.Retryable), "not yet": fail(idem.NotYet), "terminal": fail(idem.Terminal),
		"release": func(t idem.Token) idem.Command { return &idem.Release{Token: t} },
	} {
		later := map[string]func(l *lab){
			"at once":           func(*lab) {},
			"after a new grant": func(l *lab) { l.claim(0, nil) },
			"after a retry":     func(l *lab) { l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry}) },
			"after a retry and a new grant": func(l *lab) {
				l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
				l.claim(0, nil)
			},
			"after a replay": func(l *lab) { l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"}) },
		}
		for when, then := range later {
			for _, late := range []bool{false, true} {
				if late && name == "release" {
					continue
				}
				t.Run(fmt.Sprintf("%s %s late=%v", name, when, late), func(t *testing.T) {
					l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 3 })
					l.fail(l.grant(0, nil))
					l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry}) // refused: it is not dead
					tok := l.grant(0, nil)
					if late {
						l.expire(0)
					}
					first := of(l.do(call(tok)))
					then(l)
					if again := of(l.do(call(tok))); again != first {
						t.Errorf("first %+v, again %+v", first, again)
					}
				})
			}
		}
	}
}

// TestUndelivered: a grant whose answer never left is taken back, not counted, unless the
// claimant entered again.
func TestUndelivered(t *testing.T) {
	l := newLab(t, nil)
	c := l.newClaim(0, version(0, 1))
	tok := l.grant(0, func(x *idem.Claim) { *x = *c })
	d := l.do(&idem.Release{Token: tok, Undelivered: true})
	if l.state(0) != "RECEIVED" || l.ev[0].Attempts != 0 || l.ev[0].Total != 1 || l.res[0].Owned || d.Err != nil {
		t.Errorf("%s, %d attempts", l.state(0), l.ev[0].Attempts)
	}
	tok = l.grant(0, func(x *idem.Claim) { *x = *c; x.Nonce = number(77) }) // the same claimant: it never had one
	l.do(c)
	l.do(&idem.Release{Token: tok, Undelivered: true})
	if l.state(0) != "PROCESSING" {
		t.Errorf("a claim that was entered again was taken back: %s", l.state(0))
	}
}

// TestAttempts: crashes and failures count, releases do not, nothing beyond the maximum.
func TestAttempts(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 3; p.MaxReleases = 2 })
	for range 2 {
		l.do(&idem.Release{Token: l.grant(0, nil)})
	}
	if l.ev[0].Attempts != 0 {
		t.Errorf("releases count: %d", l.ev[0].Attempts)
	}
	l.do(&idem.Release{Token: l.grant(0, nil)}) // beyond the maximum it counts
	l.grant(0, nil)
	l.expire(0)
	l.grant(0, nil)
	l.expire(0)
	if got := l.state(0); got != "DEAD_LETTERED*" {
		t.Errorf("after three attempts: %s", got)
	}
	l.want("a fourth", l.claim(0, nil), idem.OutcomeDeadLettered, idem.DeadLettered)
	l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
	l.grant(0, nil)
	if l.ev[0].Attempts != 1 || l.ev[0].Total != 6 || l.ev[0].Round != 2 {
		t.Errorf("a new round: attempt %d, total %d, round %d", l.ev[0].Attempts, l.ev[0].Total, l.ev[0].Round)
	}
}

// TestNotYet has a budget of its own, by time.
func TestNotYet(t *testing.T) {
	l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 1; p.NotYetBudget = time.Hour })
	wait := func() {
		l.do(&idem.Fail{Token: l.grant(0, nil), Error: idem.Failure{Kind: idem.NotYet}})
		l.comeDue(0)
		l.edit(0, func(e *idem.Event) { e.Waived = false })
	}
	wait()
	wait()
	if l.state(0) != "FAILED_RETRYABLE" || l.ev[0].Attempts != 0 {
		t.Fatalf("%s after %d attempts", l.state(0), l.ev[0].Attempts)
	}
	l.edit(0, func(e *idem.Event) { e.NotYetSince = clock.Add(-time.Hour) })
	wait()
	if l.state(0) != "DEAD_LETTERED" || l.ev[0].Reason != idem.NotYetExhausted {
		t.Errorf("%s, %v", l.state(0), l.ev[0].Reason)
	}
}

// What is not there yet is asked for ever more rarely, as the backoff says, though its
// attempts do not count.
func TestNotYetBacksOff(t *testing.T) {
	b := idem.DefaultPolicy().Backoff
	l := newLab(t, func(p *idem.Policy) { p.Backoff, p.NotYetBudget = b, 24*time.Hour })
	tries, waited, last := 0, time.Duration(0), time.Duration(0)
	for waited < 24*time.Hour && tries < 1000 {
		if waited > 0 {
			l.edit(0, func(e *idem.Event) { e.NotYetSince = clock.Add(-waited) })
		}
		l.do(&idem.Fail{Token: l.grant(0, nil), Error: idem.Failure{Kind: idem.NotYet}})
		pause := l.ev[0].DueAt.Sub(clock)
		if pause < last || pause > b.Cap || pause > max(2*waited, b.Base) {
			t.Fatalf("after %v comes a pause of %v, the one before was %v", waited, pause, last)
		}
		l.comeDue(0)
		l.edit(0, func(e *idem.Event) { e.Waived = false })
		tries, waited, last = tries+1, waited+pause, pause
	}
	if last != b.Cap || tries > 50 {
		t.Errorf("%d tries in a day, the last pause was %v", tries, last)
	}
	for _, b := range []idem.Backoff{{Base: 1, Factor: math.Nextafter(1, 2), Cap: 720 * time.Hour}, {Base: time.Second, Factor: 1, Cap: time.Hour}, {Base: time.Second, Factor: 100, Cap: time.Second}} {
		if n := b.After(100 * 365 * 24 * time.Hour); n < 1 {
			t.Errorf("%+v: after attempt %d", b, n)
		}
	}
}

// A pause that is shorter than instants tell apart is the same when it is told again.
func TestTheShortestPause(t *testing.T) {
	l := newLab(t, nil)
	l.do(&idem.Fail{Token: l.grant(0, nil), Error: idem.Failure{Kind: idem.Retryable}, RetryAfter: 1})
	if e := l.ev[0]; e.DueAt.Sub(clock) != time.Microsecond || e.EndDelay != time.Microsecond {
		t.Errorf("due after %v, told %v", e.DueAt.Sub(clock), e.EndDelay)
	}
}

// An operator who has an event tried again after a replay that failed has begun something
// new: it is no longer what it was before that replay.
func TestARetryEndsWhatAReplayLeft(t *testing.T) {
	l := newLab(t, nil)
	terminal := func(tok idem.Token) {
		l.do(&idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Terminal}})
	}
	terminal(l.grant(0, nil))
	l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"})
	terminal(l.grant(0, func(c *idem.Claim) { c.AcceptReplay = true }))
	if !l.ev[0].ReplayFailed {
		t.Fatal("the replay has not failed")
	}
	l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
	if l.ev[0].ReplayFailed || l.state(0) != "RECEIVED" {
		t.Errorf("%s, replay failed: %v", l.state(0), l.ev[0].ReplayFailed)
	}
}

// TestStarsSurvive: while an event merely waits, its last claim may still complete: it is
// lost only by a newer grant, an operator's decision or a lane given on.
func TestStarsSurvive(t *testing.T) {
	for name, then := range map[string]func(l *lab){
		"a redelivery that finds a lane busy": func(l *lab) { l.grant(1, version(0, 1)); l.claim(0, version(0, 2)) },
		"a retry and a redelivery that finds a lane busy": func(l *lab) {
			l.do(&idem.Resolve{Event: l.dom.ids[0], To: idem.ResolveRetry})
			l.grant(1, version(0, 1))
			l.claim(0, version(0, 2))
		},
		"a redelivery when fewer attempts are allowed now": func(l *lab) { l.sweep(0); l.p.MaxAttempts = 1; l.claim(0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			tok := l.grant(0, func(c *idem.Claim) {
				if strings.HasPrefix(name, "a retry") {
					held(c)
				}
			})
			l.expire(0)
			then(l)
			d := l.do(&idem.Complete{Token: tok, Result: []byte("r")})
			if short(&d) != "PROCESSED late" {
				t.Errorf("%s from %s", short(&d), l.state(0))
			}
		})
	}
}

// TestReplays: a run of its own; what was settled stays until it completes.
func TestReplays(t *testing.T) {
	accept := func(c *idem.Claim) { c.AcceptReplay = true }
	processed := func(t *testing.T) *lab {
		t.Helper()
		l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 1 })
		l.end(l.grant(0, nil))
		l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r1"})
		return l
	}
	told := func(l *lab, what string) {
		l.t.Helper()
		a := l.claim(0, nil)
		if a.Outcome != idem.OutcomeAlreadyProcessed || string(a.Event.Result) != "result" {
			l.t.Errorf("%s: a duplicate is told %v with %q", what, a.Outcome, a.Event.Result)
		}
	}
	for name, end := range map[string]func(l *lab, t idem.Token){
		"fails":                   func(l *lab, t idem.Token) { l.fail(t) },
		"fails terminally":        func(l *lab, t idem.Token) { l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.Terminal}}) },
		"dies":                    func(l *lab, _ idem.Token) { l.expire(0) },
		"dies, fails late":        func(l *lab, t idem.Token) { l.expire(0); l.fail(t) },
		"dies, swept, fails late": func(l *lab, t idem.Token) { l.expire(0); l.sweep(0); l.fail(t) },
		"dies, fails terminally": func(l *lab, t idem.Token) {
			l.expire(0)
			l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.Terminal}})
		},
		"dies, is not ready": func(l *lab, t idem.Token) {
			l.expire(0)
			l.do(&idem.Fail{Token: t, Error: idem.Failure{Kind: idem.NotYet}})
		},
		"dies, is armed, and fails": func(l *lab, t idem.Token) {
			l.expire(0)
			l.do(&idem.Extend{Token: t})
			told(l, "armed again")
			l.fail(t)
		},
		"dies, is armed, and dies": func(l *lab, t idem.Token) { l.expire(0); l.do(&idem.Extend{Token: t}); l.expire(0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := processed(t)
			told(l, "before")
			tok := l.grant(0, accept)
			told(l, "meanwhile")
			end(l, tok)
			told(l, "after")
			e := idem.Settled(l.ev[0], clock, l.p)
			if e.State != idem.Processed || e.Replay || !e.ReplayFailed {
				t.Errorf("the event is %v, replay=%v, failed=%v", e.State, e.Replay, e.ReplayFailed)
			}
			d := l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r2"})
			if d.Err != nil {
				t.Errorf("another replay is refused: %v", d.Err)
			}
		})
	}
	t.Run("completes", func(t *testing.T) {
		l := processed(t)
		tok := l.grant(0, accept)
		l.do(&idem.Complete{Token: tok, Result: []byte("new")})
		if a := l.claim(0, nil); string(a.Event.Result) != "new" || string(l.past[0][0].Result) != "result" {
			t.Errorf("the new result %q, the old one in history %q", a.Event.Result, l.past[0][0].Result)
		}
	})
	t.Run("a ghost is a duplicate too", func(t *testing.T) {
		l := newLab(t, nil)
		c := l.newClaim(0, nil)
		l.end(l.grant(0, func(x *idem.Claim) { *x = *c }))
		l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r1"})
		l.want("waiting", l.do(c).Answer.(*idem.ClaimAnswer), idem.OutcomeAlreadyProcessed, idem.Received)
		l.grant(0, accept)
		l.want("running", l.do(c).Answer.(*idem.ClaimAnswer), idem.OutcomeAlreadyProcessed, idem.Processing)
	})
	t.Run("is stale", func(t *testing.T) {
		l := newLab(t, nil)
		l.end(l.grant(0, version(0, 1)))
		l.end(l.grant(1, version(0, 2)))
		l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r1"})
		l.want("a stale replay", l.claim(0, accept), idem.OutcomeStale, idem.Processed)
		told(l, "after")
	})
	t.Run("asks again by the same request", func(t *testing.T) {
		l := processed(t)
		first := l.ev[0]
		d := l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r1"})
		if d.Err != nil || d.Writes() || l.ev[0] != first || !d.Answer.(*idem.EndAnswer).Already {
			t.Error("the same request is another run")
		}
		d = l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r2"})
		if d.Err == nil || d.Err.Code != idem.CodeReplayRefused {
			t.Error("a second replay while one is under way")
		}
	})
	t.Run("of an event that is claimed", func(t *testing.T) {
		l := newLab(t, nil)
		l.grant(0, nil)
		if d := l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r"}); d.Err == nil || d.Err.Code != idem.CodeReplayRefused {
			t.Error("a live claim does not refuse a replay")
		}
	})
	t.Run("ends at a gate", func(t *testing.T) {
		for name, policy := range map[string]func(*idem.Policy){
			"self": func(p *idem.Policy) { p.SelfOrigins = []string{"me"} },
			"illegal": func(p *idem.Policy) {
				p.Machines = map[string]idem.Machine{"m": {Initial: "a"}}
				p.IllegalEnds = true
			},
		} {
			l := newLab(t, policy)
			claim := func(c *idem.Claim) {
				c.Facts.Origin = "me"
				c.AcceptReplay = true
				c.Ordering = ordering(0, idem.LatestWins, 1)
				if name == "illegal" {
					c.Ordering.Transition = &idem.Transition{Machine: "m", To: "z"}
				}
			}
			l.claim(0, claim)
			l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r1"})
			l.claim(0, claim)
			if e := l.ev[0]; e.State.Finished() && e.Replay {
				t.Errorf("%s: the event is %v and its replay is under way for ever", name, e.State)
			}
		}
	})
}

// TestRepeatKeepsItsDueTime: a redelivery that comes to an end or a hold takes nothing
// from the answer that the failed call was given.
func TestRepeatKeepsItsDueTime(t *testing.T) {
	for name, other := range map[string]int64{"stale": 2, "tied": 1} {
		l := newLab(t, nil)
		tok := l.grant(0, version(0, 1))
		call := &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Retryable}, Draw: 0.25}
		first := l.do(call).Answer.(*idem.EndAnswer)
		l.end(l.grant(1, version(0, other)))
		l.claim(0, nil)
		again := l.do(call).Answer.(*idem.EndAnswer)
		if again.Due != first.Due || again.State != first.State {
			t.Errorf("%s: first %v due %d, again %v due %d", name, first.State, first.Due, again.State, again.Due)
		}
	}
}
