package storagetest

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// tokenCalls is the table of calls with a claim token, by rows: each call on a live
// claim, on an expired one, on one that its owner ended, and on a lost one.
var tokenCalls = []test{
	{"Tokens/Complete/Live", completeLive},
	{"Tokens/Complete/Expired", completeExpired},
	{"Tokens/Complete/Ended", completeEnded},
	{"Tokens/Complete/OpenEffects", completeOpenEffects},
	{"Tokens/Complete/LateReport", completeLateReport},
	{"Tokens/Complete/AppliedVersion", completeAppliedVersion},
	{"Tokens/Fail/Live", failLive},
	{"Tokens/Fail/UnknownEffect", failUnknownEffect},
	{"Tokens/Fail/Expired", failExpired},
	{"Tokens/Fail/Ended", failEnded},
	{"Tokens/Fail/NotYet", failNotYet},
	{"Tokens/FailTerminal", failTerminal},
	{"Tokens/Extend/Live", extendLive},
	{"Tokens/Extend/Expired", extendExpired},
	{"Tokens/Extend/RetakesLanes", extendRetakesLanes},
	{"Tokens/Release/Live", releaseLive},
	{"Tokens/Release/Effects", releaseEffects},
	{"Tokens/Release/Limit", releaseLimit},
	{"Tokens/Release/Expired", releaseExpired},
	{"Tokens/Release/Undelivered", releaseUndelivered},
	{"Tokens/Rights", tokenRights},
	{"Tokens/Lost", tokenLost},
}

func completeLive(s *site) {
	g := s.grant("e", ordered(s.latest("r", 3)))
	a := g.complete("done")
	equal(s, "state", a.State, idem.Processed)
	equal(s, "late", a.Late, false)
	equal(s, "already", a.Already, false)
	e := s.state("e", idem.Processed)
	equal(s, "result", string(e.Result), "done")
	equal(s, "content type", e.ContentType, "text/plain")
	s.applied("e", "r", 3)
	s.grant("e2", ordered(s.latest("r", 4))) // the lane is free
}

// completeExpired: a fact is accepted, flagged late, from whatever the lease's end made
// of the record, and whether or not anybody has written that down.
func completeExpired(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	for _, tt := range []struct {
		name string
		opts []option
		want idem.State // of the lease's end
	}{
		{"Reclaim", nil, idem.FailedRetryable},
		{"Hold", []option{stale(idem.Hold)}, idem.Held},
		{"Dead", []option{eventType("once")}, idem.DeadLettered},
	} {
		for _, written := range []bool{false, true} {
			event := tt.name
			if written {
				event += "Written"
			}
			s.sub(event, func(s *site) {
				g := s.grant(event, append(tt.opts, ordered(s.latest(event, 1)))...)
				g.expire()
				s.state(event, tt.want)
				if written {
					equal(s, "settled", s.settle(g.Event).State, tt.want)
				}
				a := g.complete("late")
				equal(s, "late", a.Late, true)
				equal(s, "state", a.State, idem.Processed)
				e := s.state(event, idem.Processed)
				equal(s, "attempts", e.Attempts, 1)
				equal(s, "result", string(e.Result), "late")
				s.applied(event, event, 1)
			})
		}
	}
	s.sub("AfterOperatorsRetry", func(s *site) {
		g := s.grant("retry", stale(idem.Hold))
		g.expire()
		s.resolve("retry", idem.ResolveRetry)
		equal(s, "late", g.complete("late").Late, true)
		s.state("retry", idem.Processed)
	})
	s.sub("AfterOperatorsRetryAndGrant", func(s *site) {
		g := s.grant("retried", stale(idem.Hold))
		g.expire()
		s.resolve("retried", idem.ResolveRetry)
		s.grant("retried")
		s.refused(idem.CodeClaimLost, g.completion("late"))
	})
}

func completeEnded(s *site) {
	g := s.grant("e")
	g.complete("done")
	a := g.complete("done")
	equal(s, "already", a.Already, true)
	equal(s, "state", a.State, idem.Processed)
	s.refused(idem.CodeAlreadyEnded, g.completion("other"))
	equal(s, "result", string(s.state("e", idem.Processed).Result), "done")

	f := s.grant("f")
	f.fail(idem.Retryable)
	s.refused(idem.CodeAlreadyEnded, f.completion("done"))
	s.state("f", idem.FailedRetryable)
}

