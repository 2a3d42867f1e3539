package idemsvc_test

import (
	"context"
	"errors"
	"fmt"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// A charge happens once although the handler fails after it and runs again.
func ExampleClaim_SideEffect() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))

	charge := func(_ context.Context, try idemsvc.Try) ([]byte, error) {
		// try.IdempotencyKey goes into the request: it is the same for every try.
		fmt.Println("charging, try", try.Attempt)
		return []byte("ch_1"), nil
	}
	handle := func(ctx context.Context, claim *idemsvc.Claim) error {
		id, err := claim.SideEffect(ctx, "charge", charge, idemsvc.WithTarget("stripe"))
		if err != nil {
			return err
		}
		if claim.GetAttempt() == 1 {
			return errors.New("the database is away")
		}
		fmt.Printf("booking %s\n", id)
		return nil
	}

	event := &idemsvc.Event{Source: "shop", EventId: "order-7"}
	for range 2 {
		_, err := client.Process(context.Background(), event, handle)
		fmt.Println(err)
	}
	// Output:
	// charging, try 1
	// the database is away
	// booking ch_1
	// <nil>
}

// An error that says nothing else means that nobody knows whether it happened, and by
// default a person decides. [NotDone] says that it surely did not.
func ExampleNotDone() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	errRefused, errTimeout := errors.New("card refused"), errors.New("no answer")
	charge := func(outcome error) idemsvc.Handler {
		return func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "charge", func(context.Context, idemsvc.Try) ([]byte, error) {
				if errors.Is(outcome, errRefused) {
					return nil, idemsvc.NotDone(outcome) // the other side said no
				}
				return nil, outcome
			})
			return err
		}
	}
	for id, outcome := range []error{errRefused, errTimeout} {
		event := &idemsvc.Event{Source: "shop", EventId: fmt.Sprint("order-", id)}
		answer, err := client.Process(context.Background(), event, charge(outcome))
		fmt.Println(answer.State, errors.Is(err, idemsvc.ErrEffectUnknown))
	}
	// Output:
	// EVENT_STATE_FAILED_RETRYABLE false
	// EVENT_STATE_HELD true
}

// Two events ask for one refund: it is made once, and both get its result.
func ExampleClaim_BusinessEffect() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	refund := func(ctx context.Context, claim *idemsvc.Claim) error {
		id, err := claim.BusinessEffect(ctx, "refund:order-7", []byte("order-7 5.00 EUR"), func(context.Context, idemsvc.Try) ([]byte, error) {
			fmt.Println("refunding")
			return []byte("re_1"), nil
		})
		fmt.Printf("%s: %s\n", claim.Event().GetEventId(), id)
		return err
	}
	for _, id := range []string{"order.cancelled", "ticket.closed"} {
		if _, err := client.Process(context.Background(), &idemsvc.Event{Source: "shop", EventId: id}, refund); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// refunding
	// order.cancelled: re_1
	// ticket.closed: re_1
}

// An older state never overwrites a newer one.
func ExampleClaim_CheckVersion() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	order := &idemsvc.Resource{Type: "order", Id: "7"}
	update := func(version int64) idemsvc.Handler {
		return func(ctx context.Context, claim *idemsvc.Claim) error {
			news, err := claim.CheckVersion(ctx, order, idemsvc.LatestWins(idemsvc.Sequence(version)))
			if err != nil {
				return err
			}
			if news.Apply() {
				// UPDATE orders SET ..., fence = $1 WHERE id = $2 AND fence < $1, with news.GetLaneFence()
				fmt.Println("writing version", version)
			}
			return news.Err() // nil also where there was nothing to write
		}
	}
	for _, version := range []int64{2, 1} {
		event := &idemsvc.Event{Source: "shop", EventId: fmt.Sprint("order-7-v", version)}
		answer, err := client.Process(context.Background(), event, update(version))
		fmt.Println(answer.State, err)
	}
	// Output:
	// writing version 2
	// EVENT_STATE_PROCESSED <nil>
	// EVENT_STATE_PROCESSED <nil>
}
