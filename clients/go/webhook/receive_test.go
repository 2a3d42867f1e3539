package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// newReceiving is a scene whose handler keeps events for two consumers.
func newReceiving(t testing.TB, p *webhook.Provider, opts ...webhook.Option) *scene {
	t.Helper()
	s := &scene{t: t, p: p, works: map[string]int{}, log: &logged{}, service: idemtest.New(t)}
	s.client = s.service.Client(idemsvc.WithConsumer("billing"))
	h, err := webhook.NewReceiver(s.client, p, append([]webhook.Option{
		webhook.WithLogger(slog.New(slog.NewJSONHandler(s.log, nil))), webhook.WithReceiveOptions(idemsvc.ReceiveFor("billing", "mail")),
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

// drain has a worker of a consumer work until n events are done, and returns their bodies by
// their IDs, and the IDs in the order in which they were worked on, one at a time.
func drain(t testing.TB, client *idemsvc.Client, consumer string, n int) (bodies map[string]string, order []string) {
	t.Helper()
	return drainBy(t, client, consumer, n, 1)
}

// drainBy is drain with more than one at a time.
func drainBy(t testing.TB, client *idemsvc.Client, consumer string, n, concurrency int) (bodies map[string]string, order []string) {
	t.Helper()
	bodies = map[string]string{}
	var mu sync.Mutex
	ctx, stop := context.WithTimeout(t.Context(), time.Minute+3**awayFlag)
	defer stop()
	w := client.Worker(func(_ context.Context, c *idemsvc.Claim) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, c.Event().GetEventId())
		bodies[c.Event().GetEventId()] = string(c.GetPayload())
		return nil
	}, idemsvc.WorkerConsumer(consumer), idemsvc.WorkerConcurrency(concurrency), idemsvc.WorkerAnswered(func(*idemsvc.Claim, *idemsvc.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(order) >= n {
			stop()
		}
	}))
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%s worked on %d of %d events", consumer, len(order), n)
	}
	return bodies, order
}

// A receiver keeps every event of every provider's request for each consumer, with its body,
// and answers new ones and duplicates alike.
func TestReceivedForLater(t *testing.T) {
	t.Parallel()
	for _, x := range samples(t) {
		if x.Provider == "paypal" || x.Provider == "google-pubsub" {
			continue // they are signed in their own tests
		}
		t.Run(x.Provider+" "+x.Name, func(t *testing.T) {
			t.Parallel()
			s := newReceiving(t, testProvider(x.Provider))
			want := map[string]int{"cloudevents": 204}[x.Provider]
			if want == 0 {
				want = 200
			}
			var sent *webhook.Request
			for range 2 {
				if x.Provider == "sendgrid" {
					sent = request(x.Body, x.Header)
					signSendGrid(t, sent)
				} else {
					sent = signed(t, s.p, x.Body, x.Header)
				}
				sent.Header.Set("Authorization", "Bearer theirs")
				sent.Header.Set("Cookie", "session=theirs")
				s.expect(s.send(sent), want, "a delivery")
			}
			items, err := s.p.Items(sent)
			if err != nil || len(items) != len(x.Want) {
				t.Fatalf("%d events: %v", len(items), err)
			}
			for _, item := range items {
				s.wantKept(item)
			}
			for _, consumer := range []string{"billing", "mail"} {
				bodies, _ := drain(t, s.client, consumer, len(items))
				for _, item := range items {
					if bodies[item.ID] != string(item.Body) {
						t.Errorf("%s got %q of %s and not %q", consumer, bodies[item.ID], item.ID, item.Body)
					}
				}
			}
			s.expect(s.send(sent), want, "a duplicate of what is processed")
		})
	}
}

// wantKept fails unless an event waits for both consumers and its deliveries are told with
// nothing that should not be.
func (s *scene) wantKept(item *webhook.Item) {
	s.t.Helper()
	view := s.view(s.p.Source(), item.ID)
	if n := len(view.GetConsumers()); n != 2 {
		s.t.Errorf("%s is kept for %d consumers", item.ID, n)
	}
	for _, c := range view.GetConsumers() {
		if c.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
			s.t.Errorf("%s is %v for %s", item.ID, c.GetState(), c.GetConsumer())
		}
	}
	for _, d := range view.GetDeliveries() {
		for _, h := range d.GetDelivery().GetHeaders() {
			name := strings.ToLower(h.GetName())
			for _, part := range []string{"authorization", "cookie", "signature", "token", "secret"} {
				if strings.Contains(name, part) {
					s.t.Errorf("the header %s was stored", name)
				}
			}
		}
	}
}