func completeOpenEffects(s *site) {
	g := s.grant("e")
	s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, "e", "mail"), ""))
	err := s.refusal(idem.CodeOpenEffects, g.completion("done"))
	if len(err.Names) != 1 || err.Names[0] != "mail" {
		s.Errorf("open effects: got %q, want mail", err.Names)
	}
	s.state("e", idem.Processing)
	g.extend(0) // the claim stays

	c := g.completion("done")
	c.AllowUnknown = true
	do[*idem.EndAnswer](s, c)
	s.state("e", idem.Processed)
	v := s.view("e")
	if len(v.Effects) != 1 || v.Effects[0].State != idem.EffectUnknown {
		s.Errorf("effects: got %+v, want one of unknown outcome", v.Effects)
	}
}

// completeLateReport: a completion of a lost claim changes nothing and is kept for the
// operator and the next grant.
func completeLateReport(s *site) {
	lost := s.grant("e")
	lost.expire()
	second := s.grant("e")
	s.refused(idem.CodeClaimLost, lost.completion("too late"))
	s.refused(idem.CodeClaimLost, lost.completion("too late")) // a repeat is the same report
	e := s.state("e", idem.Processing)
	equal(s, "fence", e.Fence, second.Fence)
	equal(s, "late reports", len(e.LateReports), 1)
	second.expire()
	third := s.grant("e")
	if got := third.answer.Late; len(got) != 1 || got[0].Fence != lost.Fence || got[0].Call != idem.EndCompleted {
		s.Errorf("late reports of the next grant: got %+v, want the lost claim's completion", got)
	}
	equal(s, "late reports of its own record", len(s.state("e", idem.Processing).LateReports), 0)
	third.expire()
	equal(s, "late reports of the grant after", len(s.grant("e").answer.Late), 0)
}

func completeAppliedVersion(s *site) {
	g := s.grant("e", ordered(s.latest("r", 3)))
	c := g.completion("done")
	c.Applied = &idem.Version{Kind: idem.Moment, Value: 9}
	s.refused(idem.CodeKindMismatch, c)
	s.state("e", idem.Processing) // a refused completion leaves the claim alive
	c.Applied = &idem.Version{Kind: idem.Sequence, Value: 9}
	do[*idem.EndAnswer](s, c)
	s.applied("e", "r", 9)
	s.outcome(idem.OutcomeStale, s.claim("e5", ordered(s.latest("r", 5))))

	g = s.grant("f", ordered(s.latest("q", 3)))
	c = g.completion("done")
	c.Applied = &idem.Version{Kind: idem.Sequence, Value: 2}
	do[*idem.EndAnswer](s, c)
	s.applied("f", "q", 3) // never lowered

	c = s.grant("g").completion("done")
	c.Applied = &idem.Version{Kind: idem.Sequence, Value: 1}
	s.refused(idem.CodeInvalid, c) // it reserved nothing
}

func failLive(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 2 })
	g := s.grant("e", ordered(s.latest("r", 3)))
	a := g.fail(idem.Retryable)
	equal(s, "state", a.State, idem.FailedRetryable)
	equal(s, "attempt", a.Attempt, 1)
	if due := a.Due.Sub(a.Now); due <= 59*time.Minute || due > time.Hour {
		s.Errorf("due in %v, want the caller's hour", due)
	}
	s.grant("other", ordered(s.latest("r", 2))).complete("older") // the lane is free and nothing was applied
	g = s.grant("e")
	equal(s, "previous error", g.answer.Previous.Message, "no")
	a = g.fail(idem.Retryable)
	equal(s, "state", a.State, idem.DeadLettered)
	equal(s, "attempt", a.Attempt, 2)
	s.outcome(idem.OutcomeDeadLettered, s.claim("e"))
}

