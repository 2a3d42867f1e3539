package server

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func receiptsIn(consumers []string, ids ...string) *pb.ReceiveEventsRequest {
	req := &pb.ReceiveEventsRequest{Namespace: shop, Consumers: consumers, Delivery: &pb.Delivery{RequestId: "req-array"}}
	for _, id := range ids {
		req.Items = append(req.Items, &pb.ReceiveItem{Event: receiptOf(id).GetEvent()})
	}
	return req
}

// Each item is stored for its consumers, by what it says itself and else by what the call
// says, and a repeat is answered the same.
func TestABatchOfReceiptsIsStored(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	req := receiptsIn([]string{"billing", "mail"}, "evt_1", "evt_2", "evt_3")
	req.Items[1].Consumers = []string{"billing"}
	req.Items[2].Delivery = &pb.Delivery{RequestId: "req-own", Headers: []*pb.Header{{Name: "x-kind", Value: "own"}}}
	for call := range 2 {
		got, err := c.ReceiveEvents(t.Context(), req)
		if err != nil || len(got.GetResults()) != 3 {
			t.Fatalf("%v %v", got, err)
		}
		for i, want := range [][]string{{"billing", "mail"}, {"billing"}, {"billing", "mail"}} {
			r := got.GetResults()[i].GetResponse()
			if r.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE || len(r.GetResults()) != len(want) {
				t.Fatalf("item %d: %v", i, r)
			}
			for k, consumer := range want {
				one := r.GetResults()[k].GetReceipt()
				if one.GetConsumer() != consumer || one.GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED || one.GetRepeated() != (call == 1) {
					t.Errorf("item %d of call %d: %v", i, call, one)
				}
			}
		}
	}
	work, err := c.AcquireEvents(t.Context(), acquisitionOf(10, 0))
	if err != nil || len(work.GetEvents()) != 3 {
		t.Fatalf("%v %v", work, err)
	}
	for _, e := range work.GetEvents() {
		id := e.GetEvent().GetEventId()
		if string(e.GetClaim().GetPayload()) != "body of "+id || (len(e.GetDelivery().GetHeaders()) == 1) != (id == "evt_3") {
			t.Errorf("%s: %v", id, e)
		}
	}
	later := receiptsIn([]string{"billing"}, "evt_1")
	later.Delivery.RequestId = "req-later"
	dup, err := c.ReceiveEvents(t.Context(), later)
	if r := dup.GetResults()[0].GetResponse().GetResults()[0].GetReceipt(); err != nil || r.GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_DUPLICATE {
		t.Errorf("another arrival: %v %v", r, err)
	}
}

