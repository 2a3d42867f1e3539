package storagetest

import (
	"fmt"

	"github.com/idemsvc/idemsvc/idem"
)

// signals are the tests of events that only say that something has changed.
var signals = []test{
	{"Signal/OneGrantCarriesAll", signalCarries},
	{"Signal/LaterOnesNeedOneMore", signalLater},
	{"Signal/OnlyACompletionCarries", signalUnfinished},
	{"Signal/WhatWasFetched", signalFetched},
	{"Signal/ClaimedInTheReceiver", signalClaimed},
	{"Signal/ManyAtOnce", signalMany},
	{"Signal/Replay", signalReplay},
	{"Signal/Race", signalRace},
}

// signal says that a resource has changed; v is the version it tells of, 0 for none.
func (s *site) signal(resource string, v int64) idem.Ordering {
	o := s.latest(resource, v)
	o.Mode = idem.Signal
	if v == 0 {
		o.Version = idem.Version{}
	}
	return o
}

// fetched completes with the version that was fetched.
func (g *grant) fetched(v int64) *idem.EndAnswer {
	g.s.Helper()
	c := g.completion("fetched")
	c.Applied = &idem.Version{Kind: idem.Sequence, Value: v}
	return do[*idem.EndAnswer](g.s, c)
}

// carried tests that an event ended with another's grant.
func (s *site) carried(event, by string) {
	s.Helper()
	v := s.view(event)
	equal(s, event+" ended", v.Event.State, idem.IgnoredStale)
	equal(s, event+" because", v.Event.Reason, idem.Carried)
	equal(s, event+" is carried by", v.LaneOwners[v.Event.CarriedBy], s.key(by))
	equal(s, event+" was granted", v.Event.Total, 0)
}

func signalCarries(s *site) {
	for i := range 5 {
		s.receiveOrdered(fmt.Sprint("e", i), s.signal("a", 0))
	}
	s.receiveOrdered("other", s.signal("b", 0))
	got := s.acquire()
	equal(s, "one of each resource", len(got), 2)
	equal(s, "the last that came, and the other resource's", s.names(got), "e4 other")
	s.state("e0", idem.Received)
	got[0].fetched(7)
	for i := range 4 { // with the completion, and not when they are looked at
		s.carried(fmt.Sprint("e", i), "e4")
	}
	s.state("other", idem.Processing)
	s.applied("e4", "a", 7)
	equal(s, "left", s.names(s.acquire()), "")
}

func signalLater(s *site) {
	s.receiveOrdered("before", s.signal("a", 0))
	s.receiveOrdered("granted", s.signal("a", 0))
	got := s.acquire()
	equal(s, "granted", s.names(got), "granted")
	s.receiveOrdered("after", s.signal("a", 0))
	s.receiveOrdered("last", s.signal("a", 0))
	equal(s, "while it runs", s.names(s.acquire()), "")
	got[0].complete("no version told")
	s.carried("before", "granted")
	s.state("after", idem.Received)
	s.state("last", idem.Received)
	got = s.acquire()
	equal(s, "one more", s.names(got), "last")
	got[0].complete("again")
	s.carried("after", "last")
	equal(s, "left", s.names(s.acquire()), "")
}

func signalUnfinished(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts, p.ReleaseDelay = 9, 0 })
	s.receiveOrdered("first", s.signal("a", 0))
	s.receiveOrdered("second", s.signal("a", 0))
	for name, end := range map[string]func(g *grant){
		"failed":     func(g *grant) { g.fail(idem.Retryable) },
		"given back": func(g *grant) { g.release() },
		"lost":       func(g *grant) { g.expire(); s.settle(g.Event) },
	} {
		got := s.acquire()
		equal(s, name+": granted", len(got), 1)
		end(got[0])
		for _, event := range []string{"first", "second"} {
			if e := s.view(event).Event; e.State != idem.Received && e.State != idem.FailedRetryable {
				s.Fatalf("%s: %s is %s", name, event, e.State)
			}
			s.h.Due(s.T, s.key(event).ID())
		}
	}
	got := s.acquire()
	equal(s, "granted at last", len(got), 1)
	other := map[string]string{"first": "second", "second": "first"}[s.names(got)]
	got[0].complete("done")
	equal(s, "the other", s.view(other).Event.State, idem.IgnoredStale)
	equal(s, "left", s.names(s.acquire()), "")
}