// A forged request is refused, takes no event's key, and is told to the service once, without
// its body, however many consumers there are.
func TestForgedReceipts(t *testing.T) {
	t.Parallel()
	told := make(chan *pb.ReceiveEventRequest, 10)
	client := idemtest.New(t).Client(spy(func(req any) {
		if r, ok := req.(*pb.ReceiveEventRequest); ok {
			told <- r
		}
	}))
	log, p := &logged{}, testProvider("stripe")
	h, err := webhook.NewReceiver(client, p, webhook.WithReceiveOptions(idemsvc.ReceiveFor("billing", "mail")), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	if code := deliverTo(t, h, webhook.Stripe("another secret"), invoice("evt_1", 1, 1)); code != 401 {
		t.Errorf("a forged request was answered %d", code)
	}
	forged := <-told
	if d := forged.GetDelivery(); d.GetSignature() != pb.SignatureStatus_SIGNATURE_STATUS_FAILED || forged.GetEvent().GetBody() != nil ||
		forged.GetEvent().GetEventId() != "unverified" || !slices.Equal(forged.GetConsumers(), []string{"billing"}) {
		t.Errorf("the service was told %v", forged)
	}
	if _, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: idemtest.Namespace, Source: "stripe", EventId: "evt_1"}); !errors.Is(err, idemsvc.ErrNotFound) {
		t.Errorf("it has taken the key: %v", err)
	}
	if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != 200 {
		t.Errorf("the genuine one was answered %d", code)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.text(), "not told to the service") {
		t.Errorf("the service did not take it:\n%s", log.text())
	}
	if l := log.lines("answered"); len(l) != 2 || l[0]["http_status"] != 401.0 || l[1]["http_status"] != 200.0 || l[1]["event_id"] != "evt_1" {
		t.Errorf("%v", l)
	}
}

// What is too large to be kept is not acknowledged, alone or beside others, which are kept.
func TestTooLargeToKeep(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	for _, spool := range []bool{false, true} {
		var opts []webhook.Option
		if spool {
			opts = append(opts, webhook.Spool(t.TempDir()))
		}
		s := newReceiving(t, testProvider("stripe"), opts...)
		s.expect(s.deliver(`{"id":"evt_1","type":"a","text":"`+large+`"}`, nil), 413, "a large event")
	}
	sg := newReceiving(t, testProvider("sendgrid"))
	r := request(`[{"event":"open","sg_event_id":"e1"},{"event":"open","sg_event_id":"e2","text":"`+large+`"},{"event":"open","sg_event_id":"e3"}]`, nil)
	signSendGrid(t, r)
	sg.expect(sg.send(r), 413, "an array with a large event")
	if _, order := drain(t, sg.client, "mail", 2); slices.Contains(order, "e2") {
		t.Error("the large event was kept")
	}
	s := newReceiving(t, testProvider("stripe"), webhook.WithoutPayload())
	s.expect(s.deliver(`{"id":"evt_1","type":"a","text":"`+large+`"}`, nil), 200, "a large event whose body is not kept")
	if bodies, _ := drain(t, s.client, "mail", 1); bodies["evt_1"] != "" {
		t.Error("its body was kept")
	}
}

// With ordering a worker of each consumer gets the newest event of a resource, and no older one
// after it.
func TestReceivedInOrder(t *testing.T) {
	t.Parallel()
	s := newReceiving(t, testProvider("square"), webhook.WithOrdering())
	for _, v := range []int{2, 3, 1} {
		body := fmt.Sprintf(`{"type":"order.updated","event_id":"e%d","data":{"type":"order","id":"o1","object":{"order":{"version":%d}}}}`, v, v)
		s.expect(s.deliver(body, nil), 200, "an event")
	}
	if _, order := drain(t, s.client, "mail", 1); !slices.Equal(order, []string{"e3"}) {
		t.Errorf("worked on %v", order)
	}
	rest, err := s.client.Idempotency().AcquireEvents(t.Context(), &pb.AcquireEventsRequest{
		Namespace: idemtest.Namespace, Consumer: "mail", Claimant: idemsvc.NewClaimant(), MaxEvents: 10,
	})
	if err != nil || len(rest.GetEvents()) != 0 {
		t.Errorf("older ones are granted, too: %v %v", rest, err)
	}
	if _, order := drain(t, s.client, "billing", 1); !slices.Equal(order, []string{"e3"}) {
		t.Errorf("the other consumer worked on %v", order)
	}
}

