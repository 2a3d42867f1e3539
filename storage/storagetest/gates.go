package storagetest

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// gates are the gates of a claim in their order.
var gates = []test{
	{"Gates/01Signature", gateSignature},
	{"Gates/02Reenter", gateReenter},
	{"Gates/03Ghost", gateGhost},
	{"Gates/04Mismatch", gateMismatch},
	{"Gates/05InProgress", gateInProgress},
	{"Gates/07Ended", gateEnded},
	{"Gates/08SelfOrigin", gateSelfOrigin},
	{"Gates/09RetryScheduled", gateRetryScheduled},
	{"Gates/09Waiver", gateWaiver},
	{"Gates/10AttemptsUsedUp", gateExhausted},
	{"Gates/11Stale", gateStale},
	{"Gates/12Tied", gateTied},
	{"Gates/13IllegalEnds", gateIllegalEnds},
	{"Gates/15bExpiredOwner", gateExpiredOwner},
	{"Gates/16Grant", gateGrant},
}

func gateSignature(s *site) {
	s.outcome(idem.OutcomeRejected, s.claim("forged", signed(idem.SignatureFailed)))
	s.grant("unsigned", signed(idem.NotChecked), ordered(s.latest("r", 1))) // nobody has seen a signature of this source yet
	s.refused(idem.CodeKindMismatch, s.claim("refused", signed(idem.Verified), ordered(s.moment("r", 2))))
	s.grant("unsigned too", signed(idem.NotChecked)) // what was refused has changed nothing
	s.grant("signed", signed(idem.Verified))
	a := s.outcome(idem.OutcomeRejected, s.claim("unsigned2", signed(idem.NotChecked)))
	equal(s, "advice", a.Advice, idem.AdviceRepeatLater)
	s.grant("late", signed(idem.VerifiedLate))
	s.grant("elsewhere", from("other"), signed(idem.NotChecked))
	for _, event := range []string{"forged", "unsigned2"} {
		if _, ok := s.find(s.key(event)); ok {
			s.Errorf("the rejected delivery left a record of event %s", event)
		}
	}
	s.policy(func(p *idem.Policy) { p.Signature = idem.SignatureOptional })
	s.grant("optional", signed(idem.NotChecked))
	s.policy(func(p *idem.Policy) { p.Signature = idem.SignatureRequired })
	s.outcome(idem.OutcomeRejected, s.claim("required", from("new"), signed(idem.NotChecked)))
}

func gateReenter(s *site) {
	g := s.grant("e")
	for range 3 {
		a := s.outcome(idem.OutcomeClaimed, g.claim)
		equal(s, "re-entered", a.Reentered, true)
		equal(s, "granted", a.Granted, false)
		equal(s, "fence", a.Event.Fence, g.Fence)
		equal(s, "nonce", a.Event.Nonce, g.Nonce)
		equal(s, "lease", a.Event.LeaseUntil, g.answer.Event.LeaseUntil)
		equal(s, "attempts", a.Event.Attempts, 1)
	}
	s.outcome(idem.OutcomeInProgress, g.claim)
	g.complete("done")
}

func gateGhost(s *site) {
	s.policy(func(p *idem.Policy) { p.WaiveInterval = 0 })
	for name, end := range map[string]func(g *grant) idem.Outcome{
		"done":     func(g *grant) idem.Outcome { g.complete("done"); return idem.OutcomeAlreadyProcessed },
		"failed":   func(g *grant) idem.Outcome { g.fail(idem.Retryable); return idem.OutcomeRetryScheduled },
		"terminal": func(g *grant) idem.Outcome { g.fail(idem.Terminal); return idem.OutcomeFailedTerminal },
		"released": func(g *grant) idem.Outcome { g.release(); return idem.OutcomeRetryScheduled },
		"expired":  func(g *grant) idem.Outcome { g.expire(); return idem.OutcomeRetryScheduled },
		"followed": func(g *grant) idem.Outcome {
			g.fail(idem.Retryable)
			g.s.grant("followed").fail(idem.Retryable)
			return idem.OutcomeRetryScheduled
		},
		"replaced": func(g *grant) idem.Outcome { g.expire(); g.s.grant("replaced"); return idem.OutcomeInProgress },
	} {
		g := s.grant(name)
		want := end(g)
		s.outcome(want, g.claim)
		s.outcome(want, g.claim)
	}
}

func gateMismatch(s *site) {
	g := s.grant("e", hashed("A"), payload("body A"))
	a := s.outcome(idem.OutcomeInProgress, s.claim("e", hashed("B"), payload("body B")))
	if len(a.Anomalies) != 1 || a.Anomalies[0] != idem.AnomalyMismatch {
		s.Errorf("anomalies: got %v, want PAYLOAD_MISMATCH", a.Anomalies)
	}
	a = s.outcome(idem.OutcomeInProgress, s.claim("e")) // an absent hash gives no verdict
	equal(s, "anomalies", len(a.Anomalies), 0)
	g.complete("done") // the running claim is not disturbed
	a = s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e", hashed("B")))
	equal(s, "anomalies", len(a.Anomalies), 1)
	equal(s, "stored hash", string(s.state("e", idem.Processed).Facts.PayloadHash), "A")
	body, ok, err := s.b.Payload(s.Context(), s.key("e").EventRef)
	if err != nil || !ok || string(body) != "body A" {
		s.Errorf("payload: got %q, %v, %v; want the first", body, ok, err)
	}

	s.policy(func(p *idem.Policy) { p.RefuseMismatch = true })
	f := s.grant("f", hashed("A"))
	f.fail(idem.Retryable)
	before := s.view("f").Event.Version
	s.outcome(idem.OutcomeMismatch, s.claim("f", hashed("B")))
	equal(s, "row version", s.state("f", idem.FailedRetryable).Version, before)
}

