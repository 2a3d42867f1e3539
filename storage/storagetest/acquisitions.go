package storagetest

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// acquisitions are the tests of how events are offered to workers.
var acquisitions = []test{
	{"P03/ReceivedIsNotLost", promiseReceived},
	{"O-11/EarlyEventIsKept", scenarioEarly},
	{"O-20/NewestIsAcquired", scenarioNewestAcquired},
	{"O-21/GapThatNeverFills", scenarioGap},
	{"O-21/GapFillsAsItIsSkipped", scenarioGapFills},
	{"O-21/VersionsAroundAGap", scenarioGapChecked},
	{"O-25/ManyFallDueAtOnce", scenarioManyDue},
	{"Acquire/LongestDueFirst", acquireInOrder},
	{"Acquire/TakenOnce", acquireTakenOnce},
	{"Acquire/GivenBack", acquireGivenBack},
	{"Acquire/FreedBeforeItIsPutOff", acquireFreed},
	{"Acquire/OneOfALane", acquireOneOfALane},
	{"Acquire/SequenceInOrder", acquireSequence},
	{"Acquire/BusyResourceStarvesNobody", acquireFair},
	{"Acquire/NotBeforeItIsDue", acquireDue},
	{"Acquire/ReleasedRests", acquireReleased},
	{"Acquire/ExpiredIsTakenOver", acquireExpired},
	{"Acquire/Replay", acquireReplay},
	{"Acquire/Repeat", acquireRepeat},
	{"Acquire/WallsHold", acquireWalls},
	{"Acquire/IllegalStepBlocksNobody", acquireIllegal},
}

// take takes up to n events of the usual consumer.
func (s *site) take(n int) []*idem.Event {
	s.Helper()
	taken, err := s.b.Take(s.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: s.group(), Max: n}}})
	if err != nil {
		s.Fatal(err)
	}
	return taken.Due
}

func (s *site) group() storage.Group { return storage.Group{Namespace: s.ns, Consumer: theConsumer} }

// rest offers an event again.
func (s *site) rest(event string, in time.Duration) {
	s.Helper()
	if err := s.b.Rest(s.Context(), []storage.Rest{{Event: s.key(event).ID(), In: in}}); err != nil {
		s.Fatal(err)
	}
}

// acquisition is the claim by which a call acquires an event.
func (s *site) acquisition(claimant string, e *idem.Event) *idem.Claim {
	c := &idem.Claim{
		Key: e.Key, Facts: e.Facts, Ordering: e.Ordering, Claimant: claimant + s.ns, Holder: "host-1", Nonce: newID(), Lease: theLease,
		AcceptReplay: true, Acquisition: idem.Digest("acquisition", s.ns, claimant),
	}
	c.Facts.Kind = idem.ConsumerRequeue
	return c
}

// acquire takes events until none is offered, and claims each. It returns those that were
// granted, in their order.
func (s *site) acquire() []*grant {
	s.Helper()
	var out []*grant
	for list := s.take(100); len(list) > 0; list = s.take(100) {
		for _, e := range list {
			c := s.acquisition("worker-"+rand.Text(), e)
			if a := s.ask(c); a.Outcome == idem.OutcomeClaimed {
				out = append(out, &grant{s: s, claim: c, answer: a, Token: idem.Token{
					Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Event: c.Key.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce,
				}})
			}
		}
	}
	return out
}

func (s *site) names(list []*grant) string {
	names := make([]string, len(list))
	for i, g := range list {
		names[i] = g.claim.Key.EventID
	}
	return strings.Join(names, " ")
}

func eventNames(list []*idem.Event) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Key.EventID
	}
	return strings.Join(names, " ")
}

func (s *site) receiveOrdered(event string, o idem.Ordering) {
	s.Helper()
	equal(s, "receipt of "+event, s.receive(event, func(c *idem.Receive) { c.Ordering = &o }).Outcome, idem.ReceiveStored)
}

// promiseReceived: whatever happens to whoever acquires it, a received event is offered
// again until it is finished.
func promiseReceived(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 3 })
	s.receive("e", nil)
	equal(s, "offered", eventNames(s.take(1)), "e")
	s.rest("e", 0) // the one who took it never claimed it
	for range 2 {
		got := s.acquire() // its worker dies
		equal(s, "acquired", s.names(got), "e")
		got[0].expire()
		s.settle(got[0].Event)
	}
	got := s.acquire()
	equal(s, "acquired", s.names(got), "e")
	got[0].expire()
	s.settle(got[0].Event)
	equal(s, "not beyond its attempts", s.names(s.acquire()), "")
	s.state("e", idem.DeadLettered)
	s.resolve("e", idem.ResolveRetry)
	got = s.acquire()
	equal(s, "by an operator", s.names(got), "e")
	got[0].complete("done")
	equal(s, "done", s.names(s.acquire()), "")
	s.state("e", idem.Processed)
}

