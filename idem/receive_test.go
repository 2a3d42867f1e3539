//nolint:errcheck // an answer has the type that its command asks for; a panic fails the test
package idem_test

import (
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

func (l *lab) receive(ev int, change func(*idem.Receive)) *idem.ReceiveAnswer {
	l.t.Helper()
	c := &idem.Receive{Key: eventKey(ev), Facts: idem.Facts{RequestID: "r1", PayloadHash: []byte("a")}}
	if change != nil {
		change(c)
	}
	d := l.do(c)
	if d.Err != nil {
		l.t.Fatalf("refused: %v", d.Err)
	}
	return d.Answer.(*idem.ReceiveAnswer)
}

// acquire is a claim of the service itself for a stored receipt.
func (l *lab) acquire(ev int) *idem.Claim {
	return l.newClaim(ev, func(c *idem.Claim) {
		c.Acquisition, c.Facts = number(99), idem.Facts{}
		if e := l.ev[ev]; e != nil {
			c.Facts, c.Ordering = e.Facts, e.Ordering
		}
		c.Facts.Kind, c.AcceptReplay = idem.ConsumerRequeue, true
	})
}

func TestReceiptsAreKeptOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	other := func(c *idem.Receive) { c.Facts.RequestID, c.Facts.PayloadHash = "r2", []byte("b") }
	if a := l.receive(0, nil); a.Outcome != idem.ReceiveStored || !a.Fresh || a.Repeated || a.Disposition() != idem.DispositionAccepted {
		t.Errorf("the first: %+v", a)
	}
	if a := l.receive(0, nil); a.Outcome != idem.ReceiveStored || a.Fresh || !a.Repeated || a.Disposition() != idem.DispositionAccepted {
		t.Errorf("the same arrival again: %+v", a)
	}
	a := l.receive(0, other)
	if a.Outcome != idem.ReceiveDuplicate || a.Disposition() != idem.DispositionDuplicate || len(a.Anomalies) != 1 || a.Anomalies[0] != idem.AnomalyMismatch {
		t.Errorf("another arrival with another payload: %+v", a)
	}
	if string(l.ev[0].Facts.PayloadHash) != "a" || l.ev[0].Version != 1 {
		t.Errorf("it overwrote the first: %+v", l.ev[0])
	}
	l.p.RefuseMismatch = true
	if a := l.receive(0, other); a.Outcome != idem.ReceiveMismatch {
		t.Errorf("where that is refused: %v", a.Outcome)
	}
}

func TestReceiptsOfForgeriesTouchNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	a := l.receive(0, func(c *idem.Receive) { c.Facts.Signature = idem.SignatureFailed })
	if a.Outcome != idem.ReceiveRejected || a.Outcome.Advice() != idem.AdviceRepeatLater || a.Event != nil || l.ev[0] != nil {
		t.Errorf("%+v, %+v", a, l.ev[0])
	}
}

func TestWhatNobodyCouldClaimIsNotReceived(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.receive(0, func(c *idem.Receive) { c.Ordering = ordering(0, idem.LatestWins, 1) })
	for name, o := range map[string]*idem.Ordering{
		"another mode": ordering(0, idem.Sequential, 2),
		"no machine":   {Resource: resourceKey(1), Version: idem.Version{Kind: idem.Sequence, Value: 1}, Mode: idem.LatestWins, Transition: &idem.Transition{Machine: "none", To: "x"}},
	} {
		d := l.do(&idem.Receive{Key: eventKey(1), Ordering: o})
		if d.Err == nil || l.ev[1] != nil {
			t.Errorf("%s: %+v, %+v", name, d.Answer, l.ev[1])
		}
	}
}

func TestAnAcquiredClaimIsForTheStoredReceipt(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	if d := l.do(l.acquire(0)); d.Err == nil || d.Err.Code != idem.CodeNotFound || l.ev[0] != nil {
		t.Fatalf("without a receipt: %+v", d)
	}
	l.receive(0, nil)
	l.p.Signature = idem.SignatureRequired // learned since: what is stored was let in
	a := l.do(l.acquire(0)).Answer.(*idem.ClaimAnswer)
	if a.Outcome != idem.OutcomeClaimed || string(l.ev[0].AttemptHash) != "a" || l.ev[0].Total != 1 {
		t.Fatalf("%+v, %+v", a, l.ev[0])
	}
	held := idem.Token{Namespace: "ns", Consumer: "billing", Event: l.ev[0].ID(), Fence: l.ev[0].Fence, Nonce: l.ev[0].Nonce}
	l.do(&idem.Fail{Token: held, Error: idem.Failure{Kind: idem.Retryable, Code: "x"}, RetryAfter: time.Hour})
	if a := l.do(l.acquire(0)).Answer.(*idem.ClaimAnswer); a.Outcome != idem.OutcomeRetryScheduled {
		t.Errorf("before it is due: %v", a.Outcome)
	}
}