// A kind of version that the resource has not is refused for good: a spool must not wait for
// it.
func TestARefusedReceiptHoldsUpNobody(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	dir, log, p := t.TempDir(), &logged{}, testProvider("square")
	client := o.dial()
	if _, err := client.Receive(t.Context(), &idemsvc.Event{Source: "square", EventId: "e0", Resource: &idemsvc.Resource{Type: "order", Id: "o1"}},
		idemsvc.ReceiveOrdered(idemsvc.Sequential(idemsvc.Sequence(1)))); err != nil {
		t.Fatal(err)
	}
	o.away()
	h, err := webhook.NewReceiver(client, p, webhook.WithOrdering(), webhook.WithClaimTimeout(time.Second), webhook.Spool(dir), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	for i, resource := range []string{"o1", "o2"} {
		body := fmt.Sprintf(`{"type":"order.updated","event_id":"e%d","data":{"type":"order","id":%q,"object":{"order":{"version":2}}}}`, i+1, resource)
		if code := deliverTo(t, h, p, body); code != 200 {
			t.Fatalf("answered %d", code)
		}
	}
	o.start()
	until(t, "the other one is forwarded", func() bool { return len(log.lines("forwarded")) == 1 })
	until(t, "the refused one is put aside", func() bool { files, _ := filepath.Glob(filepath.Join(dir, "*.refused")); return len(files) == 1 })
}

// The service goes away under load and comes back: nothing that was answered with success is
// lost, nothing is there twice, and the counts add up, whichever way its absence is met.
func TestTheServiceIsAwayWhileReceiving(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"reject", "spool"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			awayWhileReceiving(t, mode)
		})
	}
}

func awayWhileReceiving(t *testing.T, mode string) {
	t.Helper()
	const senders, each = 8, 25
	o := newOutage(t)
	dir, log, p := t.TempDir(), &logged{}, testProvider("stripe")
	opts := []webhook.Option{
		webhook.WithClaimTimeout(500 * time.Millisecond), webhook.WithReceiveOptions(idemsvc.ReceiveFor("billing", "mail")),
		webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))),
	}
	if mode == "spool" {
		opts = append(opts, webhook.Spool(dir))
	}
	h, err := webhook.NewReceiver(o.dial(), p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	all := len(storm{h: h, p: p, log: log, senders: senders, each: each}.through(t, o, dir, mode))
	client := o.dial()
	for _, consumer := range []string{"billing", "mail"} {
		_, order := drainBy(t, client, consumer, all, 32)
		slices.Sort(order)
		if n := len(slices.Compact(slices.Clone(order))); n != all || len(order) != n {
			t.Errorf("%s worked on %d events %d times", consumer, n, len(order))
		}
		claims, err := client.Idempotency().AcquireEvents(t.Context(), &pb.AcquireEventsRequest{Namespace: "dev", Consumer: consumer, Claimant: idemsvc.NewClaimant(), MaxEvents: 1})
		if err != nil || len(claims.GetEvents()) != 0 {
			t.Errorf("%s is given more than was sent: %v %v", consumer, claims, err)
		}
	}
}

