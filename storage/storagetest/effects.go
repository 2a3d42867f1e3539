package storagetest

import (
	"fmt"
	"strings"

	"github.com/idemsvc/idemsvc/idem"
)

// effects is the table of side effects: each call in each state of the key.
var effects = []test{
	{"Effects/Absent", effectAbsent},
	{"Effects/NotDone", effectNotDone},
	{"Effects/Begun", effectBegun},
	{"Effects/BegunByEarlierTry", effectBegunAgain},
	{"Effects/Unknown", effectUnknown},
	{"Effects/Done", effectDone},
	{"Effects/Generations", effectGenerations},
	{"Effects/Record", effectRecord},
	{"Effects/Scopes", effectScopes},
	{"Effects/RequestHash", effectRequestHash},
	{"Effects/OnUnknown", effectOnUnknown},
	{"Effects/Limits", effectLimits},
	{"Effects/ComeWithGrants", effectComeWithGrants},
}

func effectAbsent(s *site) {
	for _, scope := range []idem.Scope{idem.EventScope, idem.ConsumerScope, idem.NamespaceScope} {
		event := fmt.Sprint("e", scope)
		g := s.grant(event)
		a := s.begin(idem.EffectPerform, s.beginning(g, s.effect(scope, event, "k"), "h"))
		equal(s, "attempt", a.Attempt, 1)
		equal(s, "state", a.Effect.State, idem.EffectBegun)
		if a.Token.Effect != s.effect(scope, event, "k").ID() || a.Effect.DownstreamKey() == "" {
			s.Errorf("token %+v does not name its effect", a.Token)
		}
		r := s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(scope, event, "r"), "h", "v"))
		s.holds(r, "v")
	}
	s.begin(idem.EffectPerform, s.beginning(nil, s.effect(idem.NamespaceScope, "", "free"), "h")) // without a claim
	s.refused(idem.CodeEffectLost, report(idem.EffectToken{
		Namespace: s.ns, Effect: s.effect(idem.NamespaceScope, "", "none").ID(), Generation: 1, Number: 1, Nonce: newID(),
	}, idem.EffectDone, "v"))
}

func effectNotDone(s *site) {
	g := s.grant("e")
	key := s.effect(idem.EventScope, "e", "k")
	first := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
	s.effectIs(idem.EffectReportedNot, report(first.Token, idem.EffectNotDone, "declined"))
	again := s.effectIs(idem.EffectReportedNot, report(first.Token, idem.EffectNotDone, "declined"))
	equal(s, "repeat", again.Repeat, true)
	s.effectIs(idem.EffectReportedNot, report(first.Token, idem.EffectUnknown, "?")) // no change

	second := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
	equal(s, "attempt", second.Attempt, 2)
	equal(s, "downstream key", second.Effect.DownstreamKey(), first.Effect.DownstreamKey())
	equal(s, "earlier intent", string(second.Earlier), "intent")
	s.effectIs(idem.EffectReportedNot, report(second.Token, idem.EffectNotDone, "declined"))
	s.effectIs(idem.EffectReportedNot, report(first.Token, idem.EffectNotDone, "declined")) // a past one: no change

	// A fact of a past attempt is a fact.
	s.holds(s.effectIs(idem.EffectReportedDone, report(first.Token, idem.EffectDone, "v")), "v")
	s.holds(s.begin(idem.EffectAlreadyDone, s.beginning(g, key, "h")), "v")

	key = s.effect(idem.EventScope, "e", "recorded")
	a := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
	s.effectIs(idem.EffectReportedNot, report(a.Token, idem.EffectNotDone, "declined"))
	s.holds(s.effectIs(idem.EffectRecorded, s.recording(g, key, "h", "v")), "v")
}

