package idemsvc_test

import (
	"context"
	"fmt"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// An event is claimed, worked on and completed; its duplicate gets the stored result.
func ExampleClient_Claim() {
	addr, stop := development()
	defer stop()
	client, err := idemsvc.Dial(addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 2 {
		answer, err := client.Claim(ctx, &idemsvc.Event{Source: "stripe", EventId: "evt_123"})
		if err != nil {
			fmt.Println(err) // answer the provider 503
			return
		}
		switch answer.Advice() {
		case idemsvc.Process:
			fmt.Println("processing, attempt", answer.Claim.GetAttempt())
			if _, err := answer.Claim.Complete(ctx, idemsvc.WithResult([]byte("invoice/42"), "text/plain")); err != nil {
				fmt.Println(err)
				return
			}
		case idemsvc.Acknowledge:
			fmt.Printf("done before: %s\n", answer.GetExisting().GetResult())
		default:
			fmt.Println("repeat after", answer.RetryAfter())
		}
	}
	// Output:
	// processing, attempt 1
	// done before: invoice/42
}

// A side effect is begun before it is performed and reported afterwards, so that a later
// attempt knows what happened.
func ExampleClaim_BeginEffect() {
	addr, stop := development()
	defer stop()
	client, err := idemsvc.Dial(addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("mailer"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	ctx := context.Background()
	answer, err := client.Claim(ctx, &idemsvc.Event{Source: "shop", EventId: "order-7"})
	if err != nil || answer.Claim == nil {
		fmt.Println(answer, err)
		return
	}
	for range 2 {
		mail, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "confirmation-mail")
		if err != nil {
			fmt.Println(err)
			return
		}
		if !mail.Perform() {
			fmt.Printf("sent before: %s\n", mail.GetResult())
			continue
		}
		fmt.Println("sending")
		if _, err := mail.Done(ctx, []byte("message-1"), "text/plain"); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// sending
	// sent before: message-1
}

// A session sends many commands over one stream.
func ExampleClient_Session() {
	addr, stop := development()
	defer stop()
	client, err := idemsvc.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	session := client.Session(context.Background())
	defer func() { _ = session.Close() }()
	answer, err := session.Do(context.Background(), &idemsvc.SessionRequest{
		Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: &pb.ClaimEventRequest{
			Namespace: "dev", Consumer: "billing", Claimant: idemsvc.NewClaimant(),
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