// What was spooled reaches the workers in its order, and the requests that came meanwhile
// after it.
func TestAReceiversSpoolIsForwardedInOrder(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.away()
	log, p := &logged{}, testProvider("stripe")
	h, err := webhook.NewReceiver(o.dial(), p, webhook.WithClaimTimeout(time.Second), webhook.Spool(t.TempDir()), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	const n = 20
	var want []string
	for i := range n {
		id := fmt.Sprintf("evt_%d", i)
		if code := deliverTo(t, h, p, invoice(id, 1, 1)); code != 200 {
			t.Fatalf("answered %d", code)
		}
		want = append(want, id)
	}
	o.start()
	if code := deliverTo(t, h, p, invoice("evt_last", 1, 1)); code != 200 {
		t.Fatalf("answered %d", code)
	}
	until(t, "all are received", func() bool { return len(log.lines("forwarded"))+answers(log, "settled") == n+1 })
	if _, order := drain(t, o.dial(), "billing", n+1); !slices.Equal(order, append(want, "evt_last")) {
		t.Errorf("they are worked on in the order %v", order)
	}
}

// What a receiver cannot be is told when it is made.
func TestMistakesOfReceivers(t *testing.T) {
	t.Parallel()
	client := idemtest.New(t).Client()
	p := testProvider("stripe")
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprint("c", i))
	}
	for why, o := range map[string]webhook.Option{
		"it claims":             webhook.WithClaimOptions(idemsvc.WithLease(time.Minute)),
		"it works at once":      webhook.WithConcurrency(2),
		"a consumer twice":      webhook.WithReceiveOptions(idemsvc.ReceiveFor("a", "a")),
		"a consumer without":    webhook.WithReceiveOptions(idemsvc.ReceiveFor(" ")),
		"too many consumers":    webhook.WithReceiveOptions(idemsvc.ReceiveFor(many...)),
		"a delivery of its own": webhook.WithReceiveOptions(idemsvc.ReceiveDelivery(&idemsvc.Delivery{})),
		"an order of its own":   webhook.WithReceiveOptions(idemsvc.ReceiveOrdered(idemsvc.LatestWins(idemsvc.Sequence(1)))),
	} {
		if _, err := webhook.NewReceiver(client, p, o); err == nil {
			t.Errorf("%s: it was made", why)
		}
	}
	handle := func(context.Context, *idemsvc.Claim, *webhook.Item) error { return nil }
	if _, err := webhook.New(client, p, handle, webhook.WithReceiveOptions(idemsvc.ReceiveFor("a"))); err == nil {
		t.Error("one that works takes consumers to receive for")
	}
	if _, err := webhook.New(client, p, nil); err == nil {
		t.Error("one without work was made")
	}
}

// receiptsSent collects what a receiver asks the service for.
type receiptsSent struct {
	mu    sync.Mutex
	calls [][]string // the events of each
	odd   []string   // what should not be asked
}

func (r *receiptsSent) look(req any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch req := req.(type) {
	case *pb.ReceiveEventRequest:
		r.odd = append(r.odd, "an event alone: "+req.GetEvent().GetEventId())
	case *pb.ReceiveEventsRequest:
		var ids []string
		for _, i := range req.GetItems() {
			ids = append(ids, i.GetEvent().GetEventId())
		}
		r.calls = append(r.calls, ids)
		if n := proto.Size(req); n > 4<<20 {
			r.odd = append(r.odd, fmt.Sprintf("a call of %d bytes", n))
		}
		if n := len(req.GetItems()) * len(req.GetConsumers()); n > 1000 {
			r.odd = append(r.odd, fmt.Sprintf("a call for %d consumers of events", n))
		}
	}
}

// wanting fails unless these were the calls.
func (r *receiptsSent) wanting(t *testing.T, want ...[]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.odd) > 0 {
		t.Errorf("the service was asked for %v", r.odd)
	}
	if !slices.EqualFunc(r.calls, want, slices.Equal[[]string]) {
		t.Errorf("the calls were %v, not %v", r.calls, want)
	}
}

