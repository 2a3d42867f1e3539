package history_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/storagetest/history"
)

const start idem.Instant = 1_800_000_000_000_000

func at(seconds int) idem.Instant { return start.Add(time.Duration(seconds) * time.Second) }

var (
	key1 = idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: "s", EventID: "1"}, Consumer: "c"}
	key2 = idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: "s", EventID: "2"}, Consumer: "c"}
	res  = idem.ResourceKey{Namespace: "ns", Consumer: "c", Type: "order", Name: "42"}
	eff  = idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "ns", Key: "charge"}
)

// story builds a history by hand. Calls follow one another unless they are made to
// overlap.
type story struct {
	h history.History
	n int64
}

func (s *story) call(c idem.Command, a idem.Answer) *story {
	s.n += 2
	s.h.Calls = append(s.h.Calls, history.Call{Invoked: s.n - 1, Returned: s.n, Command: c, Answer: a})
	return s
}

// during makes the last call overlap the n calls before it.
func (s *story) during(n int) *story {
	last := &s.h.Calls[len(s.h.Calls)-1]
	last.Invoked = s.h.Calls[len(s.h.Calls)-1-n].Invoked
	return s
}

func (s *story) refused(c idem.Command, code idem.Code) *story {
	s.call(c, nil)
	s.h.Calls[len(s.h.Calls)-1].Err = &idem.Error{Code: code}
	return s
}

func (s *story) unheard(c idem.Command) *story {
	s.call(c, nil)
	s.h.Calls[len(s.h.Calls)-1].Unknown = errors.New("connection lost")
	return s
}

func nonce(n int64) idem.ID { return idem.ID{0: 7, 15: byte(n)} }

func token(k idem.EventKey, fence int64) idem.Token {
	return idem.Token{Namespace: k.Namespace, Consumer: k.Consumer, Event: k.ID(), Fence: fence, Nonce: nonce(fence)}
}

func order(v int64) *idem.Ordering {
	return &idem.Ordering{Resource: res, Mode: idem.LatestWins, Version: idem.Version{Kind: idem.Sequence, Value: v}}
}

// claimed is a grant with a lease of ten seconds; version 0 is a claim without a lane.
func (s *story) claimed(k idem.EventKey, fence int64, second int, version int64) *story {
	e := &idem.Event{Key: k, State: idem.Processing, Fence: fence, Nonce: nonce(fence), GrantedAt: at(second), LeaseUntil: at(second + 10), Round: 1, Attempts: 1}
	c := &idem.Claim{Key: k, Claimant: "c" + string(rune('a'+fence))}
	a := &idem.ClaimAnswer{Outcome: idem.OutcomeClaimed, Granted: true, Event: e, Now: at(second)}
	if version > 0 {
		e.Ordering, c.Ordering, a.LaneFence = order(version), order(version), fence
	}
	return s.call(c, a)
}

func (s *story) answered(k idem.EventKey, o idem.Outcome, result string) *story {
	return s.call(&idem.Claim{Key: k, Claimant: "other"}, &idem.ClaimAnswer{Outcome: o, Event: &idem.Event{Key: k, State: idem.Processed, Result: []byte(result)}})
}

func (s *story) completed(k idem.EventKey, fence int64, result string) *story {
	return s.call(&idem.Complete{Token: token(k, fence), Result: []byte(result)}, &idem.EndAnswer{State: idem.Processed})
}

func (s *story) failed(k idem.EventKey, fence int64) *story {
	return s.call(&idem.Fail{Token: token(k, fence), Error: idem.Failure{Kind: idem.Retryable}}, &idem.EndAnswer{State: idem.FailedRetryable, Counted: true})
}

func (s *story) performs(k idem.EventKey, fence int64, number int32, second int) *story {
	tok := token(k, fence)
	f := &idem.Effect{Key: eff, Generation: 1, State: idem.EffectBegun, LeaseUntil: at(second + 10)}
	return s.call(&idem.BeginEffect{Token: &tok, Key: eff, BeginID: "b" + string('0'+number)},
		&idem.EffectAnswer{Verdict: idem.EffectPerform, Effect: f, Attempt: number, Token: try(number), Now: at(second)})
}