func scenarioEarly(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt, p.MaxAttempts = 1, 2 })
	asked := s.grant("asked").check(idem.VerdictGap, s.next("190", 2)) // nothing is known of the resource
	equal(s, "expected", asked.Expected.Value, 1)
	equal(s, "what is known of it", asked.Known, idem.Absent)
	s.receiveOrdered("v2", s.next("190", 2))
	equal(s, "version 2 is too early", s.names(s.acquire()), "")
	s.state("v2", idem.Received)
	s.receive("order", nil) // another one, of which the handler says that it is too early
	for range 3 {
		got := s.acquire()
		equal(s, "acquired", s.names(got), "order")
		equal(s, "state", got[0].fail(idem.NotYet).State, idem.FailedRetryable)
		equal(s, "not before it is due", s.names(s.acquire()), "")
		s.h.Due(s.T, s.key("order").ID())
	}
	s.receiveOrdered("v1", s.next("190", 1))
	got := s.acquire()
	equal(s, "acquired", s.names(got), "order v1")
	got[1].complete("done")
	got = s.acquire()
	equal(s, "then", s.names(got), "v2")
	got[0].complete("done")
	s.applied("v2", "190", 2)
}

func scenarioNewestAcquired(s *site) {
	s.receiveOrdered("v1", s.latest("prod", 1))
	first := s.acquire()
	equal(s, "first", s.names(first), "v1")
	s.receiveOrdered("v2", s.latest("prod", 2))
	s.receiveOrdered("v3", s.latest("prod", 3))
	equal(s, "while it runs", s.names(s.acquire()), "")
	s.state("v2", idem.Received)
	s.state("v3", idem.Received)
	first[0].fail(idem.Terminal)
	got := s.acquire()
	equal(s, "the newest", s.names(got), "v3")
	got[0].complete("done")
	equal(s, "no older one", s.names(s.acquire()), "")
	s.state("v2", idem.IgnoredStale)
	s.applied("v3", "prod", 3)
}

func scenarioGap(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Hour })
	for _, v := range []int64{1, 2, 4, 5} {
		s.receiveOrdered(fmt.Sprint("v", v), s.next("stream", v))
	}
	var done []string
	for got := s.acquire(); len(got) > 0; got = s.acquire() {
		done = append(done, s.names(got))
		got[0].complete("done")
	}
	equal(s, "up to the gap", strings.Join(done, " "), "v1 v2")
	equal(s, "4 waits", s.state("v4", idem.Received).Waiting.Expected.Value, 3)
	s.h.Later(s.T, s.resource("stream").ID(), 2*time.Hour)
	s.h.Later(s.T, s.key("v4").ID(), 2*time.Hour)
	got := s.acquire()
	equal(s, "past the time limit", s.names(got), "v4")
	got[0].complete("done")
	got = s.acquire()
	equal(s, "with no further push", s.names(got), "v5")
	got[0].complete("done")
	s.receiveOrdered("v3", s.next("stream", 3))
	equal(s, "3 comes after all", s.names(s.acquire()), "")
	s.state("v3", idem.Held)
}

// gapped is a resource of which 1 and 2 are done and 4 and 5 wait, for longer than a gap is
// waited for.
func (s *site) gapped(name string) {
	s.Helper()
	for _, v := range []int64{1, 2} {
		s.grant(fmt.Sprint(name, v), ordered(s.next(name, v))).complete("done")
	}
	for _, v := range []int64{4, 5} {
		s.receiveOrdered(fmt.Sprint(name, v), s.next(name, v))
		s.outcome(idem.OutcomeAwaiting, s.claim(fmt.Sprint(name, v)))
		s.h.Later(s.T, s.key(fmt.Sprint(name, v)).ID(), 2*time.Hour)
	}
	s.h.Later(s.T, s.resource(name).ID(), 2*time.Hour)
}

