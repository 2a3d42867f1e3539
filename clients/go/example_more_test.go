package idemsvc_test

import (
	"context"
	"fmt"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// Old code goes on deciding by itself; the service looks on and counts.
func ExampleClient_Observe() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))

	forgetful := map[string]bool{}
	old := func(id string) func(context.Context) (bool, error) {
		return func(context.Context) (processed bool, err error) {
			if forgetful[id] {
				return false, nil // taken for a duplicate
			}
			forgetful[id] = true
			return true, nil
		}
	}
	for range 3 {
		if err := client.Observe(context.Background(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"}, old("evt_1")); err != nil {
			fmt.Println(err)
		}
	}
	clear(forgetful) // the old code is restarted, and its memory is gone
	if err := client.Observe(context.Background(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"}, old("evt_1")); err != nil {
		fmt.Println(err)
	}
	seen := client.Observations()
	fmt.Println("agreed:", seen.Agreed, "processed twice:", seen.Extra, "missed:", seen.Missed)
	// Output: agreed: 3 processed twice: 1 missed: 0
}

// What a handler causes belongs to the story of its event.
func ExampleTrailOf() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	event := &idemsvc.Event{Source: "shop", EventId: "order-7", CorrelationId: "cart-3"}
	_, err := client.Process(context.Background(), event, func(ctx context.Context, _ *idemsvc.Claim) error {
		if trail, ok := idemsvc.TrailOf(ctx); ok { // for the headers of a message
			fmt.Println(trail.CorrelationID, "because of", trail.Source, trail.EventID)
		}
		// Claims take it from the context themselves.
		_, err := client.Claim(ctx, &idemsvc.Event{Source: "billing", EventId: "invoice-9"})
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: cart-3 because of shop order-7
}

// A session sends the commands of many callers over one stream.
func ExampleClient_Session() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	session := client.Session(context.Background())
	defer func() { _ = session.Close() }()
	answer, err := session.Do(context.Background(), &idemsvc.SessionRequest{
		Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: &pb.ClaimEventRequest{
			Namespace: "test", Consumer: "billing", Claimant: idemsvc.NewClaimant(),
			Event: &idemsvc.Event{Source: "stripe", EventId: "evt_9"},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.GetClaimEvent().GetAdvice())
	// Output: ADVICE_PROCESS
}