func gateInProgress(s *site) {
	s.grant("e")
	a := s.outcome(idem.OutcomeInProgress, s.claim("e"))
	equal(s, "advice", a.Advice, idem.AdviceRepeatLater)
	if a.RetryIn <= 0 || a.RetryIn > theLease {
		s.Errorf("retry in %v, want what is left of the lease", a.RetryIn)
	}
}

func gateEnded(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	for name, tt := range map[string]struct {
		end  func(g *grant)
		want idem.Outcome
	}{
		"terminal": {func(g *grant) { g.fail(idem.Terminal) }, idem.OutcomeFailedTerminal},
		"dead":     {func(g *grant) { g.fail(idem.Retryable) }, idem.OutcomeDeadLettered},
		"expired":  {func(g *grant) { g.expire() }, idem.OutcomeDeadLettered},
		"held":     {func(g *grant) { g.expire() }, idem.OutcomeHeld},
	} {
		opts := []option{}
		if name == "held" {
			opts = append(opts, stale(idem.Hold))
		}
		tt.end(s.grant(name, opts...))
		before := s.view(name).Event
		for range 3 {
			a := s.outcome(tt.want, s.claim(name, kind(idem.ProviderRetry)))
			equal(s, "advice", a.Advice, idem.AdviceAcknowledge)
		}
		after := s.view(name).Event
		equal(s, name+": state", after.State, before.State)
		equal(s, name+": row version", after.Version, before.Version)
	}
}

func gateSelfOrigin(s *site) {
	s.policy(func(p *idem.Policy) { p.SelfOrigins = []string{"us"} })
	s.outcome(idem.OutcomeSelfOriginated, s.claim("e", origin("us")))
	s.state("e", idem.IgnoredSelf)
	s.outcome(idem.OutcomeSelfOriginated, s.claim("e", origin("us")))
	s.grant("f", origin("them"))
}

func gateRetryScheduled(s *site) {
	s.grant("e").fail(idem.Retryable)
	for _, k := range []idem.DeliveryKind{idem.ConsumerRequeue, idem.ClientRepeat} {
		a := s.outcome(idem.OutcomeRetryScheduled, s.claim("e", kind(k)))
		equal(s, "advice", a.Advice, idem.AdviceRepeatLater)
		if a.RetryIn <= 59*time.Minute || a.RetryIn > time.Hour {
			s.Errorf("retry in %v, want an hour", a.RetryIn)
		}
	}
	s.h.Due(s.T, s.key("e").ID())
	equal(s, "attempt", s.grant("e", kind(idem.ConsumerRequeue)).answer.Event.Attempts, 2)
}

// gateWaiver: a provider's redelivery is granted at once, once per interval, unless it
// was here before the failure.
func gateWaiver(s *site) {
	s.policy(func(p *idem.Policy) { p.WaiveInterval = time.Hour })
	a := s.grant("e").fail(idem.Retryable)
	failed := a.Now
	s.outcome(idem.OutcomeRetryScheduled, s.claim("e", kind(idem.ProviderRetry), arrived(failed.Add(-time.Second))))
	g := s.grant("e", kind(idem.ProviderRetry), arrived(failed.Add(time.Minute)))
	equal(s, "attempt", g.answer.Event.Attempts, 2)
	g.fail(idem.Retryable)
	s.outcome(idem.OutcomeRetryScheduled, s.claim("e", kind(idem.ProviderRetry)))
	s.h.Due(s.T, s.key("e").ID())
	equal(s, "attempt", s.grant("e", kind(idem.ProviderRetry)).answer.Event.Attempts, 3)
}

// gateExhausted: max_attempts follows the live policy.
func gateExhausted(s *site) {
	s.grant("e").fail(idem.Retryable)
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	s.outcome(idem.OutcomeDeadLettered, s.claim("e"))
	equal(s, "reason", s.state("e", idem.DeadLettered).Reason, idem.AttemptsExhausted)
}

func gateStale(s *site) {
	old := s.grant("old", ordered(s.latest("r", 1)))
	old.fail(idem.Retryable)
	s.grant("new", ordered(s.latest("r", 2))).complete("done")
	a := s.outcome(idem.OutcomeStale, s.claim("old"))
	equal(s, "advice", a.Advice, idem.AdviceAcknowledge)
	if a.Current == nil || a.Current.Value != 2 {
		s.Errorf("current version: got %+v, want 2", a.Current)
	}
	s.state("old", idem.IgnoredStale)
	s.outcome(idem.OutcomeStale, s.claim("older", ordered(s.latest("r", 0))))
	s.state("older", idem.IgnoredStale)
	s.outcome(idem.OutcomeStale, s.claim("older"))
}