func signalFetched(s *site) {
	s.receiveOrdered("v9", s.signal("a", 9))
	s.receiveOrdered("v4", s.signal("a", 4))
	got := s.acquire()
	equal(s, "granted", s.names(got), "v4")
	got[0].fetched(6) // the source is behind what it has told
	s.state("v9", idem.Received)
	got = s.acquire()
	equal(s, "what was not in it", s.names(got), "v9")
	err := s.refusal(idem.CodeInvalid, &idem.Complete{Token: got[0].Token, Applied: &idem.Version{Kind: idem.Sequence, Value: 8}})
	equal(s, "at fault", err.Field, "applied_version")
	s.refused(idem.CodeKindMismatch, &idem.Complete{Token: got[0].Token, Applied: &idem.Version{Kind: idem.Moment, Value: 99}})
	got[0].fetched(10)
	s.receiveOrdered("v10", s.signal("a", 10))
	equal(s, "what was fetched already", s.names(s.acquire()), "")
	s.carried("v10", "v9")
	s.receiveOrdered("v11", s.signal("a", 11))
	equal(s, "news", s.names(s.acquire()), "v11")
	s.receiveOrdered("unversioned", s.signal("b", 0))
	s.acquire()[0].fetched(3) // fixes the kind
	s.refused(idem.CodeKindMismatch, s.receiving("moment", func(c *idem.Receive) {
		o := s.signal("b", 5)
		o.Version.Kind = idem.Moment
		c.Ordering = &o
	}))
	s.refused(idem.CodeKindMismatch, s.receiving("state", func(c *idem.Receive) { o := s.latest("b", 5); c.Ordering = &o }))
	s.refused(idem.CodeInvalid, &idem.Check{By: newID(), Ordering: s.signal("b", 5)})
}

func signalClaimed(s *site) {
	g := s.grant("first", ordered(s.signal("a", 0)))
	s.outcome(idem.OutcomeResourceBusy, s.claim("second", ordered(s.signal("a", 0))))
	waiting := s.state("second", idem.Received)
	if waiting.Fence <= g.Fence {
		s.Errorf("arrived at %d, after the grant at %d", waiting.Fence, g.Fence)
	}
	g.fetched(5)
	g = s.grant("second", ordered(s.signal("a", 0)))
	equal(s, "attempts archived", len(s.view("second").Attempts), 0)
	g.fetched(6)
	s.outcome(idem.OutcomeStale, s.claim("old", ordered(s.signal("a", 5))))
	s.carried("old", "second")
}

// signalMany: a completion ends a bounded number; the rest ends when it is looked at.
func signalMany(s *site) {
	cmds := make([]idem.Command, idem.MaxFold+20)
	for i := range cmds {
		cmds[i] = s.receiving(fmt.Sprint("e", i), func(c *idem.Receive) { o := s.signal("a", 0); c.Ordering = &o })
	}
	for len(cmds) > 0 {
		n := min(len(cmds), 200)
		for _, r := range s.b.Apply(s.Context(), cmds[:n]) {
			if r.Err != nil {
				s.Fatal(r.Err)
			}
		}
		cmds = cmds[n:]
	}
	got := s.acquire()
	equal(s, "granted", s.names(got), fmt.Sprint("e", idem.MaxFold+19))
	got[0].complete("done")
	last := idem.MaxFold + 18 // e1019 was granted
	s.carried("e0", s.names(got))
	s.carried(fmt.Sprint("e", idem.MaxFold-1), s.names(got))
	for _, i := range []int{idem.MaxFold, last} {
		name := fmt.Sprint("e", i)
		s.state(name, idem.Received)
		s.outcome(idem.OutcomeStale, s.claim(name, ordered(s.signal("a", 0))))
		s.carried(name, s.names(got))
	}
}

func signalReplay(s *site) {
	s.receiveOrdered("first", s.signal("a", 3))
	s.acquire()[0].fetched(3)
	s.receiveOrdered("second", s.signal("a", 4))
	s.acquire()[0].fetched(4)
	s.replay("first", "again")
	got := s.acquire()
	equal(s, "replayed", s.names(got), "first")
	got[0].fetched(4)
	s.state("first", idem.Processed)
}

// signalRace: whatever arrives while others are granted and completed, each signal ends as
// processed or carried, and the last one that came is granted or carried by a later grant.
func signalRace(s *site) {
	const n = 60
	done := make(chan error)
	go func() {
		for i := range n {
			o := s.signal("a", 0)
			r := s.b.Apply(s.Context(), []idem.Command{s.receiving(fmt.Sprint("e", i), func(c *idem.Receive) { c.Ordering = &o })})
			if r[0].Err != nil {
				done <- r[0].Err
				return
			}
		}
		close(done)
	}()
	work := func() {
		for _, g := range s.acquire() {
			g.complete("fetched")
		}
	}
	for open := true; open; {
		select {
		case err, failed := <-done:
			if failed {
				s.Fatal(err)
			}
			open = false
		default:
			work()
		}
	}
	work()
	work()
	for i := range n {
		name := fmt.Sprint("e", i)
		e := s.view(name).Event
		switch {
		case e.State == idem.Processed:
		case e.State == idem.IgnoredStale && !e.CarriedBy.IsZero():
			v := s.view(name)
			by := s.view(v.LaneOwners[e.CarriedBy].EventID).Event
			if by.State != idem.Processed || by.Fence <= e.Fence {
				s.Errorf("%s arrived at %d and is carried by %s, granted at %d", name, e.Fence, by.Key.EventID, by.Fence)
			}
		default:
			s.Errorf("%s is %s", name, e.State)
		}
	}
}
