//go:build linux

package faults_test

import (
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// What a campaign on the inbox is to find is found: each fault is told, and the same without
// it is none.
func TestTheInboxJudgeNotices(t *testing.T) {
	t.Parallel()
	plan := inboxPlan{campaignID{1}}
	of := func(s sort, f fate, place int64) int64 {
		for event := int64(s); ; event += int64(sorts) {
			if plan.fate(event) == f && event/int64(sorts)/inboxResources >= place {
				return event
			}
		}
	}
	newer := of(latestWins, succeeds, 1)
	older := newer - int64(sorts)*inboxResources
	follower := of(inSequence, succeeds, 1)
	leader := follower - int64(sorts)*inboxResources
	once, again, hold, plain := of(performOnce, succeeds, 0), of(performAgain, succeeds, 0), of(onHold, succeeds, 0), of(anyOrder, succeeds, 0)
	run := func(event, fence, granted, ending int64) []line {
		lines := []line{{Op: opRun, Event: event, Fence: fence, Asked: granted}}
		if ending > 0 {
			lines = append(lines, line{Op: opEnding, Event: event, Fence: fence, At: ending}, line{Op: opComplete, Event: event, Fence: fence, At: ending + 1})
		}
		return lines
	}
	perform := func(event int64, attempt int32, asked int64, key string) line {
		return line{Op: opPerform, Event: event, Attempt: attempt, Asked: asked, Note: key}
	}
	for name, c := range map[string]struct {
		lines []line
		state idem.State
		event int64
		want  string // empty: none
	}{
		"in order":                          {append(run(leader, 1, 10, 20), run(follower, 2, 30, 40)...), idem.Processed, follower, ""},
		"before its predecessor's end":      {append(run(leader, 1, 10, 20), run(follower, 2, 15, 40)...), idem.Processed, follower, "before the one before it was done"},
		"with no predecessor":               {run(follower, 2, 30, 40), idem.Processed, follower, "before the one before it was done"},
		"newest last":                       {append(run(older, 1, 10, 20), run(newer, 2, 30, 40)...), idem.Processed, newer, ""},
		"older after newer":                 {append(run(newer, 1, 10, 20), run(older, 2, 30, 40)...), idem.Processed, newer, "after a newer one"},
		"performed once":                    {append(run(once, 1, 10, 20), perform(once, 1, 11, "k")), idem.Processed, once, ""},
		"performed twice":                   {append(run(once, 1, 10, 20), perform(once, 1, 11, "k"), perform(once, 2, 12, "k")), idem.Processed, once, "performed 2 times"},
		"never performed":                   {run(again, 1, 10, 20), idem.Processed, again, "never performed"},
		"performed again":                   {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), perform(again, 2, 12, "k")), idem.Processed, again, ""},
		"performed again as the same try":   {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), perform(again, 1, 12, "k")), idem.Processed, again, "twice as try 1"},
		"performed under another key":       {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), perform(again, 2, 12, "l")), idem.Processed, again, `the keys "k" and "l"`},
		"performed after its outcome":       {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), line{Op: opDone, Event: again, At: 12}, perform(again, 2, 13, "k")), idem.Processed, again, "after its outcome"},
		"two outcomes":                      {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), line{Op: opDone, Event: again, At: 12, Result: "a"}, line{Op: opDone, Event: again, At: 12, Result: "b"}), idem.Processed, again, "two outcomes"},
		"known to have come to another end": {append(run(again, 1, 10, 20), perform(again, 1, 11, "k"), line{Op: opDone, Event: again, At: 12, Result: "a"}, line{Op: opKnown, Event: again, Result: "b"}), idem.Processed, again, "was known to have come"},
		"run twice under hold":              {append(run(hold, 1, 10, 0), run(hold, 2, 30, 40)...), idem.Processed, hold, "ran 2 times"},
		"processed by nobody":               {run(plain, 1, 10, 0), idem.Processed, plain, "nobody worked on it to the end"},
		"a completion that is lost":         {run(plain, 1, 10, 20), idem.FailedRetryable, plain, "its completion was acknowledged"},
		"one fence twice":                   {append(run(plain, 1, 10, 20), run(plain, 1, 30, 40)...), idem.Processed, plain, "given twice"},
		"another payload":                   {append(run(plain, 1, 10, 20), line{Op: opBad, Event: plain, Note: "its payload is wrong"}), idem.Processed, plain, "payload"},
	} {
		j := newInboxJudge(plan)
		j.read(c.lines)
		j.effects(c.event, c.state)
		j.runs(c.event, c.state)
		j.orders()
		told(t, name, j, c.want)
	}
	for name, c := range map[string]struct {
		event int64
		e     storedInbox
		want  string
	}{
		"dead by its attempts":        {of(anyOrder, failing, 0), storedInbox{idem.DeadLettered, inboxAttempts}, ""},
		"dead too soon":               {plain, storedInbox{idem.DeadLettered, inboxAttempts - 1}, "dead after 3 attempts"},
		"rejected by nobody":          {plain, storedInbox{idem.FailedTerminal, 1}, "nobody said so"},
		"held as it is to be":         {hold, storedInbox{idem.Held, 1}, ""},
		"held against its policy":     {again, storedInbox{idem.Held, 1}, "against its policy"},
		"stale without newer ones":    {plain, storedInbox{idem.IgnoredStale, 1}, "ignored as stale"},
		"sequential, and never stale": {follower, storedInbox{idem.IgnoredStale, 1}, "ignored as stale"},
	} {
		j := newInboxJudge(plan)
		j.left(c.event, c.e)
		told(t, name, j, c.want)
	}
	j := newInboxJudge(plan)
	waits := map[int64]storedInbox{leader: {state: idem.FailedTerminal}, follower: {state: idem.Received}}
	if !j.atRest(follower, waits) || j.settled(follower, waits) {
		t.Error("an event that waits for one that failed is not at rest, or is said to be settled")
	}
	waits[leader] = storedInbox{state: idem.Processed}
	if j.atRest(follower, waits) {
		t.Error("an event that could be worked on is said to be at rest")
	}
}

func told(t *testing.T, name string, j *inboxJudge, want string) {
	t.Helper()
	switch {
	case want == "" && len(j.broken) > 0:
		t.Errorf("%s: %q", name, j.broken)
	case want != "" && (len(j.broken) != 1 || !strings.Contains(j.broken[0], want)):
		t.Errorf("%s: %q, want one that says %q", name, j.broken, want)
	}
}
