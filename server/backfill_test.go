package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// received keeps an event for billing, with a payload.
func (f *fixture) received(t *testing.T, id string, change func(*pb.ReceiveEventRequest)) {
	t.Helper()
	req := &pb.ReceiveEventRequest{
		Namespace: shop, Consumers: []string{"billing"},
		Event:    &pb.Event{Source: "stripe", EventId: id, Type: "invoice.paid", Body: &pb.Event_Payload{Payload: []byte("body of " + id)}},
		Delivery: &pb.Delivery{RequestId: "req-" + id, Headers: []*pb.Header{{Name: "x-shop", Value: "7"}}},
	}
	if change != nil {
		change(req)
	}
	if r, err := f.client(t, "consumer").ReceiveEvent(t.Context(), req); err != nil || r.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE {
		t.Fatalf("%s: %v %v", id, r, err)
	}
}

func backfillOf(request string, f *pb.EventFilter) *pb.ReplayEventsRequest {
	return &pb.ReplayEventsRequest{
		Namespace: shop, RequestId: request, Why: "new here", ToConsumer: "ledger", Selection: &pb.ReplayEventsRequest_Filter{Filter: f},
	}
}

func (f *fixture) acquired(t *testing.T, consumer string) []*pb.AcquiredEvent {
	t.Helper()
	r, err := f.client(t, "consumer").AcquireEvents(t.Context(), &pb.AcquireEventsRequest{
		Namespace: shop, Consumer: consumer, Claimant: fmt.Sprintf("claimant-%d", claimants.Add(1)), MaxEvents: 100, WantPayload: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetEvents()
}

// A consumer that comes later works on what came before it: with payload and headers, told
// that it is a replay, and once, however often it is asked for.
func TestABackfillIsWorkedOn(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	for i := range 3 {
		f.received(t, fmt.Sprint("e", i), nil)
	}
	f.received(t, "shared", func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"billing", "ledger", "audit"} })
	f.received(t, "refund", func(r *pb.ReceiveEventRequest) { r.Event.Type = "refund.made" })
	req := backfillOf("b1", &pb.EventFilter{Type: "invoice.paid"})
	req.DryRun = true
	r, err := ops.ReplayEvents(t.Context(), req)
	if err != nil || !r.GetDryRun() || r.GetStarted() != 3 || r.GetAlreadyReceived() == 0 || len(r.GetResults()) != 3 {
		t.Fatalf("%v %v", r, err)
	}
	if got := f.acquired(t, "ledger"); len(got) != 1 || got[0].GetEvent().GetEventId() != "shared" || got[0].GetClaim().GetIsReplay() {
		t.Fatalf("the dry run changed something: %v", got)
	}
	req.DryRun = false
	r, err = ops.ReplayEvents(t.Context(), req)
	if err != nil || r.GetStarted() != 3 || r.GetRefused() != 0 || r.GetAlreadyReceived() == 0 || r.GetSelected() != 3 || r.GetMoreMatch() {
		t.Fatalf("%v %v", r, err)
	}
	for _, x := range r.GetResults() {
		if x.GetEvent().GetConsumer() != "ledger" || x.GetOutcome() != pb.ReplayOutcome_REPLAY_OUTCOME_STARTED {
			t.Errorf("%v", x)
		}
	}
	again, err := ops.ReplayEvents(t.Context(), req)
	if err != nil || again.GetStarted() != 0 || again.GetAlreadyStarted() != 3 || again.GetAlreadyReceived() != r.GetAlreadyReceived() {
		t.Errorf("the same request: %v %v", again, err)
	}
	got := f.acquired(t, "ledger")
	if len(got) != 3 {
		t.Fatalf("%d to work on", len(got))
	}
	for _, x := range got {
		id := x.GetEvent().GetEventId()
		if !x.GetClaim().GetIsReplay() || x.GetClaim().GetAttempt() != 1 || string(x.GetClaim().GetPayload()) != "body of "+id ||
			x.GetEvent().GetCorrelationId() != id || len(x.GetDelivery().GetHeaders()) != 1 || x.GetDelivery().GetRequestId() != "req-"+id {
			t.Errorf("%v", x)
		}
		if _, err := f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: x.GetClaim().GetToken()}); err != nil {
			t.Error(err)
		}
	}
	if again, err = ops.ReplayEvents(t.Context(), req); err != nil || again.GetAlreadyStarted() != 3 {
		t.Errorf("the same request after all: %v %v", again, err)
	}
	// A second run has nothing to do, and says so.
	req.RequestId = "b2"
	_, err = ops.ReplayEvents(t.Context(), req)
	if x := toldBy(t, err); x.reason != "REPLAY_REFUSED" || !strings.Contains(err.Error(), "ALREADY_RECEIVED") {
		t.Errorf("%v", err)
	}
	v, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "e0"})
	if err != nil || len(v.GetEvents()[0].GetConsumers()) != 2 {
		t.Fatalf("%v %v", v, err)
	}
	for _, c := range v.GetEvents()[0].GetConsumers() {
		if want := c.GetConsumer() == "ledger"; want && (!c.GetAttempts()[0].GetIsReplay() || c.GetState() != pb.EventState_EVENT_STATE_PROCESSED) || !want && c.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
			t.Errorf("%v", c)
		}
	}
	store, ok := f.backend.Backend.(*memory.Store)
	if !ok {
		t.Fatal("the fixture is not over memory")
	}
	told := 0
	for _, e := range store.Journal() {
		if e.Kind == idem.EntryReceived && e.Who == "operator" && e.Why == "new here" && e.Request == "b1" {
			told++
		}
	}
	if told != 3 {
		t.Errorf("the journal tells of %d", told)
	}
}

