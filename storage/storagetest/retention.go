package storagetest

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// retention is what is removed when its time is over, and what is not.
var retention = []test{
	{"P15/OnlyWhatIsOverIsForgotten", promiseForgets},
	{"P15/VersionsOutliveTheirEvents", promiseVersionsOutlive},
	{"P15/EffectsOutliveTheirEvents", promiseEffectsOutlive},
	{"P15/FencesGrowAcrossRetention", promiseFencesGrow},
	{"P15/ResourcesAreForgottenAfterTheirEvents", promiseResourcesForgotten},
	{"P15/PayloadsGoBeforeTheirEvents", promisePayloadsGo},
	{"P15/ResolvedCountsFromItsResolution", promiseResolvedCounts},
	{"O16/DeadLettersKeepTheirEffects", scenarioPurgedThenReplayed},
}

const (
	kept  = 30 * time.Minute
	later = kept + time.Minute
)

// keeps sets a retention of half an hour for events.
func (s *site) keeps(change func(p *idem.Policy)) {
	s.Helper()
	s.policies(func(_ string, p *idem.Policy) {
		p.KeepEvents, p.KeepPayloads, p.Resend = kept, 10*time.Minute, 0
		p.WaiveInterval = 0
		if change != nil {
			change(p)
		}
	})
}

// age lets time pass for events.
func (s *site) age(d time.Duration, events ...string) {
	s.Helper()
	for _, e := range events {
		s.h.Later(s.T, s.key(e).ID(), d)
	}
}

func (s *site) isGone(event string, want bool) {
	s.Helper()
	if _, found := s.find(s.key(event)); found == want {
		s.Errorf("%s: found %v", event, found)
	}
}

func promiseForgets(s *site) {
	s.keeps(func(p *idem.Policy) { p.MaxAttempts, p.SelfOrigins = 1, []string{"us"} })
	s.grant("processed").complete("done")
	s.outcome(idem.OutcomeSelfOriginated, s.claim("ignored", origin("us")))
	s.grant("terminal").fail(idem.Terminal)
	s.grant("dead").fail(idem.Retryable)
	s.grant("held", stale(idem.Hold)).expire()
	s.grant("closed", stale(idem.Hold)).expire()
	s.resolve("closed", idem.ResolveTerminal)
	s.grant("running")
	s.grant("released").release()
	s.grant("replaying").complete("done")
	s.replay("replaying", "again")
	s.grant("young").complete("done")
	open := s.grant("open")
	s.begin(idem.EffectPerform, s.beginning(open, s.effect(idem.EventScope, "open", "mail"), "h"))
	do[*idem.EndAnswer](s, &idem.Complete{Token: open.Token, Result: []byte("done"), AllowUnknown: true})
	all := []string{"processed", "ignored", "terminal", "dead", "held", "closed", "running", "released", "replaying", "open"}
	s.age(later, all...)
	s.age(kept-time.Minute, "young")
	s.h.Retain(s.T)
	for event, want := range map[string]bool{
		"processed": true, "ignored": true, "closed": true,
		"terminal": false, "dead": false, "held": false, "running": false, "released": false, "replaying": false, "young": false, "open": false,
	} {
		s.isGone(event, want)
	}
	// What is gone is as if it had never been; its owner's token is worth nothing.
	if a := s.ask(s.claim("processed")); a.Outcome != idem.OutcomeClaimed || !a.Fresh {
		s.Errorf("claimed again: %v, fresh %v", a.Outcome, a.Fresh)
	}
	// And in its time the young one goes, too.
	s.age(2*time.Minute, "young")
	s.h.Retain(s.T)
	s.isGone("young", true)
}

