//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

var charge = idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "ns", Key: "charge"}

func (l *lab) begin(t idem.Token, id string, change func(*idem.BeginEffect)) *idem.EffectAnswer {
	l.t.Helper()
	c := &idem.BeginEffect{Token: &t, Key: charge, BeginID: id, RequestHash: []byte("h"), OnUnknown: idem.UnknownRetry, Nonce: number(l.fresh())}
	if change != nil {
		change(c)
	}
	d := l.do(c)
	if d.Err != nil {
		l.t.Fatalf("begin %s: %v", id, d.Err)
	}
	return d.Answer.(*idem.EffectAnswer)
}

func (l *lab) report(t idem.EffectToken, s idem.EffectState, result string) string {
	l.t.Helper()
	d := l.do(&idem.ReportEffect{Token: t, State: s, Result: []byte(result)})
	got := short(&d)
	if d.Err == nil && d.Answer.(*idem.EffectAnswer).Conflict {
		got += " conflict"
	}
	return got
}

func (l *lab) lapse() {
	f := *l.fx[0]
	f.LeaseUntil = clock
	l.fx[0] = &f
}

// set is a key's world: the tokens of its first and of its last try.
type set struct {
	l        *lab
	tok      idem.Token
	old, cur idem.EffectToken
}

func (s *set) record(t idem.Token, hash string) string {
	d := s.l.do(&idem.RecordEffect{Token: &t, Key: charge, RequestHash: []byte(hash), Result: []byte("r")})
	return short(&d)
}

// TestEffectTable is the table of section 5: each phase in each state of the key.
func TestEffectTable(t *testing.T) {
	first := func(s *set) { a := s.l.begin(s.tok, "b1", nil); s.old, s.cur = a.Token, a.Token }
	states := map[string]func(s *set){
		"absent":   func(*set) {},
		"NOT_DONE": func(s *set) { first(s); s.l.report(s.cur, idem.EffectNotDone, "") },
		"BEGUN":    first,
		"BEGUN, second try": func(s *set) {
			first(s)
			s.l.lapse()
			s.cur = s.l.begin(s.tok, "b2", nil).Token
		},
		"lease over": func(s *set) { first(s); s.l.lapse() },
		"lease over, HOLD": func(s *set) {
			a := s.l.begin(s.tok, "b1", func(c *idem.BeginEffect) { c.OnUnknown = idem.UnknownHold })
			s.old, s.cur = a.Token, a.Token
			s.l.lapse()
		},
		"UNKNOWN": func(s *set) { first(s); s.l.report(s.cur, idem.EffectUnknown, "") },
		"DONE":    func(s *set) { first(s); s.l.report(s.cur, idem.EffectDone, "v0") },
	}
	calls := map[string]func(s *set) string{
		"begin":       func(s *set) string { return s.l.begin(s.tok, "new", nil).Verdict.String() },
		"begin again": func(s *set) string { return s.l.begin(s.tok, "b1", nil).Verdict.String() },
		"begin stricter": func(s *set) string {
			return s.l.begin(s.tok, "new", func(c *idem.BeginEffect) { c.OnUnknown = idem.UnknownHold }).Verdict.String()
		},
		"begin other": func(s *set) string {
			a := s.l.begin(s.tok, "new", func(c *idem.BeginEffect) { c.RequestHash = []byte("other") })
			if a.Verdict == idem.EffectMismatch && a.Effect != nil {
				return "told"
			}
			return a.Verdict.String()
		},
		"done":           func(s *set) string { return s.l.report(s.cur, idem.EffectDone, "v") },
		"done same":      func(s *set) string { return s.l.report(s.cur, idem.EffectDone, "v0") },
		"done by old":    func(s *set) string { return s.l.report(s.old, idem.EffectDone, "v") },
		"not done":       func(s *set) string { return s.l.report(s.cur, idem.EffectNotDone, "") },
		"not done, old":  func(s *set) string { return s.l.report(s.old, idem.EffectNotDone, "") },
		"unknown":        func(s *set) string { return s.l.report(s.cur, idem.EffectUnknown, "") },
		"record":         func(s *set) string { return s.record(s.tok, "h") },
		"record other":   func(s *set) string { return s.record(s.tok, "other") },
		"record another": func(s *set) string { return s.record(s.l.grant(1, nil), "h") },
	}
	for state, want := range map[string]string{
		"absent":            "begin:PERFORM,record:RECORDED",
		"NOT_DONE":          "begin:PERFORM,begin other:PERFORM,done by old:DONE,not done:NOT_DONE,unknown:NOT_DONE,record:RECORDED",
		"BEGUN":             "begin:IN_PROGRESS,begin again:PERFORM,begin other:REQUEST_MISMATCH,done:DONE,not done:NOT_DONE,unknown:OUTCOME_UNKNOWN,record:RECORDED,record another:IN_PROGRESS,record other:REQUEST_MISMATCH",
		"BEGUN, second try": "done by old:DONE,done:DONE,not done:OUTCOME_UNKNOWN,not done, old:EFFECT_LOST,begin:IN_PROGRESS",
		"lease over":        "begin:PERFORM,begin stricter:OUTCOME_UNKNOWN,begin other:REQUEST_MISMATCH,done:DONE,not done:NOT_DONE,unknown:OUTCOME_UNKNOWN,record:OUTCOME_UNKNOWN",
		"lease over, HOLD":  "begin:OUTCOME_UNKNOWN,done:DONE,not done:NOT_DONE",
		"UNKNOWN":           "begin:PERFORM,done:DONE,not done:NOT_DONE,unknown:OUTCOME_UNKNOWN,record:OUTCOME_UNKNOWN",
		"DONE":              "begin:ALREADY_DONE,begin again:ALREADY_DONE,begin other:REQUEST_MISMATCH,done same:DONE,done:ALREADY_DONE conflict,not done:ALREADY_DONE conflict,unknown:ALREADY_DONE,record:ALREADY_DONE,record other:REQUEST_MISMATCH",
	} {
		for _, pair := range splitPairs(want) {
			call, answer := pair[0], pair[1]
			t.Run(state+"/"+call, func(t *testing.T) {
				l := newLab(t, nil)
				s := &set{l: l, tok: l.grant(0, nil)}
				states[state](s)
				if got := calls[call](s); got != answer {
					t.Errorf("%s, want %s", got, answer)
				}
			})
		}
	}
}

