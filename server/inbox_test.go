package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage"
)

func receiptOf(id string, consumers ...string) *pb.ReceiveEventRequest {
	return &pb.ReceiveEventRequest{
		Namespace: shop, Consumers: consumers,
		Event: &pb.Event{Source: "stripe", EventId: id, Type: "invoice.paid", ContentType: "text/plain", Body: &pb.Event_Payload{Payload: []byte("body of " + id)}},
		Delivery: &pb.Delivery{RequestId: "req-" + id, Headers: []*pb.Header{
			{Name: "x-kind", Value: "a"}, {Name: "Authorization", Value: "b"}, {Name: "stripe-signature", Value: "c"}, {Name: "cookie", Value: "d"}, {Name: "x-auth-token", Value: "e"},
		}},
	}
}

func acquisitionOf(n int32, wait time.Duration) *pb.AcquireEventsRequest {
	return &pb.AcquireEventsRequest{
		Namespace: shop, Consumer: "billing", Claimant: fmt.Sprintf("worker-%d", claimants.Add(1)), MaxEvents: n, Wait: durationpb.New(wait), WantPayload: true,
	}
}

func TestReceiveNowWorkLater(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	got, err := c.ReceiveEvent(t.Context(), receiptOf("evt_1", "billing", "mail"))
	if err != nil || got.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE || len(got.GetResults()) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	for i, r := range got.GetResults() {
		if r.GetReceipt().GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED || r.GetReceipt().GetExisting().GetState() != pb.EventState_EVENT_STATE_RECEIVED {
			t.Errorf("%d: %v", i, r)
		}
	}
	req := acquisitionOf(10, 0)
	work, err := c.AcquireEvents(t.Context(), req)
	if err != nil || len(work.GetEvents()) != 1 {
		t.Fatalf("%v %v", work, err)
	}
	e := work.GetEvents()[0]
	if e.GetEvent().GetEventId() != "evt_1" || e.GetEvent().GetType() != "invoice.paid" || string(e.GetClaim().GetPayload()) != "body of evt_1" || e.GetClaim().GetAttempt() != 1 {
		t.Errorf("%v", e)
	}
	if hs := e.GetDelivery().GetHeaders(); len(hs) != 1 || hs[0].GetName() != "x-kind" {
		t.Errorf("headers: %v", hs)
	}
	again, err := c.AcquireEvents(t.Context(), req)
	if err != nil || len(again.GetEvents()) != 1 || !bytes.Equal(again.GetEvents()[0].GetClaim().GetToken(), e.GetClaim().GetToken()) || !again.GetEvents()[0].GetClaim().GetRepeated() {
		t.Fatalf("the claimant's repeat: %v %v", again, err)
	}
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: e.GetClaim().GetToken(), Result: []byte("done")}); err != nil {
		t.Fatal(err)
	}
	other := receiptOf("evt_1", "billing")
	other.Delivery.RequestId = "req-2"
	dup, err := c.ReceiveEvent(t.Context(), other)
	r := dup.GetResults()[0].GetReceipt()
	if err != nil || r.GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_DUPLICATE || r.GetExisting().GetState() != pb.EventState_EVENT_STATE_PROCESSED || !r.GetExisting().GetResultOmitted() {
		t.Errorf("a duplicate: %v %v", dup, err)
	}
	if left, err := c.AcquireEvents(t.Context(), acquisitionOf(10, 0)); err != nil || len(left.GetEvents()) != 0 {
		t.Errorf("what is left: %v %v", left, err)
	}
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	for _, call := range []string{`"msg":"ReceiveEvent"`, `"msg":"AcquireEvents"`} {
		if !strings.Contains(f.log.buf.String(), call) {
			t.Errorf("the log has no %s", call)
		}
	}
}

func TestAReceiptByRefIsClaimedWithItsPayload(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	batch := &pb.ClaimEventsRequest{Namespace: shop, Consumer: "billing", Claimant: "batch-of-refs", WantPayload: true}
	for _, id := range []string{"evt_1", "evt_2"} {
		if _, err := c.ReceiveEvent(t.Context(), receiptOf(id, "billing")); err != nil {
			t.Fatal(err)
		}
		batch.Items = append(batch.Items, &pb.ClaimItem{Event: &pb.Event{Source: "stripe", EventId: id}})
	}
	batch.Items = append(batch.Items, &pb.ClaimItem{Event: &pb.Event{Source: "stripe", EventId: "evt_3"}})
	got, err := c.ClaimEvents(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"body of evt_1", "body of evt_2", ""} {
		if claim := got.GetResults()[i].GetResponse().GetClaim(); string(claim.GetPayload()) != want || claim.GetPayloadGone() != (want == "") {
			t.Errorf("item %d: %v", i, claim)
		}
	}
}