// P11: what is wrong with one item, or for one of its consumers, touches no other; over
// calls and over sessions.
func TestP11_OneBadReceiptFailsAlone(t *testing.T) {
	t.Parallel()
	f := start(t)
	ordered := func(i *pb.ReceiveItem, mode pb.OrderingMode) {
		i.Event.Resource, i.Ordering = &pb.Resource{Type: "order", Id: "1"}, &pb.Ordering{Version: sequence(1), Mode: mode}
	}
	first := receiptsIn([]string{"mail"}, "first")
	ordered(first.GetItems()[0], pb.OrderingMode_ORDERING_MODE_SEQUENTIAL)
	if _, err := f.client(t, "consumer").ReceiveEvents(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprint("c", i)
	}
	cases := map[string]struct {
		change func(*pb.ReceiveItem)
		want   told
	}{
		"no event":         {func(i *pb.ReceiveItem) { i.Event = nil }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event"}},
		"long event ID":    {func(i *pb.ReceiveItem) { i.Event.EventId = strings.Repeat("x", 513) }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event.event_id"}},
		"no UTF-8":         {func(i *pb.ReceiveItem) { i.Event.EventId = badText }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event.event_id"}},
		"large payload":    {func(i *pb.ReceiveItem) { i.Event.Body = &pb.Event_Payload{Payload: make([]byte, 1<<20+1)} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event.payload"}},
		"other hash":       {func(i *pb.ReceiveItem) { i.Event.PayloadHash = []byte("x") }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event.payload_hash"}},
		"no resource":      {func(i *pb.ReceiveItem) { i.Ordering = &pb.Ordering{Version: sequence(1), Mode: 1} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].event.resource"}},
		"many consumers":   {func(i *pb.ReceiveItem) { i.Consumers = many }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].consumers"}},
		"one twice":        {func(i *pb.ReceiveItem) { i.Consumers = []string{"a", "a"} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].consumers"}},
		"a blank consumer": {func(i *pb.ReceiveItem) { i.Consumers = []string{"a", " "} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].consumers[1]"}},
		"many headers":     {func(i *pb.ReceiveItem) { i.Delivery = &pb.Delivery{Headers: headers(65)} }, told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[1].delivery.headers"}},
		"other mode": {func(i *pb.ReceiveItem) {
			ordered(i, pb.OrderingMode_ORDERING_MODE_LATEST_WINS)
			i.Consumers = []string{"mail"}
		}, told{codes.FailedPrecondition, "VERSION_KIND_MISMATCH", "items[1].ordering.mode"}},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch := func(road string) *pb.ReceiveEventsRequest {
				req := receiptsIn([]string{"billing"}, name+road+"0", name+road+"1", name+road+"2")
				x.change(req.GetItems()[1])
				return req
			}
			unary, err := f.client(t, "consumer").ReceiveEvents(t.Context(), batch("unary"), spoiling)
			if err != nil {
				t.Fatal(err)
			}
			session := f.session(t.Context(), t, "consumer", &pb.SessionRequest{Command: &pb.SessionRequest_ReceiveEvents{ReceiveEvents: batch("session")}})
			for road, got := range map[string]*pb.ReceiveEventsResponse{"unary": unary, "session": session.GetReceiveEvents()} {
				if len(got.GetResults()) != 3 {
					t.Fatalf("%s: %v", road, got)
				}
				if e := itemTold(got.GetResults()[1].GetError()); e != x.want {
					t.Errorf("%s: %+v", road, e)
				}
				for _, i := range []int{0, 2} {
					if r := got.GetResults()[i].GetResponse(); r.GetResults()[0].GetReceipt().GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED {
						t.Errorf("%s: item %d: %v", road, i, r)
					}
				}
			}
		})
	}
	t.Run("one consumer", func(t *testing.T) {
		t.Parallel()
		req := receiptsIn([]string{"mail", "audit"}, "shared")
		ordered(req.GetItems()[0], pb.OrderingMode_ORDERING_MODE_LATEST_WINS)
		got, err := f.client(t, "consumer").ReceiveEvents(t.Context(), req)
		r := got.GetResults()[0].GetResponse()
		if err != nil || r.GetAdvice() != pb.Advice_ADVICE_REPEAT_LATER || r.GetResults()[1].GetReceipt().GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED {
			t.Fatalf("%v %v", got, err)
		}
		if e := itemTold(r.GetResults()[0].GetError()); e != (told{codes.FailedPrecondition, "VERSION_KIND_MISMATCH", "items[0].ordering.mode"}) {
			t.Errorf("%+v", e)
		}
	})
}

func headers(n int) []*pb.Header {
	out := make([]*pb.Header, n)
	for i := range out {
		out[i] = &pb.Header{Name: "n"}
	}
	return out
}

// What is wrong with the call as a whole is told with the field and the limit, and nothing
// of it is stored.
func TestABatchOfReceiptsHasLimits(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	ids := make([]string, 1001)
	for i := range ids {
		ids[i] = fmt.Sprint("evt_", i)
	}
	cases := map[string]struct {
		req   *pb.ReceiveEventsRequest
		want  told
		limit string
	}{
		"no items":            {receiptsIn([]string{"a"}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "items"}, "at least 1"},
		"many items":          {receiptsIn([]string{"a"}, ids...), told{codes.InvalidArgument, "INVALID_ARGUMENT", "items"}, "1000"},
		"many receipts":       {receiptsIn([]string{"a", "b"}, ids[:501]...), told{codes.InvalidArgument, "INVALID_ARGUMENT", "items"}, "1000 consumers in all"},
		"many consumers":      {receiptsIn(ids[:33], "evt"), told{codes.InvalidArgument, "INVALID_ARGUMENT", "consumers"}, "32"},
		"their namespace":     {receiptsIn([]string{"a"}, "evt"), told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}, "does not name this namespace"},
		"more than a message": {receiptsIn([]string{"a"}, "evt", "evt_1", "evt_2", "evt_3", "evt_4"), told{codes.InvalidArgument, "TOO_LARGE", ""}, "4194304"},
	}
	cases["their namespace"].req.Namespace = "other-live"
	for _, item := range cases["more than a message"].req.GetItems() {
		item.Event.Body = &pb.Event_Payload{Payload: make([]byte, 1<<20)}
	}
	for name, x := range cases {
		_, err := c.ReceiveEvents(t.Context(), x.req)
		if got := toldBy(t, err); got != x.want || !strings.Contains(err.Error(), x.limit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	nobody, err := c.ReceiveEvents(t.Context(), receiptsIn(nil, "evt_1"))
	if got := itemTold(nobody.GetResults()[0].GetError()); err != nil || got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "items[0].consumers"}) {
		t.Errorf("no consumers: %+v %v", got, err)
	}
	if left, err := c.AcquireEvents(t.Context(), &pb.AcquireEventsRequest{Namespace: shop, Consumer: "a", Claimant: "look", MaxEvents: 1}); err != nil || len(left.GetEvents()) != 0 {
		t.Errorf("stored: %v %v", left, err)
	}
	most, err := c.ReceiveEvents(t.Context(), receiptsIn([]string{"a", "b"}, ids[:500]...))
	if err != nil || len(most.GetResults()) != 500 || most.GetResults()[499].GetResponse().GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE {
		t.Errorf("at the limit: %v", err)
	}
}

// P13: the reply fits however long the names and the texts of failures are.
func TestP13_ABatchOfReceiptsIsAnswered(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 512)
	results := make([]*pb.ReceiveItemResult, 1000)
	for i := range results {
		if i%8 == 0 {
			results[i] = refusedReceipts(&pb.ItemError{Message: part, Field: part, Metadata: map[string]string{"names": strings.Repeat("m", 8<<10)}})
			continue
		}
		one := &pb.Receipt{Consumer: part, Existing: &pb.ExistingEvent{
			Error: &pb.ProcessingError{Code: strings.Repeat("c", 128), Message: strings.Repeat("m", 4096)}, ResultContentType: strings.Repeat("t", 255), Reason: part,
		}}
		results[i] = &pb.ReceiveItemResult{Result: &pb.ReceiveItemResult_Response{Response: &pb.ReceiveEventResponse{
			Results: []*pb.ReceiptResult{{Result: &pb.ReceiptResult_Receipt{Receipt: one}}},
		}}}
	}
	fitReceipts(results)
	if n := proto.Size(&pb.ReceiveEventsResponse{Results: results}); n > replyBytes {
		t.Errorf("%d bytes", n)
	}
	whole, cut := 0, 0
	for _, r := range results {
		switch e := r.GetResponse().GetResults(); {
		case len(e) == 0:
		case e[0].GetReceipt().GetExisting().GetError().GetMessageCut():
			cut++
		default:
			whole++
		}
	}
	if whole < 100 || cut < 100 || whole+cut != 875 {
		t.Errorf("%d texts whole, %d cut", whole, cut)
	}
}
