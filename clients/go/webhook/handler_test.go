package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/idem"
)

// scene is a service, a handler before it, and what the handler's work has seen.
type scene struct {
	t       testing.TB
	service *idemtest.Server
	client  *idemsvc.Client
	handler *webhook.Handler
	p       *webhook.Provider
	log     *logged

	mu    sync.Mutex
	works map[string]int // how often each event was worked on
	items []*webhook.Item
	do    func(ctx context.Context, claim *idemsvc.Claim, item *webhook.Item) error // nil: succeeds
}

func newScene(t testing.TB, p *webhook.Provider, opts ...webhook.Option) *scene {
	t.Helper()
	return newSceneWith(t, p, nil, opts...)
}

func newSceneWith(t testing.TB, p *webhook.Provider, policy func(*idem.Policy), opts ...webhook.Option) *scene {
	t.Helper()
	s := &scene{t: t, p: p, works: map[string]int{}, log: &logged{}}
	var server []idemtest.Option
	if policy != nil {
		server = append(server, idemtest.WithPolicy(policy))
	}
	s.service = idemtest.New(t, server...)
	s.client = s.service.Client(idemsvc.WithConsumer("billing"))
	h, err := webhook.New(s.client, p, s.work, append([]webhook.Option{
		webhook.WithLogger(slog.New(slog.NewJSONHandler(s.log, nil))),
		webhook.WithClaimTimeout(time.Minute), // a busy machine is no outage
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	s.handler = h
	return s
}

func (s *scene) work(ctx context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
	s.mu.Lock()
	s.works[item.ID]++
	s.items = append(s.items, item)
	do := s.do
	s.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx, claim, item)
}

func (s *scene) does(do func(context.Context, *idemsvc.Claim, *webhook.Item) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.do = do
}

func (s *scene) worked(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works[id]
}

// send delivers a request.
func (s *scene) send(r *webhook.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	hr := httptest.NewRequest(r.Method, "http://hooks.example"+r.URL.String(), bytes.NewReader(r.Body))
	hr.Header = r.Header
	s.handler.ServeHTTP(w, hr)
	return w
}

// deliver signs a body and delivers it.
func (s *scene) deliver(body string, header map[string]string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.send(signed(s.t, s.p, body, header))
}

func (s *scene) expect(w *httptest.ResponseRecorder, status int, what string) {
	s.t.Helper()
	if w.Code != status {
		s.t.Errorf("%s was answered %d %s, not %d\n%s", what, w.Code, w.Body, status, s.log.text())
	}
}

// view is what the service knows of an event.
func (s *scene) view(source, id string) *pb.EventView {
	s.t.Helper()
	resp, err := s.client.Operations().GetEvent(context.Background(), &pb.GetEventRequest{
		Namespace: idemtest.Namespace, Source: source, EventId: id, IncludeRejectedDeliveries: true,
	})
	if err != nil || len(resp.GetEvents()) != 1 {
		s.t.Fatalf("%s: %v %v", id, resp, err)
	}
	return resp.GetEvents()[0]
}

// logged is a log that is read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines are the log's lines with a message.
func (l *logged) lines(msg string) []map[string]any {
	var out []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil && m["msg"] == msg {
			out = append(out, m)
		}
	}
	return out
}

// invoice is a Stripe event.
func invoice(id string, amount, pending int) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","created":1700000000,"data":{"object":{"id":"in_1","object":"invoice","amount_paid":%d}},"pending_webhooks":%d,"type":"invoice.paid"}`, id, amount, pending)
}

func until(t testing.TB, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := 30*time.Second + 3**awayFlag // after a long outage there is much to catch up with
	end := time.NewTimer(limit)
	defer end.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// Every provider's own success code is the answer to what is new and to what is not.
func TestNewAndDuplicateAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	for _, x := range samples(t) {
		if x.Provider == "paypal" || x.Provider == "google-pubsub" {
			continue // they are signed in their own tests
		}
		t.Run(x.Provider+" "+x.Name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, testProvider(x.Provider))
			want := map[string]int{"cloudevents": 204}[x.Provider]
			if want == 0 {
				want = 200
			}
			for range 2 {
				var r *webhook.Request
				if x.Provider == "sendgrid" {
					r = request(x.Body, x.Header)
					signSendGrid(t, r)
				} else {
					r = signed(t, s.p, x.Body, x.Header)
				}
				s.expect(s.send(r), want, "a delivery")
			}
			if len(s.items) != len(x.Want) {
				t.Errorf("%d events were worked on", len(s.items))
			}
			for _, item := range s.items {
				if n := s.worked(item.ID); n != 1 {
					t.Errorf("%s was worked on %d times", item.ID, n)
				}
				if e := s.view(s.p.Source(), item.ID); e.GetEvent() == nil {
					t.Errorf("%s is not known", item.ID)
				}
			}
		})
	}
}