func TestAcquireEndsWithTheServer(t *testing.T) {
	t.Parallel()
	f := start(t)
	got := make(chan error, 1)
	go func() {
		r, err := f.client(t, "consumer").AcquireEvents(context.Background(), acquisitionOf(1, time.Minute))
		if len(r.GetEvents()) > 0 {
			err = errors.New("granted something")
		}
		got <- err
	}()
	for f.store.Stats().Acquiring == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	f.srv.Stop(ctx)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestOneConsumersRefusalIsItsOwn(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	ordered := func(id string, mode pb.OrderingMode, consumers ...string) *pb.ReceiveEventRequest {
		req := receiptOf(id, consumers...)
		req.Event.Resource = &pb.Resource{Type: "order", Id: "1"}
		req.Ordering = &pb.Ordering{Version: sequence(1), Mode: mode}
		return req
	}
	if _, err := c.ReceiveEvent(t.Context(), ordered("evt_1", pb.OrderingMode_ORDERING_MODE_SEQUENTIAL, "mail")); err != nil {
		t.Fatal(err)
	}
	req := ordered("evt_2", pb.OrderingMode_ORDERING_MODE_LATEST_WINS, "mail", "billing")
	got, err := c.ReceiveEvent(t.Context(), req)
	if err != nil || got.GetAdvice() != pb.Advice_ADVICE_REPEAT_LATER {
		t.Fatalf("%v %v", got, err)
	}
	if x := itemTold(got.GetResults()[0].GetError()); x.reason != "VERSION_KIND_MISMATCH" || x.field != "ordering.mode" {
		t.Errorf("mail: %+v", x)
	}
	if r := got.GetResults()[1].GetReceipt(); r.GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED {
		t.Errorf("billing: %v", r)
	}
	req.Consumers = req.GetConsumers()[:1]
	if _, err := c.ReceiveEvent(t.Context(), req); toldBy(t, err).reason != "VERSION_KIND_MISMATCH" {
		t.Errorf("mail alone: %v", err)
	}
}

func TestForgedReceiptsAreRecordedApart(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	req := receiptOf("evt_1", "billing")
	req.Delivery.Signature = pb.SignatureStatus_SIGNATURE_STATUS_FAILED
	got, err := c.ReceiveEvent(t.Context(), req)
	r := got.GetResults()[0].GetReceipt()
	if err != nil || got.GetAdvice() != pb.Advice_ADVICE_REPEAT_LATER || r.GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_REJECTED_SIGNATURE || r.GetExisting() != nil {
		t.Fatalf("%v %v", got, err)
	}
	if r.GetDisposition() != pb.Disposition_DISPOSITION_REJECTED_SIGNATURE {
		t.Errorf("%v", r)
	}
	if got, err := c.AcquireEvents(t.Context(), acquisitionOf(1, 0)); err != nil || len(got.GetEvents()) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestInboxRefusesBadInput(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	receive := map[string]struct {
		change func(*pb.ReceiveEventRequest)
		want   told
	}{
		"no consumer":     {func(r *pb.ReceiveEventRequest) { r.Consumers = nil }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "consumers"}},
		"one twice":       {func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"a", "a"} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "consumers"}},
		"blank consumer":  {func(r *pb.ReceiveEventRequest) { r.Consumers = []string{"a", " "} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "consumers[1]"}},
		"no event":        {func(r *pb.ReceiveEventRequest) { r.Event = nil }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event"}},
		"large payload":   {func(r *pb.ReceiveEventRequest) { r.Event.Body = &pb.Event_Payload{Payload: make([]byte, 1<<20+1)} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event.payload"}},
		"other hash":      {func(r *pb.ReceiveEventRequest) { r.Event.PayloadHash = []byte("x") }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event.payload_hash"}},
		"no resource":     {func(r *pb.ReceiveEventRequest) { r.Ordering = &pb.Ordering{Version: sequence(1), Mode: 1} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event.resource"}},
		"their namespace": {func(r *pb.ReceiveEventRequest) { r.Namespace = "other-live" }, told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}},
	}
	for name, x := range receive {
		req := receiptOf("evt_bad", "billing")
		x.change(req)
		_, err := c.ReceiveEvent(t.Context(), req)
		if got := toldBy(t, err); got != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	acquire := map[string]struct {
		change func(*pb.AcquireEventsRequest)
		want   told
	}{
		"no claimant":     {func(r *pb.AcquireEventsRequest) { r.Claimant = "" }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "claimant"}},
		"none":            {func(r *pb.AcquireEventsRequest) { r.MaxEvents = 0 }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "max_events"}},
		"too many":        {func(r *pb.AcquireEventsRequest) { r.MaxEvents = 101 }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "max_events"}},
		"long wait":       {func(r *pb.AcquireEventsRequest) { r.Wait = durationpb.New(61 * time.Second) }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "wait"}},
		"short lease":     {func(r *pb.AcquireEventsRequest) { r.Lease = durationpb.New(time.Millisecond) }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "lease"}},
		"their namespace": {func(r *pb.AcquireEventsRequest) { r.Namespace = "other-live" }, told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}},
	}
	for name, x := range acquire {
		req := acquisitionOf(1, 0)
		x.change(req)
		_, err := c.AcquireEvents(t.Context(), req)
		if got := toldBy(t, err); got != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := f.client(t, "reader").AcquireEvents(t.Context(), acquisitionOf(1, 0)); toldBy(t, err).reason != "PERMISSION_DENIED" {
		t.Errorf("a reader: %v", err)
	}
}

