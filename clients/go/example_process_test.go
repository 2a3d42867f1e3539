package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// One client serves a process. It connects at its first call.
func ExampleDial() {
	client, err := idemsvc.Dial("dns:///idemsvc.internal:7443",
		idemsvc.WithNamespace("shop-live"),
		idemsvc.WithConsumer("billing"),
		idemsvc.WithToken("idk_..."),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	_ = client.Close()
	// Output: ready
}

// A webhook is processed once, however often it is delivered.
func ExampleClient_Process() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))

	receive := func(w http.ResponseWriter, r *http.Request) {
		event := &idemsvc.Event{Source: "stripe", EventId: r.Header.Get("Event-Id"), Type: "invoice.paid"}
		answer, err := client.Process(r.Context(), event, func(ctx context.Context, claim *idemsvc.Claim) error {
			fmt.Println("booking the invoice, attempt", claim.GetAttempt())
			claim.CompleteWith(idemsvc.WithResult([]byte("invoice/42"), "text/plain"))
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
		if answer.Acknowledge() {
			fmt.Fprintf(w, "%s", answer.Result)
			return
		}
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(answer.RetryAfter.Seconds()))))
		w.WriteHeader(http.StatusServiceUnavailable)
	}

	for range 2 { // the provider delivers twice
		request := httptest.NewRequest(http.MethodPost, "/hooks/stripe", strings.NewReader("{}"))
		request.Header.Set("Event-Id", "evt_123")
		response := httptest.NewRecorder()
		receive(response, request)
		fmt.Println(response.Code, response.Body)
	}
	// Output:
	// booking the invoice, attempt 1
	// 200 invoice/42
	// 200 invoice/42
}

// The handler's error says what becomes of the event.
func ExampleHandler() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	errDeclined, errMaintenance, errNoOrder := errors.New("card declined"), errors.New("down for maintenance"), errors.New("no such order yet")
	handle := func(_ context.Context, claim *idemsvc.Claim) error {
		switch claim.Event().GetEventId() {
		case "evt_1": // will never work: no further attempt
			return idemsvc.Reject(idemsvc.WithCode("card_declined", errDeclined))
		case "evt_2": // knows better than the policy when to come again
			return idemsvc.RetryAfter(time.Hour, errMaintenance)
		case "evt_3": // came too early: uses up no attempt
			return idemsvc.NotYet(errNoOrder)
		case "evt_4": // gives the event back, undone
			return idemsvc.Release(errors.New("shutting down"))
		default: // counts as an attempt, and backs off by policy
			return errors.New("something went wrong")
		}
	}

	for _, id := range []string{"evt_1", "evt_2", "evt_3", "evt_4", "evt_5"} {
		answer, err := client.Process(context.Background(), &idemsvc.Event{Source: "stripe", EventId: id}, handle)
		fmt.Printf("%v: %v (%v)\n", answer.Advice, answer.State, err)
	}
	// Output:
	// ADVICE_ACKNOWLEDGE: EVENT_STATE_FAILED_TERMINAL (card declined)
	// ADVICE_REPEAT_LATER: EVENT_STATE_FAILED_RETRYABLE (down for maintenance)
	// ADVICE_REPEAT_LATER: EVENT_STATE_FAILED_RETRYABLE (no such order yet)
	// ADVICE_REPEAT_LATER: EVENT_STATE_RECEIVED (shutting down)
	// ADVICE_REPEAT_LATER: EVENT_STATE_FAILED_RETRYABLE (something went wrong)
}

// An event is claimed, worked on and completed step by step.
func ExampleClient_Claim() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	ctx := context.Background()
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

// A provider that sends arrays is answered 2xx only if every item is settled.
func ExampleClient_ClaimAll() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	ctx := context.Background()
	items := []*idemsvc.ClaimItem{
		{Event: &idemsvc.Event{Source: "mailer", EventId: "opened-1"}},
		{Event: &idemsvc.Event{Source: "mailer", EventId: "opened-2"}},
	}
	for range 2 {
		answers, err := client.ClaimAll(ctx, items)
		if err != nil {
			fmt.Println(err) // answer the provider 503
			return
		}
		settled := true
		for _, item := range answers {
			switch {
			case item.Err != nil:
				settled = false
			case item.Advice() == idemsvc.Process:
				answer, _ := item.Claim.Process(ctx, func(_ context.Context, claim *idemsvc.Claim) error {
					fmt.Println("counting", claim.Event().GetEventId())
					return nil
				})
				settled = settled && answer.Acknowledge()
			default:
				settled = settled && item.Advice() == idemsvc.Acknowledge
			}
		}
		fmt.Println("settled:", settled)
	}
	// Output:
	// counting opened-1
	// counting opened-2
	// settled: true
	// settled: true
}