// scenarioGapFills: the missing version comes just as it is skipped. It is run before the
// one after it, or is held, since news was passed over; never both, and never neither.
func scenarioGapFills(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter, p.WaiveInterval = 1, idem.GapSkip, time.Hour, 0 })
	s.sub("BeforeTheGrant", func(s *site) {
		s.gapped("a")
		s.receiveOrdered("a3", s.next("a", 3))
		a := s.outcome(idem.OutcomeAwaiting, s.claim("a4"))
		equal(s, "predecessor", a.Blocker.EventID, "a3")
		s.finishGap("a", "a3 a4 a5")
	})
	s.sub("DuringTheGrant", func(s *site) {
		s.gapped("b")
		g := s.grant("b4")
		s.receiveOrdered("b3", s.next("b", 3))
		s.outcome(idem.OutcomeResourceBusy, s.claim("b3"))
		g.fail(idem.NotYet) // and so nothing was skipped
		got := s.acquire()
		equal(s, "offered", s.names(got), "b3")
		s.h.Due(s.T, s.key("b4").ID())
		s.outcome(idem.OutcomeAwaiting, s.claim("b4"))
		got[0].complete("done")
		s.finishGap("b", "b4 b5")
	})
	s.sub("AfterTheCompletion", func(s *site) {
		s.gapped("c")
		g := s.grant("c4")
		s.receiveOrdered("c3", s.next("c", 3))
		s.outcome(idem.OutcomeResourceBusy, s.claim("c3"))
		g.complete("done")
		s.outcome(idem.OutcomeHeld, s.claim("c3"))
		equal(s, "reason", s.state("c3", idem.Held).Reason, idem.SkippedGap)
		s.finishGap("c", "c5")
		s.resolve("c3", idem.ResolveProcessed)
		s.applied("c5", "c", 5) // a decision lowers nothing
	})
	s.sub("Race", func(s *site) {
		for i := range 12 {
			name := fmt.Sprint("r", i, "-")
			s.gapped(name)
			fences := race(2, func(i int) int64 {
				event := name + []string{"4", "3"}[i]
				if i == 1 {
					if r := s.b.Apply(s.Context(), []idem.Command{s.receiving(event, func(c *idem.Receive) { o := s.next(name, 3); c.Ordering = &o })})[0]; r.Err != nil {
						s.Error(r.Err)
					}
				}
				c := s.claim(event)
				a, ok := s.b.Apply(s.Context(), []idem.Command{c})[0].Answer.(*idem.ClaimAnswer)
				if !ok || a.Outcome != idem.OutcomeClaimed {
					return 0
				}
				s.b.Apply(s.Context(), []idem.Command{&idem.Complete{Token: idem.Token{
					Namespace: s.ns, Consumer: theConsumer, Event: a.Event.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce,
				}}})
				return a.Event.Fence
			})
			for range 2 {
				for got := s.acquire(); len(got) > 0; got = s.acquire() {
					for _, g := range got {
						g.complete("done")
					}
				}
				// That 4 waits may have been written after the end of 3, which it was decided before:
				// then it is offered again in its own time.
				s.rest(name+"4", 0)
			}
			four, five := s.state(name+"4", idem.Processed), s.state(name+"5", idem.Processed)
			equal(s, "5 after 4", five.Fence > four.Fence, true)
			three := s.view(name + "3").Event
			switch {
			case three.State == idem.Processed:
				equal(s, "3 before 4", three.Fence < four.Fence, true)
			case three.State != idem.Held || three.Reason != idem.SkippedGap || fences[1] != 0:
				s.Errorf("3 is %v (%v), granted under %d; 4 under %d", three.State, three.Reason, fences[1], four.Fence)
			}
		}
	})
}

// finishGap works on what is offered, with no further push.
func (s *site) finishGap(resource, want string) {
	s.Helper()
	var done []string
	for got := s.acquire(); len(got) > 0; got = s.acquire() {
		done = append(done, s.names(got))
		got[0].complete("done")
	}
	equal(s, "done", strings.Join(done, " "), want)
	s.applied(resource+"5", resource, 5)
}

// scenarioGapChecked: what CheckVersion says before, while and after a gap is skipped.
func scenarioGapChecked(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapSkip, time.Hour })
	s.gapped("seq")
	asks := s.grant("asks")
	gap := func(v, expected int64, known idem.State) {
		s.Helper()
		a := asks.check(idem.VerdictGap, s.next("seq", v))
		equal(s, "expected", a.Expected.Value, expected)
		equal(s, fmt.Sprint("the first of those before ", v, " that is known"), a.Known, known)
	}
	gap(4, 3, idem.Absent)
	gap(6, 3, idem.Received)
	asks.check(idem.VerdictStale, s.next("seq", 1))
	asks.check(idem.VerdictTied, s.next("seq", 2))
	asks.check(idem.VerdictApply, s.latest("other", 4)) // where the newest counts there are no gaps
	four := s.grant("seq4")
	gap(6, 3, idem.Processing) // the skip takes effect with its completion
	four.complete("done")
	asks.check(idem.VerdictStale, s.next("seq", 3))
	gap(6, 5, idem.Received)
	s.finishGap("seq", "seq5")
	asks.check(idem.VerdictStale, s.next("seq", 3))
	gap(7, 6, idem.Absent)
	asks.check(idem.VerdictApply, s.next("seq", 6))
}