// Named events fail alone: what the consumer has is left alone, what nobody has is not found.
func TestP11_OneRefusedBackfillFailsAlone(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.received(t, "new", nil)
	f.received(t, "had", func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"billing", "ledger"} })
	req := replayOf("b1", "missing", "had", "new")
	req.ToConsumer = "ledger"
	for _, dry := range []bool{true, false} {
		req.DryRun = dry
		r, err := f.ops(t, "operator").ReplayEvents(t.Context(), req)
		if err != nil || r.GetSelected() != 3 || r.GetStarted() != 1 || r.GetRefused() != 1 || r.GetAlreadyReceived() != 1 {
			t.Fatalf("dry run %v: %v %v", dry, r, err)
		}
		for i, want := range []pb.ReplayOutcome{pb.ReplayOutcome_REPLAY_OUTCOME_REFUSED, pb.ReplayOutcome_REPLAY_OUTCOME_ALREADY_RECEIVED, pb.ReplayOutcome_REPLAY_OUTCOME_STARTED} {
			if got := r.GetResults()[i]; got.GetOutcome() != want || got.GetEvent().GetConsumer() != "ledger" && i > 0 {
				t.Errorf("dry run %v: %v, want %v", dry, got, want)
			}
		}
	}
	req = replayOf("b2", "missing")
	req.ToConsumer = "ledger"
	if _, err := f.ops(t, "operator").ReplayEvents(t.Context(), req); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
	req = replayOf("b3", "had")
	req.ToConsumer = "ledger"
	if _, err := f.ops(t, "operator").ReplayEvents(t.Context(), req); toldBy(t, err).reason != "REPLAY_REFUSED" {
		t.Errorf("%v", err)
	}
}

// P10: a backfill is an operator's, in a namespace of the token, about that namespace's events.
func TestP10_BackfillsStayInside(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.received(t, "e", nil)
	for caller, want := range map[string]string{"reader": "PERMISSION_DENIED", "consumer": "PERMISSION_DENIED", "": "UNAUTHENTICATED"} {
		if _, err := f.ops(t, caller).ReplayEvents(t.Context(), backfillOf("b", &pb.EventFilter{})); toldBy(t, err).reason != want {
			t.Errorf("%q: %v", caller, err)
		}
	}
	theirs := backfillOf("b", &pb.EventFilter{})
	theirs.Namespace = "other-live"
	if _, err := f.ops(t, "operator").ReplayEvents(t.Context(), theirs); toldBy(t, err).reason != "UNKNOWN_NAMESPACE" {
		t.Errorf("%v", err)
	}
	// The same event ref in another namespace is no receipt of this one.
	only := &pb.ReceiveEventRequest{Namespace: "other-live", Consumers: []string{"billing"}, Event: &pb.Event{Source: "stripe", EventId: "theirs"}}
	if _, err := f.client(t, "other").ReceiveEvent(t.Context(), only); err != nil {
		t.Fatal(err)
	}
	req := replayOf("b2", "theirs")
	req.ToConsumer = "ledger"
	if _, err := f.ops(t, "operator").ReplayEvents(t.Context(), req); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
	r, err := f.ops(t, "operator").ReplayEvents(t.Context(), backfillOf("b3", &pb.EventFilter{}))
	if err != nil || r.GetSelected() != 1 || r.GetResults()[0].GetEvent().GetEventId() != "e" {
		t.Errorf("%v %v", r, err)
	}
}