func TestAWaitingClaimIsToldWhenTheGapMayPass(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Minute })
	l.receive(1, func(c *idem.Receive) { c.Ordering = ordering(0, idem.Sequential, 3) })
	if a := l.do(l.acquire(1)).Answer.(*idem.ClaimAnswer); a.Outcome != idem.OutcomeAwaiting || a.GapIn != time.Minute {
		t.Errorf("%v, %v", a.Outcome, a.GapIn)
	}
	l.p.Gap = idem.GapWait
	if a := l.do(l.acquire(1)).Answer.(*idem.ClaimAnswer); a.GapIn != 0 {
		t.Errorf("where it never passes: %v", a.GapIn)
	}
}

func TestABackfillIsAReceiptThatSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(p *idem.Policy) { p.SelfOrigins, p.Signature = []string{"us"}, idem.SignatureRequired })
	fill := func(ev int, request string) *idem.Receive {
		return &idem.Receive{Key: eventKey(ev), Facts: idem.Facts{RequestID: "r1", Type: "t", Signature: idem.Verified}, Backfill: &idem.Backfill{RequestID: request, Who: "op", Why: "late"}}
	}
	reason := func(c idem.Command) string {
		t.Helper()
		d := l.do(c)
		if d.Err == nil || d.Err.Code != idem.CodeReplayRefused || d.Writes() {
			t.Fatalf("not refused: %+v", d)
		}
		return d.Err.Names[0]
	}
	first := l.do(fill(0, "b1"))
	a := first.Answer.(*idem.ReceiveAnswer)
	if a.Outcome != idem.ReceiveStored || !a.Fresh || a.Repeated || l.ev[0].State != idem.Received || l.ev[0].Facts.Type != "t" || l.ev[0].Replay {
		t.Fatalf("what was let in elsewhere: %+v, %+v", a, l.ev[0])
	}
	if n := first.Entries[0]; len(first.Entries) != 1 || n.Kind != idem.EntryReceived || n.Reason != idem.ByOperator || n.Who != "op" || n.Why != "late" || n.Request != "b1" {
		t.Errorf("the journal says %+v", n)
	}
	if d := l.do(fill(0, "b1")); d.Err != nil || d.Writes() || !d.Answer.(*idem.ReceiveAnswer).Repeated {
		t.Errorf("the same request again: %+v", d)
	}
	if got := reason(fill(0, "b2")); got != idem.ReplayReceived {
		t.Errorf("another request: %s", got)
	}
	mine := fill(1, "b1")
	mine.Facts.Origin = "us"
	if got := reason(mine); got != idem.ReplaySelf || l.ev[1] != nil {
		t.Errorf("its own event: %s, %+v", got, l.ev[1])
	}

	unsigned := fill(1, "b1")
	unsigned.Facts.Signature = idem.NotChecked
	if got := reason(unsigned); got != idem.ReplayUnsigned || l.ev[1] != nil {
		t.Errorf("what its policy would not let in: %s, %+v", got, l.ev[1])
	}

	// A worker is told that it is a replay; a delivery that comes first is granted for itself.
	if a := l.do(l.acquire(0)).Answer.(*idem.ClaimAnswer); a.Outcome != idem.OutcomeClaimed || !a.Event.IsReplay() {
		t.Errorf("a worker: %+v", a)
	}
	l.do(fill(1, "b1"))
	delivery := l.newClaim(1, func(c *idem.Claim) { c.Facts.Signature = idem.Verified })
	if a := l.do(delivery).Answer.(*idem.ClaimAnswer); a.Outcome != idem.OutcomeClaimed || a.Event.IsReplay() || a.Fresh {
		t.Errorf("a delivery: %+v", a)
	}
}