func try(number int32) idem.EffectToken {
	return idem.EffectToken{Namespace: "ns", Effect: eff.ID(), Generation: 1, Number: number, Nonce: nonce(int64(number))}
}

func doneEffect(value string) *idem.Effect {
	return &idem.Effect{Key: eff, Generation: 1, State: idem.EffectDone, Result: []byte(value)}
}

func (s *story) didIt(number int32, value string) *story {
	return s.call(&idem.ReportEffect{Token: try(number), State: idem.EffectDone, Result: []byte(value)}, &idem.EffectAnswer{Verdict: idem.EffectReportedDone, Effect: doneEffect(value)})
}

func (s *story) alreadyDone(k idem.EventKey, fence int64, value string) *story {
	tok := token(k, fence)
	return s.call(&idem.BeginEffect{Token: &tok, Key: eff, BeginID: "late"}, &idem.EffectAnswer{Verdict: idem.EffectAlreadyDone, Effect: doneEffect(value)})
}

func (s *story) checked(v int64, verdict idem.Verdict, current int64) *story {
	a := &idem.CheckAnswer{Verdict: verdict}
	if current > 0 {
		c := order(current).Version
		a.Current = &c
	}
	return s.call(&idem.Check{Ordering: *order(v), By: nonce(99)}, a)
}

func (s *story) received(k idem.EventKey, o idem.ReceiveOutcome, fresh bool) *story {
	return s.call(&idem.Receive{Key: k}, &idem.ReceiveAnswer{Outcome: o, Fresh: fresh, Event: &idem.Event{Key: k, State: idem.Received}})
}

func acquire(k idem.EventKey) *idem.Claim {
	return &idem.Claim{Key: k, Claimant: "w", Acquisition: nonce(88)}
}

func (s *story) acquired(k idem.EventKey, fence int64, second int) *story {
	s.claimed(k, fence, second, 0)
	s.h.Calls[len(s.h.Calls)-1].Command = acquire(k)
	return s
}

func (s *story) decided(k idem.EventKey, request, result string, already bool) *story {
	return s.call(&idem.Resolve{Event: k.ID(), To: idem.ResolveProcessed, RequestID: request, Result: []byte(result)}, &idem.EndAnswer{State: idem.Processed, Already: already})
}

func (s *story) stored(e *idem.Event) *story {
	s.h.Final = append(s.h.Final, storage.View{Event: e})
	return s
}

// TestGoodHistories: what may happen is not called a violation.
func TestGoodHistories(t *testing.T) {
	for name, s := range map[string]*story{
		"one run and a duplicate":               new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").answered(key1, idem.OutcomeAlreadyProcessed, "r"),
		"a reclaim after the lease":             new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 10, 0).refused(&idem.Complete{Token: token(key1, 1)}, idem.CodeClaimLost).completed(key1, 2, "r"),
		"a grant while the failure is answered": new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 1, 0).failed(key1, 1).during(1),
		"an unheard completion":                 new(story).claimed(key1, 1, 0, 0).unheard(&idem.Complete{Token: token(key1, 1), Result: []byte("r")}).answered(key1, idem.OutcomeAlreadyProcessed, "r"),
		"a duplicate that overlaps the completion": new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").
			answered(key1, idem.OutcomeInProgress, "").during(1),
		"versions in order":             new(story).claimed(key1, 1, 0, 1).completed(key1, 1, "r").claimed(key2, 2, 1, 2).completed(key2, 2, "s"),
		"an older version after a lane": new(story).claimed(key2, 1, 0, 2).failed(key2, 1).claimed(key1, 2, 1, 1),
		"an effect done once":           new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).didIt(1, "v").alreadyDone(key1, 1, "v"),
		"an effect tried again":         new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).performs(key1, 1, 2, 10).didIt(1, "v"),
		"received and acquired": new(story).received(key1, idem.ReceiveStored, true).acquired(key1, 1, 0).completed(key1, 1, "r").
			received(key1, idem.ReceiveDuplicate, false).stored(&idem.Event{Key: key1, State: idem.Processed, Fence: 1, Result: []byte("r")}),
		"received while it is claimed": new(story).claimed(key1, 1, 0, 0).received(key1, idem.ReceiveStored, true).during(1),
		"looked for before it came":    new(story).refused(acquire(key1), idem.CodeNotFound).received(key1, idem.ReceiveStored, true),
		"a decision repeated":          new(story).claimed(key1, 1, 0, 0).decided(key1, "q", "r", false).decided(key1, "q", "r", true).decided(key1, "q", "r", true),
		"a decision repeated over a later claim": new(story).claimed(key1, 1, 0, 0).
			call(&idem.Resolve{Event: key1.ID(), To: idem.ResolveTerminal, RequestID: "q"}, &idem.EndAnswer{State: idem.FailedTerminal}).
			claimed(key1, 2, 20, 0).
			call(&idem.Resolve{Event: key1.ID(), To: idem.ResolveTerminal, RequestID: "q"}, &idem.EndAnswer{State: idem.FailedTerminal, Already: true}).
			completed(key1, 2, "r"),
		"a stored end": new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").stored(&idem.Event{Key: key1, State: idem.Processed, Fence: 1, Result: []byte("r")}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range history.Check(s.h) {
				t.Error(v.String())
			}
		})
	}
}

