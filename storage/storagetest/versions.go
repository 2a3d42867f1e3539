package storagetest

import (
	"strings"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// versions is the table of version checks, and the rules for lanes and sequences
// around it.
var versions = []test{
	{"Versions/Newer", versionNewer},
	{"Versions/ExpiredOwnerIsSettled", versionExpiredOwner},
	{"Versions/Busy", versionBusy},
	{"Versions/Mine", versionMine},
	{"Versions/Equal", versionEqual},
	{"Versions/EqualInReplay", versionEqualInReplay},
	{"Versions/Older", versionOlder},
	{"Versions/Sequential", versionSequential},
	{"Versions/SecondReservation", versionSecond},
	{"Versions/Illegal", versionIllegal},
	{"Versions/Epochs", versionEpochs},
	{"Versions/KindIsFixed", versionKind},
	{"Versions/EndsFreeLanes", versionEndsFreeLanes},
	{"Versions/HeldLanes", versionHeldLanes},
	{"Versions/Gap", versionGap},
	{"Versions/GapRules", versionGapRules},
	{"Versions/DeadPredecessor", versionDeadPredecessor},
	{"Versions/OutOfTurn", versionOutOfTurn},
	{"Versions/SequenceStart", versionStart},
}

func (s *site) plain(o idem.Ordering) *idem.Check { return &idem.Check{Ordering: o, By: newID()} }

func versionNewer(s *site) {
	g := s.grant("e")
	a := g.check(idem.VerdictApply, s.latest("r", 5))
	if a.LaneFence == 0 {
		s.Error("APPLY came without a lane fence")
	}
	// Reserved, not applied: an older one waits for the lane, and is not stale.
	s.verdict(idem.VerdictBusy, s.plain(s.latest("r", 4)))
	g.complete("done")
	s.applied("e", "r", 5)

	b := s.verdict(idem.VerdictApply, s.plain(s.latest("r", 6))) // applied at once
	if b.LaneFence <= a.LaneFence {
		s.Errorf("lane fence %d after %d", b.LaneFence, a.LaneFence)
	}
	s.verdict(idem.VerdictStale, s.plain(s.latest("r", 5)))
	s.refused(idem.CodeInvalid, s.plain(s.next("q", 1))) // SEQUENTIAL needs a token
}

// versionExpiredOwner: giving on an expired owner's lane settles the owner, which
// thereby loses its claim.
func versionExpiredOwner(s *site) {
	owner := s.grant("owner")
	owner.check(idem.VerdictApply, s.latest("r", 1))
	owner.expire()
	g := s.grant("e")
	a := g.check(idem.VerdictApply, s.latest("r", 2))
	s.state("owner", idem.FailedRetryable)
	s.refused(idem.CodeClaimLost, owner.completion("late"))
	g.complete("done")
	if a.LaneFence <= g.Fence {
		s.Errorf("lane fence %d is not newer than the claim's %d", a.LaneFence, g.Fence)
	}

	owner = s.grant("owner2")
	owner.check(idem.VerdictApply, s.latest("q", 1))
	owner.expire()
	s.verdict(idem.VerdictApply, s.plain(s.latest("q", 1)))
	s.refused(idem.CodeClaimLost, owner.completion("late"))
}

func versionBusy(s *site) {
	owner := s.grant("owner", ordered(s.latest("r", 1)))
	g := s.grant("e")
	a := g.check(idem.VerdictBusy, s.latest("r", 2))
	equal(s, "blocker", a.Blocker.EventID, "owner")
	s.verdict(idem.VerdictBusy, s.plain(s.latest("r", 2)))
	b := s.outcome(idem.OutcomeResourceBusy, s.claim("f", ordered(s.latest("r", 3))))
	equal(s, "blocker", b.Blocker.EventID, "owner")
	equal(s, "advice", b.Advice, idem.AdviceRepeatLater)
	f := s.state("f", idem.Received)
	equal(s, "waiting for", f.Waiting.Kind, idem.WaitingLane)
	if f.WaitingSince == 0 {
		s.Error("nobody knows since when it waits")
	}
	s.ask(s.claim("f", ordered(s.latest("r", 3))))
	equal(s, "row version when nothing changed", s.state("f", idem.Received).Version, f.Version)

	held := s.grant("held", ordered(s.latest("q", 1)), stale(idem.Hold))
	held.expire() // HELD keeps its lanes by default
	g.check(idem.VerdictBusy, s.latest("q", 2))
	s.verdict(idem.VerdictBusy, s.plain(s.latest("q", 2)))
	s.outcome(idem.OutcomeResourceBusy, s.claim("h", ordered(s.latest("q", 2))))
	owner.complete("done")
}

func versionMine(s *site) {
	g := s.grant("e", ordered(s.latest("r", 5)))
	if g.answer.LaneFence == 0 {
		s.Error("an ordered grant came without a lane fence")
	}
	a := g.check(idem.VerdictApply, s.latest("r", 5))
	equal(s, "lane fence", a.LaneFence, g.answer.LaneFence)
	again := s.outcome(idem.OutcomeClaimed, g.claim)
	equal(s, "lane fence of the repeat", again.LaneFence, g.answer.LaneFence)
	g.complete("done")
	s.applied("e", "r", 5)
}

func versionEqual(s *site) {
	g := s.grant("e", ordered(s.latest("r", 5)))
	g.complete("done")
	other := s.grant("other")
	other.check(idem.VerdictTied, s.latest("r", 5))
	s.verdict(idem.VerdictTied, s.plain(s.latest("r", 5)))

	plain := s.plain(s.latest("q", 5))
	first := s.verdict(idem.VerdictApply, plain)
	repeat := s.verdict(idem.VerdictApply, plain)
	equal(s, "lane fence of a repeat", repeat.LaneFence, first.LaneFence)
	s.verdict(idem.VerdictTied, s.plain(s.latest("q", 5)))
	other.check(idem.VerdictTied, s.latest("q", 5))

	// Applied by this event without a claim of its own, in an earlier check.
	late := s.grant("late")
	byEvent := s.plain(s.latest("p", 5))
	byEvent.By, byEvent.Event = late.Event, true
	s.verdict(idem.VerdictApply, byEvent)
	late.check(idem.VerdictAlready, s.latest("p", 5))
}

func versionEqualInReplay(s *site) {
	s.grant("e", ordered(s.latest("r", 5))).complete("one")
	s.replay("e", "again")
	g := s.grant("e", acceptReplay())
	equal(s, "replay", g.answer.Event.Replay, true)
	g.check(idem.VerdictApply, s.latest("r", 5)) // the lane came with the grant
	g.complete("two")

	h := s.grant("h")
	h.check(idem.VerdictApply, s.latest("q", 5))
	h.complete("one")
	s.replay("h", "again")
	h = s.grant("h", acceptReplay())
	h.check(idem.VerdictApply, s.latest("q", 5))
	s.outcome(idem.OutcomeResourceBusy, s.claim("x", ordered(s.latest("q", 6)))) // it reserves
	h.complete("two")
}

func versionOlder(s *site) {
	s.grant("e", ordered(s.latest("r", 5))).complete("done")
	g := s.grant("g")
	a := g.check(idem.VerdictStale, s.latest("r", 4))
	if a.Current == nil || a.Current.Value != 5 {
		s.Errorf("current version: got %+v, want 5", a.Current)
	}
	s.verdict(idem.VerdictStale, s.plain(s.latest("r", 4)))
	s.grant("next", ordered(s.latest("r", 6))) // STALE reserved nothing
}

func versionSequential(s *site) {
	s.grant("one", ordered(s.next("r", 1))).complete("done")
	g := s.grant("g")
	a := g.check(idem.VerdictGap, s.next("r", 3))
	if a.Expected == nil || a.Expected.Value != 2 {
		s.Errorf("expected: got %+v, want 2", a.Expected)
	}
	equal(s, "what is known of it", a.Known, idem.Absent)

	two := s.grant("two", ordered(s.next("r", 2)))
	a = g.check(idem.VerdictGap, s.next("r", 3))
	equal(s, "what is known of it", a.Known, idem.Processing)
	equal(s, "its event", a.Blocker.EventID, "two")
	two.complete("done")
	g.check(idem.VerdictApply, s.next("r", 3))
	g.complete("done")
	s.applied("g", "r", 3)
}

func versionSecond(s *site) {
	g := s.grant("e", ordered(s.latest("r", 5)))
	g.check(idem.VerdictStale, s.latest("r", 4)) // lower
	a := g.check(idem.VerdictApply, s.latest("r", 7))
	equal(s, "lane fence", a.LaneFence, g.answer.LaneFence)
	g.check(idem.VerdictStale, s.latest("r", 6))
	g.complete("done")
	s.applied("e", "r", 7)
}

func machine(p *idem.Policy) {
	p.Machines = map[string]idem.Machine{"m": {
		Initial: "new", Edges: map[string][]string{"new": {"paid"}, "paid": {"sent"}, "sent": nil},
	}}
}

// versionIllegal: under LATEST_WINS the steps between may have been superseded, so that
// a state need only be reachable; under SEQUENTIAL each step is an edge.
func versionIllegal(s *site) {
	s.policy(machine)
	g := s.grant("a")
	g.check(idem.VerdictApply, to(s.latest("r", 1), "new"))
	g.complete("done")
	g = s.grant("b")
	g.check(idem.VerdictApply, to(s.latest("r", 2), "sent")) // new → paid → sent
	g.complete("done")
	g = s.grant("c")
	a := g.check(idem.VerdictIllegal, to(s.latest("r", 3), "paid"))
	equal(s, "state of the machine", a.State, "sent")
	s.verdict(idem.VerdictIllegal, s.plain(to(s.latest("r", 3), "new")))
	ill := s.outcome(idem.OutcomeIllegal, s.claim("d", ordered(to(s.latest("r", 3), "paid"))))
	equal(s, "advice", ill.Advice, idem.AdviceRepeatLater)
	equal(s, "waiting for", s.state("d", idem.Received).Waiting.Kind, idem.WaitingStep)

	s.grant("s1", ordered(to(s.next("q", 1), "new"))).complete("done")
	g = s.grant("s2")
	g.check(idem.VerdictIllegal, to(s.next("q", 2), "sent"))
	g.check(idem.VerdictApply, to(s.next("q", 2), "paid"))

	unknown := s.latest("p", 1)
	unknown.Transition = &idem.Transition{Machine: "none", To: "x"}
	s.refused(idem.CodeUnknownMach, s.plain(unknown))
}

func versionEpochs(s *site) {
	s.grant("e", ordered(s.latest("r", 500))).complete("done")
	restored := s.latest("r", 3)
	restored.Version.Epoch = 1
	s.grant("f", ordered(restored)).complete("done")
	s.applied("f", "r", 3)
	s.outcome(idem.OutcomeStale, s.claim("g", ordered(s.latest("r", 501))))
	s.verdict(idem.VerdictStale, s.plain(s.latest("r", 501)))

	// A sequential series begins anew with its epoch.
	s.grant("s", ordered(s.next("q", 7))).complete("done")
	first := s.next("q", 1)
	first.Version.Epoch = 1
	s.grant("t", ordered(first)).complete("done")
}

func versionKind(s *site) {
	s.grant("e", ordered(s.latest("r", 1))).complete("done")
	s.refused(idem.CodeKindMismatch, s.plain(s.moment("r", 2)))
	s.refused(idem.CodeKindMismatch, s.claim("f", ordered(s.next("r", 2))))
	if _, ok := s.find(s.key("f")); ok {
		s.Error("a refused claim left a record")
	}
}

// versionEndsFreeLanes: every end of a claim frees all its lanes, and only completion
// applies.
func versionEndsFreeLanes(s *site) {
	for name, end := range map[string]func(g *grant){
		"fail":    func(g *grant) { g.fail(idem.Retryable) },
		"reject":  func(g *grant) { g.fail(idem.Terminal) },
		"release": func(g *grant) { g.release() },
		"settle":  func(g *grant) { g.expire(); g.s.settle(g.Event) },
	} {
		g := s.grant(name, ordered(s.latest(name+"1", 5)))
		g.check(idem.VerdictApply, s.latest(name+"2", 5))
		end(g)
		s.lanesFree(name)
		s.verdict(idem.VerdictApply, s.plain(s.latest(name+"1", 1)))
		s.verdict(idem.VerdictApply, s.plain(s.latest(name+"2", 1)))
	}
}

// lanesFree tests that no resource of the event has an owner.
func (s *site) lanesFree(event string) {
	s.Helper()
	for _, r := range s.view(event).Resources {
		if r.Owned {
			s.Errorf("event %s: the lane of %s is still owned", event, r.Key.Name)
		}
	}
}

func versionHeldLanes(s *site) {
	g := s.grant("keep", ordered(s.latest("r", 1)), stale(idem.Hold))
	g.expire()
	s.settle(g.Event)
	s.outcome(idem.OutcomeResourceBusy, s.claim("next", ordered(s.latest("r", 2))))
	s.resolve("keep", idem.ResolveProcessed)
	s.applied("keep", "r", 1)
	s.grant("next").complete("done")

	g = s.grant("late", ordered(s.latest("q", 1)), stale(idem.Hold))
	g.expire()
	s.settle(g.Event)
	g.complete("late") // HELD kept the lane for exactly this
	s.applied("late", "q", 1)

	g = s.grant("retry", ordered(s.latest("p", 1)), stale(idem.Hold))
	g.expire()
	s.resolve("retry", idem.ResolveRetry)
	s.grant("newer", ordered(s.latest("p", 2))).complete("done")
	s.outcome(idem.OutcomeStale, s.claim("retry")) // the retry meets the version check like any grant

	s.policy(func(p *idem.Policy) { p.HeldLanes = false })
	g = s.grant("free", ordered(s.latest("o", 1)), stale(idem.Hold))
	g.expire()
	s.settle(g.Event)
	s.lanesFree("free")
	s.grant("beside", ordered(s.latest("o", 2)))
	s.refused(idem.CodeClaimLost, g.completion("late"))
}

// versionGap: a gap exists only while no record of the expected version exists; a known
// and unfinished predecessor is waited for, never skipped.
func versionGap(s *site) {
	s.policy(func(p *idem.Policy) { p.Gap, p.GapAfter, p.WaiveInterval = idem.GapSkip, time.Hour, 0 })
	s.grant("v1", ordered(s.next("r", 1))).complete("done")
	a := s.outcome(idem.OutcomeAwaiting, s.claim("v3", ordered(s.next("r", 3))))
	if a.Expected == nil || a.Expected.Value != 2 {
		s.Errorf("expected: got %+v, want 2", a.Expected)
	}
	equal(s, "advice", a.Advice, idem.AdviceRepeatLater)
	equal(s, "waiting for", s.state("v3", idem.Received).Waiting.Kind, idem.WaitingPredecessor)

	g := s.grant("v2", ordered(s.next("r", 2)))
	s.h.Later(s.T, s.resource("r").ID(), 2*time.Hour) // the gap rule's time has passed
	a = s.outcome(idem.OutcomeAwaiting, s.claim("v3"))
	equal(s, "predecessor", a.Blocker.EventID, "v2")
	g.fail(idem.Retryable)
	s.outcome(idem.OutcomeAwaiting, s.claim("v3"))
	s.grant("v2").complete("done")
	s.grant("v3").complete("done")
	s.applied("v3", "r", 3)

	// A predecessor that is held is unfinished, whoever may have its lane.
	s.policy(func(p *idem.Policy) { p.HeldLanes, p.Gap, p.Dead = false, idem.GapSkip, idem.DeadSkip })
	g = s.grant("v4", ordered(s.next("r", 4)), stale(idem.Hold))
	g.expire()
	a = s.outcome(idem.OutcomeAwaiting, s.claim("v5", ordered(s.next("r", 5))))
	equal(s, "predecessor", a.Blocker.EventID, "v4")
	s.resolve("v4", idem.ResolveTerminal)
	s.grant("v5").complete("done")
}

func versionGapRules(s *site) {
	for _, tt := range []struct {
		name string
		rule idem.GapRule
		want idem.Outcome // after the rule's time
	}{
		{"Wait", idem.GapWait, idem.OutcomeAwaiting},
		{"Skip", idem.GapSkip, idem.OutcomeClaimed},
		{"Hold", idem.GapHold, idem.OutcomeHeld},
	} {
		s.sub(tt.name, func(s *site) {
			s.policy(func(p *idem.Policy) { p.Gap, p.GapAfter = tt.rule, time.Hour })
			event := func(n string) string { return tt.name + n }
			s.grant(event("1"), ordered(s.next(tt.name, 1))).complete("done")
			s.outcome(idem.OutcomeAwaiting, s.claim(event("3"), ordered(s.next(tt.name, 3))))
			s.outcome(idem.OutcomeAwaiting, s.claim(event("4"), ordered(s.next(tt.name, 4))))
			s.h.Later(s.T, s.resource(tt.name).ID(), 2*time.Hour)
			c := s.claim(event("3"))
			s.outcome(tt.want, c)
			if tt.want != idem.OutcomeClaimed {
				return
			}
			// The skip takes effect at completion; what comes after that is held, since it is
			// news that was passed over.
			e := s.view(event("3")).Event
			do[*idem.EndAnswer](s, &idem.Complete{Token: idem.Token{
				Namespace: s.ns, Consumer: theConsumer, Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce,
			}})
			s.outcome(idem.OutcomeHeld, s.claim(event("2"), ordered(s.next(tt.name, 2))))
			equal(s, "reason", s.state(event("2"), idem.Held).Reason, idem.SkippedGap)
			s.grant(event("4")).complete("done")
		})
	}
}

func versionDeadPredecessor(s *site) {
	for _, tt := range []struct {
		name string
		rule idem.DeadRule
		want idem.Outcome
	}{
		{"Hold", idem.DeadHold, idem.OutcomeHeld},
		{"Skip", idem.DeadSkip, idem.OutcomeClaimed},
		{"Wait", idem.DeadWait, idem.OutcomeAwaiting},
	} {
		s.sub(tt.name, func(s *site) {
			s.policy(func(p *idem.Policy) { p.Dead = tt.rule })
			s.grant(tt.name+"1", ordered(s.next(tt.name, 1))).complete("done")
			s.grant(tt.name+"2", ordered(s.next(tt.name, 2))).fail(idem.Terminal)
			s.outcome(tt.want, s.claim(tt.name+"3", ordered(s.next(tt.name, 3))))
			if tt.want == idem.OutcomeHeld {
				equal(s, "reason", s.state(tt.name+"3", idem.Held).Reason, idem.DeadPredecessor)
			}
		})
	}
}

// versionOutOfTurn: an operator who has an event tried that is held, or waits, for what is
// missing or dead before it has it run without; those behind it follow with no further push.
func versionOutOfTurn(s *site) {
	runs := func(s *site, want string) {
		s.Helper()
		var done []string
		for got := s.acquire(); len(got) > 0; got = s.acquire() {
			done = append(done, s.names(got))
			got[0].complete("done")
		}
		equal(s, "done", strings.Join(done, " "), want)
	}
	for _, tt := range []struct {
		name string
		rule idem.GapRule
		want idem.Outcome
	}{
		{"Missing", idem.GapWait, idem.OutcomeAwaiting},
		{"Overdue", idem.GapHold, idem.OutcomeHeld},
	} {
		s.sub(tt.name, func(s *site) {
			s.policy(func(p *idem.Policy) { p.Gap, p.GapAfter, p.Backoff.Base = tt.rule, time.Hour, 0 })
			event := func(n string) string { return tt.name + n }
			s.grant(event("1"), ordered(s.next(tt.name, 1))).complete("done")
			for v, n := range []string{"4", "5"} {
				s.receiveOrdered(event(n), s.next(tt.name, int64(v)+4))
				s.outcome(idem.OutcomeAwaiting, s.claim(event(n)))
			}
			s.h.Later(s.T, s.resource(tt.name).ID(), 2*time.Hour)
			s.h.Later(s.T, s.key(event("4")).ID(), 2*time.Hour)
			s.outcome(tt.want, s.claim(event("4")))
			s.resolve(event("4"), idem.ResolveRetry)
			g := s.grant(event("4"))
			g.fail(idem.Retryable) // the decision stands until the event has been processed
			s.h.Due(s.T, s.key(event("4")).ID())
			runs(s, event("4")+" "+event("5"))
			s.outcome(idem.OutcomeHeld, s.claim(event("3"), ordered(s.next(tt.name, 3))))
			equal(s, "reason", s.state(event("3"), idem.Held).Reason, idem.SkippedGap)
		})
	}
	s.sub("Unfinished", func(s *site) { // what is there and unfinished is never passed over
		s.grant("u1", ordered(s.next("u", 1))).complete("done")
		s.receiveOrdered("u2", s.next("u", 2))
		s.outcome(idem.OutcomeAwaiting, s.claim("u3", ordered(s.next("u", 3))))
		s.resolve("u3", idem.ResolveRetry)
		s.outcome(idem.OutcomeAwaiting, s.claim("u3"))
		runs(s, "u2 u3")
	})
	s.sub("Dead", func(s *site) {
		s.policy(func(p *idem.Policy) { p.Dead = idem.DeadHold })
		s.grant("d1", ordered(s.next("d", 1))).complete("done")
		s.receiveOrdered("d3", s.next("d", 3))
		s.receiveOrdered("d4", s.next("d", 4))
		s.grant("d2", ordered(s.next("d", 2))).fail(idem.Terminal)
		s.outcome(idem.OutcomeHeld, s.claim("d3"))
		s.resolve("d3", idem.ResolveRetry)
		runs(s, "d3 d4")
	})
	s.sub("Tied", func(s *site) {
		s.policy(func(p *idem.Policy) { p.TieSequence = idem.TieHold })
		s.grant("t1", ordered(s.latest("t", 1))).complete("done")
		s.outcome(idem.OutcomeVersionTied, s.claim("t1again", ordered(s.latest("t", 1))))
		s.resolve("t1again", idem.ResolveRetry)
		s.grant("t1again").complete("done")
	})
}

func versionStart(s *site) {
	s.sub("FirstSeen", func(s *site) {
		s.grant("f7", ordered(s.next("first", 7))).complete("done")
		s.outcome(idem.OutcomeStale, s.claim("f6", ordered(s.next("first", 6))))
		s.grant("f8", ordered(s.next("first", 8)))
	})
	s.sub("Number", func(s *site) {
		s.policy(func(p *idem.Policy) { p.StartAt = 5 })
		a := s.outcome(idem.OutcomeAwaiting, s.claim("n7", ordered(s.next("number", 7))))
		if a.Expected == nil || a.Expected.Value != 5 {
			s.Errorf("expected: got %+v, want 5", a.Expected)
		}
		s.grant("n5", ordered(s.next("number", 5))).complete("done")
		s.grant("n6", ordered(s.next("number", 6))).complete("done")
		s.grant("n7").complete("done")
	})
}
