package server

import (
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func signalled(id string, v *pb.Version) *pb.ReceiveEventRequest {
	req := receiptOf(id, "billing")
	req.Event.Resource = &pb.Resource{Type: "order", Id: "1"}
	req.Ordering = &pb.Ordering{Version: v, Mode: pb.OrderingMode_ORDERING_MODE_SIGNAL}
	return req
}

// One grant carries what was received before it; each event tells by which it was carried,
// and what is received later is granted once more.
func TestSignalsAreCarriedByOneGrant(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	receive := func(id string, v *pb.Version) {
		t.Helper()
		if got, err := c.ReceiveEvent(t.Context(), signalled(id, v)); err != nil || got.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE {
			t.Fatalf("%v %v", got, err)
		}
	}
	acquire := func() *pb.AcquiredEvent {
		t.Helper()
		got, err := c.AcquireEvents(t.Context(), acquisitionOf(10, 0))
		if err != nil || len(got.GetEvents()) != 1 {
			t.Fatalf("%v %v", got, err)
		}
		return got.GetEvents()[0]
	}
	receive("evt_1", nil)
	receive("evt_2", sequence(7))
	work := acquire()
	if work.GetEvent().GetEventId() != "evt_2" || work.GetOrdering().GetMode() != pb.OrderingMode_ORDERING_MODE_SIGNAL {
		t.Errorf("%v", work)
	}
	receive("evt_3", nil)
	_, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: work.GetClaim().GetToken(), AppliedVersion: sequence(6)})
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "applied_version"}) {
		t.Errorf("a fetch without the change: %+v", got)
	}
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: work.GetClaim().GetToken(), AppliedVersion: sequence(8)}); err != nil {
		t.Fatal(err)
	}
	r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "evt_1"})
	if err != nil {
		t.Fatal(err)
	}
	v := r.GetEvents()[0].GetConsumers()[0]
	if v.GetState() != pb.EventState_EVENT_STATE_IGNORED_STALE || v.GetReason() != "CARRIED" || v.GetCarriedBy().GetEventId() != "evt_2" || len(v.GetAttempts()) != 0 {
		t.Errorf("%v", v)
	}
	if applied := v.GetResources()[0].GetAppliedVersion(); applied.GetSequence() != 8 {
		t.Errorf("%v", v.GetResources())
	}
	later := acquire()
	if later.GetEvent().GetEventId() != "evt_3" {
		t.Errorf("%v", later)
	}
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: later.GetClaim().GetToken()}); err != nil {
		t.Fatal(err)
	}
	if left, err := c.AcquireEvents(t.Context(), acquisitionOf(10, 0)); err != nil || len(left.GetEvents()) != 0 {
		t.Errorf("what is left: %v %v", left, err)
	}
}

func TestSignalsRefuseBadInput(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	stepping := signalled("evt_1", nil)
	stepping.Ordering.Transition = &pb.Transition{Machine: "m", ToState: "paid"}
	_, err := c.ReceiveEvent(t.Context(), stepping)
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "ordering.transition"}) {
		t.Errorf("a transition: %+v", got)
	}
	bare := signalled("evt_1", nil)
	bare.Ordering.Mode = pb.OrderingMode_ORDERING_MODE_LATEST_WINS
	_, err = c.ReceiveEvent(t.Context(), bare)
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "ordering.version"}) {
		t.Errorf("LATEST_WINS without a version: %+v", got)
	}
	empty := signalled("evt_1", &pb.Version{})
	_, err = c.ReceiveEvent(t.Context(), empty)
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "ordering.version.value"}) {
		t.Errorf("an empty version: %+v", got)
	}
	check := checkOf(sequence(1), "r")
	check.Mode = pb.OrderingMode_ORDERING_MODE_SIGNAL
	_, err = c.CheckVersion(t.Context(), check)
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "mode"}) {
		t.Errorf("a check: %+v", got)
	}
}
