// Command tour is a provider that delivers an event twice, and the consumer that it meets.
package main

import (
	"context"
	"fmt"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

func main() {
	client, err := idemsvc.Dial("127.0.0.1:7443", idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		panic(err)
	}
	for range 2 {
		event := &idemsvc.Event{Source: "stripe", EventId: "evt_123", Type: "invoice.paid"}
		answer, err := client.Process(context.Background(), event, book)
		if err != nil {
			fmt.Println(err) // for your log; what to answer is in the answer
		}
		if answer.Acknowledge() {
			fmt.Printf("answer the provider 200: %s\n", answer.Result)
		} else {
			fmt.Println("answer the provider 503, come again after", answer.RetryAfter)
		}
	}
}

// book does the work. Its claim is kept alive meanwhile; if the process dies, the next delivery gets one.
func book(_ context.Context, claim *idemsvc.Claim) error {
	fmt.Println("booking the invoice, attempt", claim.GetAttempt())
	claim.CompleteWith(idemsvc.WithResult([]byte("invoice/42"), "text/plain"))
	return nil
}
