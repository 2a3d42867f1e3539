package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// verdict is one sentence about an event: what came, what ran, what is owed, what to do.
func verdict(e *pb.EventView) string {
	ev := e.GetEvent()
	came := int64(len(e.GetDeliveries())) + e.GetDeliveriesOmitted()
	head := fmt.Sprintf("%s from %s", safe(ev.GetEventId()), safe(ev.GetSource()))
	if ev.GetType() != "" {
		head += " (" + safe(ev.GetType()) + ")"
	}
	if came > 0 {
		head += " came " + times(came)
	}
	if len(e.GetConsumers()) == 0 {
		return head + "; no consumer has claimed it; owed: its processing; to do: see whether its consumers run and claim it."
	}
	said := []string{head}
	var owed, todo []string
	for _, x := range e.GetConsumers() {
		f := findingOf(x)
		said = append(said, f.said)
		if f.owed != "" {
			owed, todo = append(owed, f.owed), append(todo, f.todo)
		}
		if open := openEffects(x); len(open) > 0 {
			owed = append(owed, "the outcome of "+who(x)+"'s "+strings.Join(open, ", "))
			todo = append(todo, "look in the system that it is for whether it took place, and report it")
		}
	}
	if len(owed) == 0 {
		return strings.Join(said, "; ") + "; nothing is owed, nothing to do."
	}
	return strings.Join(said, "; ") + "; owed: " + strings.Join(owed, ", ") + "; to do: " + strings.Join(todo, ", ") + "."
}

// finding is what one consumer made of an event, and what is left to do, if anything is.
type finding struct{ said, owed, todo string }

func who(c *pb.ConsumerView) string { return safe(c.GetConsumer()) }

func findingOf(c *pb.ConsumerView) finding {
	name := who(c)
	tries := plural(int64(c.GetAttemptsTotal()), "attempt")
	why := ""
	if code := c.GetLastError().GetCode(); code != "" {
		why = " (" + safe(code) + ")"
	}
	processing := "its processing by " + name
	again := "mend the cause, then let an operator run it again for " + name
	switch c.GetState() {
	case pb.EventState_EVENT_STATE_PROCESSED:
		return finding{said: fmt.Sprintf("%s processed it in %s", name, tries)}
	case pb.EventState_EVENT_STATE_PROCESSING:
		return finding{
			fmt.Sprintf("%s is processing it now, attempt %d", name, c.GetClaim().GetAttempt()), "the end of that attempt",
			"wait for it, " + timed(c.GetClaim().GetLeaseExpiresAt(), "its lease ends"),
		}
	case pb.EventState_EVENT_STATE_RECEIVED:
		said := name + " has not run it"
		if c.GetAttemptsTotal() > 0 {
			said = fmt.Sprintf("%s is to run it again after %s", name, tries)
		}
		return finding{said + waitsFor(c), processing, afterWaiting(c)}
	case pb.EventState_EVENT_STATE_FAILED_RETRYABLE:
		return finding{
			fmt.Sprintf("%s failed it%s after %s", name, why, tries), "another attempt by " + name,
			"wait for a worker of " + name + " or its next delivery, " + timed(c.GetNextAttemptAt(), "which may run"),
		}
	case pb.EventState_EVENT_STATE_FAILED_TERMINAL:
		return finding{fmt.Sprintf("%s failed it for good%s after %s", name, why, tries), processing, again}
	case pb.EventState_EVENT_STATE_DEAD_LETTERED:
		return finding{fmt.Sprintf("%s used up its attempts%s, %s", name, why, tries), processing, again}
	case pb.EventState_EVENT_STATE_HELD:
		return finding{
			fmt.Sprintf("for %s it is held (%s)", name, word(c.GetHeldReason().String(), "HELD_REASON_")), "a person's decision for " + name, toDecide(c.GetHeldReason()),
		}
	case pb.EventState_EVENT_STATE_BLOCKED_LOOP:
		return finding{fmt.Sprintf("for %s a loop rule stopped it", name), processing, "break the loop, then let an operator run it again for " + name}
	case pb.EventState_EVENT_STATE_IGNORED_STALE:
		if by := c.GetCarriedBy(); by != nil {
			return finding{said: fmt.Sprintf("%s had its change with what was fetched for %s", name, safe(by.GetEventId()))}
		}
		return finding{said: name + " skipped it because newer state was applied"}
	case pb.EventState_EVENT_STATE_IGNORED_SELF_ORIGINATED:
		return finding{said: name + " skipped it because it had caused it itself"}
	default:
		return finding{fmt.Sprintf("for %s its state is %s", name, word(c.GetState().String(), "EVENT_STATE_")), processing, "ask with a newer idemsvc, which knows this state"}
	}
}