// splitPairs cuts "call:answer,call:answer"; a call may contain a comma and a blank.
func splitPairs(s string) (out [][2]string) {
	for s != "" {
		call, rest, _ := strings.Cut(s, ":")
		answer, more, _ := strings.Cut(rest, ",")
		out = append(out, [2]string{call, answer})
		s = more
	}
	return out
}

// TestEffectGenerations: the downstream key is stable within a generation, and only
// NOT_DONE with another request opens the next one.
func TestEffectGenerations(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	a := l.begin(tok, "b1", nil)
	l.lapse()
	b := l.begin(tok, "b2", nil)
	if a.Effect.DownstreamKey() != b.Effect.DownstreamKey() || b.Attempt != 2 || b.Token.Generation != 1 || b.Token.Nonce == a.Token.Nonce {
		t.Errorf("a second try: %+v", b)
	}
	l.report(b.Token, idem.EffectNotDone, "") // the first try is open: unknown
	if l.fx[0].State != idem.EffectUnknown {
		t.Errorf("NOT_DONE over an open earlier try: %v", l.fx[0].State)
	}
	c := l.begin(tok, "b3", nil)
	l.report(a.Token, idem.EffectDone, "late")
	if got := l.report(c.Token, idem.EffectDone, "mine"); got != "ALREADY_DONE conflict" || string(l.fx[0].Result) != "late" || len(l.fx[0].Conflicts) != 1 {
		t.Errorf("the first value wins: %s with %q", got, l.fx[0].Result)
	}
	l = newLab(t, nil)
	tok = l.grant(0, nil)
	a = l.begin(tok, "b1", nil)
	l.report(a.Token, idem.EffectNotDone, "")
	b = l.begin(tok, "b2", func(c *idem.BeginEffect) { c.RequestHash = []byte("other") })
	if b.Token.Generation != 2 || b.Effect.DownstreamKey() == a.Effect.DownstreamKey() || b.Attempt != 1 {
		t.Errorf("another request after NOT_DONE: %+v", b)
	}
}

