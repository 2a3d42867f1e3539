package webhook_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// spy looks at what a client sends.
func spy(look func(req any)) idemsvc.Option {
	return idemsvc.WithDialOptions(grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			look(req)
			return invoke(ctx, method, req, reply, conn, opts...)
		}))
}

// The five classic causes of duplicates. First: the work takes longer than the provider
// waits, so it sends again while the first is still running.
func TestDuplicateBecauseTheWorkIsSlow(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	began, goOn := make(chan struct{}), make(chan struct{})
	s.does(func(context.Context, *idemsvc.Claim, *webhook.Item) error {
		close(began)
		<-goOn
		return nil
	})
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- s.deliver(invoice("evt_1", 1, 1), nil) }()
	<-began
	w := s.deliver(invoice("evt_1", 1, 1), nil)
	s.expect(w, 503, "a second try beside the first") // not success: the first may still fail
	close(goOn)
	s.expect(<-first, 200, "the first try")
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a third try")
	if n := s.worked("evt_1"); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
}

// Second: the answer is lost on its way.
func TestDuplicateBecauseTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	r := signed(t, s.p, invoice("evt_1", 1, 1), nil)
	hr := httptest.NewRequest(r.Method, "/", strings.NewReader(string(r.Body)))
	hr.Header = r.Header
	s.handler.ServeHTTP(brokenWriter{}, hr)
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "the next try")
	if n := s.worked("evt_1"); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
}

// Third: the consumer dies in the middle, with an effect done. The next try gets the event
// after the lease, and the effect is not repeated.
func TestDuplicateBecauseTheConsumerDies(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	charges := 0
	charge := func(context.Context, idemsvc.Try) ([]byte, error) { charges++; return []byte("ch_1"), nil }
	dead, err := s.client.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"}, idemsvc.WithDelivery(&idemsvc.Delivery{Signature: pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED}))
	if err != nil || dead.Claim == nil {
		t.Fatal(dead, err)
	}
	if _, err := dead.Claim.SideEffect(t.Context(), "charge", charge); err != nil {
		t.Fatal(err)
	}
	s.does(func(ctx context.Context, c *idemsvc.Claim, _ *webhook.Item) error {
		_, err := c.SideEffect(ctx, "charge", charge)
		return err
	})
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 503, "a try while the lease runs")
	s.service.Advance(2 * time.Minute)
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a try after it")
	if charges != 1 {
		t.Errorf("charged %d times", charges)
	}
}

// Fourth: the provider sends several copies at once, to several instances.
func TestDuplicateBecauseCopiesComeAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	other, err := webhook.New(s.service.Client(idemsvc.WithConsumer("billing")), s.p, s.work)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	var senders sync.WaitGroup
	for i := range 16 {
		senders.Go(func() {
			for {
				r := signed(t, s.p, invoice("evt_1", 1, i), nil)
				hr := httptest.NewRequest(r.Method, "/", strings.NewReader(string(r.Body)))
				hr.Header = r.Header
				w := httptest.NewRecorder()
				if i%2 == 0 {
					s.handler.ServeHTTP(w, hr)
				} else {
					other.ServeHTTP(w, hr)
				}
				if w.Code == 200 {
					return
				}
			}
		})
	}
	senders.Wait()
	if n := s.worked("evt_1"); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
}

// Fifth: a person resends it, days later.
func TestDuplicateBecauseAPersonResends(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("github"))
	x := sampleOf(t, "github")
	s.expect(s.deliver(x.Body, x.Header), 200, "the first delivery")
	s.service.Advance(3 * 24 * time.Hour)
	s.expect(s.deliver(x.Body, x.Header), 200, "the resend")
	if n := s.worked(x.Want[0].ID); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
}

// What differs between two tries of one event is no anomaly; an amount that differs is.
func TestAnomaliesOfRetries(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ provider, from, to string }{
		{"stripe", `"pending_webhooks": 2`, `"pending_webhooks": 1`},
		{"hubspot", `"attemptNumber": 0`, `"attemptNumber": 7`},
		{"intercom", `"delivery_attempts": 2`, `"delivery_attempts": 3`},
		{"paddle", `"notification_id": "ntf_01"`, `"notification_id": "ntf_02"`},
		{"linear", `"webhookTimestamp": 1700000000000`, `"webhookTimestamp": 1700000060000`},
		{"xendit", `"created": "2021-12-02T14:52:21.566Z"`, `"created": "2021-12-02T15:07:21.566Z"`},
		{"slack", "", ""},
	} {
		t.Run(x.provider, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, testProvider(x.provider))
			d := sampleOf(t, x.provider)
			s.expect(s.deliver(d.Body, d.Header), 200, "the first try")
			again := strings.Replace(d.Body, x.from, x.to, 1)
			if x.from != "" && again == d.Body {
				t.Fatalf("the sample has no %s", x.from)
			}
			s.expect(s.deliver(again, d.Header), 200, "the second try")
			if found := s.mismatches(d.Want[0].ID, 2); found != 0 {
				t.Errorf("%d mismatches", found)
			}
		})
	}
	s := newScene(t, testProvider("stripe"))
	s.expect(s.deliver(invoice("evt_1", 4200, 2), nil), 200, "the first try")
	s.expect(s.deliver(invoice("evt_1", 9900, 1), nil), 200, "one with another amount")
	if found := s.mismatches("evt_1", 2); found != 1 {
		t.Errorf("%d mismatches", found)
	}
}

// mismatches counts deliveries whose payload was another one, when n have come.
func (s *scene) mismatches(id string, n int) (found int) {
	s.t.Helper()
	until(s.t, "all deliveries are shown", func() bool { return len(s.view(s.p.Source(), id).GetDeliveries()) == n })
	for _, d := range s.view(s.p.Source(), id).GetDeliveries() {
		for _, a := range d.GetAnomalies() {
			if a == pb.Anomaly_ANOMALY_PAYLOAD_MISMATCH {
				found++
			}
		}
	}
	return found
}

// The provider's count of its tries reaches the service.
func TestAttemptsAreTold(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("slack"))
	s.does(func(_ context.Context, c *idemsvc.Claim, _ *webhook.Item) error {
		if c.GetAttempt() == 1 {
			return errors.New("no")
		}
		return nil
	})
	x := sampleOf(t, "slack")
	s.expect(s.deliver(x.Body, x.Header), 503, "the first try")
	x.Header["X-Slack-Retry-Num"] = "1"
	s.expect(s.deliver(x.Body, x.Header), 200, "the second try")
	until(t, "both tries are shown", func() bool { return len(s.view("slack", x.Want[0].ID).GetDeliveries()) == 2 })
	d := s.view("slack", x.Want[0].ID).GetDeliveries()
	if a, b := d[0].GetDelivery(), d[1].GetDelivery(); a.GetAttempt() != 1 || a.GetKind() != pb.DeliveryKind_DELIVERY_KIND_PROVIDER_FIRST ||
		b.GetAttempt() != 2 || b.GetKind() != pb.DeliveryKind_DELIVERY_KIND_PROVIDER_RETRY {
		t.Errorf("%v\n%v", a, b)
	}
}