// failUnknownEffect: a failure after an effect of unknown outcome is not tried again
// where a person decides about such effects.
func failUnknownEffect(s *site) {
	for _, tt := range []struct {
		name      string
		onUnknown idem.OnUnknown
		end       func(s *site, a *idem.EffectAnswer)
		want      idem.State
	}{
		{"HoldReported", idem.UnknownHold, func(s *site, a *idem.EffectAnswer) {
			do[*idem.EffectAnswer](s, report(a.Token, idem.EffectUnknown, "?"))
		}, idem.Held},
		{"HoldLeaseOver", idem.UnknownHold, func(s *site, a *idem.EffectAnswer) { s.h.Expire(s.T, a.Token.Effect) }, idem.Held},
		{"HoldDone", idem.UnknownHold, func(s *site, a *idem.EffectAnswer) { do[*idem.EffectAnswer](s, report(a.Token, idem.EffectDone, "ok")) }, idem.FailedRetryable},
		{"RetryReported", idem.UnknownRetry, func(s *site, a *idem.EffectAnswer) {
			do[*idem.EffectAnswer](s, report(a.Token, idem.EffectUnknown, "?"))
		}, idem.FailedRetryable},
	} {
		s.sub(tt.name, func(s *site) {
			g := s.grant(tt.name)
			c := s.beginning(g, s.effect(idem.EventScope, tt.name, "pay"), "")
			c.OnUnknown = tt.onUnknown
			tt.end(s, s.begin(idem.EffectPerform, c))
			equal(s, "state", g.fail(idem.Retryable).State, tt.want)
			s.state(tt.name, tt.want)
		})
	}
}

func failExpired(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	for _, written := range []bool{false, true} {
		suffix := ""
		if written {
			suffix = "Written"
		}
		s.sub("Reclaim"+suffix, func(s *site) {
			g := s.grant("a" + suffix)
			g.expire()
			if written {
				s.settle(g.Event)
			}
			a := g.fail(idem.Retryable)
			equal(s, "late", a.Late, true)
			equal(s, "state", a.State, idem.FailedRetryable)
			equal(s, "attempt", a.Attempt, 1) // not counted twice
			equal(s, "error", s.state("a"+suffix, idem.FailedRetryable).Error.Message, "no")
		})
		s.sub("Hold"+suffix, func(s *site) {
			g := s.grant("h"+suffix, stale(idem.Hold))
			g.expire()
			if written {
				s.settle(g.Event)
			}
			equal(s, "state", g.fail(idem.Retryable).State, idem.FailedRetryable)
		})
		s.sub("Dead"+suffix, func(s *site) {
			g := s.grant("d"+suffix, eventType("once"))
			g.expire()
			if written {
				s.settle(g.Event)
			}
			equal(s, "state", g.fail(idem.Retryable).State, idem.DeadLettered)
			equal(s, "error", s.state("d"+suffix, idem.DeadLettered).Error.Message, "no")
		})
	}
	s.sub("DeadStaysUnderAMilderPolicy", func(s *site) {
		g := s.grant("milder", eventType("once"))
		g.expire()
		s.settle(g.Event)
		s.policy(func(p *idem.Policy) { p.MaxAttempts = 8 })
		equal(s, "state", g.fail(idem.Retryable).State, idem.DeadLettered)
	})
	s.sub("AfterOperatorsRetry", func(s *site) { // only a completion still counts
		g := s.grant("retried", stale(idem.Hold))
		g.expire()
		s.resolve("retried", idem.ResolveRetry)
		s.refused(idem.CodeClaimLost, g.failure(idem.Retryable, "late"))
		s.refused(idem.CodeClaimLost, &idem.Extend{Token: g.Token})
		s.state("retried", idem.Received)
	})
}

func failEnded(s *site) {
	g := s.grant("e")
	first := g.fail(idem.Retryable)
	again := g.fail(idem.Retryable)
	equal(s, "already", again.Already, true)
	equal(s, "state", again.State, first.State)
	equal(s, "due", again.Due, first.Due)
	equal(s, "attempts", s.state("e", idem.FailedRetryable).Attempts, 1)
	s.refused(idem.CodeAlreadyEnded, g.failure(idem.Retryable, "another story"))
	s.refused(idem.CodeAlreadyEnded, g.failure(idem.Terminal, "no"))

	// The answer is kept when the next attempt is under way.
	second := s.grant("e")
	again = g.fail(idem.Retryable)
	equal(s, "already", again.Already, true)
	equal(s, "state", again.State, first.State)
	equal(s, "due", again.Due, first.Due)
	equal(s, "fence", s.state("e", idem.Processing).Fence, second.Fence)
}

