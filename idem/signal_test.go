//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// signal is an event that says that resource 0 has changed; v is the version it tells of, 0
// for none.
func signal(v int64) *idem.Ordering {
	o := ordering(0, idem.Signal, v)
	if v == 0 {
		o.Version = idem.Version{}
	}
	return o
}

func (l *lab) signal(ev int, v int64) {
	l.t.Helper()
	if a := l.receive(ev, func(c *idem.Receive) { c.Ordering = signal(v) }); a.Outcome != idem.ReceiveStored || a.Event.Fence == 0 {
		l.t.Fatalf("event %d: %+v", ev, a)
	}
}

// work acquires an event and demands to be given it.
func (l *lab) work(ev int) idem.Token {
	l.t.Helper()
	d := l.do(l.acquire(ev))
	a, ok := d.Answer.(*idem.ClaimAnswer)
	if !ok || !a.Granted {
		l.t.Fatalf("event %d: %+v %v", ev, d.Answer, d.Err)
	}
	return idem.Token{Namespace: "ns", Consumer: "billing", Event: a.Event.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce}
}

func (l *lab) tried(what string, ev int, o idem.Outcome, s idem.State) {
	l.t.Helper()
	l.want(what, l.do(l.acquire(ev)).Answer.(*idem.ClaimAnswer), o, s)
}

// fetched completes with the version that was fetched, 0 for one that is not told.
func (l *lab) fetched(t idem.Token, v int64) idem.Decision {
	l.t.Helper()
	c := &idem.Complete{Token: t}
	if v != 0 {
		c.Applied = &idem.Version{Kind: idem.Sequence, Value: v}
	}
	return l.do(c)
}

// What arrived before a grant ends with its completion, in the same write, and names the
// event that carried it; what arrived after needs one more grant.
func TestAGrantCarriesTheSignalsBeforeIt(t *testing.T) {
	for _, told := range []int64{0, 7} { // whether the completion tells what was fetched
		l := newLab(t, nil)
		l.signal(0, 0)
		l.signal(1, 0)
		tok := l.work(1)
		l.signal(2, 0)
		l.tried("while it is granted", 0, idem.OutcomeResourceBusy, idem.Received)
		d := l.fetched(tok, told)
		if len(d.Owners) != 1 || len(d.Entries) != 2 || d.Entries[0].Carrier != tok.Event || d.Entries[0].Reason != idem.Carried {
			t.Fatalf("%d others, %+v", len(d.Owners), d.Entries)
		}
		if e := l.ev[0]; e.State != idem.IgnoredStale || e.Reason != idem.Carried || e.CarriedBy != tok.Event {
			t.Errorf("before: %+v", e)
		}
		if r := l.res[0]; r.Owned || r.Applied != (told != 0) || r.Value != told || r.CoveredBy != tok.Event {
			t.Errorf("resource: %+v", r)
		}
		l.fetched(l.work(2), told+1)
		if l.ev[2].State != idem.Processed {
			t.Errorf("after: %v", l.ev[2].State)
		}
	}
}

// Whether or not the completion had the signals at hand, they are answered: each says so when
// it is looked at.
func TestWhatIsCarriedNeedsNoList(t *testing.T) {
	l := newLab(t, nil)
	l.blind = true
	l.signal(0, 0)
	l.signal(1, 5)
	tok := l.work(1)
	l.signal(2, 0)
	if d := l.fetched(tok, 6); len(d.Owners) != 0 {
		t.Fatalf("%d others", len(d.Owners))
	}
	l.tried("before", 0, idem.OutcomeStale, idem.IgnoredStale)
	if e := l.ev[0]; e.CarriedBy != tok.Event || e.Fence == 0 || e.Total != 0 {
		t.Errorf("%+v", e)
	}
	l.work(2)
}

// What a fetch has answered stays answered, also where it named no version and a later one
// names one that is older than the signal's.
func TestALaterVersionAsksForNothingTwice(t *testing.T) {
	l := newLab(t, nil)
	l.blind = true
	l.signal(0, 9)
	l.signal(1, 0)
	first := l.work(1)
	l.fetched(first, 0)
	l.signal(2, 8)
	l.fetched(l.work(2), 8)
	l.tried("fetched before any version was named", 0, idem.OutcomeStale, idem.IgnoredStale)
}

