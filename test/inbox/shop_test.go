package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

const (
	signingSecret = "whsec_of_a_test"
	ledger        = "ledger"
	receipts      = "receipts"
)

// shop receives its provider's webhooks, books payments and sends receipts.
type shop struct {
	s        *site
	client   *idemsvc.Client
	hooks    *httptest.Server
	notifier *notifier

	mu      sync.Mutex
	told    []*idemsvc.ReceiveAnswer
	entries []string        // the ledger, one line for each booking
	paid    map[string]bool // invoices
	crash   map[string]bool // events whose handler fails once, after it has booked
}

func newShop(s *site) *shop {
	x := &shop{s: s, client: s.client(), notifier: newNotifier(s.t), paid: map[string]bool{}, crash: map[string]bool{}}
	x.hooks = httptest.NewServer(http.HandlerFunc(x.receive))
	s.t.Cleanup(x.hooks.Close)
	return x
}

// receive checks who sent a request, stores its events for both consumers, and answers.
func (x *shop) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	provider := webhook.Stripe(signingSecret)
	request := &webhook.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, ReceivedAt: time.Now()}
	signature := pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED
	if err := provider.Check(r.Context(), request); err != nil {
		signature = pb.SignatureStatus_SIGNATURE_STATUS_FAILED
	}
	items, err := provider.Items(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, i := range items {
		event := &idemsvc.Event{
			Source: provider.Source(), EventId: i.ID, Type: i.Type, Resource: i.Resource, ContentType: i.ContentType, Body: &pb.Event_Payload{Payload: i.Body},
		}
		delivery := &idemsvc.Delivery{Signature: signature, RequestId: r.Header.Get("X-Request-Id"), Headers: []*pb.Header{
			{Name: "User-Agent", Value: r.UserAgent()}, {Name: "Stripe-Signature", Value: r.Header.Get("Stripe-Signature")},
		}}
		answer, err := x.client.Receive(r.Context(), event, idemsvc.ReceiveFor(ledger, receipts), idemsvc.ReceiveDelivery(delivery))
		x.mu.Lock()
		x.told = append(x.told, answer)
		x.mu.Unlock()
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		case signature == pb.SignatureStatus_SIGNATURE_STATUS_FAILED:
			w.WriteHeader(http.StatusUnauthorized)
		case answer.Acknowledge():
			continue
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
}

// payment is what the provider tells of a payment: that of an intent, or of an invoice.
type payment struct {
	Type string `json:"type"`
	Data struct {
		Object struct {
			ID       string            `json:"id"`
			Metadata map[string]string `json:"metadata"`
		} `json:"object"`
	} `json:"data"`
}

func (p *payment) invoice() string {
	if p.Type == "invoice.paid" {
		return p.Data.Object.ID
	}
	return p.Data.Object.Metadata["invoice"]
}

// body is a webhook as the provider sends it.
func body(id, typ, object, invoice string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","created":1772436187,"type":%q,"data":{"object":{"id":%q,"object":%q,"metadata":{"invoice":%q}}}}`,
		id, typ, object, strings.Split(typ, ".")[0], invoice)
}