// failNotYet: what it needs does not exist yet is not the handler's failure. It counts
// no attempt and has a budget of its own, by time.
func failNotYet(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts, p.NotYetBudget, p.WaiveInterval = 1, time.Hour, 0 })
	for range 3 {
		a := s.grant("e").fail(idem.NotYet)
		equal(s, "state", a.State, idem.FailedRetryable)
		equal(s, "counted", a.Counted, false)
		equal(s, "attempt", a.Attempt, 0)
	}
	g := s.grant("e")
	s.h.Later(s.T, s.key("e").ID(), 2*time.Hour)
	g.extend(theLease)
	equal(s, "state after the budget", g.fail(idem.NotYet).State, idem.DeadLettered)
	equal(s, "reason", s.state("e", idem.DeadLettered).Reason, idem.NotYetExhausted)
}

func failTerminal(s *site) {
	g := s.grant("live", ordered(s.latest("r", 3)))
	first := g.fail(idem.Terminal)
	equal(s, "state", first.State, idem.FailedTerminal)
	s.grant("older", ordered(s.latest("r", 2))) // lane free, nothing applied
	again := g.fail(idem.Terminal)
	equal(s, "already", again.Already, true)
	equal(s, "state", again.State, idem.FailedTerminal)
	s.outcome(idem.OutcomeFailedTerminal, s.claim("live"))

	for _, hold := range []idem.StaleClaim{idem.Reclaim, idem.Hold} {
		event := []string{"", "reclaim", "hold"}[hold]
		g := s.grant(event, stale(hold))
		g.expire()
		a := g.fail(idem.Terminal)
		equal(s, event+": late", a.Late, true)
		equal(s, event+": state", a.State, idem.FailedTerminal)
	}
}

func extendLive(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxClaimAge = 30 * time.Minute })
	g := s.grant("e")
	old := g.answer.Event.LeaseUntil
	a := g.extend(time.Minute)
	if a.LeaseUntil < old {
		s.Errorf("the lease shrank from %v to %v", old.Time(), a.LeaseUntil.Time())
	}
	a = g.extend(20 * time.Minute)
	if a.LeaseUntil <= old {
		s.Errorf("the lease did not grow beyond %v", old.Time())
	}
	a = g.extend(3 * time.Hour)
	if age := a.LeaseUntil.Sub(a.Event.GrantedAt); age != 30*time.Minute {
		s.Errorf("the claim may last %v, want the policy's 30m", age)
	}
	equal(s, "re-armed", a.Rearmed, false)
	g.complete("done")
	s.refused(idem.CodeAlreadyEnded, &idem.Extend{Token: g.Token})
}

func extendExpired(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	for _, tt := range []struct {
		name string
		opts []option
		want idem.State
	}{
		{"Reclaim", nil, idem.FailedRetryable},
		{"Hold", []option{stale(idem.Hold)}, idem.Held},
		{"Dead", []option{eventType("once")}, idem.DeadLettered},
	} {
		for _, written := range []bool{false, true} {
			event := tt.name
			if written {
				event += "Written"
			}
			s.sub(event, func(s *site) {
				g := s.grant(event, tt.opts...)
				g.expire()
				s.state(event, tt.want)
				if written {
					s.settle(g.Event)
				}
				before := s.view(event).Event.Version
				a := g.extend(theLease)
				equal(s, "re-armed", a.Rearmed, true)
				if a.LeaseUntil <= a.Now {
					s.Errorf("the lease is over at %v", a.LeaseUntil.Time())
				}
				e := s.state(event, idem.Processing)
				equal(s, "fence", e.Fence, g.Fence)
				equal(s, "attempts", e.Attempts, 1)
				if e.Version <= before {
					s.Errorf("row version %d after %d: re-arming is journaled", e.Version, before)
				}
				s.outcome(idem.OutcomeInProgress, s.claim(event))
				equal(s, "late", g.complete("done").Late, false)
			})
		}
	}
	s.sub("TooOld", func(s *site) {
		g := s.grant("old")
		s.h.Later(s.T, g.Event, 25*time.Hour)
		s.refused(idem.CodeClaimExpired, &idem.Extend{Token: g.Token})
	})
}

