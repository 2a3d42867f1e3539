package storagetest

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// receipts are the tests of events that are kept for later work.
var receipts = []test{
	{"Receive/Once", receiveOnce},
	{"Receive/ForgedTouchesNothing", receiveForged},
	{"Receive/TeachesThatTheSourceSigns", receiveVerified},
	{"Receive/PayloadOnceForAllConsumers", receivePayload},
	{"Receive/DuplicateOfAnyState", receiveDuplicate},
	{"Receive/FixesTheSeries", receiveSeries},
	{"Receive/SelfOriginated", receiveSelf},
	{"Receive/ClaimedByRef", receiveClaimed},
	{"Receive/Race", receiveRace},
}

// receiving builds a receipt of a provider's delivery.
func (s *site) receiving(event string, change func(*idem.Receive)) *idem.Receive {
	c := s.claim(event)
	r := &idem.Receive{Key: c.Key, Facts: c.Facts, Holder: c.Holder}
	if change != nil {
		change(r)
	}
	return r
}

func (s *site) receive(event string, change func(*idem.Receive)) *idem.ReceiveAnswer {
	s.Helper()
	return do[*idem.ReceiveAnswer](s, s.receiving(event, change))
}

func receiveOnce(s *site) {
	c := s.receiving("e", nil)
	a := do[*idem.ReceiveAnswer](s, c)
	equal(s, "outcome", a.Outcome, idem.ReceiveStored)
	equal(s, "fresh", a.Fresh, true)
	a = do[*idem.ReceiveAnswer](s, c)
	equal(s, "the same arrival", a.Outcome, idem.ReceiveStored)
	equal(s, "repeated", a.Repeated, true)
	equal(s, "another arrival", s.receive("e", nil).Outcome, idem.ReceiveDuplicate)
	e := s.state("e", idem.Received)
	equal(s, "row version", e.Version, 1)
	equal(s, "fence", e.Fence, 0)
}

func receiveForged(s *site) {
	a := s.receive("e", func(c *idem.Receive) { c.Facts.Signature = idem.SignatureFailed })
	equal(s, "outcome", a.Outcome, idem.ReceiveRejected)
	if _, found := s.find(s.key("e")); found {
		s.Error("a forged delivery made a record")
	}
	equal(s, "the real one", s.receive("e", nil).Outcome, idem.ReceiveStored)
}

func receiveVerified(s *site) {
	s.receive("e", func(c *idem.Receive) { c.Facts.Signature = idem.Verified })
	equal(s, "unchecked since", s.receive("f", nil).Outcome, idem.ReceiveRejected)
	s.outcome(idem.OutcomeRejected, s.claim("g"))
	s.granted(s.acquisition("w", s.take(1)[0])) // what is stored was let in
}

func receivePayload(s *site) {
	with := func(consumer string) idem.Command {
		return s.receiving("e", func(c *idem.Receive) {
			c.Key.Consumer, c.Payload, c.Facts.PayloadHash = consumer, []byte("body of "+consumer), []byte("hash")
		})
	}
	for i, r := range s.b.Apply(s.Context(), []idem.Command{with("a"), with("b")}) {
		if r.Err != nil {
			s.Fatalf("consumer %d: %v", i, r.Err)
		}
	}
	ref := s.key("e").EventRef
	payloads, err := s.b.Payloads(s.Context(), []idem.EventRef{ref, s.key("none").EventRef, ref})
	if err != nil || len(payloads) != 1 {
		s.Fatalf("%d payloads, %v", len(payloads), err)
	}
	first := string(payloads[ref])
	equal(s, "of either", first == "body of a" || first == "body of b", true)
	do[*idem.ReceiveAnswer](s, with("c"))
	payload, ok, err := s.b.Payload(s.Context(), ref)
	equal(s, "kept", ok && err == nil && string(payload) == first, true)
}

func receiveDuplicate(s *site) {
	g := s.grant("running")
	a := s.receive("running", nil)
	equal(s, "running", a.Event.State, idem.Processing)
	g.complete("done")
	a = s.receive("running", nil)
	equal(s, "outcome", a.Outcome, idem.ReceiveDuplicate)
	equal(s, "state", a.Event.State, idem.Processed)
	equal(s, "result", string(a.Event.Result), "done")
	s.grant("dead").fail(idem.Terminal)
	equal(s, "dead", s.receive("dead", nil).Event.State, idem.FailedTerminal)
	s.state("dead", idem.FailedTerminal)
	failed := s.grant("failed")
	failed.fail(idem.Retryable)
	a = s.receive("failed", nil)
	equal(s, "a retry is not hurried", a.Event.DueAt > a.Now, true)
	over := s.grant("over")
	over.expire()
	equal(s, "settled", s.receive("over", nil).Event.State, idem.FailedRetryable)
}

func receiveSeries(s *site) {
	by := func(o idem.Ordering) func(*idem.Receive) { return func(c *idem.Receive) { c.Ordering = &o } }
	s.receive("e1", by(s.next("r", 1)))
	s.refused(idem.CodeKindMismatch, s.receiving("e2", by(s.latest("r", 2))))
	s.refused(idem.CodeKindMismatch, s.claim("e2", ordered(s.moment("r", 2))))
	s.refused(idem.CodeUnknownMach, s.receiving("e2", by(to(s.next("r", 2), "x"))))
	if _, found := s.find(s.key("e2")); found {
		s.Error("what nobody could claim was stored")
	}
	s.receive("e3", by(s.next("r", 3)))
	s.outcome(idem.OutcomeAwaiting, s.claim("e3")) // the record knows its version
	s.outcome(idem.OutcomeAwaiting, s.claim("e2", ordered(s.next("r", 2))))
	s.grant("e1").complete("done")
	s.grant("e2").complete("done")
	s.grant("e3")
}

func receiveSelf(s *site) {
	s.policy(func(p *idem.Policy) { p.SelfOrigins = []string{"us"} })
	mine := func(c *idem.Receive) { c.Facts.Origin = "us" }
	equal(s, "first", s.receive("e", mine).Outcome, idem.ReceiveSelfOriginated)
	equal(s, "again", s.receive("e", mine).Outcome, idem.ReceiveDuplicate)
	s.state("e", idem.IgnoredSelf)
}

func receiveClaimed(s *site) {
	s.receive("e", func(c *idem.Receive) {
		c.Facts.PayloadHash, c.Payload, c.Facts.ContentType, c.Facts.Correlation = []byte("hash"), []byte("body"), "text/plain", "story"
	})
	g := s.grant("e")
	equal(s, "correlation", g.answer.Event.Facts.Correlation, "story")
	equal(s, "content type", g.answer.Event.Facts.ContentType, "text/plain")
	equal(s, "attempt", g.answer.Event.Total, 1)
	equal(s, "beside it", len(s.take(10)), 0)
	g.complete("done")
	s.state("e", idem.Processed)
}

func receiveRace(s *site) {
	const n = 16
	fresh := 0
	for _, a := range race(n, func(int) *idem.ReceiveAnswer {
		r := s.b.Apply(s.Context(), []idem.Command{s.receiving("e", nil)})[0]
		a, _ := r.Answer.(*idem.ReceiveAnswer)
		return a
	}) {
		if a == nil {
			s.Fatal("a receipt was refused")
		}
		if a.Fresh {
			fresh++
		}
	}
	equal(s, "first ones", fresh, 1)
	equal(s, "offered", len(s.take(n)), 1)
	s.h.Later(s.T, s.key("e").ID(), time.Hour)
	equal(s, "version", s.state("e", idem.Received).Version, 1)
}
