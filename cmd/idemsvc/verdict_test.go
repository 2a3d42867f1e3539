package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	view := func(deliveries int, consumers ...*pb.ConsumerView) *pb.EventView {
		return &pb.EventView{Event: &pb.Event{Source: "stripe", EventId: "evt_1"}, Deliveries: make([]*pb.DeliveryView, deliveries), Consumers: consumers}
	}
	at := timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	effect := &pb.SideEffect{Key: "mail", State: pb.EffectState_EFFECT_STATE_UNKNOWN}
	for want, e := range map[string]*pb.EventView{
		"evt_1 from stripe came once; no consumer has claimed it; owed: its processing; to do: see whether its consumers run and claim it.": view(1),
		"evt_1 from stripe came twice; a processed it in 1 attempt; b skipped it because newer state was applied; nothing is owed, nothing to do.": view(2,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_PROCESSED, AttemptsTotal: 1},
			&pb.ConsumerView{Consumer: "b", State: pb.EventState_EVENT_STATE_IGNORED_STALE}),
		"evt_1 from stripe came 3 times; for a it is held (lease expired); owed: a person's decision for a; to do: find out whether its work was done, then resolve it.": view(3,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_HELD, HeldReason: pb.HeldReason_HELD_REASON_LEASE_EXPIRED}),
		"evt_1 from stripe; a failed it (slow) after 2 attempts; owed: another attempt by a; to do: wait for a worker of a or its next delivery, which may run at 2026-01-02T03:04:05.000Z.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_FAILED_RETRYABLE, AttemptsTotal: 2, LastError: &pb.ProcessingError{Code: "slow"}, NextAttemptAt: at}),
		"evt_1 from stripe; a is processing it now, attempt 1; owed: the end of that attempt; to do: wait for it, its lease ends at 2026-01-02T03:04:05.000Z.": view(0,
			&pb.ConsumerView{
				Consumer: "a", State: pb.EventState_EVENT_STATE_PROCESSING, Claim: &pb.CurrentClaimView{Attempt: 1, LeaseExpiresAt: at},
				Effects: []*pb.SideEffect{{Key: "begun", State: pb.EffectState_EFFECT_STATE_BEGUN}},
			}),
		"evt_1 from stripe; a is to run it again after 1 attempt; owed: its processing by a; to do: wait for a worker of a: it takes replays when it acquires events; deliveries do not run them.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_RECEIVED, AttemptsTotal: 1, ReplayInProgress: true, SettledAs: pb.EventState_EVENT_STATE_PROCESSED}),
		"evt_1 from stripe; a has not run it: another event of its resource runs; owed: its processing by a; to do: wait for the other event's end.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_RECEIVED, Waiting: &pb.WaitingView{WaitingFor: pb.WaitingFor_WAITING_FOR_LANE}}),
		"evt_1 from stripe; a processed it in 1 attempt; b used up its attempts, 5 attempts; owed: the outcome of a's effect mail, its processing by b; " +
			"to do: look in the system that it is for whether it took place, and report it, mend the cause, then let an operator run it again for b.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_PROCESSED, AttemptsTotal: 1, Effects: []*pb.SideEffect{effect}},
			&pb.ConsumerView{Consumer: "b", State: pb.EventState_EVENT_STATE_DEAD_LETTERED, AttemptsTotal: 5}),
	} {
		if got := verdict(e); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	finished := map[pb.EventState]bool{
		pb.EventState_EVENT_STATE_PROCESSED: true, pb.EventState_EVENT_STATE_IGNORED_STALE: true, pb.EventState_EVENT_STATE_IGNORED_SELF_ORIGINATED: true,
	}
	for n := range pb.EventState_name {
		state := pb.EventState(n)
		f := findingOf(&pb.ConsumerView{Consumer: "a", State: state})
		if f.said == "" || (f.owed == "") != finished[state] || (f.todo == "") != finished[state] {
			t.Errorf("%v: %+v", state, f)
		}
	}
	for n := range pb.WaitingFor_name {
		x := &pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_RECEIVED, Waiting: &pb.WaitingView{WaitingFor: pb.WaitingFor(n)}}
		if said := findingOf(x).said; n != 0 && !strings.Contains(said, ": ") || strings.Contains(said, "waits for its") {
			t.Errorf("%v: %q", pb.WaitingFor(n), said)
		}
	}
}
