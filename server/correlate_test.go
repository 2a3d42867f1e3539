package server

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

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

// Who gets an event also gets the trace of its cause's first delivery, on every road, for
// later attempts and duplicates, whether its own delivery was traced or not. That takes one
// question for a call, and none where no event is a cause.
func TestAClaimBringsTheTraceOfItsCause(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traced := func(traceparent string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	}
	if _, err := c.ClaimEvent(traced(trace), claimOf("root")); err != nil {
		t.Fatal(err)
	}
	text := claimOf("of a text")
	text.Event.Causation = &pb.Causation{Cause: &pb.Causation_Text{Text: "cron"}}
	if _, err := c.ClaimEvent(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if n := f.backend.facts.Load(); n != 0 {
		t.Errorf("%d questions for events without a cause", n)
	}
	caused := func(id, cause string) *pb.ClaimEventRequest {
		r := claimOf(id)
		r.Event.CorrelationId = "told"
		r.Event.Causation = &pb.Causation{Cause: &pb.Causation_EventRef{EventRef: &pb.EventRef{Source: "stripe", EventId: cause}}}
		return r
	}
	got := map[string]string{}
	claim := func(ctx context.Context, what, id, cause string) *pb.ClaimEventResponse {
		t.Helper()
		r, err := c.ClaimEvent(ctx, caused(id, cause))
		if err != nil {
			t.Fatal(err)
		}
		got[what] = r.GetCauseTrace()
		return r
	}
	first := claim(t.Context(), "unary", "unary", "root")
	claim(traced("00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), "not sampled", "not sampled", "root")
	claim(t.Context(), "in progress", "unary", "root")
	if _, err := c.FailEvent(t.Context(), &pb.FailEventRequest{Token: first.GetClaim().GetToken(), Error: &pb.ProcessingError{Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE, Code: "X"}}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(2e9)
	if r := claim(t.Context(), "retry", "unary", "root"); r.GetClaim().GetAttempt() != 2 {
		t.Fatalf("%v", r)
	}
	resp := f.session(t.Context(), t, "consumer", &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: caused("session", "root")}})
	got["session"] = resp.GetClaimEvent().GetCauseTrace()
	receipt := receiptOf("receipt", "billing")
	receipt.Event.CorrelationId, receipt.Event.Causation = "told", caused("", "root").GetEvent().GetCausation()
	if _, err := c.ReceiveEvent(t.Context(), receipt); err != nil {
		t.Fatal(err)
	}
	work, err := c.AcquireEvents(t.Context(), acquisitionOf(1, 0))
	if err != nil || len(work.GetEvents()) != 1 {
		t.Fatalf("%v %v", work, err)
	}
	got["acquired"] = work.GetEvents()[0].GetCauseTrace()
	asked := f.backend.facts.Load()
	batch := &pb.ClaimEventsRequest{Namespace: shop, Consumer: "billing", Claimant: text.GetClaimant() + "-batch", Items: []*pb.ClaimItem{
		{Event: caused("item 1", "root").GetEvent()}, {Event: caused("item 2", "of a text").GetEvent()}, {Event: caused("item 3", "root").GetEvent()},
	}}
	items, err := c.ClaimEvents(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	got["item 1"], got["item 3"] = items.GetResults()[0].GetResponse().GetCauseTrace(), items.GetResults()[2].GetResponse().GetCauseTrace()
	if n := f.backend.facts.Load() - asked; n != 1 {
		t.Errorf("a batch asked %d questions", n)
	}
	for what, have := range got {
		if have != trace {
			t.Errorf("%s: %q", what, have)
		}
	}
	if untraced := items.GetResults()[1].GetResponse().GetCauseTrace(); untraced != "" {
		t.Errorf("the cause had no trace, and %q came", untraced)
	}
	if r := claim(t.Context(), "unknown", "late", "nobody knows"); r.GetCauseTrace() != "" {
		t.Errorf("%v", r)
	}
}
