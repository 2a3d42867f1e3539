package storagetest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// scenarios are faults that users of other systems reported, each as it would show here.
var scenarios = []test{
	{"O-01/SweepActsOnStaleSnapshot", scenarioStaleSweep},
	{"O-02/LateOwner", scenarioLateOwner},
	{"O-03/RetryAfterLostResponse", scenarioLostResponse},
	{"O-05/ConcurrentFirstInsert", scenarioFirstInsert},
	{"O-06/CallbackBeatsTheAnswer", scenarioCallback},
	{"O-07/DuplicateRepeatsNoEffect", scenarioDuplicateEffects},
	{"O-08/HoldDoesNotReclaim", scenarioHold},
	{"O-09/RememberedButNotDone", scenarioRemembered},
	{"O-10/FailedIsNotProcessed", scenarioFailedIsNotProcessed},
	{"O-12/TwoConsumers", scenarioTwoConsumers},
	{"O-13/TwoTenants", scenarioTwoTenants},
	{"O-17/VersionsAreNumbers", scenarioNumbers},
	{"O-18/OlderAfterNewer", scenarioOlder},
	{"O-19/EqualVersions", scenarioEqual},
	{"O-20/NewestWaits", scenarioNewest},
	{"O-22/LaneOfADeadOwner", scenarioDeadLane},
	{"O-23/CrashIsAnAttempt", scenarioCrash},
	{"O-26/SixtyFourBits", scenarioSixtyFour},
	{"O-27/Precision", scenarioPrecision},
}

func scenarioStaleSweep(s *site) {
	a, b, c := s.grant("a"), s.grant("b"), s.grant("c")
	for _, g := range []*grant{a, b, c} {
		g.expire()
	}
	// The sweep has read all three; then two of them change.
	a.complete("done")
	second := s.grant("b")
	for _, g := range []*grant{a, b, c} {
		s.settle(g.Event)
	}
	equal(s, "result", string(s.state("a", idem.Processed).Result), "done")
	e := s.state("b", idem.Processing)
	equal(s, "fence", e.Fence, second.Fence)
	equal(s, "lease", e.LeaseUntil, second.answer.Event.LeaseUntil)
	equal(s, "attempts", e.Attempts, 2)
	s.state("c", idem.FailedRetryable)
	equal(s, "settled once", s.settle(c.Event).Already, true)
	second.complete("done")
}

func scenarioLateOwner(s *site) {
	w1 := s.grant("e")
	s.effectIs(idem.EffectRecorded, s.recording(w1, s.effect(idem.EventScope, "e", "charge"), "", "ch_1"))
	w1.expire()
	w2 := s.grant("e")
	if len(w2.answer.Effects) != 1 || string(w2.answer.Effects[0].Result) != "ch_1" {
		s.Errorf("effects: got %+v, want the charge", w2.answer.Effects)
	}
	s.refused(idem.CodeClaimLost, &idem.Extend{Token: w1.Token})
	s.refused(idem.CodeClaimLost, s.recording(w1, s.effect(idem.EventScope, "e", "email"), "", "m_1"))
	s.refused(idem.CodeClaimLost, w1.completion("late"))
	s.refused(idem.CodeClaimLost, w1.failure(idem.Retryable, "late"))
	e := s.state("e", idem.Processing)
	equal(s, "lease", e.LeaseUntil, w2.answer.Event.LeaseUntil)
	equal(s, "effects", len(s.view("e").Effects), 1)
	w2.complete("done")
}

func scenarioLostResponse(s *site) {
	g := s.grant("e")
	g.complete("R")
	equal(s, "repeat", g.complete("R").Already, true)
	s.refused(idem.CodeAlreadyEnded, g.completion("R2"))
	s.refused(idem.CodeAlreadyEnded, g.failure(idem.Retryable, "no"))
	equal(s, "result", string(s.state("e", idem.Processed).Result), "R")

	f := s.grant("f")
	due := f.fail(idem.Retryable).Due
	equal(s, "due", f.fail(idem.Retryable).Due, due)
	s.refused(idem.CodeAlreadyEnded, f.failure(idem.Retryable, "other"))
	s.refused(idem.CodeAlreadyEnded, f.completion("R"))
	equal(s, "attempts", s.state("f", idem.FailedRetryable).Attempts, 1)

	h := s.grant("h")
	key := s.effect(idem.EventScope, "h", "k")
	s.effectIs(idem.EffectRecorded, s.recording(h, key, "", "v"))
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(h, key, "", "v")), "v")
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(h, key, "", "v2")), "v")
}

