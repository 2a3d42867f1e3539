// Command claimevent claims an event and completes it: claimevent EVENT_ID.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

func main() {
	if err := claim(context.Background(), os.Args[1]); err != nil {
		slog.Error(err.Error()) // says nothing about the event: answer 503
		os.Exit(1)
	}
}

func claim(ctx context.Context, eventID string) error {
	address := "127.0.0.1:7443"
	if a, ok := os.LookupEnv("IDEMSVC_ADDRESS"); ok {
		address = a
	}
	client, err := idemsvc.Dial(address, idemsvc.WithToken(os.Getenv("IDEMSVC_TOKEN")),
		idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	answer, err := client.Claim(ctx, &idemsvc.Event{Source: "stripe", EventId: eventID, Type: "invoice.paid"})
	if err != nil {
		return err
	}
	switch answer.Advice() {
	case idemsvc.Process:
		fmt.Println("processing", eventID)
		_, err = answer.Claim.Complete(ctx, idemsvc.WithResult([]byte("done in Go"), "text/plain"))
	case idemsvc.Acknowledge:
		fmt.Printf("nothing to do for %s, its result: %s\n", eventID, answer.GetExisting().GetResult())
	default: // also an advice that this version does not know
		fmt.Printf("not now: answer 503 and repeat %s after %.0f s\n", eventID, math.Ceil(answer.RetryAfter().Seconds()))
	}
	return err
}