// Without a window it is about seven days; more than that is said, and at most 31.
func TestABackfillIsBounded(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	f.received(t, "old", nil)
	f.clock.Advance(8 * 24 * time.Hour)
	f.received(t, "young", nil)
	ago := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(f.clock.Now().Time().Add(-d)) }
	found := func(filter *pb.EventFilter) string {
		t.Helper()
		req := backfillOf("dry", filter)
		req.DryRun = true
		r, err := ops.ReplayEvents(t.Context(), req)
		if err != nil {
			return toldBy(t, err).reason + " " + toldBy(t, err).field
		}
		var ids []string
		for _, x := range r.GetResults() {
			ids = append(ids, x.GetEvent().GetEventId())
		}
		return strings.Join(ids, " ")
	}
	for want, filter := range map[string]*pb.EventFilter{
		"young":                   {},
		"old young":               {FirstSeenFrom: ago(9 * 24 * time.Hour)},
		"old":                     {FirstSeenUntil: ago(2 * 24 * time.Hour)},
		"NOT_FOUND ":              {Type: "none"},
		"INVALID_ARGUMENT filter": {FirstSeenFrom: ago(40 * 24 * time.Hour)},
	} {
		if got := found(filter); got != want {
			t.Errorf("%v: got %q, want %q", filter, got, want)
		}
	}
	for field, change := range map[string]func(*pb.ReplayEventsRequest){
		"include_processed": func(r *pb.ReplayEventsRequest) { r.IncludeProcessed = true },
		"to_consumer":       func(r *pb.ReplayEventsRequest) { r.ToConsumer = strings.Repeat("x", 513) },
		"to_consumer ":      func(r *pb.ReplayEventsRequest) { r.ToConsumer = " \t" },
		"page_token":        func(r *pb.ReplayEventsRequest) { r.PageToken = []byte("x") },
	} {
		req := backfillOf("b", &pb.EventFilter{})
		change(req)
		if _, err := ops.ReplayEvents(t.Context(), req); toldBy(t, err) != (told{codes.InvalidArgument, "INVALID_ARGUMENT", strings.TrimSpace(field)}) {
			t.Errorf("%s: %v", field, err)
		}
	}
	named := replayOf("b", "old")
	named.PageToken = []byte("x")
	if _, err := ops.ReplayEvents(t.Context(), named); toldBy(t, err).field != "page_token" {
		t.Errorf("%v", err)
	}
}