// newArrays is a handler of arrays, which name what each event is about, before a service.
func newArrays(t *testing.T, opts ...webhook.Option) (*scene, *receiptsSent) {
	t.Helper()
	sent := &receiptsSent{}
	s := &scene{t: t, p: arrays(), log: &logged{}, service: idemtest.New(t)}
	s.client = s.service.Client(idemsvc.WithConsumer("billing"), spy(sent.look))
	h, err := webhook.NewReceiver(s.client, s.p, append([]webhook.Option{
		webhook.WithLogger(slog.New(slog.NewJSONHandler(s.log, nil))), webhook.WithReceiveOptions(idemsvc.ReceiveFor("billing", "mail")),
		webhook.WithClaimTimeout(time.Minute),
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
	return s, sent
}

func arrays() *webhook.Provider {
	return webhook.Generic(webhook.GenericConfig{
		Name: "warehouse", Items: "[]", Key: []string{"id"}, ResourceType: "=parcel", ResourceID: []string{"parcel?"}, Order: "rev", OrderUnit: "sequence",
		Secrets: []string{"a secret of the warehouse"}, SignatureHeader: "X-Signature",
	})
}

// A request with many events is stored in as few calls as the limits allow: of events, of
// consumers of events, and of bytes.
func TestAnArrayIsKeptTogether(t *testing.T) {
	t.Parallel()
	s, sent := newArrays(t)
	var few, large []string
	for i := range 1200 {
		few = append(few, fmt.Sprintf(`{"id":"e%d"}`, i))
	}
	s.expect(s.deliver("["+strings.Join(few, ",")+"]", nil), 200, "many events")
	text := strings.Repeat("x", 900<<10)
	for i := range 5 {
		large = append(large, fmt.Sprintf(`{"id":"l%d","text":%q}`, i, text))
	}
	s.expect(s.deliver("["+strings.Join(large, ",")+"]", nil), 200, "large events")
	var want [][]string
	for _, n := range []int{500, 500, 200} {
		var ids []string
		for range n {
			ids = append(ids, fmt.Sprint("e", len(ids)+500*len(want)))
		}
		want = append(want, ids)
	}
	sent.wanting(t, append(want, []string{"l0", "l1", "l2", "l3"}, []string{"l4"})...)
	for _, consumer := range []string{"billing", "mail"} {
		if bodies, _ := drainBy(t, s.client, consumer, 1205, 32); len(bodies) != 1205 || bodies["l3"] != large[3] {
			t.Errorf("%s got %d events", consumer, len(bodies))
		}
	}
}

// Events about one resource are stored one after the other, also behind one that waits for
// its namesake; those about others, and about none, go along.
func TestAnArrayKeepsTheOrderOfAResource(t *testing.T) {
	t.Parallel()
	s, sent := newArrays(t)
	s.expect(s.deliver(`[{"id":"a1","parcel":"a"},{"id":"n1"},{"id":"a2","parcel":"a"},{"id":"b1","parcel":"b"},{"id":"n1","parcel":"c"},{"id":"c2","parcel":"c"},
		{"id":"a3","parcel":"a"},{"id":"n2"}]`, nil), 200, "an array")
	sent.wanting(t, []string{"a1", "n1", "b1", "n2"}, []string{"a2", "n1"}, []string{"c2", "a3"})
	_, order := drain(t, s.client, "mail", 7)
	if got := slices.DeleteFunc(order, func(id string) bool { return id[0] != 'a' }); !slices.Equal(got, []string{"a1", "a2", "a3"}) {
		t.Errorf("a worker gets them in the order %v", got)
	}
}

// What the service refuses of an array, for one consumer, is refused alone: the others are
// kept, and recognised when the array comes again.
func TestOneOfAnArrayIsRefusedAlone(t *testing.T) {
	t.Parallel()
	s, _ := newArrays(t, webhook.WithOrdering())
	if _, err := s.client.Receive(t.Context(), &idemsvc.Event{Source: "warehouse", EventId: "e0", Resource: &idemsvc.Resource{Type: "parcel", Id: "b"}},
		idemsvc.ReceiveOrdered(idemsvc.Sequential(idemsvc.Sequence(1))), idemsvc.ReceiveFor("mail")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.expect(s.deliver(`[{"id":"a1","parcel":"a","rev":1},{"id":"b1","parcel":"b","rev":2},{"id":"c1","parcel":"c"},{"id":"c2","parcel":"c"}]`, nil), 422, "an array")
	}
	if _, order := drain(t, s.client, "billing", 4); len(order) != 4 {
		t.Errorf("billing got %v", order)
	}
	if _, order := drain(t, s.client, "mail", 3); slices.Contains(order, "b1") {
		t.Errorf("mail got %v", order)
	}
}

// A request costs one wait while the service is away, however many calls it would take.
func TestAnArrayWaitsOnceForTheService(t *testing.T) {
	t.Parallel()
	s, sent := newArrays(t, webhook.WithClaimTimeout(300*time.Millisecond))
	s.service.Close()
	s.expect(s.deliver(`[{"id":"a1","parcel":"a"},{"id":"a2","parcel":"a"},{"id":"a3","parcel":"a"}]`, nil), 503, "an array")
	sent.mu.Lock()
	defer sent.mu.Unlock()
	for _, ids := range sent.calls {
		if !slices.Equal(ids, []string{"a1"}) {
			t.Errorf("the service was asked for %v", ids)
		}
	}
	if len(sent.calls) == 0 {
		t.Error("the service was not asked")
	}
}