func scenarioFirstInsert(s *site) {
	const callers = 64
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		event := fmt.Sprintf("b295a740-898f-41b9-bdd3-1157f3071a0c/%d", round)
		cs := make([]*idem.Claim, callers)
		for i := range cs {
			cs[i] = s.claim(event)
		}
		outcomes, granted := s.claims(cs)
		if len(granted) != 1 || outcomes[idem.OutcomeInProgress] != callers-1 {
			s.Fatalf("round %d: got %v, want one grant", round, outcomes)
		}
		equal(s, "fresh", granted[0].Fresh, true)
		equal(s, "attempts", s.state(event, idem.Processing).Attempts, 1)
	}
	c := s.claim("sequence")
	s.granted(c)
	equal(s, "the same claim again", s.outcome(idem.OutcomeClaimed, c).Reentered, true)
	s.outcome(idem.OutcomeInProgress, s.claim("sequence"))
}

// scenarioCallback: with a lane, the callback waits for the call; with an effect of
// NAMESPACE scope, one of both records it.
func scenarioCallback(s *site) {
	api := s.grant("refund-request-77", ordered(s.moment("9", 1)))
	s.outcome(idem.OutcomeResourceBusy, s.claim("evt_1", ordered(s.moment("9", 2))))
	api.complete("done")
	s.grant("evt_1").complete("done")

	api = s.grant("refund-request-78")
	webhook := s.grant("evt_2")
	key := s.effect(idem.NamespaceScope, "", "refund:re_1")
	verdicts := race(2, func(i int) idem.EffectVerdict {
		res := s.b.Apply(s.Context(), []idem.Command{s.recording([]*grant{api, webhook}[i], key, "re_1", fmt.Sprint("by ", i))})
		if a, ok := res[0].Answer.(*idem.EffectAnswer); ok {
			return a.Verdict
		}
		s.Errorf("RECORD: %v", res[0].Err)
		return 0
	})
	if verdicts[0]+verdicts[1] != idem.EffectRecorded+idem.EffectAlreadyDone {
		s.Errorf("got %v, want one recorded and one already done", verdicts)
	}
}

func scenarioDuplicateEffects(s *site) {
	g := s.grant("e")
	for _, k := range []string{"charge", "mail", "ticket"} {
		s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", k), "", k))
	}
	g.complete("R")
	before := s.view("e")
	for range 51 {
		a := s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e", kind(idem.ProviderRetry)))
		equal(s, "result", string(a.Event.Result), "R")
	}
	after := s.view("e")
	equal(s, "ended at", after.Event.EndedAt, before.Event.EndedAt)
	equal(s, "due at", after.Event.DueAt, 0)
	equal(s, "row version", after.Event.Version, before.Event.Version)
	equal(s, "effects", len(after.Effects), 3)
	for _, f := range after.Effects {
		equal(s, f.Key.Key, f.State, idem.EffectDone)
		equal(s, f.Key.Key, string(f.Result), f.Key.Key)
	}
}

// scenarioHold: an event under HOLD whose owner vanished is never given again by itself,
// whatever later claims ask for and however often it is swept, be it claimed or acquired.
func scenarioHold(s *site) {
	for _, how := range []string{"claimed", "acquired"} {
		for _, end := range []string{"late", "effect", "done", "retry", "terminal"} {
			scenarioHeld(s, how, end)
		}
	}
}