// deliver sends a webhook, signed with a secret, and tells the status and the receipts.
func (x *shop) deliver(request, body, secret string) (status int, outcomes []pb.ReceiveOutcome) {
	x.s.t.Helper()
	at, err := url.Parse(x.hooks.URL)
	if err != nil {
		x.s.t.Fatal(err)
	}
	signed := &webhook.Request{Method: http.MethodPost, URL: at, Header: http.Header{}, Body: []byte(body)}
	if err := webhook.Stripe(secret).SignForTest(signed, time.Now()); err != nil {
		x.s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(x.s.t.Context(), http.MethodPost, x.hooks.URL, strings.NewReader(body))
	if err != nil {
		x.s.t.Fatal(err)
	}
	r.Header = signed.Header
	r.Header.Set("User-Agent", "Stripe/1.0")
	r.Header.Set("X-Request-Id", request)
	resp, err := x.hooks.Client().Do(r)
	if err != nil {
		x.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.told[len(x.told)-1].GetResults() {
		outcomes = append(outcomes, r.GetReceipt().GetOutcome())
	}
	return resp.StatusCode, outcomes
}

// book is the handler of the ledger.
func (x *shop) book(ctx context.Context, claim *idemsvc.Claim) error {
	var p payment
	if err := json.Unmarshal(claim.GetPayload(), &p); err != nil {
		return idemsvc.Reject(err)
	}
	invoice := p.invoice()
	if x.isPaid(invoice) {
		claim.CompleteWith(idemsvc.WithResult([]byte(invoice+" is already paid"), "text/plain"), idemsvc.WithOutputs("invoice/"+invoice))
		return nil
	}
	entry, err := claim.BusinessEffect(ctx, "book:"+invoice, []byte(invoice), func(context.Context, idemsvc.Try) ([]byte, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.entries = append(x.entries, invoice)
		return fmt.Appendf(nil, "entry/%d", len(x.entries)), nil
	})
	if err != nil {
		return err
	}
	if x.crashes(claim.Event().GetEventId()) {
		return idemsvc.RetryAfter(time.Minute, idemsvc.WithCode("database_away", errors.New("the connection was lost")))
	}
	x.mu.Lock()
	x.paid[invoice] = true
	x.mu.Unlock()
	claim.CompleteWith(idemsvc.WithResult(entry, "text/plain"), idemsvc.WithOutputs("invoice/"+invoice))
	return nil
}

func (x *shop) isPaid(invoice string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.paid[invoice]
}

func (x *shop) crashes(event string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	crash := x.crash[event]
	delete(x.crash, event)
	return crash
}

func (x *shop) booked() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.entries, " ")
}

// notify is the handler of receipts: one mail for each invoice, whichever event tells of it.
func (x *shop) notify(ctx context.Context, claim *idemsvc.Claim) error {
	var p payment
	if err := json.Unmarshal(claim.GetPayload(), &p); err != nil {
		return idemsvc.Reject(err)
	}
	message, err := claim.BusinessEffect(ctx, "mail:"+p.invoice(), []byte(p.invoice()), func(ctx context.Context, try idemsvc.Try) ([]byte, error) {
		return x.notifier.send(ctx, p.invoice(), try.IdempotencyKey)
	})
	if err == nil {
		claim.CompleteWith(idemsvc.WithResult(message, "text/plain"))
	}
	return err
}

// notifier is a service that sends mail.
type notifier struct {
	srv *httptest.Server

	mu    sync.Mutex
	away  bool
	pause string   // what it asks for while it is away
	mails []string // invoices that were mailed about
	keys  []string // the idempotency keys of all calls, in turn
}

func newNotifier(t *testing.T) *notifier {
	t.Helper()
	n := &notifier{}
	n.srv = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.srv.Close)
	return n
}

func (n *notifier) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys = append(n.keys, r.Header.Get("Idempotency-Key"))
	if n.away {
		if n.pause != "" {
			w.Header().Set("Retry-After", n.pause)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	invoice, _ := io.ReadAll(r.Body)
	n.mails = append(n.mails, string(invoice))
	fmt.Fprintf(w, "mail/%d", len(n.mails))
}

// set says whether it is away, and how long it asks callers to wait.
func (n *notifier) set(away bool, pause string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away, n.pause = away, pause
}

func (n *notifier) sent() (mails string, keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.mails, " "), n.keys
}

// send calls it. What it refuses surely did not happen.
func (n *notifier) send(ctx context.Context, invoice, key string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.srv.URL, strings.NewReader(invoice))
	if err != nil {
		return nil, idemsvc.NotDone(err)
	}
	r.Header.Set("Idempotency-Key", key)
	resp, err := n.srv.Client().Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusOK {
		return text, err
	}
	err = idemsvc.NotDone(idemsvc.WithCode("notifier_away", fmt.Errorf("the notifier answers %d", resp.StatusCode)))
	if pause, bad := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); bad == nil {
		err = idemsvc.RetryAfter(pause, err)
	}
	return nil, err
}
