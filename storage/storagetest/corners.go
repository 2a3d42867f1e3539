package storagetest

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// corners are corners of the rules that an earlier state of the rules got wrong.
var corners = []test{
	{"Corners/SequenceStartsAtTheFirstSeen", cornerStart},
	{"Corners/SequenceOfANewEpochWaits", cornerEpochStart},
	{"Corners/ReplayOfAnOlderSequentialVersion", cornerReplayOlder},
	{"Corners/LateFailureOfAnExpiredReplay", cornerReplayLateFail},
	{"Corners/RearmedReplay", cornerReplayRearmed},
	{"Corners/ReplayEndsInAnIllegalStep", cornerReplayIllegal},
	{"Corners/SameReplayRequestLater", cornerReplayRequest},
	{"Corners/UndeliveredIsNeverCounted", cornerUndelivered},
	{"Corners/WaitingRedeliveryLosesNoClaim", cornerWaiting},
	{"Corners/LateUnknownOfAnOlderTry", cornerOlderUnknown},
	{"Corners/SecondReservationIsAStep", cornerSecondStep},
	{"Corners/OwnerIsSettledByItsOwnPolicy", cornerOwnerPolicy},
}

// Versions: `sequence_start: first_seen`; a known and unfinished predecessor is awaited,
// never skipped (gate 14).
func cornerStart(s *site) {
	s.grant("v5", ordered(s.next("r", 5))).fail(idem.Retryable)
	s.outcome(idem.OutcomeAwaiting, s.claim("v6", ordered(s.next("r", 6))))
	s.grant("v5").complete("done")
	s.grant("v6").complete("done")
}

// The same at the beginning of an epoch.
func cornerEpochStart(s *site) {
	s.grant("old", ordered(s.next("r", 9))).complete("done")
	first, second := s.next("r", 1), s.next("r", 2)
	first.Version.Epoch, second.Version.Epoch = 1, 1
	s.grant("v1", ordered(first)).fail(idem.Retryable)
	s.outcome(idem.OutcomeAwaiting, s.claim("v2", ordered(second)))
}

// Gate 11: older than applied is STALE, and a replay keeps what it was settled as.
func cornerReplayOlder(s *site) {
	s.grant("v1", ordered(s.next("r", 1))).complete("one")
	s.grant("v2", ordered(s.next("r", 2))).complete("two")
	s.replay("v1", "r1")
	s.outcome(idem.OutcomeStale, s.claim("v1", acceptReplay()))
	s.state("v1", idem.Processed)
}

func (s *site) once() {
	s.Helper()
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
}

// Replay fails or dies: settled_as stays.
func cornerReplayLateFail(s *site) {
	s.once()
	for _, k := range []idem.FailureKind{idem.Retryable, idem.Terminal, idem.NotYet} {
		event := []string{"", "retryable", "terminal", "not yet"}[k]
		s.sub(event, func(s *site) {
			s.grant(event).complete("one")
			s.replay(event, "r1")
			g := s.grant(event, acceptReplay())
			g.expire()
			s.apply(g.failure(k, "late"))
			equal(s, "result", string(s.state(event, idem.Processed).Result), "one")
		})
	}
}

// A replay that was re-armed is a replay still.
func cornerReplayRearmed(s *site) {
	s.once()
	s.grant("e").complete("one")
	s.replay("e", "r1")
	g := s.grant("e", acceptReplay())
	g.expire()
	g.extend(theLease)
	s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	g.fail(idem.Retryable)
	s.state("e", idem.Processed)
}

// A replay that ends as it began is over, and the next one may start.
func cornerReplayIllegal(s *site) {
	s.policy(func(p *idem.Policy) { machine(p); p.IllegalEnds = true })
	s.grant("a", ordered(to(s.latest("r", 1), "new"))).complete("done")
	s.grant("b", ordered(to(s.latest("r", 2), "sent"))).complete("done")
	s.outcome(idem.OutcomeIllegal, s.claim("c", ordered(to(s.latest("r", 3), "paid"))))
	s.replay("c", "r1")
	s.outcome(idem.OutcomeIllegal, s.claim("c", acceptReplay()))
	equal(s, "replay failed", s.state("c", idem.FailedTerminal).ReplayFailed, true)
	s.replay("c", "r2")
}

// The same request_id is the same run, whatever came after it.
func cornerReplayRequest(s *site) {
	s.grant("e").complete("one")
	for _, request := range []string{"r1", "r2"} {
		s.replay("e", request)
		s.grant("e", acceptReplay()).complete(request)
	}
	equal(s, "already", s.replay("e", "r1").Already, true)
	s.state("e", idem.Processed)
}

// Ghosts: a grant whose answer never left the server is not counted.
func cornerUndelivered(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxReleases, p.MaxAttempts = 0, 1 })
	g := s.grant("e")
	a := do[*idem.EndAnswer](s, &idem.Release{Token: g.Token, Undelivered: true})
	equal(s, "counted", a.Counted, false)
	s.grant("e")
}

// A claim is lost by a newer grant, by an operator's decision or by a lane given on. A
// redelivery that has to wait is none of these.
func cornerWaiting(s *site) {
	s.grant("owner", ordered(s.latest("r", 2)))
	g := s.grant("e")
	g.expire()
	s.outcome(idem.OutcomeResourceBusy, s.claim("e", ordered(s.latest("r", 1))))
	equal(s, "late", g.complete("late").Late, true)
}

// BEGUN with its lease over is UNKNOWN, whether or not that was written down: a report of
// UNKNOWN changes nothing.
func cornerOlderUnknown(s *site) {
	g := s.grant("e")
	key := s.effect(idem.EventScope, "e", "k")
	first := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
	s.h.Expire(s.T, key.ID())
	s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
	s.h.Expire(s.T, key.ID())
	s.effectIs(idem.EffectOutcomeOpen, report(first.Token, idem.EffectUnknown, "?"))
}

// A state machine is asked at every reservation.
func cornerSecondStep(s *site) {
	s.policy(machine)
	s.grant("a", ordered(to(s.latest("r", 1), "new"))).complete("done")
	s.grant("b", ordered(to(s.latest("r", 2), "sent"))).complete("done")
	g := s.grant("c")
	g.check(idem.VerdictApply, to(s.latest("r", 3), "sent"))
	g.check(idem.VerdictIllegal, to(s.latest("r", 4), "paid"))
}

// No answer may depend on whether the sweeper has run: who settles a lane's owner on the
// way does it by the owner's policy.
func cornerOwnerPolicy(s *site) {
	s.policies(func(eventType string, p *idem.Policy) {
		p.WaiveInterval = time.Hour
		if eventType == "once" {
			p.MaxAttempts = 1
		}
	})
	swept := s.grant("swept", eventType("once"), ordered(s.latest("r1", 1)))
	swept.expire()
	s.settle(swept.Event)
	s.state("swept", idem.DeadLettered)
	s.grant("owner", eventType("once"), ordered(s.latest("r2", 1))).expire()
	s.grant("next", ordered(s.latest("r2", 2)))
	s.state("owner", idem.DeadLettered)
}