func scenarioHeld(s *site, how, end string) {
	event := how + " " + end
	var g *grant
	if how == "acquired" {
		s.receive(event, func(c *idem.Receive) { c.Stale = idem.Hold })
		if got := s.acquire(); s.names(got) == event {
			g = got[0]
		} else {
			s.Fatalf("acquired %q", s.names(got))
		}
	} else {
		g = s.grant(event, stale(idem.Hold))
	}
	begun := s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, event, "withdraw"), ""))
	g.expire()
	for range 3 {
		s.settle(g.Event)
	}
	for range 5 {
		s.outcome(idem.OutcomeHeld, s.claim(event, stale(idem.Reclaim)))
	}
	equal(s, "offered", s.names(s.acquire()), "")
	e := s.state(event, idem.Held)
	equal(s, "stale claim", e.Stale, idem.Hold)
	equal(s, "holder", e.Holder, g.answer.Event.Holder)
	equal(s, "effects", len(s.view(event).Effects), 1)
	switch end {
	case "late":
		c := g.completion("late")
		c.AllowUnknown = true
		equal(s, "late", do[*idem.EndAnswer](s, c).Late, true)
		s.outcome(idem.OutcomeAlreadyProcessed, s.claim(event))
	case "effect":
		s.effectIs(idem.EffectReportedDone, report(begun.Token, idem.EffectDone, "po_1"))
		s.outcome(idem.OutcomeHeld, s.claim(event))
		s.resolve(event, idem.ResolveRetry)
		next := s.grant(event)
		if len(next.answer.Effects) != 1 || string(next.answer.Effects[0].Result) != "po_1" {
			s.Errorf("effects: got %+v, want the withdrawal that was reported late", next.answer.Effects)
		}
	case "done":
		s.resolve(event, idem.ResolveProcessed)
		s.outcome(idem.OutcomeAlreadyProcessed, s.claim(event))
		s.refused(idem.CodeClaimLost, g.completion("late"))
	case "retry":
		s.resolve(event, idem.ResolveRetry)
		next := s.grant(event)
		if next.Fence <= g.Fence {
			s.Errorf("fence %d after %d", next.Fence, g.Fence)
		}
		equal(s, "total", next.answer.Event.Total, 2)
		equal(s, "still under HOLD", next.answer.Event.Stale, idem.Hold)
	case "terminal":
		s.resolve(event, idem.ResolveTerminal)
		s.outcome(idem.OutcomeFailedTerminal, s.claim(event))
		s.refused(idem.CodeClaimLost, g.completion("late"))
	}
}

// scenarioRemembered: an ID that is known is no work done.
func scenarioRemembered(s *site) {
	g := s.grant("e")
	s.outcome(idem.OutcomeInProgress, s.claim("e", kind(idem.ProviderRetry)))
	g.expire()
	equal(s, "attempt", s.grant("e", kind(idem.ProviderRetry)).answer.Event.Attempts, 2)

	// A grant whose answer never left the server is given at once.
	g = s.grant("f")
	do[*idem.EndAnswer](s, &idem.Release{Token: g.Token, Undelivered: true})
	equal(s, "attempt", s.grant("f", kind(idem.ProviderRetry)).answer.Event.Attempts, 1)
}

func scenarioFailedIsNotProcessed(s *site) {
	e := s.grant("e")
	e.fail(idem.Retryable)
	s.outcome(idem.OutcomeRetryScheduled, s.claim("e", kind(idem.ConsumerRequeue))) // our own schedule
	g := s.grant("e", kind(idem.ProviderRetry))                                     // the provider's is granted
	equal(s, "attempt", g.answer.Event.Attempts, 2)
	f := s.grant("f")
	f.expire()
	s.grant("f", kind(idem.ProviderRetry))
	s.grant("g").fail(idem.Terminal)
	a := s.outcome(idem.OutcomeFailedTerminal, s.claim("g", kind(idem.ProviderRetry)))
	equal(s, "error", a.Event.Error.Message, "no")
}

func scenarioTwoConsumers(s *site) {
	const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
	a := s.grant(guid, consumer("app-a"), hashed("body A"))
	b := s.grant(guid, consumer("app-b"), hashed("body B"))
	equal(s, "anomalies", len(b.answer.Anomalies), 0)
	a.complete("result A")
	s.outcome(idem.OutcomeInProgress, s.claim(guid, consumer("app-b"), hashed("body B")))
	b.complete("result B")
	for app, want := range map[string]string{"app-a": "result A", "app-b": "result B"} {
		got := s.outcome(idem.OutcomeAlreadyProcessed, s.claim(guid, consumer(app)))
		equal(s, app, string(got.Event.Result), want)
	}
}

func scenarioTwoTenants(s *site) {
	a := s.grant("order-1")
	a.complete(`{"resource":"a-123"}`)
	other := s.ns + "-b"
	b := s.granted(s.claim("order-1", namespace(other)))
	equal(s, "result", string(b.answer.Event.Result), "")
	for fence := range int64(4) {
		t := idem.Token{Namespace: other, Consumer: theConsumer, Event: a.Event, Fence: fence, Nonce: newID()}
		missing := t
		missing.Event = newID()
		for _, t := range []idem.Token{t, missing} { // a foreign key answers as a missing one
			s.refused(idem.CodeClaimLost, &idem.Complete{Token: t})
			s.refused(idem.CodeClaimLost, &idem.Fail{Token: t, Error: idem.Failure{Kind: idem.Retryable}})
			s.refused(idem.CodeClaimLost, &idem.Extend{Token: t})
			s.refused(idem.CodeClaimLost, &idem.RecordEffect{Token: &t, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: other, Event: t.Event, Key: "k"}})
		}
	}
	equal(s, "result", string(s.state("order-1", idem.Processed).Result), `{"resource":"a-123"}`)
}

