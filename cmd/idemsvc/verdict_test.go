package main

import (
	"testing"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	view := func(deliveries int, consumers ...*pb.ConsumerView) *pb.EventView {
		return &pb.EventView{Event: &pb.Event{Source: "stripe", EventId: "evt_1"}, Deliveries: make([]*pb.DeliveryView, deliveries), Consumers: consumers}
	}
	for want, e := range map[string]*pb.EventView{
		"evt_1 from stripe came once, and no consumer has claimed it.": view(1),
		"evt_1 from stripe came twice; a processed it in 1 attempt; b skipped it because newer state was applied; nothing is owed.": view(2,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_PROCESSED, AttemptsTotal: 1},
			&pb.ConsumerView{Consumer: "b", State: pb.EventState_EVENT_STATE_IGNORED_STALE}),
		"evt_1 from stripe came 3 times; for a it is held (lease expired): a person must decide.": view(3,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_HELD, HeldReason: pb.HeldReason_HELD_REASON_LEASE_EXPIRED}),
		"evt_1 from stripe; a failed it (slow) after 2 attempts and another follows.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_FAILED_RETRYABLE, AttemptsTotal: 2, LastError: &pb.ProcessingError{Code: "slow"}}),
		"evt_1 from stripe; a has not run it: it waits for its lane.": view(0,
			&pb.ConsumerView{Consumer: "a", State: pb.EventState_EVENT_STATE_RECEIVED, Waiting: &pb.WaitingView{WaitingFor: pb.WaitingFor_WAITING_FOR_LANE}}),
	} {
		if got := verdict(e); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	for state := range pb.EventState_name {
		said, _ := consumerVerdict(&pb.ConsumerView{Consumer: "a", State: pb.EventState(state)})
		if said == "" {
			t.Errorf("nothing is said about %v", pb.EventState(state))
		}
	}
}