func extendRetakesLanes(s *site) {
	g := s.grant("e", ordered(s.latest("r", 1)))
	g.expire()
	s.settle(g.Event)
	g.extend(theLease)
	s.outcome(idem.OutcomeResourceBusy, s.claim("e2", ordered(s.latest("r", 2))))
	g.complete("done")
	s.grant("e2")
}

func releaseLive(s *site) {
	s.policy(func(p *idem.Policy) { p.ReleaseDelay = time.Hour })
	g := s.grant("e", ordered(s.latest("r", 3)))
	a := g.release()
	equal(s, "state", a.State, idem.Received)
	equal(s, "counted", a.Counted, false)
	if rest := a.Due.Sub(a.Now); rest != time.Hour {
		s.Errorf("rests %v, want the policy's hour", rest)
	}
	equal(s, "attempts", s.state("e", idem.Received).Attempts, 0)
	s.grant("older", ordered(s.latest("r", 2))).complete("") // lane free, nothing applied
	again := g.release()
	equal(s, "already", again.Already, true)
	equal(s, "state", again.State, idem.Received)
	equal(s, "due", again.Due, a.Due)
	s.refused(idem.CodeAlreadyEnded, g.completion("done"))
	s.h.Due(s.T, g.Event)
	equal(s, "attempt", s.grant("e").answer.Event.Attempts, 1)
}

func releaseEffects(s *site) {
	g := s.grant("e")
	s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, "e", "mail"), ""))
	a := g.release()
	equal(s, "counted", a.Counted, true)
	equal(s, "attempts", s.state("e", idem.Received).Attempts, 1)
	v := s.view("e")
	if len(v.Effects) != 1 || v.Effects[0].State != idem.EffectUnknown {
		s.Errorf("effects: got %+v, want one of unknown outcome", v.Effects)
	}
}

func releaseLimit(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxReleases, p.MaxAttempts = 2, 2 })
	for i, counted := range []bool{false, false, true} {
		a := s.grant("e").release()
		equal(s, "counted", a.Counted, counted)
		equal(s, "state", a.State, idem.Received)
		equal(s, "attempts", a.Attempt, int32(i/2))
	}
	a := s.grant("e").release()
	equal(s, "state", a.State, idem.Received)
	s.outcome(idem.OutcomeDeadLettered, s.claim("e"))
	equal(s, "reason", s.state("e", idem.DeadLettered).Reason, idem.AttemptsExhausted)
}

func releaseExpired(s *site) {
	g := s.grant("e")
	g.expire()
	a := g.release()
	equal(s, "state", a.State, idem.FailedRetryable)
	equal(s, "late", a.Late, true)
	equal(s, "attempts", s.state("e", idem.FailedRetryable).Attempts, 1)
	g.complete("done") // it was no ending call

	h := s.grant("h", stale(idem.Hold))
	h.expire()
	equal(s, "state", h.release().State, idem.Held)
	s.state("h", idem.Held)
}

// releaseUndelivered: a grant whose answer never left the server is taken back, unless
// its claimant has come again in the meantime.
func releaseUndelivered(s *site) {
	g := s.grant("e")
	a := do[*idem.EndAnswer](s, &idem.Release{Token: g.Token, Undelivered: true})
	equal(s, "state", a.State, idem.Received)
	equal(s, "counted", a.Counted, false)
	e := s.state("e", idem.Received)
	equal(s, "attempts", e.Attempts, 0)
	equal(s, "releases", e.Releases, 0)
	s.refused(idem.CodeClaimLost, g.completion("done"))

	g = s.grant("f")
	s.outcome(idem.OutcomeClaimed, g.claim)
	do[*idem.EndAnswer](s, &idem.Release{Token: g.Token, Undelivered: true})
	s.state("f", idem.Processing)
	g.complete("done")
}

// rights are the calls that only a live claim may make.
func (s *site) rights(g *grant) []idem.Command {
	event := g.claim.Key.EventID
	return []idem.Command{
		g.checking(s.latest("rights-"+event, 1)),
		s.beginning(g, s.effect(idem.EventScope, event, "begin"), ""),
		s.recording(g, s.effect(idem.EventScope, event, "record"), "", "v"),
	}
}

