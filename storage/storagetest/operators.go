package storagetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
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
	{"Operators/AttemptsKeepTheirRound", operatorAttemptRounds},
	{"Operators/ReplayStale", operatorReplayStale},
	{"Operators/ReplayOfTheDead", operatorReplayDead},
	{"Operators/ReplayOfTheUnprocessed", operatorReplayUnprocessed},
	{"Operators/ReplayRuns", operatorRuns},
	{"Operators/Backfill", operatorBackfill},
	{"Operators/BackfillRace", operatorBackfillRace},
	{"Operators/BackfillOrdered", operatorBackfillOrdered},
	{"Operators/DecidedOnce", operatorDecidedOnce},
	{"Operators/Effects", operatorEffects},
	{"Operators/EffectsDecidedOnce", operatorEffectsOnce},
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
	late := s.state("e", idem.Processed).LateReports
	equal(s, "late reports", len(late), 1)
	equal(s, "what it said", string(late[0].Result), "late")
	equal(s, "its attempt", late[0].Number, 1)
	s.refused(idem.CodeClaimLost, g.completion(strings.Repeat("x", idem.MaxLateResult+1)))
	late = s.state("e", idem.Processed).LateReports
	equal(s, "too large", late[1].Omitted && late[1].Result == nil, true)

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