// TestBadHistories: each broken promise is found, by its name.
func TestBadHistories(t *testing.T) {
	already := func(s *story, k idem.EventKey, fence int64) *story {
		return s.call(&idem.Complete{Token: token(k, fence), Result: []byte("r")}, &idem.EndAnswer{State: idem.Processed, Already: true})
	}
	other := func(s *story) *story { // the same fence under another random part
		s.claimed(key1, 1, 0, 0).claimed(key1, 1, 20, 0)
		a := s.h.Calls[1].Answer.(*idem.ClaimAnswer) //nolint:errcheck // made above
		a.Event.Nonce = nonce(50)
		return s
	}
	limited := func(s *story) *story { s.h.Max = 1; return s }
	forged := token(key1, 1)
	forged.Nonce = nonce(77)
	for _, c := range []struct {
		name, rule string
		s          *story
	}{
		{"two live claims", "P1", new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 5, 0)},
		{"a grant within an extension", "P1", new(story).claimed(key1, 1, 0, 0).call(&idem.Extend{Token: token(key1, 1)}, &idem.ExtendAnswer{LeaseUntil: at(30), Now: at(5)}).claimed(key1, 2, 15, 0)},
		{"two live lanes", "P1", new(story).claimed(key1, 1, 0, 1).claimed(key2, 2, 5, 2)},
		{"fences that fall", "P2", new(story).claimed(key1, 5, 0, 0).failed(key1, 5).claimed(key1, 4, 1, 0)},
		{"one fence twice", "P2", other(new(story))},
		{"lane fences that fall", "P2", new(story).claimed(key1, 5, 0, 1).failed(key1, 5).claimed(key2, 4, 1, 2)},
		{"an old token completes", "P2", new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 10, 0).completed(key1, 1, "r")},
		{"an old token extends", "P2", new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 10, 0).call(&idem.Extend{Token: token(key1, 1)}, &idem.ExtendAnswer{LeaseUntil: at(40), Now: at(12)})},
		{"a forged token completes", "P2", new(story).claimed(key1, 1, 0, 0).call(&idem.Complete{Token: forged, Result: []byte("r")}, &idem.EndAnswer{State: idem.Processed})},
		{"a completion after its lane was given on", "P2", new(story).claimed(key1, 1, 0, 1).claimed(key2, 2, 10, 2).completed(key1, 1, "r")},
		{"a completion over an operator", "P2", new(story).claimed(key1, 1, 0, 0).call(&idem.Resolve{Event: key1.ID(), To: idem.ResolveTerminal}, &idem.EndAnswer{State: idem.FailedTerminal}).completed(key1, 1, "r")},
		{"a result nobody reported", "P4", new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").answered(key1, idem.OutcomeAlreadyProcessed, "x")},
		{"processed without a completion", "P4", new(story).claimed(key1, 1, 0, 0).answered(key1, idem.OutcomeAlreadyProcessed, "r")},
		{"a completion that is not stored", "P4", new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").stored(&idem.Event{Key: key1, State: idem.Processing, Fence: 1})},
		{"a grant that is not stored", "P4", new(story).claimed(key1, 9, 0, 0).stored(&idem.Event{Key: key1, State: idem.Received, Fence: 1})},
		{"an event without a record", "P3", new(story).claimed(key1, 1, 0, 0).stored(&idem.Event{Key: key2})},
		{"a receipt that is not stored", "P3", new(story).received(key1, idem.ReceiveStored, true).stored(&idem.Event{Key: key2})},
		{"a receipt that is not found", "P3", new(story).received(key1, idem.ReceiveStored, true).refused(acquire(key1), idem.CodeNotFound)},
		{"a duplicate of nothing", "P3", new(story).received(key1, idem.ReceiveDuplicate, false)},
		{"acquired out of nothing", "P3", new(story).acquired(key1, 1, 0)},
		{"acquired while it is claimed", "P1", new(story).claimed(key1, 1, 0, 0).acquired(key1, 2, 5)},
		{"received as new twice", "P6", new(story).received(key1, idem.ReceiveStored, true).received(key1, idem.ReceiveStored, true)},
		{"a request that decides twice", "P5", new(story).claimed(key1, 1, 0, 0).decided(key1, "q", "r", false).decided(key1, "q", "s", false)},
		{"a repeat of a decision that was never made", "P5", new(story).claimed(key1, 1, 0, 0).decided(key1, "q", "r", false).decided(key1, "q", "s", true)},
		{"a repeat of nothing", "P5", already(new(story).claimed(key1, 1, 0, 0), key1, 1)},
		{"a repeat with another answer", "P5", new(story).claimed(key1, 1, 0, 0).failed(key1, 1).
			call(&idem.Fail{Token: token(key1, 1), Error: idem.Failure{Kind: idem.Retryable}}, &idem.EndAnswer{State: idem.DeadLettered, Already: true})},
		{"given again after a completion", "P6", new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").claimed(key1, 2, 11, 0)},
		{"a duplicate told otherwise", "P6", new(story).claimed(key1, 1, 0, 0).completed(key1, 1, "r").answered(key1, idem.OutcomeInProgress, "")},
		{"completed twice", "P6", new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 10, 0).completed(key1, 1, "r").completed(key1, 2, "s")},
		{"old news after news", "P8", new(story).claimed(key2, 1, 0, 2).completed(key2, 1, "r").claimed(key1, 2, 1, 1)},
		{"a version lost", "P8", new(story).claimed(key2, 1, 0, 2).completed(key2, 1, "r").checked(3, idem.VerdictApply, 1)},
		{"stale against nothing", "P8", new(story).checked(1, idem.VerdictStale, 0)},
		{"too many attempts", "attempts", limited(new(story).claimed(key1, 1, 0, 0).claimed(key1, 2, 10, 0))},
		{"two performs", "effects", new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).performs(key1, 1, 2, 5)},
		{"perform after done", "effects", new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).didIt(1, "v").performs(key1, 1, 2, 20)},
		{"a value nobody reported", "effects", new(story).claimed(key1, 1, 0, 0).alreadyDone(key1, 1, "v")},
		{"two values", "effects", new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).didIt(1, "v").didIt(1, "w")},
		{"a refused fact", "P16", new(story).claimed(key1, 1, 0, 0).performs(key1, 1, 1, 0).refused(&idem.ReportEffect{Token: try(1), State: idem.EffectDone}, idem.CodeEffectLost)},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := history.Check(c.s.h)
			var rules []string
			for _, v := range found {
				rules = append(rules, v.Rule)
				if v.Rule == c.rule {
					return
				}
			}
			t.Errorf("no violation of %s was found, only %q", c.rule, strings.Join(rules, " "))
		})
	}
}