func effectBegun(s *site) {
	g := s.grant("e")
	key := s.effect(idem.NamespaceScope, "e", "k")
	begin := s.beginning(g, key, "h")
	first := s.begin(idem.EffectPerform, begin)
	repeat := s.begin(idem.EffectPerform, begin)
	equal(s, "token of a repeat", repeat.Token, first.Token)
	equal(s, "attempt of a repeat", repeat.Attempt, 1)
	busy := s.begin(idem.EffectInProgress, s.beginning(g, key, "h"))
	if busy.RetryIn <= 0 || busy.RetryIn > theLease {
		s.Errorf("retry in %v, want what is left of the lease", busy.RetryIn)
	}
	mismatch := s.begin(idem.EffectMismatch, s.beginning(g, key, "other"))
	if mismatch.Effect != nil {
		s.Error("REQUEST_MISMATCH tells of the other's effect")
	}
	other := s.grant("other")
	s.effectIs(idem.EffectInProgress, s.recording(other, key, "h", "v"))
	s.holds(s.effectIs(idem.EffectRecorded, s.recording(g, key, "h", "mine")), "mine") // own open attempt

	// A try of an earlier claim of the same event is not the claim's own.
	earlier := s.grant("again")
	key = s.effect(idem.EventScope, "again", "k")
	s.begin(idem.EffectPerform, s.beginning(earlier, key, "h"))
	earlier.expire()
	s.effectIs(idem.EffectInProgress, s.recording(s.grant("again"), key, "h", "v"))

	for _, tt := range []struct {
		state idem.EffectState
		want  idem.EffectVerdict
		after idem.EffectState
	}{
		{idem.EffectDone, idem.EffectReportedDone, idem.EffectDone},
		{idem.EffectNotDone, idem.EffectReportedNot, idem.EffectNotDone},
		{idem.EffectUnknown, idem.EffectOutcomeOpen, idem.EffectUnknown},
	} {
		a := s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, "e", tt.state.String()), "h"))
		r := s.effectIs(tt.want, report(a.Token, tt.state, "v"))
		equal(s, "state after "+tt.state.String(), r.Effect.State, tt.after)
		forged := a.Token
		forged.Nonce = newID()
		s.refused(idem.CodeEffectLost, report(forged, tt.state, "v"))
	}
}

// effectBegunAgain: an effect whose earlier try is open is under way for a second time.
func effectBegunAgain(s *site) {
	g := s.grant("e")
	twice := func(name string) (first, second idem.EffectToken) {
		key := s.effect(idem.EventScope, "e", name)
		a := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
		s.h.Expire(s.T, key.ID())
		b := s.begin(idem.EffectPerform, s.beginning(g, key, "h"))
		equal(s, "attempt", b.Attempt, 2)
		equal(s, "downstream key", b.Effect.DownstreamKey(), a.Effect.DownstreamKey())
		return a.Token, b.Token
	}
	first, second := twice("not done")
	s.refused(idem.CodeEffectLost, report(first, idem.EffectNotDone, "declined"))
	s.effectIs(idem.EffectOutcomeOpen, report(second, idem.EffectNotDone, "declined")) // the first may still have done it
	s.holds(s.effectIs(idem.EffectReportedDone, report(first, idem.EffectDone, "v")), "v")

	first, _ = twice("done by the first")
	s.holds(s.effectIs(idem.EffectReportedDone, report(first, idem.EffectDone, "v")), "v")
	_, second = twice("done by the second")
	s.holds(s.effectIs(idem.EffectReportedDone, report(second, idem.EffectDone, "v")), "v")
}

// effectUnknown: a begun effect whose lease is over is unknown, whether by its lease or
// by a report.
func effectUnknown(s *site) {
	for _, reported := range []bool{false, true} {
		prefix := "lease over/"
		if reported {
			prefix = "reported/"
		}
		s.sub(strings.TrimSuffix(prefix, "/"), func(s *site) {
			g := s.grant(prefix)
			unknown := func(name string, on idem.OnUnknown) (idem.EffectKey, *idem.EffectAnswer) {
				key := s.effect(idem.EventScope, prefix, name)
				c := s.beginning(g, key, "h")
				c.OnUnknown = on
				a := s.begin(idem.EffectPerform, c)
				if reported {
					s.effectIs(idem.EffectOutcomeOpen, report(a.Token, idem.EffectUnknown, "?"))
				} else {
					s.h.Expire(s.T, key.ID())
				}
				return key, a
			}
			key, a := unknown("retry", idem.UnknownRetry)
			c := s.beginning(g, key, "h")
			b := s.begin(idem.EffectPerform, c)
			equal(s, "attempt", b.Attempt, 2)
			equal(s, "downstream key", b.Effect.DownstreamKey(), a.Effect.DownstreamKey())

			key, _ = unknown("hold", idem.UnknownHold)
			s.begin(idem.EffectOutcomeOpen, s.beginning(g, key, "h"))
			s.effectIs(idem.EffectOutcomeOpen, s.recording(g, key, "h", "v"))
			s.begin(idem.EffectMismatch, s.beginning(g, key, "other"))

			_, a = unknown("done", idem.UnknownHold)
			s.holds(s.effectIs(idem.EffectReportedDone, report(a.Token, idem.EffectDone, "v")), "v")
			_, a = unknown("not done", idem.UnknownHold)
			s.effectIs(idem.EffectReportedNot, report(a.Token, idem.EffectNotDone, "declined"))
			key, a = unknown("unknown", idem.UnknownHold)
			s.effectIs(idem.EffectOutcomeOpen, report(a.Token, idem.EffectUnknown, "?"))
			s.begin(idem.EffectOutcomeOpen, s.beginning(g, key, "h"))
		})
	}
}

