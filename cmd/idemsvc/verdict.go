package main

import (
	"fmt"
	"strings"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// verdict is one sentence about an event: what came, what ran, what is owed.
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
		return head + ", and no consumer has claimed it."
	}
	parts := make([]string, 0, len(e.GetConsumers()))
	owed := false
	for _, c := range e.GetConsumers() {
		said, open := consumerVerdict(c)
		parts = append(parts, said)
		owed = owed || open
	}
	end := "; nothing is owed."
	if owed {
		end = "."
	}
	return head + "; " + strings.Join(parts, "; ") + end
}

// consumerVerdict is what one consumer made of it, and whether something is left to do.
func consumerVerdict(c *pb.ConsumerView) (said string, owed bool) {
	who := safe(c.GetConsumer())
	tries := plural(int64(c.GetAttemptsTotal()), "attempt")
	why := ""
	if code := c.GetLastError().GetCode(); code != "" {
		why = " (" + safe(code) + ")"
	}
	switch c.GetState() {
	case pb.EventState_EVENT_STATE_PROCESSED:
		return fmt.Sprintf("%s processed it in %s", who, tries), false
	case pb.EventState_EVENT_STATE_PROCESSING:
		return fmt.Sprintf("%s is processing it now, attempt %d", who, c.GetClaim().GetAttempt()), true
	case pb.EventState_EVENT_STATE_RECEIVED:
		if w := c.GetWaiting().GetWaitingFor(); w != pb.WaitingFor_WAITING_FOR_UNSPECIFIED {
			return fmt.Sprintf("%s has not run it: it waits for its %s", who, word(w.String(), "WAITING_FOR_")), true
		}
		return fmt.Sprintf("%s has not run it: it can be claimed", who), true
	case pb.EventState_EVENT_STATE_FAILED_RETRYABLE:
		return fmt.Sprintf("%s failed it%s after %s and another follows", who, why, tries), true
	case pb.EventState_EVENT_STATE_FAILED_TERMINAL:
		return fmt.Sprintf("%s failed it for good%s after %s: an operator may let it run again", who, why, tries), true
	case pb.EventState_EVENT_STATE_DEAD_LETTERED:
		return fmt.Sprintf("%s used up its attempts%s, %s: an operator may let it run again", who, why, tries), true
	case pb.EventState_EVENT_STATE_HELD:
		return fmt.Sprintf("for %s it is held (%s): a person must decide", who, word(c.GetHeldReason().String(), "HELD_REASON_")), true
	case pb.EventState_EVENT_STATE_BLOCKED_LOOP:
		return fmt.Sprintf("for %s a loop rule stopped it", who), true
	case pb.EventState_EVENT_STATE_IGNORED_STALE:
		return fmt.Sprintf("%s skipped it because newer state was applied", who), false
	case pb.EventState_EVENT_STATE_IGNORED_SELF_ORIGINATED:
		return fmt.Sprintf("%s skipped it because it had caused it itself", who), false
	default:
		return fmt.Sprintf("for %s its state is %s", who, word(c.GetState().String(), "EVENT_STATE_")), true
	}
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
