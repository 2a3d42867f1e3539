package idem_test

import (
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// A failure that comes after its lease counts only while its lanes were not given on. A
// lane that is free already is written all the same: the store tests what it writes, and a
// grant of the lane between the decision and its write must stand against it.
func TestLateFailureWritesTheLanesItRestsOn(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, version(0, 1))
	l.expire(0)
	l.sweep(0) // frees the lane
	d := l.do(&idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Retryable, Code: "X"}})
	if d.Err != nil || len(d.Resources) != 1 || d.Resources[0].Old.Key != resourceKey(0) {
		t.Fatalf("%v, %d resources written", d.Err, len(d.Resources))
	}
	if n := d.Resources[0].New; n.Owned || n.Owner != tok.Event {
		t.Errorf("the lane is written as %+v", n)
	}
}

// A stricter decision about an unknown effect, made under a claim, is written with the
// claim's record: it is not made once the claim has ended.
func TestStricterDecisionIsTheLiveClaimsOwn(t *testing.T) {
	l := newLab(t, nil)
	tok := l.grant(0, nil)
	l.begin(tok, "b1", nil)
	l.lapse()
	d := l.do(&idem.BeginEffect{Token: &tok, Key: charge, BeginID: "b2", RequestHash: []byte("h"), OnUnknown: idem.UnknownHold, Nonce: number(l.fresh())})
	a, _ := d.Answer.(*idem.EffectAnswer)
	if a == nil || a.Verdict != idem.EffectOutcomeOpen || len(d.Effects) != 1 {
		t.Fatalf("%v %+v", d.Err, d.Answer)
	}
	if d.Event == nil || !d.Event.Live || len(d.Entries) != 1 || d.Entries[0].Subject != idem.OnEvent {
		t.Errorf("the claim's record is not written with it: %+v, entries %+v", d.Event, d.Entries)
	}
}