// TestEffectDecisionsOnlyTighten: a later caller may turn RETRY into HOLD, never back.
func TestEffectDecisionsOnlyTighten(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	l.begin(tok, "b1", nil)
	l.lapse()
	hold := func(c *idem.BeginEffect) { c.OnUnknown = idem.UnknownHold }
	if a := l.begin(tok, "b2", hold); a.Verdict != idem.EffectOutcomeOpen {
		t.Errorf("stricter: %v", a.Verdict)
	}
	if a := l.begin(tok, "b3", nil); a.Verdict != idem.EffectOutcomeOpen {
		t.Errorf("looser again: %v", a.Verdict)
	}
}

// TestEffectsNeedTheirHash beyond one event, and a scope of their own.
func TestEffectsNeedTheirHash(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	for _, scope := range []idem.Scope{idem.ConsumerScope, idem.NamespaceScope} {
		k := idem.EffectKey{Scope: scope, Namespace: "ns", Consumer: "billing", Key: "k"}
		if d := l.do(&idem.BeginEffect{Token: &tok, Key: k, BeginID: "b"}); d.Err == nil || d.Err.Field != "request_hash" {
			t.Errorf("scope %d without a hash: %s", scope, short(&d))
		}
	}
	if d := l.do(&idem.BeginEffect{Token: &tok, Key: eventEffect(tok), BeginID: "b"}); d.Err != nil {
		t.Errorf("EVENT scope without a hash: %v", d.Err)
	}
}

// TestCompletionAndOpenEffects: a completion names them and leaves the claim alive, or
// turns them unknown.
func TestCompletionAndOpenEffects(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	l.begin(tok, "b1", nil)
	d := l.do(&idem.Complete{Token: tok, Result: []byte("r")})
	if d.Err == nil || d.Err.Code != idem.CodeOpenEffects || len(d.Err.Names) != 1 || d.Err.Names[0] != "charge" || l.state(0) != "PROCESSING" {
		t.Fatalf("%s names %v, the event is %s", short(&d), d.Err, l.state(0))
	}
	d = l.do(&idem.Complete{Token: tok, Result: []byte("r"), AllowUnknown: true})
	if d.Err != nil || l.fx[0].State != idem.EffectUnknown || l.state(0) != "PROCESSED" {
		t.Errorf("%s, the effect is %v", short(&d), l.fx[0].State)
	}
}

// TestUnknownEffectUnderHold: the failure of its claim is held for a person.
func TestUnknownEffectUnderHold(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	l.begin(tok, "b1", func(c *idem.BeginEffect) { c.OnUnknown = idem.UnknownHold })
	l.lapse()
	l.fail(tok)
	if l.state(0) != "HELD" || l.ev[0].Reason != idem.UnknownEffect {
		t.Errorf("%s %v", l.state(0), l.ev[0].Reason)
	}
	l.want("a redelivery", l.claim(0, nil), idem.OutcomeHeld, idem.Held)
}

// TestReleaseWithAnEffect counts, and leaves the effect unknown.
func TestReleaseWithAnEffect(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	l.begin(tok, "b1", nil)
	l.do(&idem.Release{Token: tok})
	if l.state(0) != "RECEIVED" || l.ev[0].Attempts != 1 || l.fx[0].State != idem.EffectUnknown {
		t.Errorf("%s, %d attempts, the effect is %v", l.state(0), l.ev[0].Attempts, l.fx[0].State)
	}
}

// TestEffectLimits: so many effects and bytes under one event.
func TestEffectLimits(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	c := &idem.RecordEffect{Token: &tok, Key: eventEffect(tok), Result: make([]byte, idem.MaxEffectBytes+1)}
	if d := l.do(c); d.Err == nil || d.Err.Code != idem.CodeEffectLimit || l.fx[0] != nil {
		t.Errorf("too many bytes: %s", short(&d))
	}
	l.edit(0, func(e *idem.Event) { e.Effects = idem.MaxEffects })
	c.Result = nil
	if d := l.do(c); d.Err == nil || d.Err.Code != idem.CodeEffectLimit {
		t.Errorf("too many effects: %s", short(&d))
	}
}