func scenarioManyDue(s *site) {
	const n = 60
	for i := range n {
		s.receive(fmt.Sprint("e", i), nil)
	}
	for _, g := range s.acquire() {
		a := do[*idem.EndAnswer](s, &idem.Fail{Token: g.Token, Error: idem.Failure{Kind: idem.Retryable, Code: "X"}, Draw: 0.5})
		equal(s, "later", a.Due > a.Now, true)
		s.h.Due(s.T, g.Event)
	}
	seen := map[string]bool{}
	for _, g := range s.acquire() {
		if seen[g.claim.Key.EventID] {
			s.Errorf("%s was acquired twice", g.claim.Key.EventID)
		}
		seen[g.claim.Key.EventID] = true
		equal(s, "attempt", g.answer.Event.Total, 2)
	}
	equal(s, "acquired", len(seen), n)
}

func acquireInOrder(s *site) {
	for i := range 5 {
		s.receive(fmt.Sprint("e", i), nil)
	}
	equal(s, "first", eventNames(s.take(2)), "e0 e1")
	equal(s, "then", eventNames(s.take(10)), "e2 e3 e4")
}

func acquireTakenOnce(s *site) {
	const n = 40
	for i := range n {
		s.receive(fmt.Sprint("e", i), nil)
	}
	s.take(0) // what was just received is listed
	seen := map[string]int{}
	for _, list := range race(8, func(int) []*idem.Event {
		taken, err := s.b.Take(s.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: s.group(), Max: n}}})
		if err != nil {
			s.Error(err)
		}
		return taken.Due
	}) {
		for _, e := range list {
			seen[e.Key.EventID]++
		}
	}
	for list := s.take(n); len(list) > 0; list = s.take(n) { // what was locked by another one was skipped
		for _, e := range list {
			seen[e.Key.EventID]++
		}
	}
	equal(s, "events", len(seen), n)
	for name, times := range seen {
		if times > 1 {
			s.Errorf("%s was taken %d times", name, times)
		}
	}
}

func acquireGivenBack(s *site) {
	s.receive("e", nil)
	equal(s, "taken", eventNames(s.take(1)), "e")
	equal(s, "kept from others", eventNames(s.take(1)), "")
	s.rest("e", 0)
	equal(s, "given back", eventNames(s.take(1)), "e")
	s.rest("e", time.Hour)
	equal(s, "resting", eventNames(s.take(1)), "")
}

// acquireFreed: what an event was found to wait for happens before whoever found that says so.
func acquireFreed(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt = 1 })
	s.receiveOrdered("v2", s.next("r", 2))
	equal(s, "taken", eventNames(s.take(1)), "v2")
	s.grant("v1", ordered(s.next("r", 1))).complete("done")
	s.rest("v2", time.Hour)
	equal(s, "offered all the same", eventNames(s.take(1)), "v2")
}

func acquireOneOfALane(s *site) {
	for i := range 6 {
		s.receiveOrdered(fmt.Sprint("e", i), s.latest(fmt.Sprint("r", i%2), int64(i)))
	}
	got := s.acquire()
	slices.SortFunc(got, func(a, b *grant) int { return cmp.Compare(a.claim.Key.EventID, b.claim.Key.EventID) })
	equal(s, "the newest of each", s.names(got), "e4 e5")
	got[0].complete("done")
	got[1].release()
	equal(s, "after that", s.names(s.acquire()), "e5")
	s.state("e0", idem.IgnoredStale)
	s.state("e2", idem.IgnoredStale)
	s.state("e1", idem.Received)
}

func acquireSequence(s *site) {
	s.policy(func(p *idem.Policy) { p.StartAt = 1 })
	for _, v := range []int64{3, 1, 4, 2} {
		s.receiveOrdered(fmt.Sprint("v", v), s.next("r", v))
	}
	var order []string
	for got := s.acquire(); len(got) > 0; got = s.acquire() {
		order = append(order, s.names(got))
		got[0].complete("done")
	}
	equal(s, "order", strings.Join(order, " "), "v1 v2 v3 v4")
}

// acquireFair: a resource with much news takes one place, and others are offered beside it.
func acquireFair(s *site) {
	for i := range 50 {
		s.receiveOrdered(fmt.Sprint("hot", i), s.latest("hot", int64(i)))
	}
	s.receiveOrdered("cold", s.latest("cold", 1))
	s.receive("plain", nil)
	equal(s, "offered", eventNames(s.take(3)), "hot49 cold plain")
}