func effectDone(s *site) {
	g := s.grant("e")
	key := s.effect(idem.NamespaceScope, "e", "k")
	begin := s.beginning(g, key, "h")
	a := s.begin(idem.EffectPerform, begin)
	s.effectIs(idem.EffectReportedDone, report(a.Token, idem.EffectDone, "v0"))

	s.holds(s.begin(idem.EffectAlreadyDone, begin), "v0")
	s.holds(s.begin(idem.EffectAlreadyDone, s.beginning(g, key, "h")), "v0")
	if m := s.begin(idem.EffectMismatch, s.beginning(g, key, "other")); m.Effect != nil {
		s.Error("REQUEST_MISMATCH tells of the other's effect")
	}
	repeat := s.effectIs(idem.EffectReportedDone, report(a.Token, idem.EffectDone, "v0"))
	equal(s, "repeat", repeat.Repeat, true)
	s.holds(repeat, "v0")
	for range 2 {
		conflict := s.effectIs(idem.EffectAlreadyDone, report(a.Token, idem.EffectDone, "v1"))
		equal(s, "conflict", conflict.Conflict, true)
		s.holds(conflict, "v0")
	}
	conflict := s.effectIs(idem.EffectAlreadyDone, report(a.Token, idem.EffectNotDone, "declined"))
	equal(s, "conflict", conflict.Conflict, true)
	s.holds(conflict, "v0")
	equal(s, "conflicts kept", len(conflict.Effect.Conflicts), 2)
	unknown := s.effectIs(idem.EffectAlreadyDone, report(a.Token, idem.EffectUnknown, "?"))
	equal(s, "conflict", unknown.Conflict, false)
	s.holds(unknown, "v0")
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(g, key, "h", "v2")), "v0")
}

// effectGenerations: another request after NOT_DONE is another operation, with another
// downstream key; after UNKNOWN it never is.
func effectGenerations(s *site) {
	g := s.grant("e")
	key := s.effect(idem.ConsumerScope, "e", "k")
	first := s.begin(idem.EffectPerform, s.beginning(g, key, "100 EUR"))
	s.effectIs(idem.EffectReportedNot, report(first.Token, idem.EffectNotDone, "declined"))
	second := s.begin(idem.EffectPerform, s.beginning(g, key, "50 EUR"))
	equal(s, "generation", second.Effect.Generation, first.Effect.Generation+1)
	equal(s, "attempt", second.Attempt, 1)
	if second.Effect.DownstreamKey() == first.Effect.DownstreamKey() {
		s.Error("two generations share a downstream key")
	}
	s.refused(idem.CodeEffectLost, report(first.Token, idem.EffectNotDone, "declined"))
	s.effectIs(idem.EffectOutcomeOpen, report(second.Token, idem.EffectUnknown, "?"))
	s.begin(idem.EffectMismatch, s.beginning(g, key, "20 EUR"))
}

func effectRecord(s *site) {
	g := s.grant("e")
	key := s.effect(idem.EventScope, "e", "k")
	first := s.recording(g, key, "", "one")
	s.holds(s.effectIs(idem.EffectRecorded, first), "one")
	s.holds(s.effectIs(idem.EffectAlreadyDone, first), "one")
	s.holds(s.effectIs(idem.EffectAlreadyDone, s.recording(g, key, "", "two")), "one")
	s.holds(s.effectIs(idem.EffectRecorded, s.recording(nil, s.effect(idem.ConsumerScope, "", "free"), "h", "v")), "v")
}

// effectScopes: the scope says how far a key reaches, and nothing else does.
func effectScopes(s *site) {
	a, b := s.grant("a"), s.grant("b")
	c := s.grant("c", consumer("other"))
	for _, tt := range []struct {
		scope          idem.Scope
		event, another idem.EffectVerdict // for another event, for another consumer
	}{
		{idem.EventScope, idem.EffectRecorded, idem.EffectRecorded},
		{idem.ConsumerScope, idem.EffectAlreadyDone, idem.EffectRecorded},
		{idem.NamespaceScope, idem.EffectAlreadyDone, idem.EffectAlreadyDone},
	} {
		name := fmt.Sprint("k", tt.scope)
		s.effectIs(idem.EffectRecorded, s.recording(a, s.effect(tt.scope, "a", name), "h", "v"))
		s.effectIs(tt.event, s.recording(b, s.effect(tt.scope, "b", name), "h", "v"))
		foreign := idem.EffectKey{Scope: tt.scope, Namespace: s.ns, Consumer: "other", Event: c.Event, Key: name}
		s.effectIs(tt.another, s.recording(c, foreign.Scoped(), "h", "v"))
		wall := s.effect(tt.scope, "a", name)
		wall.Namespace += "-2"
		s.effectIs(idem.EffectRecorded, s.recording(nil, wall, "h", "v"))
	}
}

