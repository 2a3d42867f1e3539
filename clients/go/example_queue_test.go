package idemsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// job is what the queue carries.
type job struct {
	Source  string
	ID      string
	Payload []byte
}

// The queue carries the event, and the worker claims it: the queue may hand a job to two
// workers, and the receiver may enqueue a delivery twice.
func Example_yourOwnQueue() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))

	work := func(ctx context.Context, message []byte) (again time.Duration, done bool) {
		var j job
		if err := json.Unmarshal(message, &j); err != nil {
			return 0, true // nothing that could ever be processed
		}
		event := &idemsvc.Event{Source: j.Source, EventId: j.ID, Body: &pb.Event_Payload{Payload: j.Payload}}
		delivery := &idemsvc.Delivery{Kind: pb.DeliveryKind_DELIVERY_KIND_CONSUMER_REQUEUE}
		answer, err := client.Process(ctx, event, func(_ context.Context, claim *idemsvc.Claim) error {
			fmt.Println("working on", claim.Event().GetEventId())
			return nil
		}, idemsvc.WithDelivery(delivery))
		if err != nil {
			fmt.Println(err)
		}
		return answer.RetryAfter, answer.Acknowledge()
	}

	message, err := json.Marshal(job{Source: "stripe", ID: "evt_1", Payload: []byte("{}")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // the queue hands it out twice
		if again, done := work(context.Background(), message); done {
			fmt.Println("ack")
		} else {
			fmt.Println("back into the queue for", again)
		}
	}
	// Output:
	// working on evt_1
	// ack
	// ack
}

// A claim passes from the process that received the event to the one that works on it.
func ExampleClient_Resume() {
	service := idemtest.Start()
	defer service.Close()
	ctx := context.Background()

	receiver := service.Client(idemsvc.WithConsumer("billing"))
	answer, err := receiver.Claim(ctx, &idemsvc.Event{Source: "stripe", EventId: "evt_1"}, idemsvc.WithLease(10*time.Minute))
	if err != nil || answer.Advice() != idemsvc.Process {
		fmt.Println("answer the provider 503, or 2xx by advice")
		return
	}
	message, err := answer.Claim.Serialize() // holds the claim's token: a secret
	if err != nil {
		fmt.Println(err)
		return
	}

	worker := service.Client()
	for range 2 { // the second time is a mistake of the queue's
		claim, err := worker.Resume(ctx, message)
		if errors.Is(err, idemsvc.ErrClaimLost) || errors.Is(err, idemsvc.ErrAlreadyEnded) {
			fmt.Println("drop the job")
			continue
		}
		if err != nil {
			fmt.Println(err) // keep the job and try again
			return
		}
		answer, err := claim.Process(ctx, func(context.Context, *idemsvc.Claim) error {
			fmt.Println("working for", claim.Consumer())
			return nil
		})
		fmt.Println(answer.State, err)
	}
	// Output:
	// working for billing
	// EVENT_STATE_PROCESSED <nil>
	// drop the job
}
