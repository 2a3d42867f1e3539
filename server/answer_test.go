package server

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func answerOf(requestID string, status int32, ids ...string) *pb.RecordDeliveryAnswerRequest {
	return &pb.RecordDeliveryAnswerRequest{
		Namespace: shop, Consumer: "billing", Source: "stripe", EventIds: ids, RequestId: requestID,
		Answer: &pb.DeliveryAnswer{HttpStatus: status, At: &timestamppb.Timestamp{Seconds: 1_700_000_000}},
	}
}

// What providers were told is shown with each arrival that it answered, whichever consumer
// stands for it; the first answer stays, and an answer is no arrival.
func TestAnswersAreShownWithTheirDeliveries(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	for _, id := range []string{"evt_1", "evt_2"} {
		for _, request := range []string{"first", "second"} {
			req := receiptOf(id, "audit", "billing")
			req.Delivery.RequestId = request
			if _, err := c.ReceiveEvent(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, req := range []*pb.RecordDeliveryAnswerRequest{
		answerOf("second", 503, "evt_1", "evt_2", "never seen"), answerOf("second", 200, "evt_1"), answerOf("first", 200, "evt_1"), answerOf("third", 500, "evt_1"),
	} {
		if _, err := c.RecordDeliveryAnswer(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(id string) string {
		r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, Source: "stripe", EventId: id})
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, d := range r.GetEvents()[0].GetDeliveries() {
			out += fmt.Sprintf("%s %d at %d; ", d.GetDelivery().GetRequestId(), d.GetAnswer().GetHttpStatus(), d.GetAnswer().GetAt().GetSeconds())
		}
		return out
	}
	for id, want := range map[string]string{
		"evt_1": "first 200 at 1700000000; second 503 at 1700000000; ", "evt_2": "first 0 at 0; second 503 at 1700000000; ",
	} {
		eventually(t, func() bool { return shown(id) == want })
	}
	list, err := f.ops(t, "reader").ListEvents(t.Context(), &pb.ListEventsRequest{Namespace: shop, Filter: &pb.EventFilter{States: []pb.EventState{pb.EventState_EVENT_STATE_RECEIVED}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.GetEvents() {
		if e.GetDeliveries() != 2 || e.GetDuplicates() != 1 {
			t.Errorf("%s of %s: %d deliveries, %d duplicates", e.GetEvent().GetEventId(), e.GetProcessing().GetConsumer(), e.GetDeliveries(), e.GetDuplicates())
		}
	}
	if _, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, Source: "stripe", EventId: "never seen"}); toldBy(t, err).code != codes.NotFound {
		t.Errorf("an answer has made an event: %v", err)
	}
}

// What is wrong with an answer is told with its field.
func TestBadAnswersAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint("evt_", i)
	}
	for name, x := range map[string]struct {
		change func(*pb.RecordDeliveryAnswerRequest)
		want   told
	}{
		"their namespace": {func(r *pb.RecordDeliveryAnswerRequest) { r.Namespace = "other-live" }, told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}},
		"no consumer":     {func(r *pb.RecordDeliveryAnswerRequest) { r.Consumer = "" }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "consumer"}},
		"a blank source":  {func(r *pb.RecordDeliveryAnswerRequest) { r.Source = " " }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "source"}},
		"no events":       {func(r *pb.RecordDeliveryAnswerRequest) { r.EventIds = nil }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event_ids"}},
		"many events":     {func(r *pb.RecordDeliveryAnswerRequest) { r.EventIds = many }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event_ids"}},
		"one twice":       {func(r *pb.RecordDeliveryAnswerRequest) { r.EventIds = []string{"a", "a"} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event_ids"}},
		"a blank event":   {func(r *pb.RecordDeliveryAnswerRequest) { r.EventIds = []string{"a", " "} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "event_ids[1]"}},
		"no request":      {func(r *pb.RecordDeliveryAnswerRequest) { r.RequestId = "" }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "request_id"}},
		"no answer":       {func(r *pb.RecordDeliveryAnswerRequest) { r.Answer = nil }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "answer"}},
		"no status":       {func(r *pb.RecordDeliveryAnswerRequest) { r.Answer.HttpStatus = 0 }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "answer.http_status"}},
		"a bad status":    {func(r *pb.RecordDeliveryAnswerRequest) { r.Answer.HttpStatus = 600 }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "answer.http_status"}},
	} {
		req := answerOf("first", 200, "evt_1")
		x.change(req)
		_, err := f.client(t, "consumer").RecordDeliveryAnswer(t.Context(), req)
		if got := toldBy(t, err); got != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := f.client(t, "reader").RecordDeliveryAnswer(t.Context(), answerOf("first", 200, "evt_1")); toldBy(t, err).code != codes.PermissionDenied {
		t.Errorf("a reader: %v", err)
	}
}