// A run of a filter tells where the next one goes on, also to a repeat of its request.
func TestRunsGoOnWhereOneEnded(t *testing.T) {
	t.Parallel()
	f := ownPolicies(t)
	ops := f.ops(t, "operator")
	for i := range 7 {
		f.received(t, fmt.Sprint("e", i), func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"billing", "audit"} })
	}
	seen := map[string]bool{}
	req := backfillOf("b0", &pb.EventFilter{Consumer: "billing"})
	req.MaxEvents = 3
	for i, want := range []int32{3, 3, 1} {
		req.RequestId = fmt.Sprint("b", i)
		r, err := ops.ReplayEvents(t.Context(), req)
		if err != nil || r.GetStarted() != want || r.GetMoreMatch() != (i < 2) || r.GetMoreMatch() != (len(r.GetNextPageToken()) > 0) {
			t.Fatalf("run %d: %v %v", i, r, err)
		}
		again, err := ops.ReplayEvents(t.Context(), req)
		if err != nil || again.GetAlreadyStarted() != want || string(again.GetNextPageToken()) != string(r.GetNextPageToken()) {
			t.Errorf("run %d again: %v %v", i, again, err)
		}
		for _, x := range r.GetResults() {
			seen[x.GetEvent().GetEventId()] = true
		}
		req.PageToken = r.GetNextPageToken()
	}
	if len(seen) != 7 {
		t.Errorf("%v", seen)
	}

	// One that starts nothing tells it with the refusal.
	req = backfillOf("b9", &pb.EventFilter{Consumer: "audit"})
	f.received(t, "z1", func(r *pb.ReceiveEventRequest) { r.Event.Origin, r.Consumers = "us", []string{"audit"} })
	other := f.client(t, "consumer")
	if _, err := other.ReceiveEvent(t.Context(), &pb.ReceiveEventRequest{Namespace: shop, Consumers: []string{"audit"}, Event: &pb.Event{Source: "stripe", EventId: "z2", Origin: "us"}}); err != nil {
		t.Fatal(err)
	}
	rules := []*pb.Policy{{Match: &pb.PolicyMatch{Consumer: "ledger"}, SelfOrigins: &pb.PolicyNames{Names: []string{"us"}}}}
	if _, err := f.ops(t, "admin").ApplyPolicies(t.Context(), &pb.ApplyPoliciesRequest{Namespace: shop, Policies: rules, Why: "ours"}); err != nil {
		t.Fatal(err)
	}
	req.MaxEvents = 1
	_, err := ops.ReplayEvents(t.Context(), req)
	if toldBy(t, err).reason != "REPLAY_REFUSED" || !strings.Contains(err.Error(), "SELF_ORIGINATED") {
		t.Fatalf("%v", err)
	}
	token, err := nextPage(err)
	if err != nil {
		t.Fatal(err)
	}
	req.PageToken, req.RequestId = token, "b10"
	if _, err := ops.ReplayEvents(t.Context(), req); toldBy(t, err).reason != "REPLAY_REFUSED" || strings.Contains(err.Error(), "more may match") {
		t.Errorf("%v", err)
	}
}

// nextPage is the token that comes with a refusal.
func nextPage(err error) ([]byte, error) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetMetadata()["next_page_token"] != "" {
			return base64.StdEncoding.DecodeString(info.GetMetadata()["next_page_token"])
		}
	}
	return nil, errors.New("no token")
}

// O-34: what cannot be read is refused by itself, and told.
func TestO34_OneBadRowDoesNotStopABackfill(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.received(t, "good", nil)
	f.received(t, "bad", nil)
	f.backend.damaged.Store(keyOf(shop, "billing", &pb.EventRef{Source: "stripe", EventId: "bad"}).ID(), true)
	r, err := f.ops(t, "operator").ReplayEvents(t.Context(), backfillOf("b1", &pb.EventFilter{}))
	if err != nil || r.GetStarted() != 1 || r.GetRefused() != 1 {
		t.Fatalf("%v %v", r, err)
	}
	for _, x := range r.GetResults() {
		if refused := x.GetEvent().GetEventId() == "bad"; (x.GetOutcome() == pb.ReplayOutcome_REPLAY_OUTCOME_REFUSED) != refused {
			t.Errorf("%v", x)
		}
	}
}

// What several consumers have is one event, and the consumer's own record is none that was
// left alone.
func TestABackfillCountsEvents(t *testing.T) {
	t.Parallel()
	f := start(t)
	for i := range 4 {
		f.received(t, fmt.Sprint("e", i), func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"billing", "audit"} })
	}
	f.received(t, "had", func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"billing", "audit", "ledger"} })
	for i, request := range []string{"b1", "b2"} {
		req := backfillOf(request, &pb.EventFilter{})
		req.DryRun = i == 1
		r, err := f.ops(t, "operator").ReplayEvents(t.Context(), req)
		if want := []int32{1, 5}[i]; err != nil || r.GetAlreadyReceived() != want {
			t.Errorf("run %d: %v %v, want %d left alone", i, r, err, want)
		}
	}
}