func promiseVersionsOutlive(s *site) {
	s.keeps(nil)
	s.grant("e2", ordered(s.latest("r", 2))).complete("done")
	s.grant("n1", ordered(s.next("seq", 1))).complete("done")
	s.age(later, "e2", "n1")
	s.h.Retain(s.T)
	s.isGone("e2", true)
	s.outcome(idem.OutcomeStale, s.claim("e1", ordered(s.latest("r", 1))))
	if a := s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e2", ordered(s.latest("r", 2)))); !a.Gone {
		s.Error("the result is not said to be gone")
	}
	// A finished member of a sequence is no gap, and its redelivery is no skipped one.
	if a := s.ask(s.claim("n1", ordered(s.next("seq", 1)))); a.Outcome == idem.OutcomeHeld || a.Outcome == idem.OutcomeClaimed {
		s.Errorf("the first of the sequence again: %v", a.Outcome)
	}
	s.grant("n2", ordered(s.next("seq", 2))).complete("done")
}

func promiseEffectsOutlive(s *site) {
	s.keeps(func(p *idem.Policy) { p.KeepEffects = 2 * kept })
	g := s.grant("e")
	charge := s.effect(idem.NamespaceScope, "", "charge")
	s.effectIs(idem.EffectRecorded, s.recording(g, charge, "h", "ch_1"))
	mail := s.effect(idem.EventScope, "e", "mail")
	s.effectIs(idem.EffectRecorded, s.recording(g, mail, "h", "m_1"))
	g.complete("done")
	s.age(later, "e")
	s.h.Later(s.T, charge.ID(), later)
	s.h.Retain(s.T)
	s.isGone("e", true)
	other := s.grant("other")
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(other, charge, "h", "ch_2")), "ch_1")
	again := s.grant("e")
	s.effectIs(idem.EffectRecorded, s.recording(again, mail, "h", "m_2"))
	// Its own time is over, but an event is stored again that it was begun under.
	s.h.Later(s.T, charge.ID(), 2*kept)
	s.h.Retain(s.T)
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(other, charge, "h", "ch_2")), "ch_1")
	again.complete("done")
	s.age(later, "e")
	s.h.Retain(s.T)
	s.h.Retain(s.T) // the effects before the events, where they lie so
	s.holds(s.effectIs(idem.EffectRecorded, s.recording(other, charge, "h", "ch_3")), "ch_3")
}

func promiseFencesGrow(s *site) {
	s.keeps(nil)
	g := s.grant("e")
	g.complete("done")
	s.age(later, "e")
	s.h.Retain(s.T)
	again := s.grant("e")
	if again.Fence <= g.Fence {
		s.Errorf("fence %d after %d", again.Fence, g.Fence)
	}
	s.refused(idem.CodeClaimLost, g.completion("late"))
	again.complete("done")
}

func promiseResourcesForgotten(s *site) {
	s.keeps(func(p *idem.Policy) { p.KeepVersions, p.MaxAttempts = kept, 1 })
	s.grant("e2", ordered(s.latest("idle", 2))).complete("done")
	s.grant("b2", ordered(s.latest("busy", 2))).complete("done")
	s.grant("b3", ordered(s.latest("busy", 3))).fail(idem.Retryable) // a dead letter waits
	s.find(s.key("e2"))                                              // the look-ups have caught up
	s.age(later, "e2", "b2", "b3")
	for _, r := range []string{"idle", "busy"} {
		s.h.Later(s.T, s.resource(r).ID(), later)
	}
	s.h.Retain(s.T)
	s.h.Retain(s.T)
	s.isGone("e2", true)
	s.isGone("b2", true)
	s.isGone("b3", false)
	// What nothing refers to is news again; what a dead letter is about is not.
	s.grant("e1", ordered(s.latest("idle", 1)))
	s.outcome(idem.OutcomeStale, s.claim("b1", ordered(s.latest("busy", 1))))
}

