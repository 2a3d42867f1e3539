package idemsvc_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
