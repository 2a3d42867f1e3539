package storagetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// lists are the tests of what operators page through.
var lists = []test{
	{"Lists/Unfinished", listUnfinished},
	{"Lists/Pages", listPages},
	{"Lists/Values", listValues},
	{"Lists/FirstSeen", listFirstSeen},
	{"Lists/Stuck", listStuck},
	{"Lists/ReplayFailed", listReplayFailed},
	{"Lists/Ways", listWays},
	{"Lists/Held", listHeld},
	{"Lists/Consequences", listConsequences},
}

// list reads all pages and returns the events' IDs in alphabetical order.
func (s *site) list(q storage.ListQuery) []string {
	s.Helper()
	var out []string
	for _, v := range s.pages(q) {
		out = append(out, v.Event.Key.EventID)
	}
	slices.Sort(out)
	return out
}

// pages reads all pages of a list.
func (s *site) pages(q storage.ListQuery) []storage.View {
	s.Helper()
	if q.Namespace == "" {
		q.Namespace = s.ns
	}
	if q.Limit == 0 {
		q.Limit = 2
	}
	var out []storage.View
	for range 100 {
		page, err := s.b.List(s.Context(), q)
		if err != nil {
			s.Fatalf("List %+v: %v", q, err)
		}
		if len(page.Views) > q.Limit || len(page.Cursors) != len(page.Views) {
			s.Fatalf("a page of %d views and %d places, the limit is %d", len(page.Views), len(page.Cursors), q.Limit)
		}
		for i := 1; i < len(page.Cursors); i++ {
			if !page.Cursors[i-1].Before(page.Cursors[i]) {
				s.Errorf("places are out of order: %+v", page.Cursors)
			}
		}
		out = append(out, page.Views...)
		if !page.More {
			return out
		}
		q.After = page.Next
	}
	s.Fatalf("List %+v does not end", q)
	return nil
}

