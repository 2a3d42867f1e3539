package idemtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(id string) *idemsvc.Event { return &idemsvc.Event{Source: "stripe", EventId: id} }

// failing is a handler that always fails.
func failing(context.Context, *idemsvc.Claim) error { return errors.New("no") }

// The service's clock is the test's to move: leases end and retries fall due at once.
func TestTheClockIsSettable(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t)
	client := service.Client()
	before := service.Now()
	for range 3 {
		if a, err := client.Claim(t.Context(), event("evt_1")); err != nil || a.Claim == nil {
			t.Fatalf("%v %v", a, err)
		}
		service.Advance(time.Hour)
	}
	if d := service.Now().Sub(before); d < 3*time.Hour || d > 4*time.Hour {
		t.Errorf("%v have passed", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("the clock went back")
		}
	}()
	service.Advance(-1)
}

// Everything works inside a bubble, whose time is the service's.
func TestItWorksInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := idemtest.New(t)
		client := service.Client()
		started := service.Now()
		_, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
			time.Sleep(24 * time.Minute)
			return ctx.Err()
		})
		if err != nil || service.Now().Sub(started) < 24*time.Minute {
			t.Errorf("%v after %v", err, service.Now().Sub(started))
		}
	})
}

func TestRulesAndNamespacesCanBeChosen(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t, idemtest.WithNamespaces("shop-test", "shop-live"), idemtest.WithPolicy(func(p *idem.Policy) { p.MaxAttempts = 1 }))
	client := service.Client()
	if a, err := client.Process(t.Context(), event("evt_1"), failing); a.State != pb.EventState_EVENT_STATE_DEAD_LETTERED {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := client.Claim(t.Context(), event("evt_1"), idemsvc.ForNamespace("shop-live")); err != nil || a.Claim == nil {
		t.Errorf("%v %v", a, err)
	}
	if _, err := client.Claim(t.Context(), event("evt_1"), idemsvc.ForNamespace("test")); !errors.Is(err, idemsvc.ErrUnknownNamespace) {
		t.Errorf("%v", err)
	}
}

// Code that dials by address can be tested, too.
func TestItListensWhereAsked(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t, idemtest.WithLoopback())
	client, err := idemsvc.Dial(service.Addr(), idemsvc.WithNamespace(idemtest.Namespace), idemsvc.WithConsumer(idemtest.Consumer))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if a, err := client.Claim(t.Context(), event("evt_1")); err != nil || a.Claim == nil {
		t.Errorf("%v %v", a, err)
	}
	if a, err := service.Client().Claim(t.Context(), event("evt_1")); err != nil || a.Advice() != idemsvc.RepeatLater {
		t.Errorf("%v %v", a, err)
	}
	if addr := idemtest.New(t).Addr(); addr != "" {
		t.Errorf("in memory it has the address %s", addr)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	service := idemtest.Start()
	client := service.Client()
	service.Close()
	service.Close()
	if _, err := client.Claim(t.Context(), event("evt_1")); err == nil {
		t.Error("the client still works")
	}
}

// receive is some code under test.
func receive(ctx context.Context, client *idemsvc.Client, id string) bool {
	answer, _ := client.Process(ctx, &idemsvc.Event{Source: "stripe", EventId: id}, func(context.Context, *idemsvc.Claim) error {
		return errors.New("the database is away")
	})
	return answer.Acknowledge()
}

// What happens after all attempts have failed is tested in no time.
func Example() {
	service := idemtest.Start() // in a test: idemtest.New(t)
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))

	deliveries := 1
	for !receive(context.Background(), client, "evt_123") {
		service.Advance(time.Hour)
		deliveries++
	}
	fmt.Println("dead after", deliveries, "deliveries")
	// Output: dead after 8 deliveries
}
