package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// A provider delivers an event twice, and somebody else forges one.
func Example() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(idemsvc.WithConsumer("billing"))
	secret := "whsec_example"

	receiver, err := webhook.New(client, webhook.Stripe(secret), func(_ context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
		fmt.Println("booking", item.Resource.GetId(), "for", item.Type, "attempt", claim.GetAttempt())
		return nil
	}, webhook.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer receiver.Close()
	mux := http.NewServeMux()
	mux.Handle("/hooks/stripe", receiver)

	body := `{"id":"evt_123","type":"invoice.paid","created":1700000000,"data":{"object":{"id":"in_7","object":"invoice"}}}`
	for _, signedBy := range []string{secret, secret, "a guess"} {
		delivery := &webhook.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(body)}
		if err := webhook.Stripe(signedBy).SignForTest(delivery, time.Now()); err != nil {
			fmt.Println(err)
			return
		}
		request := httptest.NewRequest(http.MethodPost, "/hooks/stripe", strings.NewReader(body))
		request.Header = delivery.Header
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, request)
		fmt.Println("answered", response.Code)
	}
	// Output:
	// booking in_7 for invoice.paid attempt 1
	// answered 200
	// answered 200
	// answered 401
}

// What the service cannot be asked about is kept on the disk, answered with success, and
// handled when the service is back.
func ExampleSpool() {
	receiver, err := webhook.New(client, webhook.GitHub("secret"), handle("issues.opened"),
		webhook.Spool("/var/lib/shop/spool/github", webhook.MaxSpool(256<<20)),
	)
	if err != nil {
		panic(err)
	}
	defer receiver.Close()
}

// Events are kept for two consumers, whose workers work on them afterwards.
func ExampleNewReceiver() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client()

	receiver, err := webhook.NewReceiver(client, webhook.Shopify("secret"), webhook.WithReceiveOptions(idemsvc.ReceiveFor("billing", "mail")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer receiver.Close()

	delivery := &webhook.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(`{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508"}`)}
	delivery.Header.Set("X-Shopify-Event-Id", "98880550-7158-44d4-b7cd-2c97c8a091b5")
	delivery.Header.Set("X-Shopify-Shop-Domain", "shop.example")
	delivery.Header.Set("X-Shopify-Topic", "orders/paid")
	if err := webhook.Shopify("secret").SignForTest(delivery, time.Now()); err != nil {
		fmt.Println(err)
		return
	}
	request := httptest.NewRequest(http.MethodPost, "/hooks/shopify", bytes.NewReader(delivery.Body))
	request.Header = delivery.Header
	response := httptest.NewRecorder()
	receiver.ServeHTTP(response, request)
	fmt.Println("answered", response.Code)

	ctx, stop := context.WithCancel(context.Background())
	worker := client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
		fmt.Println(claim.Event().GetType(), "about", claim.Event().GetResource().GetId())
		return nil
	}, idemsvc.WorkerConsumer("mail"), idemsvc.WorkerAnswered(func(*idemsvc.Claim, *idemsvc.Answer, error) { stop() }))
	if err := worker.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// answered 200
	// orders/paid about gid://shopify/Order/820982911946154508
}
