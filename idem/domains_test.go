package idem_test

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

func plainEvent(n int, stale idem.StaleClaim) eventDef {
	return eventDef{key: eventKey(n), stale: stale}
}

func orderedEvent(n int, stale idem.StaleClaim, o *idem.Ordering) eventDef {
	return eventDef{key: eventKey(n), stale: stale, ordering: o}
}

// domains are the small worlds that are explored, each around one part of the rules.
func domains() []*domain {
	r2 := []idem.ResourceKey{resourceKey(0), resourceKey(1)}
	r1 := r2[:1]
	latest, seq := idem.LatestWins, idem.Sequential
	checks := func(ev int, os ...*idem.Ordering) (out []checkDef) {
		for _, o := range os {
			out = append(out, checkDef{event: ev, ordering: *o})
		}
		return out
	}
	join := func(parts ...[]checkDef) (out []checkDef) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	return []*domain{
		{
			name: "one event reclaimed", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)},
			grants: 3, acts: 2, extends: 2, release: true, notYet: true, undelivered: true, terminal: true, repeats: true,
		},
		{
			name: "one event held", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Hold)},
			grants: 3, acts: 2, extends: 1, release: true, terminal: true, repeats: true,
		},
		{
			name: "replays", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)},
			grants: 4, acts: 2, extends: 1, terminal: true, replay: true, repeats: true,
		},
		{
			name: "replays of one attempt", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), events: []eventDef{plainEvent(1, idem.Reclaim)},
			grants: 3, acts: 2, terminal: true, replay: true,
		},
		{
			name: "replays under hold", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Hold)},
			grants: 3, acts: 2, extends: 1, terminal: true, replay: true,
		},
		{
			name: "two versions", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 2))},
			grants: 3, acts: 0, extends: 1, release: true,
		},
		{
			name: "two versions held", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Hold, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 2))},
			grants: 2, acts: 2, extends: 1,
		},
		{
			name: "two versions, held lanes freed", policy: smallPolicy(func(p *idem.Policy) { p.HeldLanes = false }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Hold, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 2))},
			grants: 2, acts: 2, extends: 1,
		},
		{
			name: "replay among versions", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 2))},
			grants: 2, acts: 2, extends: 1, replay: true,
		},
		{
			name: "tied versions", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 1))},
			grants: 2, acts: 1, extends: 1, replay: true,
		},
		{
			name: "tied versions applied", policy: smallPolicy(func(p *idem.Policy) { p.TieSequence = idem.TieApply }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 1))},
			grants: 2, acts: 1, extends: 1, replay: true,
		},
		{
			name: "three events, two lanes", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 3 }), resources: r2,
			events: []eventDef{plainEvent(1, idem.Reclaim), orderedEvent(2, idem.Reclaim, ordering(0, latest, 2)), plainEvent(3, idem.Hold)},
			checks: join(checks(0, ordering(0, latest, 1), ordering(0, latest, 3), ordering(1, latest, 2)), checks(2, ordering(1, latest, 1))),
			grants: 2, acts: 1, extends: 1,
		},
		{
			name: "one claim, two lanes, tokenless checks", policy: smallPolicy(nil), resources: r2,
			events: []eventDef{plainEvent(1, idem.Reclaim)},
			checks: checks(0, ordering(0, latest, 1), ordering(0, latest, 2), ordering(1, latest, 1)),
			grants: 2, extends: 1, tokenless: true, release: true,
		},
		{
			name: "ordering told late", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{{key: eventKey(1), later: ordering(0, latest, 1)}, orderedEvent(2, idem.Reclaim, ordering(0, latest, 2))},
			grants: 2, acts: 1, extends: 1, terminal: true,
		},
		{
			name: "a sequence", policy: smallPolicy(func(p *idem.Policy) { p.StartAt, p.MaxAttempts = 1, 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, seq, 1)), orderedEvent(2, idem.Reclaim, ordering(0, seq, 2)), orderedEvent(3, idem.Reclaim, ordering(0, seq, 3))},
			grants: 1, acts: 1, extends: 1, terminal: true,
		},
		{
			name: "a sequence that skips",
			policy: smallPolicy(func(p *idem.Policy) {
				p.StartAt, p.MaxAttempts, p.Gap, p.GapAfter, p.Dead = 1, 1, idem.GapSkip, time.Minute, idem.DeadSkip
			}), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, seq, 1)), orderedEvent(2, idem.Reclaim, ordering(0, seq, 2)), orderedEvent(3, idem.Reclaim, ordering(0, seq, 3))},
			grants: 1, acts: 1, extends: 0, terminal: true,
		},
		{
			name: "a receipt", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)},
			grants: 3, acts: 1, extends: 1, release: true, notYet: true, undelivered: true, terminal: true, replay: true, receive: true,
		},
		{
			name: "receipts of two versions", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Hold, ordering(0, latest, 2))},
			grants: 2, acts: 0, extends: 1, release: true, receive: true,
		},
		{
			name: "receipts of a sequence", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, seq, 1)), orderedEvent(2, idem.Reclaim, ordering(0, seq, 2)), orderedEvent(3, idem.Reclaim, ordering(0, seq, 3))},
			grants: 1, acts: 1, receive: true,
		},
		{
			name: "signals", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, signal(0)), orderedEvent(2, idem.Reclaim, signal(0)), orderedEvent(3, idem.Reclaim, signal(0))},
			grants: 1, receive: true,
		},
		{
			name: "signals failed and given back", policy: smallPolicy(nil), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, signal(0)), orderedEvent(2, idem.Reclaim, signal(0))},
			grants: 2, extends: 1, release: true, undelivered: true, receive: true,
		},
		{
			name: "signals that no completion lists", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, signal(0)), orderedEvent(2, idem.Reclaim, signal(2)), orderedEvent(3, idem.Reclaim, signal(3))},
			grants: 1, fetched: []int64{2}, start: func(s *store) { s.blind = true },
		},
		{
			name: "signals of versions", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, signal(1)), orderedEvent(2, idem.Reclaim, signal(2)), orderedEvent(3, idem.Reclaim, signal(0))},
			grants: 1, fetched: []int64{1, 2}, receive: true,
		},
		{
			name: "signals held and replayed", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Hold, signal(0)), orderedEvent(2, idem.Reclaim, signal(2))},
			grants: 2, acts: 2, extends: 1, fetched: []int64{2}, terminal: true, replay: true, receive: true,
		},
		{
			name: "an effect of two events", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 2 }),
			events:  []eventDef{plainEvent(1, idem.Reclaim), plainEvent(2, idem.Reclaim)},
			effects: []effectDef{{key: idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "ns", Key: "charge"}, onUnknown: idem.UnknownRetry, hashes: []string{"h"}, only: -1}},
			grants:  2, extends: 1, begins: 2,
		},
		{
			name: "an effect under hold", policy: smallPolicy(nil),
			events:  []eventDef{plainEvent(1, idem.Reclaim)},
			effects: []effectDef{{key: idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "billing", Key: "mail"}, onUnknown: idem.UnknownHold, hashes: []string{"h"}, only: 0}},
			grants:  2, acts: 1, extends: 1, begins: 2, release: true,
		},
		{
			name: "two requests under one effect key", policy: smallPolicy(func(p *idem.Policy) { p.MaxAttempts = 2 }),
			events:  []eventDef{plainEvent(1, idem.Reclaim)},
			effects: []effectDef{{key: idem.EffectKey{Scope: idem.ConsumerScope, Namespace: "ns", Consumer: "billing", Key: "ticket"}, onUnknown: idem.UnknownRetry, hashes: []string{"h", "i"}, only: -1}},
			grants:  2, extends: 1, begins: 3, release: true,
		},
	}
}