func gateTied(s *site) {
	for _, tt := range []struct {
		name string
		rule idem.TieRule
		want idem.Outcome
		then idem.State
	}{
		{"Hold", idem.TieHold, idem.OutcomeVersionTied, idem.Held},
		{"Apply", idem.TieApply, idem.OutcomeClaimed, idem.Processing},
		{"Skip", idem.TieSkip, idem.OutcomeVersionTied, idem.IgnoredStale},
	} {
		for _, order := range []func(string, int64) idem.Ordering{s.latest, s.moment} {
			name := tt.name + "Sequence"
			if order("", 0).Version.Kind == idem.Moment {
				name = tt.name + "Moment"
			}
			s.sub(name, func(s *site) {
				s.policy(func(p *idem.Policy) { p.TieSequence, p.TieMoment = tt.rule, tt.rule })
				s.grant(name+"1", ordered(order(name, 5))).complete("done")
				a := s.outcome(tt.want, s.claim(name+"2", ordered(order(name, 5))))
				e := s.state(name+"2", tt.then)
				equal(s, "tied", e.Tied, tt.then == idem.Processing)
				equal(s, "waits for a person", a.Advice == idem.AdviceAcknowledge, tt.then != idem.Processing)
				s.outcome(idem.OutcomeAlreadyProcessed, s.claim(name+"1"))
			})
		}
	}
	s.sub("Defaults", func(s *site) {
		s.grant("s1", ordered(s.latest("s", 5))).complete("done")
		s.outcome(idem.OutcomeVersionTied, s.claim("s2", ordered(s.latest("s", 5))))
		equal(s, "reason", s.state("s2", idem.Held).Reason, idem.TiedVersion)
		s.grant("m1", ordered(s.moment("m", 5))).complete("done")
		equal(s, "tied", s.grant("m2", ordered(s.moment("m", 5))).answer.Event.Tied, true)
	})
}

func gateIllegalEnds(s *site) {
	s.policy(func(p *idem.Policy) { machine(p); p.IllegalEnds = true })
	s.grant("a", ordered(to(s.latest("r", 1), "new"))).complete("done")
	s.grant("b", ordered(to(s.latest("r", 2), "sent"))).complete("done")
	a := s.outcome(idem.OutcomeIllegal, s.claim("c", ordered(to(s.latest("r", 3), "paid"))))
	equal(s, "advice", a.Advice, idem.AdviceAcknowledge)
	equal(s, "reason", s.state("c", idem.FailedTerminal).Reason, idem.IllegalStep)
}

// gateExpiredOwner: giving on an expired owner's lane settles the owner in the same
// breath.
func gateExpiredOwner(s *site) {
	owner := s.grant("owner", ordered(s.latest("r", 1)))
	owner.check(idem.VerdictApply, s.latest("r2", 1))
	owner.expire()
	g := s.grant("next", ordered(s.latest("r", 2)))
	if g.answer.LaneFence <= owner.answer.LaneFence {
		s.Errorf("lane fence %d after %d", g.answer.LaneFence, owner.answer.LaneFence)
	}
	equal(s, "settled", s.settle(owner.Event).Already, true)
	e := s.state("owner", idem.FailedRetryable)
	equal(s, "end", e.End, idem.EndExpired)
	s.verdict(idem.VerdictApply, s.plain(s.latest("r2", 1))) // its other lane is free too
	s.refused(idem.CodeClaimLost, &idem.Extend{Token: owner.Token})
	s.outcome(idem.OutcomeResourceBusy, s.claim("owner"))
}

func gateGrant(s *site) {
	g := s.grant("e", hashed("A"), lease(5*time.Minute))
	a := g.answer
	equal(s, "advice", a.Advice, idem.AdviceProcess)
	equal(s, "fresh", a.Fresh, true)
	equal(s, "state", a.Event.State, idem.Processing)
	equal(s, "attempt", a.Event.Attempts, 1)
	equal(s, "max", a.Max, 8)
	equal(s, "lease", a.Event.LeaseUntil.Sub(a.Now), 5*time.Minute)
	equal(s, "disposition", a.Disposition(), idem.DispositionAccepted)
	equal(s, "payload hash", string(a.Event.AttemptHash), "A")
	g.fail(idem.Retryable)
	h := s.grant("e", hashed("B"))
	equal(s, "attempt", h.answer.Event.Attempts, 2)
	equal(s, "payload hash of this attempt", string(h.answer.Event.AttemptHash), "B")
	equal(s, "payload hash of the record", string(h.answer.Event.Facts.PayloadHash), "A")
	equal(s, "disposition", h.answer.Disposition(), idem.DispositionRedeliveredOK)
	equal(s, "previous error", h.answer.Previous.Code, "BROKEN")
	if h.Fence <= g.Fence || h.Nonce == g.Nonce {
		s.Errorf("token %+v after %+v", h.Token, g.Token)
	}
}