func scenarioNumbers(s *site) {
	for name, order := range map[string]func(string, int64) idem.Ordering{"sequence": s.latest, "moment": s.moment} {
		for i, v := range []int64{9, 10, 99, 100, 9674, 10008} {
			s.grant(fmt.Sprint(name, i), ordered(order(name, v))).complete("done")
		}
		for i, v := range []int64{9674, 9999, 999, -10009} {
			s.verdict(idem.VerdictStale, s.plain(order(name, v)))
			s.outcome(idem.OutcomeStale, s.claim(fmt.Sprint(name, "old", i), ordered(order(name, v))))
		}
		s.applied(name+"5", name, 10008)
	}
}

func scenarioOlder(s *site) {
	const newer, older = 1623979266, 1623979265
	s.grant("updated", ordered(s.moment("sub/1", newer))).complete("done")
	a := s.outcome(idem.OutcomeStale, s.claim("created", ordered(s.moment("sub/1", older))))
	equal(s, "advice", a.Advice, idem.AdviceAcknowledge)
	s.state("created", idem.IgnoredStale) // final, and no error
	s.applied("updated", "sub/1", newer)

	// Both at once: the newer one waits for the lane.
	first := s.grant("created2", ordered(s.moment("sub/2", older)))
	s.outcome(idem.OutcomeResourceBusy, s.claim("updated2", ordered(s.moment("sub/2", newer))))
	first.fail(idem.Retryable)
	s.grant("updated2").complete("done")
	s.outcome(idem.OutcomeStale, s.claim("created2", kind(idem.ProviderRetry)))
	s.applied("updated2", "sub/2", newer)
}

func scenarioEqual(s *site) {
	const at = 1708473600
	s.policy(func(p *idem.Policy) { p.TieMoment = idem.TieHold })
	for _, pair := range [][2]string{{"completed", "in_progress"}, {"in_progress", "completed"}} {
		resource := pair[0]
		s.grant(resource+"X", ordered(s.moment(resource, at))).complete("done")
		s.outcome(idem.OutcomeVersionTied, s.claim(resource+"Y", ordered(s.moment(resource, at))))
		s.outcome(idem.OutcomeAlreadyProcessed, s.claim(resource+"X", ordered(s.moment(resource, at))))
	}
	cs := []*idem.Claim{s.claim("a", ordered(s.moment("race", at))), s.claim("b", ordered(s.moment("race", at)))}
	outcomes, granted := s.claims(cs)
	if len(granted) != 1 || outcomes[idem.OutcomeResourceBusy] != 1 {
		s.Fatalf("two at once: got %v, want one grant and one busy", outcomes)
	}
	e := granted[0].Event
	do[*idem.EndAnswer](s, &idem.Complete{Token: idem.Token{Namespace: s.ns, Consumer: theConsumer, Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce}})
	loser := "a"
	if e.Key.EventID == "a" {
		loser = "b"
	}
	s.outcome(idem.OutcomeVersionTied, s.claim(loser))
}

func scenarioNewest(s *site) {
	for _, tt := range []struct {
		end string
		act func(g *grant)
	}{
		{"completed", func(g *grant) { g.complete("done") }},
		{"rejected", func(g *grant) { g.fail(idem.Terminal) }},
		{"expired", func(g *grant) { g.expire() }},
	} {
		first := s.grant(tt.end+"1", ordered(s.latest(tt.end, 1)))
		for _, v := range []int64{2, 3} {
			event := fmt.Sprint(tt.end, v)
			s.outcome(idem.OutcomeResourceBusy, s.claim(event, ordered(s.latest(tt.end, v))))
			s.state(event, idem.Received)
		}
		tt.act(first)
		s.grant(tt.end + "2").complete("done")
		s.grant(tt.end + "3").complete("done")
		s.applied(tt.end+"3", tt.end, 3)
	}
	// Held, it blocks until a person decides, and the listing says what is waited for.
	held := s.grant("held1", ordered(s.latest("held", 1)), stale(idem.Hold))
	held.expire()
	s.outcome(idem.OutcomeResourceBusy, s.claim("held2", ordered(s.latest("held", 2))))
	e := s.state("held2", idem.Received)
	equal(s, "waiting for", e.Waiting.Event, held.Event)
	s.resolve("held1", idem.ResolveTerminal)
	s.grant("held2").complete("done")
}