// operatorAttemptRounds: an attempt stays of the round in which it was granted, and a replay or
// none, whatever an operator begins before the next one.
func operatorAttemptRounds(s *site) {
	type attempt struct {
		round  int32
		replay bool
	}
	expect := func(want ...attempt) {
		s.Helper()
		v := s.view("e")
		var got []attempt
		for _, a := range v.Attempts {
			got = append(got, attempt{a.Round, a.Replay})
		}
		if got = append(got, attempt{v.Event.GrantRound, v.Event.GrantReplay}); !slices.Equal(got, want) {
			s.Errorf("attempts by round: got %+v, want %+v", got, want)
		}
	}
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	s.grant("e").fail(idem.Retryable)
	s.replay("e", "r1")
	expect(attempt{1, false})
	s.grant("e", acceptReplay()).fail(idem.Retryable)
	expect(attempt{1, false}, attempt{2, true})
	s.resolve("e", idem.ResolveRetry)
	expect(attempt{1, false}, attempt{2, true})
	s.grant("e").complete("one")
	s.replay("e", "r2")
	s.grant("e", acceptReplay()).complete("two")
	expect(attempt{1, false}, attempt{2, true}, attempt{3, false}, attempt{4, true})
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

// operatorReplayUnprocessed: what has been processed is replayed only when that is asked
// for; replays are counted apart from everything else.
func operatorReplayUnprocessed(s *site) {
	s.grant("done").complete("one")
	done := &idem.Replay{Event: s.key("done").ID(), RequestID: "r1", Unprocessed: true}
	equal(s, "reason", fmt.Sprint(s.refusal(idem.CodeReplayRefused, done).Names), "["+idem.ReplayProcessed+"]")
	equal(s, "replays", s.view("done").Event.Replays, 0)
	s.replay("done", "r1")
	equal(s, "under way", fmt.Sprint(s.refusal(idem.CodeReplayRefused, &idem.Replay{Event: done.Event, RequestID: "r2"}).Names), "["+idem.ReplayRunning+"]")
	s.grant("done", acceptReplay()).complete("two")
	equal(s, "replays", s.view("done").Event.Replays, 1)

	s.grant("dead").fail(idem.Terminal)
	a := do[*idem.EndAnswer](s, &idem.Replay{Event: s.key("dead").ID(), RequestID: "r1", Unprocessed: true})
	equal(s, "already", a.Already, false)
	s.grant("live")
	live := &idem.Replay{Event: s.key("live").ID(), RequestID: "r1"}
	equal(s, "live", fmt.Sprint(s.refusal(idem.CodeReplayRefused, live).Names), "["+idem.ReplayUnfinished+"]")
}

// operatorRuns: of all who begin a run by one request, everybody gets the first one's.
func operatorRuns(s *site) {
	if _, ok, err := s.b.ReplayRun(s.Context(), s.ns, "r1"); ok || err != nil {
		s.Fatalf("a run that nobody has begun: %v, %v", ok, err)
	}
	s.grant("e")
	s.grant("f")
	first := storage.ReplayRun{
		Namespace: s.ns, RequestID: "r1", Request: newID(), Events: []idem.ID{s.key("f").ID(), s.key("e").ID()},
		Received: 7, More: true, Next: storage.Cursor{At: 1_000_000, ID: newID()},
	}
	for _, run := range []storage.ReplayRun{first, {Namespace: s.ns, RequestID: "r1", Request: newID(), Events: []idem.ID{newID()}}} {
		got, err := s.b.StoreReplayRun(s.Context(), run)
		if err != nil || !reflect.DeepEqual(got, first) {
			s.Fatalf("got %+v, %v; want the first one", got, err)
		}
	}
	got, ok, err := s.b.ReplayRun(s.Context(), s.ns, "r1")
	if err != nil || !ok || !reflect.DeepEqual(got, first) {
		s.Fatalf("got %+v, %v, %v", got, ok, err)
	}
	if _, ok, err := s.b.ReplayRun(s.Context(), s.ns+"-2", "r1"); ok || err != nil {
		s.Errorf("a run of another namespace: %v, %v", ok, err)
	}
	last := storage.ReplayRun{Namespace: s.ns, RequestID: "r2", Request: newID(), Events: first.Events[:1]}
	if got, err := s.b.StoreReplayRun(s.Context(), last); err != nil || !reflect.DeepEqual(got, last) {
		s.Errorf("a run that none goes on behind: got %+v, %v", got, err)
	}
	records, err := s.b.Records(s.Context(), append(first.Events, newID()))
	if err != nil || len(records) != 2 || records[first.Events[1]].Event.Key != s.key("e") || records[first.Events[0]].Now == 0 {
		s.Errorf("records: got %v, %v", records, err)
	}
	equal(s, "state", records[first.Events[0]].Event.State, idem.Processing)
}

// operatorDecidedOnce: a request decides once, whatever becomes of the event since.
func operatorDecidedOnce(s *site) {
	decide := func(to idem.ResolveTo, request, result string) *idem.Resolve {
		return &idem.Resolve{Event: s.key("e").ID(), To: to, Result: []byte(result), RequestID: request, Who: "op", Why: "known"}
	}
	s.grant("e", stale(idem.Hold)).expire()
	retry := decide(idem.ResolveRetry, "d1", "")
	equal(s, "first", do[*idem.EndAnswer](s, retry).Already, false)
	v := s.view("e").Event.Version
	a := do[*idem.EndAnswer](s, retry)
	equal(s, "repeat", a.Already, true)
	equal(s, "state", a.State, idem.Received)
	equal(s, "row version", s.view("e").Event.Version, v)

	g := s.grant("e")
	a = do[*idem.EndAnswer](s, retry)
	equal(s, "repeat while it runs", a.Already, true)
	equal(s, "state that was told", a.State, idem.Received)
	g.expire()
	equal(s, "second", do[*idem.EndAnswer](s, decide(idem.ResolveProcessed, "d2", "one")).Already, false)
	equal(s, "field", s.refusal(idem.CodeNotResolvable, decide(idem.ResolveProcessed, "d2", "two")).Field, "request_id")
	equal(s, "field", s.refusal(idem.CodeNotResolvable, decide(idem.ResolveTerminal, "d2", "one")).Field, "request_id")
	equal(s, "repeat of the first", do[*idem.EndAnswer](s, retry).State, idem.Received)
	equal(s, "result", string(s.state("e", idem.Processed).Result), "one")
	s.refused(idem.CodeNotResolvable, decide(idem.ResolveProcessed, "", "one")) // no request, no repeat
}

// operatorEffects: a person settles what is unknown, and alone has done again what is done.
func operatorEffects(s *site) {
	g := s.grant("e")
	k := s.effect(idem.EventScope, "e", "charge")
	decide := func(to idem.EffectDecision, result string) *idem.ResolveEffect {
		return &idem.ResolveEffect{Key: k, To: to, Result: []byte(result), Who: "op", Why: "asked the bank"}
	}
	begin := func(hash string) *idem.BeginEffect {
		c := s.beginning(g, k, hash)
		c.OnUnknown = idem.UnknownHold
		return c
	}
	s.refused(idem.CodeNotFound, decide(idem.EffectWasDone, "x"))
	first := s.effectIs(idem.EffectPerform, begin("h"))
	for _, to := range []idem.EffectDecision{idem.EffectWasDone, idem.EffectWasNot, idem.EffectRedo} {
		s.refused(idem.CodeNotResolvable, decide(to, "")) // while it is under way
	}
	s.h.Expire(s.T, k.ID())
	s.effectIs(idem.EffectOutcomeOpen, begin("h"))
	s.refused(idem.CodeNotResolvable, decide(idem.EffectRedo, ""))
	s.effectIs(idem.EffectReportedNot, decide(idem.EffectWasNot, ""))

	// It may be tried, under the same downstream key.
	second := s.effectIs(idem.EffectPerform, begin("h"))
	equal(s, "downstream key", second.Effect.DownstreamKey(), first.Effect.DownstreamKey())
	s.h.Expire(s.T, k.ID())
	s.effectIs(idem.EffectReportedDone, decide(idem.EffectWasDone, "ch_1"))
	a := s.effectIs(idem.EffectAlreadyDone, begin("h"))
	equal(s, "result", string(a.Effect.Result), "ch_1")
	for _, to := range []idem.EffectDecision{idem.EffectWasDone, idem.EffectWasNot} {
		s.refused(idem.CodeNotResolvable, decide(to, "ch_2")) // it is done: the first value stands
	}

	// Done again: another generation, in which the tokens before are worth nothing.
	s.effectIs(idem.EffectReportedNot, decide(idem.EffectRedo, ""))
	s.refused(idem.CodeEffectLost, &idem.ReportEffect{Token: second.Token, State: idem.EffectDone, Result: []byte("late")})
	third := s.effectIs(idem.EffectPerform, begin("other"))
	equal(s, "generation", third.Effect.Generation, 2)
	if third.Effect.DownstreamKey() == first.Effect.DownstreamKey() {
		s.Error("two generations share a downstream key")
	}
	s.effectIs(idem.EffectReportedDone, &idem.ReportEffect{Token: third.Token, State: idem.EffectDone, Result: []byte("ch_3")})
	g.complete("done")
}

func operatorEffectsOnce(s *site) {
	g := s.grant("e")
	k := s.effect(idem.NamespaceScope, "e", "charge")
	s.effectIs(idem.EffectRecorded, s.recording(g, k, "h", "v"))
	redo := &idem.ResolveEffect{Key: k, To: idem.EffectRedo, RequestID: "d1", Who: "op", Why: "refunded"}
	equal(s, "first", s.effectIs(idem.EffectReportedNot, redo).Repeat, false)
	s.effectIs(idem.EffectRecorded, s.recording(g, k, "h", "w"))
	equal(s, "repeat", s.effectIs(idem.EffectReportedNot, redo).Repeat, true)
	a := s.effectIs(idem.EffectAlreadyDone, s.recording(g, k, "h", "x"))
	equal(s, "result", string(a.Effect.Result), "w")
	equal(s, "generation", a.Effect.Generation, 2)
	other := *redo
	other.To = idem.EffectWasNot
	equal(s, "field", s.refusal(idem.CodeNotResolvable, &other).Field, "request_id")
}