func tokenRights(s *site) {
	live := s.grant("live")
	for _, c := range s.rights(live) {
		if res := s.apply(c); res.Err != nil {
			s.Errorf("live: %T: %v", c, res.Err)
		}
	}
	expired := s.grant("expired")
	expired.expire()
	for _, c := range s.rights(expired) {
		s.refused(idem.CodeClaimExpired, c)
	}
	s.settle(expired.Event)
	for _, c := range s.rights(expired) {
		s.refused(idem.CodeClaimExpired, c)
	}
	expired.extend(theLease)
	for _, c := range s.rights(expired) {
		if res := s.apply(c); res.Err != nil {
			s.Errorf("re-armed: %T: %v", c, res.Err)
		}
	}
	for name, end := range map[string]func(g *grant){
		"completed": func(g *grant) { g.complete("done") },
		"failed":    func(g *grant) { g.fail(idem.Retryable) },
		"rejected":  func(g *grant) { g.fail(idem.Terminal) },
		"released":  func(g *grant) { g.release() },
	} {
		g := s.grant(name)
		end(g)
		for _, c := range append(s.rights(g), &idem.Extend{Token: g.Token}) {
			s.refused(idem.CodeAlreadyEnded, c)
		}
	}
}

// tokenLost: every way to lose a claim ends every right and every report of its token,
// and moves nothing.
func tokenLost(s *site) {
	s.policy(func(p *idem.Policy) { p.HeldLanes = false })
	for name, lose := range map[string]func(s *site) *grant{
		"NewerGrant": func(s *site) *grant {
			g := s.grant("newer")
			g.expire()
			s.grant("newer")
			return g
		},
		"NewerGrantThatEnded": func(s *site) *grant {
			g := s.grant("ended")
			g.expire()
			s.grant("ended").complete("done")
			return g
		},
		"ResolvedProcessed": func(s *site) *grant {
			g := s.grant("processed", stale(idem.Hold))
			g.expire()
			s.resolve("processed", idem.ResolveProcessed)
			return g
		},
		"ResolvedTerminal": func(s *site) *grant {
			g := s.grant("terminal", stale(idem.Hold))
			g.expire()
			s.resolve("terminal", idem.ResolveTerminal)
			return g
		},
		"LaneGivenOn": func(s *site) *grant {
			g := s.grant("lane", ordered(s.latest("r1", 1)))
			g.expire()
			s.grant("lane2", ordered(s.latest("r1", 2)))
			return g
		},
		"LaneGivenOnAndFreeAgain": func(s *site) *grant {
			g := s.grant("again", ordered(s.latest("r2", 1)))
			g.expire()
			s.grant("again2", ordered(s.latest("r2", 2))).fail(idem.Retryable)
			return g
		},
		"HeldLaneGivenOn": func(s *site) *grant {
			g := s.grant("held", ordered(s.latest("r3", 1)), stale(idem.Hold))
			g.expire()
			s.grant("held2", ordered(s.latest("r3", 2)))
			return g
		},
		"OtherRandomPart": func(s *site) *grant {
			g := s.grant("forged")
			g.Nonce = newID()
			return g
		},
		"NoRecord": func(s *site) *grant {
			c := s.claim("missing")
			return &grant{s: s, claim: c, Token: idem.Token{Namespace: s.ns, Consumer: theConsumer, Event: c.Key.ID(), Fence: 1, Nonce: newID()}}
		},
		"OtherNamespace": func(s *site) *grant {
			g := s.grant("wall")
			g.Namespace += "-2"
			return g
		},
	} {
		s.sub(name, func(s *site) {
			g := lose(s)
			before, known := s.find(g.claim.Key)
			for _, c := range append(s.rights(g),
				&idem.Extend{Token: g.Token},
				g.completion("late"),
				g.failure(idem.Retryable, "late"),
				g.failure(idem.Terminal, "late"),
				&idem.Release{Token: g.Token},
			) {
				s.refused(idem.CodeClaimLost, c)
			}
			after, still := s.find(g.claim.Key)
			equal(s, "record", still, known)
			if known && still {
				b, a := before.Event, after.Event
				equal(s, "state", a.State, b.State)
				equal(s, "lease", a.LeaseUntil, b.LeaseUntil)
				equal(s, "fence", a.Fence, b.Fence)
				equal(s, "result", string(a.Result), string(b.Result))
				equal(s, "attempts", a.Attempts, b.Attempts)
				equal(s, "effects", len(after.Effects), len(before.Effects))
			}
		})
	}
}