func scenarioDeadLane(s *site) {
	s.policies(func(_ string, p *idem.Policy) { p.MaxAttempts = 1 })
	for end, act := range map[string]func(g *grant){
		"dead":      func(g *grant) { g.expire() },
		"settled":   func(g *grant) { g.expire(); s.settle(g.Event) },
		"failed":    func(g *grant) { g.fail(idem.Retryable) },
		"completed": func(g *grant) { g.complete("done") },
		"terminal":  func(g *grant) { g.fail(idem.Terminal) },
		"released":  func(g *grant) { g.release() },
		"resolved":  func(g *grant) { g.expire(); s.resolve(g.claim.Key.EventID, idem.ResolveTerminal) },
	} {
		var opts []option
		if end == "resolved" {
			opts = append(opts, stale(idem.Hold))
		}
		g := s.grant(end, append(opts, ordered(s.latest(end, 1)))...)
		s.outcome(idem.OutcomeResourceBusy, s.claim(end+"2", ordered(s.latest(end, 2))))
		act(g)
		s.grant(end + "2").complete("done")
		s.grant(end+"3", ordered(s.latest(end, 3)))
	}
}

func scenarioCrash(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts, p.WaiveInterval = 3, 0 })
	for range 3 {
		s.grant("crash").expire()
	}
	s.outcome(idem.OutcomeDeadLettered, s.claim("crash"))
	e := s.state("crash", idem.DeadLettered)
	equal(s, "reason", e.Reason, idem.LeaseExpired)
	equal(s, "attempts", e.Attempts, 3)
	equal(s, "earlier attempts", len(s.view("crash").Attempts), 2)

	for range 10 {
		s.grant("release").release()
	}
	equal(s, "attempts", s.state("release", idem.Received).Attempts, 0)

	s.grant("mixed").expire()
	s.grant("mixed").fail(idem.Retryable)
	s.grant("mixed").expire()
	s.outcome(idem.OutcomeDeadLettered, s.claim("mixed"))
	s.grant("other") // others are not starved
}

func scenarioSixtyFour(s *site) {
	const big = int64(1)<<53 + 1 // the first integer that a float64 cannot hold
	for i, v := range []int64{math.MinInt64, -1, 0, big - 1, big, big + 1, math.MaxInt64 - 1, math.MaxInt64} {
		s.grant(fmt.Sprint("v", i), ordered(s.latest("r", v))).complete("done")
		s.applied(fmt.Sprint("v", i), "r", v)
	}
	s.verdict(idem.VerdictStale, s.plain(s.latest("r", math.MaxInt64-1)))
	s.verdict(idem.VerdictTied, s.plain(s.latest("r", math.MaxInt64)))
	for _, id := range []string{"9007199254740993", "9007199254740992", "18446744073709551615"} {
		s.grant(id)
	}
}

// scenarioPrecision: versions keep nanoseconds, and stored instants compare as they were
// answered.
func scenarioPrecision(s *site) {
	const at = int64(1_700_000_000_123_456_789)
	s.grant("a", ordered(s.moment("r", at))).complete("done")
	s.applied("a", "r", at)
	s.verdict(idem.VerdictStale, s.plain(s.moment("r", at-1)))
	s.verdict(idem.VerdictTied, s.plain(s.moment("r", at)))
	s.grant("b", ordered(s.moment("r", at+1))).complete("done")
	s.verdict(idem.VerdictStale, s.plain(s.moment("r", at)))

	g := s.grant("e", lease(time.Hour+time.Nanosecond))
	e := s.state("e", idem.Processing)
	equal(s, "lease", e.LeaseUntil, g.answer.Event.LeaseUntil)
	equal(s, "granted", e.GrantedAt, g.answer.Event.GrantedAt)
	f := g.fail(idem.Retryable)
	equal(s, "due", s.state("e", idem.FailedRetryable).DueAt, f.Due)
}
