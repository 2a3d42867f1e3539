//go:build linux

package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// inboxJudge compares what workers did with what may be done.
type inboxJudge struct {
	inboxPlan
	mu     sync.Mutex
	events map[int64]*worked
	counts map[string]int
	broken []string
}

// worked is all that workers wrote down about one event.
type worked struct {
	given     int  // how often an operator may have had it run again
	closed    bool // one may have said that it was processed
	runs      []ran
	performs  []line
	done      *line
	completed int64 // when that was acknowledged first
}

// ran is one run of a worker's handler.
type ran struct {
	fence   int64
	granted int64
	ending  int64 // when the work was done; 0: never
}

// storedInbox is how an event is stored.
type storedInbox struct {
	state idem.State
	total int32
}

func newInboxJudge(p inboxPlan) *inboxJudge {
	return &inboxJudge{inboxPlan: p, events: map[int64]*worked{}, counts: map[string]int{}}
}

func (j *inboxJudge) fault(format string, args ...any) {
	if len(j.broken) < 50 {
		j.broken = append(j.broken, fmt.Sprintf(format, args...))
	}
}

func (j *inboxJudge) of(event int64) *worked {
	w := j.events[event]
	if w == nil {
		w = &worked{}
		j.events[event] = w
	}
	return w
}

// read takes in what workers have written.
func (j *inboxJudge) read(lines []line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range lines {
		j.counts[x.Op]++
		w, id := j.of(x.Event), j.id(x.Event)
		switch x.Op {
		case opRun:
			if slices.ContainsFunc(w.runs, func(r ran) bool { return r.fence == x.Fence }) {
				j.fault("%s: fence %d was given twice", id, x.Fence)
			}
			w.runs = append(w.runs, ran{fence: x.Fence, granted: x.Asked})
		case opPerform:
			w.performs = append(w.performs, x)
		case opDone:
			if w.done != nil && w.done.Result != x.Result {
				j.fault("%s: two outcomes of one operation were accepted: %q and %q", id, w.done.Result, x.Result)
			}
			w.done = &x
		case opKnown:
			if w.done != nil && w.done.Result != x.Result {
				j.fault("%s: an operation was known to have come to %q, acknowledged was %q", id, x.Result, w.done.Result)
			}
		case opEnding:
			for i := range w.runs {
				if w.runs[i].fence == x.Fence {
					w.runs[i].ending = x.At
				}
			}
		case opComplete:
			if w.completed == 0 || x.At < w.completed {
				w.completed = x.At
			}
		case opBad:
			j.fault("%s: %s", id, x.Note)
		}
	}
}

func (j *inboxJudge) performed(event int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.of(event).performs) > 0
}

func (j *inboxJudge) willBeGiven(event int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.of(event).given++
}

func (j *inboxJudge) willBeClosed(event int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.of(event).closed = true
}

// atRest reports whether nothing will become of the event without an operator. In a sequence
// it waits as long as a version before it is not processed.
func (j *inboxJudge) atRest(event int64, stored map[int64]storedInbox) bool {
	switch state := stored[event].state; {
	case state == idem.Held, state.Finished():
		return true
	case state != idem.Received || j.sort(event) != inSequence:
		return false
	default:
		before := event - int64(sorts)*inboxResources
		return before >= 0 && stored[before].state != idem.Processed && j.atRest(before, stored)
	}
}

// left judges how faults and chance have left an event, before an operator mends it all.
func (j *inboxJudge) left(event int64, e storedInbox) {
	id, s, f := j.id(event), j.sort(event), j.fate(event)
	switch {
	case e.state == idem.DeadLettered && e.total < inboxAttempts:
		j.fault("%s: dead after %d attempts", id, e.total)
	case e.state == idem.FailedTerminal && f != rejected && f != curable:
		j.fault("%s: failed for good, and nobody said so", id)
	case e.state == idem.Held && s != onHold && s != performOnce:
		j.fault("%s (%v): held, against its policy", id, s)
	case e.state == idem.IgnoredStale && s != latestWins:
		j.fault("%s (%v): ignored as stale", id, s)
	}
}

// settled reports whether nothing is left to be mended.
func (j *inboxJudge) settled(event int64, stored map[int64]storedInbox) bool {
	state := stored[event].state
	switch f := j.fate(event); {
	case state == idem.Processed:
		return true
	case j.sort(event) == latestWins && state == idem.IgnoredStale:
		return true
	case f == rejected:
		return state == idem.FailedTerminal
	case f == failing:
		return state == idem.DeadLettered
	default:
		return false
	}
}

// effects: each operation was performed as often as its policy allows.
func (j *inboxJudge) effects(event int64, state idem.State) {
	w, id := j.of(event), j.id(event)
	n := len(w.performs)
	tries := map[int32]bool{}
	for _, p := range w.performs {
		if tries[p.Attempt] {
			j.fault("%s: an operation was performed twice as try %d", id, p.Attempt)
		}
		tries[p.Attempt] = true
		if p.Note != w.performs[0].Note {
			j.fault("%s: an operation was sent under the keys %q and %q", id, w.performs[0].Note, p.Note)
		}
		if w.done != nil && p.Asked > w.done.At {
			j.fault("%s: an operation was performed again after its outcome was acknowledged", id)
		}
	}
	switch s := j.sort(event); {
	case s == performOnce && n > 1:
		j.fault("%s: an operation that must not be repeated was performed %d times", id, n)
	case (s == performOnce || s == performAgain) && n == 0 && state == idem.Processed:
		j.fault("%s: processed, and its operation was never performed", id)
	}
}

// runs: no event ran more often than anybody decided, and none is processed that never ran
// to its end.
func (j *inboxJudge) runs(event int64, state idem.State) {
	w, id := j.of(event), j.id(event)
	if j.sort(event) == onHold && len(w.runs) > 1+w.given {
		j.fault("%s: an event that must not run twice ran %d times, and was given again %d times", id, len(w.runs), w.given)
	}
	if state == idem.Processed && !w.closed && !slices.ContainsFunc(w.runs, func(r ran) bool { return r.ending > 0 }) {
		j.fault("%s: processed, and nobody worked on it to the end", id)
	}
	if state != idem.Processed && w.completed > 0 {
		j.fault("%s: its completion was acknowledged, and it is %v", id, state)
	}
}

// orders: versions of a resource were worked on in their order.
func (j *inboxJudge) orders() {
	resources := map[string][]int64{}
	for _, event := range slices.Sorted(maps.Keys(j.events)) { // and so by version
		if j.ordered(event) {
			resources[j.resource(event)] = append(resources[j.resource(event)], event)
		}
	}
	for _, list := range resources {
		newer := int64(0) // when the first of all newer versions was known to be completed
		for _, event := range slices.Backward(list) {
			w := j.of(event)
			for _, r := range w.runs {
				if j.sort(event) == latestWins && newer > 0 && r.granted > newer {
					j.fault("%s: version %d was given after a newer one of %s was completed", j.id(event), j.version(event), j.resource(event))
				}
				if j.sort(event) == inSequence && !j.beforeDone(event, r.granted) {
					j.fault("%s: version %d of %s was given before the one before it was done", j.id(event), j.version(event), j.resource(event))
				}
			}
			if w.completed > 0 && (newer == 0 || w.completed < newer) {
				newer = w.completed
			}
		}
	}
}

// beforeDone reports whether the work on the version before an event's was done by then.
func (j *inboxJudge) beforeDone(event, by int64) bool {
	before := event - int64(sorts)*inboxResources
	return before < 0 || slices.ContainsFunc(j.of(before).runs, func(r ran) bool { return r.ending > 0 && r.ending <= by })
}
