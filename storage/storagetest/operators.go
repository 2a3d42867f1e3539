package storagetest

import (
	"github.com/idemsvc/idemsvc/idem"
)

// operators is the table of what time and operators do.
var operators = []test{
	{"Operators/Settle", operatorSettle},
	{"Operators/ResolveProcessed", operatorProcessed},
	{"Operators/ResolveRetry", operatorRetry},
	{"Operators/ResolveTerminal", operatorTerminal},
	{"Operators/ResolveRefused", operatorRefused},
	{"Operators/Replay", operatorReplay},
	{"Operators/ReplayEndsBadly", operatorReplayEnds},
	{"Operators/ReplayStale", operatorReplayStale},
	{"Operators/ReplayOfTheDead", operatorReplayDead},
}

// operatorSettle: expiry is a fact of time. The sweeper writes down what it means, once.
func operatorSettle(s *site) {
	g := s.grant("live")
	equal(s, "a live claim is left alone", s.settle(g.Event).Already, true)
	s.state("live", idem.Processing)
	g.expire()
	equal(s, "first", s.settle(g.Event).Already, false)
	v := s.view("live").Event.Version
	equal(s, "second", s.settle(g.Event).Already, true)
	equal(s, "row version", s.view("live").Event.Version, v)
	do[*idem.EndAnswer](s, &idem.Settle{Event: s.key("missing").ID()})
}

func operatorProcessed(s *site) {
	g := s.grant("e", ordered(s.latest("r", 1)), stale(idem.Hold))
	g.expire()
	equal(s, "state", s.resolve("e", idem.ResolveProcessed).State, idem.Processed)
	s.applied("e", "r", 1)
	a := s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	equal(s, "result", string(a.Event.Result), "by hand")
	s.refused(idem.CodeClaimLost, g.completion("late"))
	equal(s, "late reports", len(s.state("e", idem.Processed).LateReports), 1)

	// Where the lane was given on, the version stays as it is.
	s.policy(func(p *idem.Policy) { p.HeldLanes = false })
	g = s.grant("f", ordered(s.latest("q", 3)), stale(idem.Hold))
	g.expire()
	s.settle(g.Event)
	s.grant("g", ordered(s.latest("q", 2))).complete("done")
	s.resolve("f", idem.ResolveProcessed)
	s.applied("f", "q", 2)
}

func operatorRetry(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	for name, kill := range map[string]func(s *site, event string){
		"held":     func(s *site, event string) { s.grant(event, stale(idem.Hold)).expire() },
		"dead":     func(s *site, event string) { s.grant(event, eventType("once")).fail(idem.Retryable) },
		"expired":  func(s *site, event string) { s.grant(event, eventType("once")).expire() },
		"terminal": func(s *site, event string) { s.grant(event).fail(idem.Terminal) },
	} {
		kill(s, name)
		a := s.resolve(name, idem.ResolveRetry)
		equal(s, name+": state", a.State, idem.Received)
		e := s.state(name, idem.Received)
		equal(s, name+": round", e.Round, 2)
		equal(s, name+": attempts", e.Attempts, 0)
		equal(s, name+": total", e.Total, 1) // totals never reset
		g := s.grant(name)
		equal(s, name+": total", g.answer.Event.Total, 2)
		equal(s, name+": replay", g.answer.Event.Replay, false)
		g.complete("done")
	}
}

func operatorTerminal(s *site) {
	g := s.grant("e", ordered(s.latest("r", 1)), stale(idem.Hold))
	g.expire()
	equal(s, "state", s.resolve("e", idem.ResolveTerminal).State, idem.FailedTerminal)
	s.refused(idem.CodeClaimLost, g.completion("late"))
	s.grant("older", ordered(s.latest("r", 0))) // the lane is free, nothing was applied
}