// What the provider was answered is stored with the completion.
func TestTheAnswerIsReported(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a delivery")
	until(t, "the answer is shown", func() bool {
		for _, d := range s.view("stripe", "evt_1").GetDeliveries() {
			if d.GetAnswer().GetHttpStatus() == 200 && d.GetDelivery().GetSignature() == pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED {
				return true
			}
		}
		return false
	})
	for _, msg := range []string{"received", "answered"} {
		if n := len(s.log.lines(msg)); n != 1 {
			t.Errorf("%q was logged %d times:\n%s", msg, n, s.log.text())
		}
	}
	if l := s.log.lines("answered"); len(l) == 1 && (l[0]["http_status"] != 200.0 || l[0]["event_id"] != "evt_1" || l[0]["source"] != "stripe") {
		t.Errorf("%v", l)
	}
}

// A duplicate is answered with the stored result.
func TestADuplicateIsAnsweredWithTheResult(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	s.does(func(_ context.Context, c *idemsvc.Claim, _ *webhook.Item) error {
		c.CompleteWith(idemsvc.WithResult([]byte("<Response/>"), "text/xml"))
		return nil
	})
	for range 2 {
		w := s.deliver(invoice("evt_1", 1, 1), nil)
		if w.Code != 200 || w.Body.String() != "<Response/>" || w.Header().Get("Content-Type") != "text/xml" {
			t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
		}
	}
}

// A failure is answered so that the provider comes again, and its next try is granted at
// once. One for good is answered as settled, or with the provider's stop code.
func TestFailuresAreAnsweredByTheirKind(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	s.does(func(_ context.Context, c *idemsvc.Claim, _ *webhook.Item) error {
		if c.GetAttempt() == 1 {
			return errors.New("the database is away")
		}
		return nil
	})
	w := s.deliver(invoice("evt_1", 1, 1), nil)
	s.expect(w, 503, "a failure")
	if w.Header().Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "the next try")

	x := sampleOf(t, "mailgun")
	for provider, want := range map[string]int{"mailgun": 406, "stripe": 200} {
		s := newScene(t, testProvider(provider))
		s.does(func(context.Context, *idemsvc.Claim, *webhook.Item) error {
			return idemsvc.Reject(errors.New("no such order"))
		})
		body := invoice("evt_1", 1, 1)
		if provider == "mailgun" {
			body = x.Body
		}
		for range 2 {
			s.expect(s.deliver(body, x.Header), want, "what failed for good")
		}
	}
}

// A handler that panics has failed, and nothing else falls with it.
func TestAPanicIsAFailure(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("hubspot"))
	s.does(func(_ context.Context, _ *idemsvc.Claim, item *webhook.Item) error {
		if item.Attempt == 1 {
			panic("oh")
		}
		return nil
	})
	x := sampleOf(t, "hubspot")
	s.expect(s.deliver(x.Body, x.Header), 503, "a panic")
	if n := s.worked(x.Want[1].ID); n != 1 {
		t.Errorf("the other event was worked on %d times", n)
	}
	s.does(nil)
	s.expect(s.deliver(x.Body, x.Header), 200, "the next try")
	if a, b := s.worked(x.Want[0].ID), s.worked(x.Want[1].ID); a != 2 || b != 1 {
		t.Errorf("worked on %d and %d times", a, b)
	}
}

// Work that was begun is finished although the provider hangs up, and its next try is told
// so.
func TestTheProviderHangsUp(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	began, goOn := make(chan struct{}), make(chan struct{})
	s.does(func(ctx context.Context, _ *idemsvc.Claim, _ *webhook.Item) error {
		close(began)
		<-goOn
		return ctx.Err()
	})
	ctx, hangUp := context.WithCancel(t.Context())
	r := signed(t, s.p, invoice("evt_1", 1, 1), nil)
	hr := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(r.Body))
	hr.Header = r.Header
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handler.ServeHTTP(brokenWriter{}, hr)
	}()
	<-began
	hangUp()
	close(goOn)
	<-done
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "the next try")
	if n := s.worked("evt_1"); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
	if l := s.log.lines("answered"); len(l) != 2 || l[0]["unsent"] == nil {
		t.Errorf("the first answer counts as sent: %v", l)
	}
}

// brokenWriter is a connection that is gone.
type brokenWriter struct{}

func (brokenWriter) Header() http.Header       { return http.Header{} }
func (brokenWriter) WriteHeader(int)           {}
func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the connection is gone") }

// Close gives back what is being worked on.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	began := make(chan struct{})
	s.does(func(ctx context.Context, c *idemsvc.Claim, _ *webhook.Item) error {
		if c.GetFence() == 0 {
			return errors.New("no fence")
		}
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- s.deliver(invoice("evt_1", 1, 1), nil) }()
	<-began
	if err := s.handler.Close(); err != nil {
		t.Error(err)
	}
	s.expect(<-done, 503, "what was given back")
	c := s.view("stripe", "evt_1").GetConsumers()
	if len(c) != 1 || c[0].GetState() != pb.EventState_EVENT_STATE_RECEIVED {
		t.Errorf("%v", c)
	}
}