// A grant that fails, is given back or is lost carries nothing.
func TestOnlyACompletedGrantCarries(t *testing.T) {
	for name, end := range map[string]func(l *lab, tok idem.Token){
		"failed":     func(l *lab, tok idem.Token) { l.fail(tok) },
		"given back": func(l *lab, tok idem.Token) { l.do(&idem.Release{Token: tok}) },
		"lost":       func(l *lab, _ idem.Token) { l.expire(1); l.sweep(1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, func(p *idem.Policy) { p.MaxAttempts = 5 })
			l.signal(0, 0)
			l.signal(1, 0)
			tok := l.work(1)
			end(l, tok)
			if l.res[0].Covered != 0 || l.ev[0].State != idem.Received {
				t.Fatalf("%+v %v", l.res[0], l.ev[0].State)
			}
			next := l.work(0)
			if d := l.fetched(tok, 0); d.Err == nil {
				t.Error("the earlier claim completed over the lane of the next one")
			}
			l.fetched(next, 0)
			if e := l.ev[1]; e.State != idem.IgnoredStale || e.CarriedBy != next.Event {
				t.Errorf("the event of the earlier grant: %v %v", e.State, e.CarriedBy)
			}
		})
	}
}

// A version that was fetched answers what tells of it or of an older one, whenever that
// arrives, and nothing that tells of a newer one.
func TestFetchedVersionsAnswerSignals(t *testing.T) {
	l := newLab(t, nil)
	l.signal(0, 9)
	l.signal(1, 4)
	l.fetched(l.work(1), 6) // behind what the first tells of
	if l.ev[0].State != idem.Received {
		t.Fatalf("a newer one: %v", l.ev[0].State)
	}
	l.signal(2, 6)
	l.tried("the same version, later", 2, idem.OutcomeStale, idem.IgnoredStale)
	if l.ev[2].CarriedBy != l.dom.ids[1] {
		t.Errorf("%+v", l.ev[2])
	}
	tok := l.work(0)
	if d := l.fetched(tok, 8); d.Err == nil || d.Err.Code != idem.CodeInvalid || d.Err.Field != "applied_version" {
		t.Errorf("a fetch without the change: %+v", d.Err)
	}
	if d := l.do(&idem.Complete{Token: tok, Applied: &idem.Version{Kind: idem.Moment, Value: 99}}); d.Err == nil || d.Err.Code != idem.CodeKindMismatch {
		t.Errorf("another kind: %+v", d.Err)
	}
	if l.ev[0].State != idem.Processing {
		t.Fatalf("a refused completion: %v", l.ev[0].State)
	}
	l.fetched(tok, 9)
}

// Of two changes with one instant a fetch may have seen the first alone.
func TestEqualInstantsAreFetchedAgain(t *testing.T) {
	l := newLab(t, nil)
	at := func(v int64) func(*idem.Receive) {
		return func(c *idem.Receive) {
			c.Ordering = signal(v)
			c.Ordering.Version.Kind = idem.Moment
		}
	}
	l.receive(0, at(5))
	l.do(&idem.Complete{Token: l.work(0), Applied: &idem.Version{Kind: idem.Moment, Value: 5}})
	l.receive(1, at(4))
	l.tried("an older instant", 1, idem.OutcomeStale, idem.IgnoredStale)
	l.receive(2, at(5))
	l.work(2)
}

// A claim in the receiver is a grant like any other; a replay is always granted.
func TestSignalsAreClaimedAndReplayed(t *testing.T) {
	l := newLab(t, nil)
	by := func(c *idem.Claim) { c.Ordering = signal(0) }
	tok := l.grant(0, by)
	l.want("while it is granted", l.claim(1, by), idem.OutcomeResourceBusy, idem.Received)
	if l.ev[1].Fence <= tok.Fence {
		t.Errorf("arrived at %d, granted at %d", l.ev[1].Fence, tok.Fence)
	}
	l.fetched(tok, 0)
	second := l.grant(1, by)
	l.fetched(second, 0)
	if d := l.do(&idem.Replay{Event: l.dom.ids[0], RequestID: "r", Who: "op"}); d.Err != nil {
		t.Fatal(d.Err)
	}
	l.fetched(l.work(0), 0)
	if l.ev[0].State != idem.Processed || l.ev[0].Replay {
		t.Errorf("%+v", l.ev[0])
	}
	if d := l.do(&idem.Check{By: number(1), Ordering: *signal(3)}); d.Err == nil || d.Err.Field != "mode" {
		t.Errorf("a check of a signal: %+v", d.Err)
	}
}

// At most so many end with one completion; the rest is answered all the same.
func TestFoldingIsBounded(t *testing.T) {
	l := newLab(t, nil)
	l.signal(0, 0)
	l.signal(1, 0)
	tok := l.work(1)
	c := &idem.Complete{Token: tok}
	w := l.world(c)
	w.Signals = nil
	for range idem.MaxFold + 5 {
		w.Signals = append(w.Signals, l.ev[0])
	}
	if d := idem.Decide(w, c, l.p); len(d.Owners) != idem.MaxFold {
		t.Errorf("%d", len(d.Owners))
	}
}