func operatorRefused(s *site) {
	try := func(event string, legal ...idem.ResolveTo) {
		s.Helper()
		for _, to := range []idem.ResolveTo{idem.ResolveProcessed, idem.ResolveRetry, idem.ResolveTerminal} {
			if len(legal) == 0 || to != legal[0] {
				s.refused(idem.CodeNotResolvable, &idem.Resolve{Event: s.key(event).ID(), To: to})
			}
		}
	}
	s.grant("live")
	try("live")
	s.grant("done").complete("done")
	try("done")
	s.grant("failed").fail(idem.Retryable)
	try("failed")
	s.grant("terminal").fail(idem.Terminal)
	try("terminal", idem.ResolveRetry)
	s.refused(idem.CodeNotFound, &idem.Resolve{Event: s.key("missing").ID(), To: idem.ResolveRetry})
	s.refused(idem.CodeNotFound, &idem.Replay{Event: s.key("missing").ID(), RequestID: "r"})
}

func operatorReplay(s *site) {
	s.grant("e").complete("one")
	a := s.replay("e", "r1")
	equal(s, "state", a.State, idem.Received)
	equal(s, "already", a.Already, false)
	equal(s, "same request: already", s.replay("e", "r1").Already, true)
	s.refused(idem.CodeReplayRefused, &idem.Replay{Event: s.key("e").ID(), RequestID: "r2"})

	// Until it completes, duplicates get the stored result.
	dup := s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	equal(s, "replay in progress", dup.Replaying, true)
	equal(s, "result", string(dup.Event.Result), "one")
	g := s.grant("e", acceptReplay())
	equal(s, "is replay", g.answer.Event.Replay, true)
	equal(s, "attempt", g.answer.Event.Attempts, 1)
	dup = s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	equal(s, "result", string(dup.Event.Result), "one")
	s.outcome(idem.OutcomeInProgress, s.claim("e", acceptReplay()))
	s.refused(idem.CodeReplayRefused, &idem.Replay{Event: s.key("e").ID(), RequestID: "r2"})
	g.complete("two")
	dup = s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	equal(s, "replay in progress", dup.Replaying, false)
	equal(s, "result", string(dup.Event.Result), "two")
	v := s.view("e")
	if len(v.Attempts) != 1 || string(v.Attempts[0].Result) != "one" {
		s.Errorf("attempts: got %+v, want the old result in the history", v.Attempts)
	}
	equal(s, "same request: already", s.replay("e", "r1").Already, true)
	s.refused(idem.CodeReplayRefused, &idem.Replay{Event: s.grant("live").Event, RequestID: "r"})
}

// operatorReplayEnds: a replay that fails or dies leaves the event as it was settled.
func operatorReplayEnds(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	for name, end := range map[string]func(g *grant){
		"fails":    func(g *grant) { g.fail(idem.Retryable) },
		"rejected": func(g *grant) { g.fail(idem.Terminal) },
		"dies":     func(g *grant) { g.expire() },
		"settled":  func(g *grant) { g.expire(); g.s.settle(g.Event) },
	} {
		s.sub(name, func(s *site) {
			s.grant(name, eventType("once")).complete("one")
			s.replay(name, "r1")
			end(s.grant(name, acceptReplay()))
			e := s.state(name, idem.Processed)
			equal(s, "replay failed", e.ReplayFailed, true)
			equal(s, "result", string(e.Result), "one")
			dup := s.outcome(idem.OutcomeAlreadyProcessed, s.claim(name))
			equal(s, "replay in progress", dup.Replaying, false)
			s.replay(name, "r2")
			s.grant(name, acceptReplay()).complete("two")
			equal(s, "result", string(s.state(name, idem.Processed).Result), "two")
		})
	}
}

func operatorReplayStale(s *site) {
	s.grant("e", ordered(s.latest("r", 1))).complete("one")
	s.grant("f", ordered(s.latest("r", 2))).complete("one")
	s.replay("e", "r1")
	s.outcome(idem.OutcomeStale, s.claim("e", acceptReplay()))
	e := s.state("e", idem.Processed) // a replay keeps what it was settled as
	equal(s, "replay failed", e.ReplayFailed, true)
	s.applied("f", "r", 2)
}

func operatorReplayDead(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	s.grant("e").fail(idem.Retryable)
	s.replay("e", "r1")
	s.outcome(idem.OutcomeDeadLettered, s.claim("e")) // granted only to who accepts replays
	g := s.grant("e", acceptReplay())
	g.complete("done")
	s.state("e", idem.Processed)
}
