package idemsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// The receiver stores what arrives and answers the provider; workers work on it afterwards.
func Example_receiveNowWorkLater() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
			return
		}
		// ... verify the signature of body here ...
		event := &idemsvc.Event{
			Source: "stripe", EventId: r.Header.Get("X-Event-Id"), Type: "invoice.paid",
			ContentType: r.Header.Get("Content-Type"), Body: &pb.Event_Payload{Payload: body},
		}
		delivery := &idemsvc.Delivery{Signature: pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED}
		answer, err := client.Receive(r.Context(), event, idemsvc.ReceiveFor("billing", "mail"), idemsvc.ReceiveDelivery(delivery))
		if err != nil || !answer.Acknowledge() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "not stored, come again", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}

	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/stripe", strings.NewReader(`{"amount": 42}`))
	request.Header.Set("X-Event-Id", "evt_1")
	reply := httptest.NewRecorder()
	receive(reply, request)
	fmt.Println("the provider is told", reply.Code)

	ctx, stop := context.WithCancel(context.Background())
	worker := client.Worker(func(ctx context.Context, claim *idemsvc.Claim) error {
		fmt.Printf("%s: %s\n", claim.Event().GetEventId(), claim.GetPayload())
		return nil // or an error: it comes again when it is due
	}, idemsvc.WorkerConsumer("billing"), idemsvc.WorkerConcurrency(20), idemsvc.WorkerAnswered(
		func(*idemsvc.Claim, *idemsvc.Answer, error) { stop() }, // for this example alone
	))
	if err := worker.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the provider is told 204
	// evt_1: {"amount": 42}
}

// A provider that sends arrays is answered once for all its events.
func Example_receiveAnArray() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	receive := func(w http.ResponseWriter, r *http.Request) {
		var events []struct{ ID, Type string }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&events); err != nil {
			http.Error(w, "not understood", http.StatusBadRequest)
			return
		}
		var items []*idemsvc.ReceiveItem
		for _, e := range events {
			items = append(items, &idemsvc.ReceiveItem{Event: &idemsvc.Event{Source: "sendgrid", EventId: e.ID, Type: e.Type}})
		}
		answers, err := client.ReceiveAll(r.Context(), items, idemsvc.ReceiveFor("billing", "mail"))
		if err != nil || slices.ContainsFunc(answers, func(a idemsvc.BatchReceipt) bool { return !a.Acknowledge() }) {
			http.Error(w, "not all stored, come again", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}

	body := `[{"id": "evt_1", "type": "delivered"}, {"id": "evt_2", "type": "bounce"}]`
	reply := httptest.NewRecorder()
	receive(reply, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/sendgrid", strings.NewReader(body)))
	fmt.Println("the provider is told", reply.Code)
	// Output:
	// the provider is told 204
}

// Events that only say that something has changed: one fetch answers all that came before it.
func Example_signals() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		event := &idemsvc.Event{Source: "shop", EventId: id, Type: "order.changed"}
		event.Resource = &idemsvc.Resource{Type: "order", Id: "42"}
		answer, err := client.Receive(ctx, event, idemsvc.ReceiveOrdered(idemsvc.Signal(nil)))
		if err != nil || !answer.Acknowledge() {
			fmt.Println("answer the provider 503")
			return
		}
	}

	type state struct{ version int64 }
	fetch := func(_ context.Context, id string) (state, error) {
		fmt.Println("fetching order", id)
		return state{version: 7}, nil
	}
	store := func(o state) { fmt.Println("storing version", o.version) }

	worker := client.Worker(func(ctx context.Context, claim *idemsvc.Claim) error {
		order, err := fetch(ctx, claim.Event().GetResource().GetId())
		if err != nil {
			return err // what came meanwhile is still to be worked on
		}
		store(order)
		claim.CompleteWith(idemsvc.WithAppliedVersion(idemsvc.Sequence(order.version)))
		return nil
	}, idemsvc.WorkerAnswered(func(*idemsvc.Claim, *idemsvc.Answer, error) { stop() })) // for this example alone
	if err := worker.Run(ctx); err != nil {
		fmt.Println(err)
	}
	found, err := client.Operations().GetEvent(context.Background(), &pb.GetEventRequest{Namespace: "test", EventId: "evt_1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	first := found.GetEvents()[0].GetConsumers()[0]
	fmt.Println("evt_1:", first.GetReason(), "by", first.GetCarriedBy().GetEventId())
	// Output:
	// fetching order 42
	// storing version 7
	// evt_1: CARRIED by evt_3
}

// A queue of one's own carries only the event's name; the payload comes with the claim.
func Example_refsInAQueue() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))
	ctx := context.Background()

	event := &idemsvc.Event{Source: "stripe", EventId: "evt_1", Body: &pb.Event_Payload{Payload: []byte("{}")}}
	if answer, err := client.Receive(ctx, event); err != nil || !answer.Acknowledge() {
		fmt.Println("answer the provider 503")
		return
	}
	queued := "evt_1"

	ref := &idemsvc.Event{Source: "stripe", EventId: queued}
	delivery := &idemsvc.Delivery{Kind: pb.DeliveryKind_DELIVERY_KIND_CONSUMER_REQUEUE}
	answer, err := client.Process(ctx, ref, func(_ context.Context, claim *idemsvc.Claim) error {
		fmt.Printf("working on %s\n", claim.GetPayload())
		return nil
	}, idemsvc.WantPayload(), idemsvc.WithDelivery(delivery))
	fmt.Println("remove it from the queue:", answer.Acknowledge(), err)
	// Output:
	// working on {}
	// remove it from the queue: true <nil>
}
