package server

import (
	"testing"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// An event that names its cause and no correlation takes the cause's, on every road; one that
// tells its own keeps it; one whose cause is unknown has its own ID.
func TestEventsTakeTheirCausesCorrelation(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	root := claimOf("root")
	root.Event.CorrelationId = "cor-root"
	if _, err := c.ClaimEvent(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	causedBy := func(id string) *pb.Causation {
		return &pb.Causation{Cause: &pb.Causation_EventRef{EventRef: &pb.EventRef{Source: "stripe", EventId: id}}}
	}
	unary := claimOf("unary")
	unary.Event.Causation = causedBy("root")
	if _, err := c.ClaimEvent(t.Context(), unary); err != nil {
		t.Fatal(err)
	}
	receipt := receiptOf("receipt", "billing", "mail")
	receipt.Event.Causation = causedBy("unary")
	if _, err := c.ReceiveEvent(t.Context(), receipt); err != nil {
		t.Fatal(err)
	}
	batch := &pb.ClaimEventsRequest{Namespace: shop, Consumer: "billing", Claimant: unary.GetClaimant() + "-batch"}
	for _, item := range []struct{ id, cause, correlation string }{
		{"of root", "root", ""}, {"of receipt", "receipt", ""}, {"of root too", "root", ""}, {"own", "root", "mine"}, {"of none", "nobody knows", ""}, {"alone", "", ""},
	} {
		e := &pb.Event{Source: "stripe", EventId: item.id, CorrelationId: item.correlation}
		if item.cause != "" {
			e.Causation = causedBy(item.cause)
		}
		batch.Items = append(batch.Items, &pb.ClaimItem{Event: e})
	}
	if _, err := c.ClaimEvents(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"root": "cor-root", "unary": "cor-root", "receipt": "cor-root", "of root": "cor-root", "of receipt": "cor-root", "of root too": "cor-root",
		"own": "mine", "of none": "of none", "alone": "alone",
	} {
		r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: id})
		if err != nil || len(r.GetEvents()) != 1 {
			t.Fatalf("%s: %v %v", id, r, err)
		}
		if got := r.GetEvents()[0].GetEvent().GetCorrelationId(); got != want {
			t.Errorf("%s has the correlation %q, want %q", id, got, want)
		}
	}
}