func waitsFor(c *pb.ConsumerView) string {
	switch w := c.GetWaiting().GetWaitingFor(); w {
	case pb.WaitingFor_WAITING_FOR_UNSPECIFIED:
		return ""
	case pb.WaitingFor_WAITING_FOR_LANE:
		return ": another event of its resource runs"
	case pb.WaitingFor_WAITING_FOR_PREDECESSOR:
		return ": the version before it has not been applied"
	case pb.WaitingFor_WAITING_FOR_TRANSITION:
		return ": its resource's state does not allow it yet"
	case pb.WaitingFor_WAITING_FOR_RELEASE_DELAY:
		return ": it rests after it was given back"
	default:
		return ": it waits for its " + word(w.String(), "WAITING_FOR_")
	}
}

func afterWaiting(c *pb.ConsumerView) string {
	switch c.GetWaiting().GetWaitingFor() {
	case pb.WaitingFor_WAITING_FOR_UNSPECIFIED:
		if c.GetReplayInProgress() {
			return "wait for a worker of " + who(c) + ": it takes replays when it acquires events; deliveries do not run them"
		}
		return "wait for a worker of " + who(c) + "; where none acquires events, have it delivered again"
	case pb.WaitingFor_WAITING_FOR_LANE:
		return "wait for the other event's end"
	case pb.WaitingFor_WAITING_FOR_PREDECESSOR, pb.WaitingFor_WAITING_FOR_TRANSITION:
		return "find the event before it, which is missing or not finished; if it is missing for good, resolve this one as retry"
	default:
		return "wait for its next delivery, " + timed(c.GetNextAttemptAt(), "which may run")
	}
}

// toDecide is what a person looks at before deciding about a held event.
func toDecide(r pb.HeldReason) string {
	switch r {
	case pb.HeldReason_HELD_REASON_EFFECT_UNKNOWN:
		return "find out whether its side effect took place, report that, then resolve it"
	case pb.HeldReason_HELD_REASON_TIED:
		return "compare it with the event that applied the same version, then resolve it"
	case pb.HeldReason_HELD_REASON_DEAD_PREDECESSOR:
		return "settle the version before it, or resolve this one as retry to have it run without"
	case pb.HeldReason_HELD_REASON_SKIPPED_GAP:
		return "decide whether it is still to be applied after newer ones, then resolve it"
	case pb.HeldReason_HELD_REASON_GAP_TIMEOUT:
		return "look for the version before it at the provider, or resolve this one as retry to have it run without"
	case pb.HeldReason_HELD_REASON_POST_RESTORE:
		return "find out whether it was processed before the database was restored, then resolve it"
	default:
		return "find out whether its work was done, then resolve it"
	}
}

// openEffects are the side effects of which nobody knows whether they took place. While
// the event is being processed they are the attempt's business.
func openEffects(c *pb.ConsumerView) []string {
	var open []string
	for _, f := range c.GetEffects() {
		switch f.GetState() {
		case pb.EffectState_EFFECT_STATE_BEGUN, pb.EffectState_EFFECT_STATE_UNKNOWN:
			if c.GetState() != pb.EventState_EVENT_STATE_PROCESSING {
				open = append(open, "effect "+safe(f.GetKey()))
			}
		default:
		}
	}
	return open
}

// timed adds an instant to a text, where there is one.
func timed(t *timestamppb.Timestamp, what string) string {
	if t == nil {
		return what
	}
	return what + " at " + when(t)
}

func times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// word is an enum's name for people.
func word(name, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", " "))
}

// safe is text from others, for a terminal.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return '�'
		}
		return r
	}, s)
}