func acquireDue(s *site) {
	s.receive("e", nil)
	got := s.acquire()
	got[0].fail(idem.Retryable)
	equal(s, "at once", s.names(s.acquire()), "")
	s.h.Due(s.T, s.key("e").ID())
	got = s.acquire()
	equal(s, "when it is due", s.names(got), "e")
	equal(s, "the error before", got[0].answer.Previous.Code, "BROKEN")
}

func acquireReleased(s *site) {
	s.policy(func(p *idem.Policy) { p.ReleaseDelay = time.Hour })
	s.receive("e", nil)
	s.acquire()[0].release()
	equal(s, "it rests", s.names(s.acquire()), "")
	s.h.Due(s.T, s.key("e").ID())
	got := s.acquire()
	equal(s, "rested", s.names(got), "e")
	equal(s, "not counted", got[0].answer.Event.Attempts, 1)
}

func acquireExpired(s *site) {
	s.receive("reclaim", nil)
	s.receive("hold", func(c *idem.Receive) { c.Stale = idem.Hold })
	for _, g := range s.acquire() {
		g.expire()
		s.settle(g.Event)
	}
	got := s.acquire()
	equal(s, "acquired", s.names(got), "reclaim")
	equal(s, "why", got[0].answer.Previous.Code, idem.LeaseExpired.String())
	s.state("hold", idem.Held)
}

func acquireReplay(s *site) {
	s.receive("e", nil)
	s.acquire()[0].complete("first")
	s.replay("e", "q1")
	s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e"))
	equal(s, "duplicates meanwhile", s.receive("e", nil).Replaying, true)
	got := s.acquire()
	equal(s, "acquired", s.names(got), "e")
	equal(s, "a replay", got[0].answer.Event.Replay, true)
	got[0].complete("second")
	equal(s, "result", string(s.state("e", idem.Processed).Result), "second")
}

func acquireRepeat(s *site) {
	s.receive("e", nil)
	s.receive("f", nil)
	list := s.take(2)
	for _, e := range list {
		s.granted(s.acquisition("w", e))
	}
	id := s.acquisition("w", list[0]).Acquisition
	taken, err := s.b.Take(s.Context(), storage.TakeQuery{Again: []idem.ID{id, newID()}})
	if err != nil || len(taken.Again) != 1 {
		s.Fatalf("%d acquisitions, %v", len(taken.Again), err)
	}
	again := taken.Again[id]
	slices.SortFunc(again, func(a, b *idem.Event) int { return cmp.Compare(a.Key.EventID, b.Key.EventID) })
	equal(s, "again", eventNames(again), "e f")
	a := s.outcome(idem.OutcomeClaimed, s.acquisition("w", again[0]))
	equal(s, "the same claim", a.Reentered, true)
	equal(s, "attempts", a.Event.Total, 1)
	s.outcome(idem.OutcomeInProgress, s.acquisition("other", again[0]))
}

func acquireWalls(s *site) {
	s.receive("e", nil)
	s.receive("e", func(c *idem.Receive) { c.Key.Consumer = "another" })
	other := s.ns + "-other"
	s.receive("e", func(c *idem.Receive) { c.Key.Namespace = other })
	equal(s, "mine", eventNames(s.take(10)), "e")
	for _, g := range []storage.Group{{Namespace: s.ns, Consumer: "another"}, {Namespace: other, Consumer: theConsumer}} {
		taken, err := s.b.Take(s.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: g, Max: 10}}})
		if err != nil || len(taken.Due) != 1 || storage.GroupOf(taken.Due[0].Key) != g {
			s.Errorf("of %v: %q, %v", g, eventNames(taken.Due), err)
		}
	}
}

// acquireIllegal: an event whose step is illegal for now does not stand before others about
// its resource that could go.
func acquireIllegal(s *site) {
	s.policy(func(p *idem.Policy) {
		p.Machines = map[string]idem.Machine{"m": {Initial: "new", Edges: map[string][]string{"new": {"paid"}, "paid": {"sent"}}}}
	})
	s.receiveOrdered("v9", to(s.latest("r", 9), "lost"))
	equal(s, "no such step", s.names(s.acquire()), "")
	s.state("v9", idem.Received)
	s.receiveOrdered("v1", to(s.latest("r", 1), "new"))
	got := s.acquire()
	if len(got) == 0 { // on a slow machine it is the other one's turn again: that one then rests
		got = s.acquire()
	}
	if names := s.names(got); names != "v1" {
		s.Fatalf("another one: got %q, want v1", names)
	}
	got[0].complete("done")
}