// However large the events, a reply holds those that it holds, and the rest follow.
func TestAcquiredEventsFitTheReply(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	const n = 6
	for i := range n {
		req := receiptOf(fmt.Sprint("evt_", i), "mail", "billing")
		req.Event.Body = &pb.Event_Payload{Payload: bytes.Repeat([]byte{byte(i)}, 1<<20)}
		if _, err := c.ReceiveEvent(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	for range n {
		r, err := c.AcquireEvents(t.Context(), acquisitionOf(n, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(r); size > replyBytes {
			t.Errorf("a reply of %d bytes", size)
		}
		for _, e := range r.GetEvents() {
			got++
			if len(e.GetClaim().GetPayload()) != 1<<20 || e.GetClaim().GetPayloadOmitted() {
				t.Errorf("%s came without its payload", e.GetEvent().GetEventId())
			}
		}
	}
	if got != n {
		t.Errorf("%d of %d events", got, n)
	}
}

func TestPayloadsThatCannotBeLoadedLeaveTheClaims(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	if _, err := c.ReceiveEvent(t.Context(), receiptOf("evt_1", "billing")); err != nil {
		t.Fatal(err)
	}
	f.backend.payloads.Store(true)
	req := acquisitionOf(1, 0)
	if _, err := c.AcquireEvents(t.Context(), req); toldBy(t, err).reason != "UNAVAILABLE" {
		t.Fatalf("%v", err)
	}
	f.backend.payloads.Store(false)
	got, err := c.AcquireEvents(t.Context(), req)
	if err != nil || len(got.GetEvents()) != 1 || string(got.GetEvents()[0].GetClaim().GetPayload()) != "body of evt_1" {
		t.Errorf("the claimant's repeat: %v %v", got, err)
	}
}

func (b *brokenBackend) Take(ctx context.Context, q storage.TakeQuery) (storage.Taken, error) {
	if err := b.failure(); err != nil {
		return storage.Taken{}, err
	}
	return b.Backend.Take(ctx, q)
}

func TestInboxOverASession(t *testing.T) {
	t.Parallel()
	f := start(t)
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n uint64, req *pb.SessionRequest) {
		t.Helper()
		req.Correlation = n
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
	}
	ask(1, &pb.SessionRequest{Command: &pb.SessionRequest_AcquireEvents{AcquireEvents: acquisitionOf(1, 20*time.Second)}})
	ask(2, &pb.SessionRequest{Command: &pb.SessionRequest_ReceiveEvent{ReceiveEvent: receiptOf("evt_1", "billing")}})
	for range 2 {
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		switch r.GetCorrelation() {
		case 1:
			if e := r.GetAcquireEvents().GetEvents(); len(e) != 1 || e[0].GetEvent().GetEventId() != "evt_1" {
				t.Errorf("%v", r)
			}
		case 2:
			if r.GetReceiveEvent().GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE {
				t.Errorf("%v", r)
			}
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}