func promisePayloadsGo(s *site) {
	s.keeps(nil)
	carrying := func(event, consumerName string) *grant {
		return s.grant(event, consumer(consumerName), payload("{}"), facts(func(f *idem.Facts) { f.PayloadSize, f.PayloadHash = 2, []byte("h") }))
	}
	has := func(event string, want bool) {
		s.Helper()
		if _, ok, err := s.b.Payload(s.Context(), s.key(event).EventRef); err != nil || ok != want {
			s.Errorf("payload of %s: %v, want %v, %v", event, ok, want, err)
		}
	}
	carrying("e", theConsumer).complete("done")
	carrying("shared", theConsumer).complete("done")
	other := carrying("shared", "another")
	carrying("running", theConsumer)
	s.age(11*time.Minute, "e", "shared", "running")
	s.h.Retain(s.T)
	s.isGone("e", false)
	has("e", false)
	has("shared", true) // the other consumer needs it
	has("running", true)
	other.complete("done")
	s.h.Retain(s.T)
	has("shared", false)
}

func promiseResolvedCounts(s *site) {
	s.keeps(nil)
	s.grant("e", stale(idem.Hold)).expire()
	s.settle(s.key("e").ID())
	s.age(later, "e")
	s.resolve("e", idem.ResolveProcessed)
	s.h.Retain(s.T)
	s.isGone("e", false)
	s.age(later, "e")
	s.h.Retain(s.T)
	s.isGone("e", true)
}

// scenarioPurgedThenReplayed: what waits for a person keeps its side effects however long
// it waits, and so does what is due later.
func scenarioPurgedThenReplayed(s *site) {
	s.keeps(func(p *idem.Policy) { p.MaxAttempts = 1 })
	charged := func(event string) *grant {
		s.Helper()
		g := s.grant(event, payload("{}"), facts(func(f *idem.Facts) { f.PayloadSize, f.PayloadHash = 2, []byte("h") }))
		s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, event, "charge"), "h", "ch_1"))
		return g
	}
	comesWith := func(g *grant, what string, payload bool) {
		s.Helper()
		if fx := g.answer.Effects; len(fx) != 1 || string(fx[0].Result) != "ch_1" {
			s.Errorf("the effects that come with the %s: %v", what, fx)
		}
		if _, ok, err := s.b.Payload(s.Context(), g.claim.Key.EventRef); err != nil || ok != payload {
			s.Errorf("the payload that comes with the %s: %v, want %v, %v", what, ok, payload, err)
		}
	}
	charged("dead").fail(idem.Retryable)
	charged("retry").fail(idem.NotYet) // due in an hour
	charged("old").complete("done")
	s.grant("held", stale(idem.Hold)).expire()
	s.settle(s.key("held").ID())
	s.grant("done").complete("done")
	s.age(later, "dead", "retry", "held")
	s.age(kept-time.Minute, "done", "old")
	s.h.Retain(s.T)
	s.state("held", idem.Held)
	s.state("retry", idem.FailedRetryable)
	s.h.Due(s.T, s.key("retry").ID())
	comesWith(s.grant("retry"), "retry", true)

	// A replay that fails changes nothing of that, and neither does its purge.
	s.replay("dead", "first")
	again := s.grant("dead", acceptReplay())
	comesWith(again, "replay", true)
	again.fail(idem.Retryable)
	s.state("dead", idem.DeadLettered)
	s.age(later, "dead")
	s.h.Retain(s.T)
	s.resolve("dead", idem.ResolveRetry)
	comesWith(s.grant("dead"), "retry by an operator", true)

	// What was processed and has no payload any more has its effects all the same.
	s.replay("old", "of old")
	comesWith(s.grant("old", acceptReplay()), "replay without a payload", false)

	// 29 minutes after its end it is known; at 31 minutes it is not, and that is why the
	// retention must be longer than the longest resend. No replay makes it up again.
	s.outcome(idem.OutcomeAlreadyProcessed, s.claim("done"))
	s.age(2*time.Minute, "done")
	s.h.Retain(s.T)
	s.refused(idem.CodeNotFound, &idem.Replay{Event: s.key("done").ID(), RequestID: "too late", Who: "op", Why: "again"})
	if a := s.ask(s.claim("done")); a.Outcome != idem.OutcomeClaimed {
		s.Errorf("after its retention: %v", a.Outcome)
	}
}