func effectRequestHash(s *site) {
	g := s.grant("e")
	for _, scope := range []idem.Scope{idem.ConsumerScope, idem.NamespaceScope} {
		key := s.effect(scope, "e", fmt.Sprint("k", scope))
		err := s.refusal(idem.CodeInvalid, s.beginning(g, key, ""))
		equal(s, "field", err.Field, "request_hash")
		s.refused(idem.CodeInvalid, s.recording(g, key, "", "v"))
	}
	s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, "e", "k"), ""))
}

// effectOnUnknown: the decision is stored at the first BEGIN; a later caller may
// tighten it, never loosen it.
func effectOnUnknown(s *site) {
	g := s.grant("e")
	try := func(name string, first, later idem.OnUnknown, want idem.EffectVerdict) {
		s.Helper()
		key := s.effect(idem.EventScope, "e", name)
		c := s.beginning(g, key, "h")
		c.OnUnknown = first
		s.begin(idem.EffectPerform, c)
		s.h.Expire(s.T, key.ID())
		c = s.beginning(g, key, "h")
		c.OnUnknown = later
		s.begin(want, c)
		if later == idem.UnknownHold {
			c = s.beginning(g, key, "h")
			c.OnUnknown = idem.UnknownRetry
			s.begin(idem.EffectOutcomeOpen, c) // it stays tight
		}
	}
	try("loosen", idem.UnknownHold, idem.UnknownRetry, idem.EffectOutcomeOpen)
	try("tighten", idem.UnknownRetry, idem.UnknownHold, idem.EffectOutcomeOpen)
	try("keep", idem.UnknownRetry, idem.UnknownByPolicy, idem.EffectPerform)
	try("policy", idem.UnknownByPolicy, idem.UnknownRetry, idem.EffectOutcomeOpen) // HOLD by default

	key := s.effect(idem.EventScope, "e", "tighten with a new try")
	for _, on := range []idem.OnUnknown{idem.UnknownRetry, idem.UnknownHold} {
		c := s.beginning(g, key, "h")
		c.OnUnknown = on
		a := s.begin(idem.EffectPerform, c)
		if on == idem.UnknownRetry {
			s.effectIs(idem.EffectReportedNot, report(a.Token, idem.EffectNotDone, "declined"))
		}
	}
	s.h.Expire(s.T, key.ID())
	s.begin(idem.EffectOutcomeOpen, s.beginning(g, key, "h"))
}

func effectLimits(s *site) {
	g := s.grant("e")
	const half = idem.MaxEffectBytes / 2
	s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", "a"), "", strings.Repeat("x", half)))
	s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", "b"), "", strings.Repeat("x", half)))
	s.refused(idem.CodeEffectLimit, s.recording(g, s.effect(idem.EventScope, "e", "c"), "", "x"))
	g.complete("done") // a refusal leaves the claim alive

	g = s.grant("many")
	for i := range idem.MaxEffects {
		s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "many", fmt.Sprint(i)), "", ""))
	}
	s.refused(idem.CodeEffectLimit, s.recording(g, s.effect(idem.EventScope, "many", "one more"), "", ""))
	s.effectIs(idem.EffectAlreadyDone, s.recording(g, s.effect(idem.EventScope, "many", "0"), "", ""))
}

// effectComeWithGrants: attempt 2 resumes where attempt 1 died.
func effectComeWithGrants(s *site) {
	g := s.grant("e")
	s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", "charge"), "", "ch_1"))
	mail := s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.NamespaceScope, "e", "mail"), "h"))
	g.expire()
	next := s.grant("e")
	got := map[string]idem.EffectState{}
	for _, f := range next.answer.Effects {
		got[f.Key.Key] = f.State
	}
	if len(got) != 2 || got["charge"] != idem.EffectDone || got["mail"] != idem.EffectBegun {
		s.Errorf("effects of the next grant: got %v, want charge done and mail begun", got)
	}
	// The report of a try is judged by its effect token alone, also after the claim is lost.
	s.holds(s.effectIs(idem.EffectReportedDone, report(mail.Token, idem.EffectDone, "m_1")), "m_1")
	again := s.outcome(idem.OutcomeClaimed, next.claim)
	equal(s, "effects of the repeat", len(again.Effects), 2)
}
