package storagetest

import (
	"fmt"

	"github.com/idemsvc/idemsvc/idem"
)

const another = "ledger" // a consumer that comes later

// backfilling builds the backfill of an event for another consumer, of what is stored.
func (s *site) backfilling(event, request string) *idem.Receive {
	s.Helper()
	e := s.view(event).Event
	c := &idem.Receive{Key: e.Key, Facts: e.Facts, Backfill: &idem.Backfill{RequestID: request, Who: "op", Why: "new here"}}
	c.Key.Consumer = another
	if e.Ordering != nil {
		o := *e.Ordering
		o.Resource.Consumer = another
		c.Ordering = &o
	}
	return c
}

// operatorBackfill: another consumer gets an event as its first, flagged as a replay; what it
// has is left alone, and the one that had it first notices nothing.
func operatorBackfill(s *site) {
	s.receive("e", func(c *idem.Receive) {
		c.Facts.PayloadHash, c.Payload, c.Facts.Correlation, c.Facts.Signature = []byte("hash"), []byte("body"), "story", idem.Verified
	})
	s.grant("e", signed(idem.Verified)).complete("one")
	c := s.backfilling("e", "b1")
	a := do[*idem.ReceiveAnswer](s, c)
	equal(s, "outcome", a.Outcome, idem.ReceiveStored)
	equal(s, "fresh", a.Fresh, true)
	v := a.Event.Version
	a = do[*idem.ReceiveAnswer](s, c)
	equal(s, "the same request: repeated", a.Repeated, true)
	equal(s, "row version", a.Event.Version, v)
	equal(s, "another request", fmt.Sprint(s.refusal(idem.CodeReplayRefused, s.backfilling("e", "b2")).Names), "["+idem.ReplayReceived+"]")

	stored, found := s.find(c.Key)
	if !found {
		s.Fatal("it is not stored")
	}
	equal(s, "state", stored.Event.State, idem.Received)
	equal(s, "correlation", stored.Event.Facts.Correlation, "story")
	equal(s, "is a replay", stored.Event.IsReplay(), true)
	equal(s, "deliveries", len(stored.Deliveries), 0)
	payload, ok, err := s.b.Payload(s.Context(), c.Key.EventRef)
	equal(s, "payload", ok && err == nil && string(payload) == "body", true)
	equal(s, "the first consumer's result", string(s.state("e", idem.Processed).Result), "one")

	g := s.grant("e", consumer(another), acceptReplay(), signed(idem.Verified))
	equal(s, "the claim is a replay's", g.answer.Event.IsReplay(), true)
	g.fail(idem.Retryable)
	s.h.Due(s.T, c.Key.ID())
	g = s.grant("e", consumer(another), signed(idem.Verified))
	equal(s, "a delivery's is not", g.answer.Event.IsReplay(), false)
	after, _ := s.find(c.Key)
	equal(s, "the attempt before was", len(after.Attempts) == 1 && after.Attempts[0].Replay, true)
	g.complete("two")
	equal(s, "request known", do[*idem.ReceiveAnswer](s, c).Repeated, true)
}

func operatorBackfillRace(s *site) {
	const n = 16
	s.receive("e", nil)
	fresh, refused := 0, 0
	cmds := make([]*idem.Receive, n)
	for i := range cmds {
		cmds[i] = s.backfilling("e", fmt.Sprint("b", i))
	}
	for _, a := range race(n, func(i int) *idem.ReceiveAnswer {
		a, _ := s.b.Apply(s.Context(), []idem.Command{cmds[i]})[0].Answer.(*idem.ReceiveAnswer)
		return a
	}) {
		if a == nil {
			refused++
		} else if a.Fresh {
			fresh++
		}
	}
	equal(s, "first ones", fresh, 1)
	equal(s, "refused", refused, n-1)
}

// operatorBackfillOrdered: the order of a resource is the consumer's own, and holds for what
// is backfilled as for everything else.
func operatorBackfillOrdered(s *site) {
	s.grant("old", ordered(s.latest("r", 1))).complete("one")
	mine := s.latest("r", 2)
	mine.Resource.Consumer = another
	s.grant("new", consumer(another), ordered(mine)).complete("two")
	equal(s, "outcome", do[*idem.ReceiveAnswer](s, s.backfilling("old", "b1")).Outcome, idem.ReceiveStored)
	s.outcome(idem.OutcomeStale, s.claim("old", consumer(another), acceptReplay()))
	s.applied("old", "r", 1)

	// A version of another kind than the consumer's series is not stored.
	s.grant("odd", ordered(s.moment("q", 5))).complete("one")
	series := s.latest("q", 1)
	series.Resource.Consumer = another
	s.grant("e", consumer(another), ordered(series)).complete("two")
	odd := s.backfilling("odd", "b1")
	s.refused(idem.CodeKindMismatch, odd)
	if _, found := s.find(odd.Key); found {
		s.Error("what the consumer could never claim was stored")
	}
}