func (s *site) listed(what string, q storage.ListQuery, want ...string) {
	s.Helper()
	slices.Sort(want)
	if got := s.list(q); !slices.Equal(got, want) {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func listUnfinished(s *site) {
	s.grant("live")
	s.grant("done").complete("done")
	s.grant("expired").expire()
	s.grant("failed").fail(idem.Retryable)
	s.grant("terminal").fail(idem.Terminal)
	held := s.grant("held", stale(idem.Hold), eventType("paid"))
	held.expire()
	s.settle(held.Event)
	s.grant("over", stale(idem.Hold)).expire() // nobody has written down yet that it is held
	closed := s.grant("closed", stale(idem.Hold))
	closed.expire()
	s.resolve("closed", idem.ResolveTerminal)
	s.grant("live", consumer("other"))
	s.grant("foreign", namespace(s.ns+"-2"), stale(idem.Hold)).expire()
	s.grant("elsewhere", from("crm"), stale(idem.Hold)).expire()

	held2 := []idem.State{idem.Held}
	s.listed("held", storage.ListQuery{States: held2}, "held", "over", "elsewhere")
	s.listed("held of a source", storage.ListQuery{States: held2, Source: "crm"}, "elsewhere")
	s.listed("held of a type", storage.ListQuery{States: held2, Type: "paid"}, "held")
	s.listed("held of a consumer", storage.ListQuery{States: held2, Consumer: theConsumer}, "held", "over", "elsewhere")
	s.listed("held of nobody", storage.ListQuery{States: held2, Consumer: "nobody"})
	s.listed("failed", storage.ListQuery{States: []idem.State{idem.FailedRetryable}}, "expired", "failed")
	s.listed("running", storage.ListQuery{States: []idem.State{idem.Processing}}, "live", "live")
	s.listed("running of a consumer", storage.ListQuery{States: []idem.State{idem.Processing}, Consumer: "other"}, "live")
	s.listed("terminal", storage.ListQuery{States: []idem.State{idem.FailedTerminal, idem.DeadLettered}}, "terminal")
	s.listed("another namespace", storage.ListQuery{Namespace: s.ns + "-2", States: held2}, "foreign")
}

// listPages: every page begins where the one before ended, and nothing comes twice.
func listPages(s *site) {
	var want []string
	for i := range 23 {
		name := fmt.Sprint("e", i)
		s.grant(name).fail(idem.Terminal)
		want = append(want, name)
	}
	for _, limit := range []int{1, 5, 23, 200} {
		s.listed(fmt.Sprint("pages of ", limit), storage.ListQuery{States: []idem.State{idem.FailedTerminal}, Limit: limit}, slices.Clone(want)...)
	}
	page, err := s.b.List(s.Context(), storage.ListQuery{Namespace: s.ns, States: []idem.State{idem.FailedTerminal}, Limit: 5})
	if err != nil || len(page.Views) != 5 || !page.More || page.Next != page.Cursors[4] {
		s.Fatalf("a page of %d, more %v, %v", len(page.Views), page.More, err)
	}
	// A place within a page serves, too: a reply may have no room for all of it.
	rest := s.list(storage.ListQuery{States: []idem.State{idem.FailedTerminal}, After: page.Cursors[1], Limit: 7})
	equal(s, "behind the second", len(rest), 21)
}

func listValues(s *site) {
	s.grant("e", facts(func(f *idem.Facts) { f.Correlation, f.ResourceType, f.ResourceID = "corr", "invoice", "7" })).complete("done")
	s.grant("f", facts(func(f *idem.Facts) { f.Correlation, f.ResourceType, f.ResourceID = "corr", "invoice", "8" }), eventType("paid"))
	s.grant("g", ordered(s.latest("r", 1))).fail(idem.Terminal)
	s.grant("foreign", namespace(s.ns+"-2"), facts(func(f *idem.Facts) { f.Correlation = "corr" }))
	s.listed("correlation", storage.ListQuery{Correlation: "corr"}, "e", "f")
	s.listed("correlation in a state", storage.ListQuery{Correlation: "corr", States: []idem.State{idem.Processed}}, "e")
	s.listed("correlation of a type", storage.ListQuery{Correlation: "corr", Type: "paid"}, "f")
	s.listed("resource", storage.ListQuery{ResourceType: "invoice", ResourceID: "7"}, "e")
	s.listed("resource of the ordering", storage.ListQuery{ResourceType: "order", ResourceID: "r"}, "g")
	s.listed("a value of another kind", storage.ListQuery{Correlation: "e"})
	s.listed("another namespace", storage.ListQuery{Namespace: s.ns + "-2", Correlation: "corr"}, "foreign")
}

func listFirstSeen(s *site) {
	s.grant("e").complete("done")
	s.grant("f", eventType("paid"))
	s.grant("g", from("crm"))
	s.grant("foreign", namespace(s.ns+"-2"))
	at := s.view("e").Event.CreatedAt
	hour := storage.ListQuery{From: at.Add(-30 * time.Minute), Until: at.Add(30 * time.Minute)}
	s.listed("an hour", hour, "e", "f", "g")
	of := func(change func(*storage.ListQuery)) storage.ListQuery {
		q := hour
		change(&q)
		return q
	}
	s.listed("an hour of a type", of(func(q *storage.ListQuery) { q.Type = "paid" }), "f")
	s.listed("an hour of a source", of(func(q *storage.ListQuery) { q.Source = "crm" }), "g")
	s.listed("an hour of a state", of(func(q *storage.ListQuery) { q.States = []idem.State{idem.Processed} }), "e")
	s.listed("from the very moment", of(func(q *storage.ListQuery) { q.From = at }), "e", "f", "g")
	s.listed("until the very moment", of(func(q *storage.ListQuery) { q.Until = at }))
	s.listed("the month before", storage.ListQuery{From: at.Add(-storage.ListRange), Until: at.Add(-time.Hour)})
	s.listed("the whole month", storage.ListQuery{From: at.Add(time.Hour - storage.ListRange), Until: at.Add(time.Hour)}, "e", "f", "g")
	s.listed("failed ones of the hour", of(func(q *storage.ListQuery) { q.States = []idem.State{idem.Processing} }), "f", "g")
}

func listStuck(s *site) {
	s.grant("running")
	s.grant("owner", ordered(s.latest("r", 1)))
	s.outcome(idem.OutcomeResourceBusy, s.claim("waits", ordered(s.latest("r", 2))))
	s.grant("held", stale(idem.Hold)).expire()
	s.grant("resting").fail(idem.Retryable)
	s.grant("failed").fail(idem.Retryable)
	s.h.Due(s.T, s.key("failed").ID())
	s.grant("paid", eventType("paid")).fail(idem.Retryable)
	s.h.Due(s.T, s.key("paid").ID())
	s.settle(s.key("held").ID())
	s.listed("at once", storage.ListQuery{Stuck: true, StuckAfter: time.Hour})
	for _, name := range []string{"waits", "held", "failed", "paid"} {
		s.h.Later(s.T, s.key(name).ID(), 2*time.Hour)
	}
	s.listed("after two hours", storage.ListQuery{Stuck: true, StuckAfter: time.Hour}, "waits", "held", "failed", "paid")
	s.listed("after less than three", storage.ListQuery{Stuck: true, StuckAfter: 3 * time.Hour})
	s.listed("of a state", storage.ListQuery{Stuck: true, StuckAfter: time.Hour, States: []idem.State{idem.Received}}, "waits")

	// Where the question says nothing, the policy of each event does.
	s.listed("by default", storage.ListQuery{Stuck: true}, "waits", "held", "failed", "paid")
	s.policies(func(eventType string, p *idem.Policy) {
		p.StuckAfter = 3 * time.Hour
		if eventType == "paid" {
			p.StuckAfter = time.Hour
		}
	})
	s.listed("by policy", storage.ListQuery{Stuck: true}, "paid")
	s.listed("whatever the policy says", storage.ListQuery{Stuck: true, StuckAfter: 2 * time.Hour}, "waits", "held", "failed", "paid")

	v := s.pages(storage.ListQuery{Stuck: true, StuckAfter: time.Hour, States: []idem.State{idem.Received}})[0]
	equal(s, "waits for", v.Event.Waiting.Kind, idem.WaitingLane)
	equal(s, "in the way", v.LaneOwners[v.Event.Waiting.Event], s.key("owner"))
	if d := v.Now.Sub(v.Event.WaitingSince); d < 2*time.Hour || d > 3*time.Hour {
		s.Errorf("it has waited for %v", d)
	}
}

func listReplayFailed(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	for _, name := range []string{"fails", "dies", "succeeds"} {
		s.grant(name).complete("one")
		s.replay(name, "r1")
	}
	s.grant("stale", ordered(s.latest("r", 1))).complete("one")
	s.grant("newer", ordered(s.latest("r", 2))).complete("one")
	s.replay("stale", "r1")
	s.listed("under way", storage.ListQuery{States: []idem.State{idem.Received}}, "fails", "dies", "succeeds", "stale")
	s.listed("none has failed yet", storage.ListQuery{ReplayFailed: true})
	s.grant("fails", acceptReplay()).fail(idem.Retryable)
	s.grant("dies", acceptReplay()).expire()
	s.settle(s.key("dies").ID())
	s.grant("succeeds", acceptReplay()).complete("two")
	s.outcome(idem.OutcomeStale, s.claim("stale", acceptReplay()))
	s.listed("replay failed", storage.ListQuery{ReplayFailed: true}, "fails", "dies", "stale")
	s.replay("fails", "r2")
	s.grant("fails", acceptReplay()).complete("two")
	s.listed("all but one", storage.ListQuery{ReplayFailed: true}, "dies", "stale")
}

// listWays: a filter that no index serves is no way at all.
func listWays(s *site) {
	now := s.b.Clock()
	for _, q := range []storage.ListQuery{
		{}, {Consumer: "c"}, {Source: "s"}, {Type: "t"}, {States: []idem.State{idem.Processed}},
		{States: []idem.State{idem.Held, idem.Processed}}, {From: now}, {Until: now}, {From: now, Until: now},
		{From: now, Until: now.Add(storage.ListRange + time.Microsecond)},
	} {
		q.Namespace = s.ns
		equal(s, fmt.Sprintf("way of %+v", q), q.Way(), storage.NoWay)
		if _, err := s.b.List(s.Context(), q); err == nil {
			s.Errorf("%+v was served", q)
		}
	}
}

// listHeld: what a person needs to decide comes along.
func listHeld(s *site) {
	g := s.grant("e", stale(idem.Hold))
	s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", "charge"), "h", "ch_1"))
	g.expire()
	s.settle(g.Event)
	s.h.Later(s.T, g.Event, time.Hour)
	v := s.pages(storage.ListQuery{States: []idem.State{idem.Held}})[0]
	equal(s, "owner", v.Event.Holder, "host-1")
	equal(s, "effects", len(v.Effects), 1)
	equal(s, "reason", v.Event.Reason, idem.LeaseExpired)
	if d := v.Now.Sub(v.StandsSince()); d < time.Hour || d > 2*time.Hour {
		s.Errorf("it has been held for %v", d)
	}
}

// listConsequences: what names an event as its cause is found by it.
func listConsequences(s *site) {
	caused := func(source, id string) option {
		return facts(func(f *idem.Facts) { f.CauseSource, f.CauseEventID = source, id })
	}
	s.grant("e")
	s.grant("f", caused(theSource, "e"))
	s.grant("g", caused(theSource, "e"), from("crm"))
	s.grant("h", caused("crm", "e"))
	s.grant("foreign", caused(theSource, "e"), namespace(s.ns+"-2"))
	found, err := s.b.Lookup(s.Context(), storage.Query{Namespace: s.ns, Kind: storage.ByCause, Value: theSource, Name: "e"})
	if err != nil {
		s.Fatalf("Lookup: %v", err)
	}
	var got []string
	for _, k := range keys(found) {
		got = append(got, k.EventID)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"f", "g"}) {
		s.Errorf("consequences: got %v", got)
	}
}