// Slow work is told of before the provider's patience ends.
func TestSlowWorkIsLogged(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"), webhook.WithPatience(50*time.Millisecond), webhook.WithClaimTimeout(5*time.Second))
	s.does(func(context.Context, *idemsvc.Claim, *webhook.Item) error {
		until(t, "near_timeout is logged", func() bool { return len(s.log.lines("near_timeout")) == 1 })
		return nil
	})
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "slow work")
	if l := s.log.lines("near_timeout"); len(l) != 1 || l[0]["event_id"] != "evt_1" {
		t.Errorf("%v", l)
	}
}

// Bodies are read up to a limit, and other methods are refused.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"), webhook.WithMaxBody(1000))
	s.expect(s.deliver(strings.Repeat(" ", 1001), nil), 413, "a large body")
	get := signed(t, s.p, "", nil)
	get.Method = http.MethodGet
	s.expect(s.send(get), 405, "GET")
	s.expect(s.deliver(`{"id":`, nil), 400, "no JSON")
	s.expect(s.deliver(`{"id":"","type":"a"}`, nil), 400, "an empty ID")
	s.expect(s.deliver(`{"id":null,"type":"a"}`, nil), 400, "no ID")
	sg := newScene(t, testProvider("sendgrid"))
	r := request("[]", nil)
	signSendGrid(t, r)
	sg.expect(sg.send(r), 200, "an empty array")
	if len(s.items)+len(sg.items) != 0 {
		t.Error("something was worked on")
	}
}

// The claims of a request are one call, whatever it holds: also two events with one ID, and
// more than a batch takes.
func TestManyEventsOfOneRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("sendgrid"), webhook.WithConcurrency(8))
	var events []string
	for i := range 1500 {
		events = append(events, fmt.Sprintf(`{"event":"open","sg_event_id":"e%d","sg_message_id":"m","timestamp":1700000000}`, i%1200))
	}
	var running, most atomic.Int32
	s.does(func(context.Context, *idemsvc.Claim, *webhook.Item) error {
		most.Store(max(most.Load(), running.Add(1)))
		running.Add(-1)
		return nil
	})
	r := request("["+strings.Join(events, ",")+"]", nil)
	signSendGrid(t, r)
	s.expect(s.send(r), 200, "1500 events")
	if len(s.works) != 1200 || len(s.items) != 1200 {
		t.Errorf("%d of 1200 events were worked on, %d times", len(s.works), len(s.items))
	}
	if m := most.Load(); m > 8 {
		t.Errorf("%d ran at once", m)
	}
}

// One event of a request that fails is repeated alone.
func TestOneEventOfARequestFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("hubspot"))
	x := sampleOf(t, "hubspot")
	s.does(func(_ context.Context, c *idemsvc.Claim, item *webhook.Item) error {
		if item.ID == x.Want[0].ID && c.GetAttempt() == 1 {
			return errors.New("no")
		}
		return nil
	})
	s.expect(s.deliver(x.Body, x.Header), 503, "one failure")
	s.expect(s.deliver(x.Body, x.Header), 200, "the next try")
	if a, b := s.worked(x.Want[0].ID), s.worked(x.Want[1].ID); a != 2 || b != 1 {
		t.Errorf("worked on %d and %d times", a, b)
	}
}

// With ordering an older event that comes late is skipped, and events about one resource
// in one request have their turns one after the other.
func TestOrdering(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("square"), webhook.WithOrdering())
	order := func(id string, version int) string {
		return fmt.Sprintf(`{"type":"order.updated","event_id":%q,"data":{"type":"order","id":"o1","object":{"order":{"version":%d}}}}`, id, version)
	}
	s.expect(s.deliver(order("e2", 2), nil), 200, "version 2")
	s.expect(s.deliver(order("e1", 1), nil), 200, "version 1")
	if s.worked("e2") != 1 || s.worked("e1") != 0 {
		t.Errorf("%v", s.works)
	}
	h := newScene(t, testProvider("hubspot"), webhook.WithOrdering())
	change := func(n int) string {
		return fmt.Sprintf(`{"eventId":%d,"subscriptionId":1,"portalId":2,"occurredAt":%d,"subscriptionType":"contact.propertyChange","objectId":9,"attemptNumber":0}`, n, 1462216307945+n)
	}
	h.expect(h.deliver("["+change(1)+","+change(2)+","+change(3)+"]", nil), 200, "three events about one object")
	if len(h.items) != 3 {
		t.Errorf("%d were worked on\n%s", len(h.items), h.log.text())
	}
}