// rareDomains are worlds around rules that the others do not meet: policies changed under
// a stored record, loops, state machines, budgets.
func rareDomains() []*domain {
	r1 := []idem.ResourceKey{resourceKey(0)}
	latest, seq := idem.LatestWins, idem.Sequential
	machine := func(p *idem.Policy) {
		p.Machines = map[string]idem.Machine{"order": {Initial: "new", Edges: map[string][]string{"new": {"paid"}, "paid": {"sent"}}}}
	}
	step := func(n int64, to string) *idem.Ordering {
		o := ordering(0, latest, n)
		o.Transition = &idem.Transition{Machine: "order", To: to}
		return o
	}
	self := func(n int) eventDef {
		return eventDef{key: eventKey(n), facts: idem.Facts{Origin: "billing"}}
	}
	put := func(change func(e *idem.Event)) func(*store) {
		return func(s *store) {
			e := &idem.Event{Key: eventKey(1), Version: 3, Round: 1, Stale: idem.Reclaim}
			change(e)
			s.ev[0] = e
			s.seq = 9
		}
	}
	return []*domain{
		{
			name: "self-origin", policy: smallPolicy(func(p *idem.Policy) { p.SelfOrigins = []string{"billing"} }),
			events: []eventDef{self(1)}, grants: 2, acts: 2, replay: true, receive: true,
		},
		{
			name: "self-origin told late", policy: smallPolicy(func(p *idem.Policy) { p.SelfOrigins = []string{"billing"} }), resources: r1,
			events: []eventDef{{key: eventKey(1), facts: idem.Facts{Origin: "billing"}}}, grants: 1,
			start: put(func(e *idem.Event) { e.State = idem.Received }),
		},
		{
			name: "illegal steps wait", policy: smallPolicy(machine), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, step(1, "lost")), orderedEvent(2, idem.Reclaim, step(2, "sent"))}, grants: 1, acts: 1, replay: true,
		},
		{
			name: "illegal steps end", policy: smallPolicy(func(p *idem.Policy) { machine(p); p.IllegalEnds = true }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, step(1, "lost"))}, grants: 1, acts: 2, replay: true,
		},
		{
			name: "ties skipped", policy: smallPolicy(func(p *idem.Policy) { p.TieSequence = idem.TieSkip }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, latest, 1)), orderedEvent(2, idem.Reclaim, ordering(0, latest, 1))}, grants: 1, acts: 1, replay: true,
		},
		{
			name: "a gap held", policy: smallPolicy(func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapHold, time.Minute }), resources: r1,
			events: []eventDef{orderedEvent(1, idem.Reclaim, ordering(0, seq, 1)), orderedEvent(2, idem.Reclaim, ordering(0, seq, 2))}, grants: 1, acts: 1,
		},
		{
			name: "patience ends", policy: smallPolicy(func(p *idem.Policy) { p.NotYetBudget = 0 }),
			events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 4, acts: 1, notYet: true,
		},
		{
			name: "releases beyond the maximum", policy: smallPolicy(func(p *idem.Policy) { p.MaxReleases, p.MaxAttempts = 0, 1 }),
			events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 2, acts: 2, release: true, replay: true,
		},
		{
			name: "fewer attempts allowed, after a failure", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 9, acts: 1,
			start: put(func(e *idem.Event) { e.State, e.Attempts, e.Total, e.Fence = idem.FailedRetryable, 2, 2, 5 }),
		},
		{
			name: "fewer attempts allowed, after a lease's end", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 9, acts: 1,
			start: put(func(e *idem.Event) {
				e.State, e.Attempts, e.Total, e.Fence, e.ByExpiry, e.End = idem.FailedRetryable, 2, 2, 5, true, idem.EndExpired
			}),
		},
		{
			name: "fewer attempts allowed, after a release", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 9, acts: 1,
			start: put(func(e *idem.Event) { e.State, e.Attempts, e.Total, e.Fence = idem.Received, 2, 2, 5 }),
		},
		{
			name: "a loop blocked", policy: smallPolicy(nil), events: []eventDef{plainEvent(1, idem.Reclaim)}, grants: 1, acts: 1,
			start: put(func(e *idem.Event) { e.State = idem.BlockedLoop }),
		},
	}
}
