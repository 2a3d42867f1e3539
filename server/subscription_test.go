package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage"
)

// subscriber is a client's side of a session that subscribes.
type subscriber struct {
	*testing.T
	f      *fixture
	stream pb.IdempotencyService_SessionClient
	cut    context.CancelFunc
}

func (f *fixture) subscriber(t *testing.T) *subscriber {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := f.client(t, "consumer").Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return &subscriber{t, f, stream, cancel}
}

func subscriptionOf(credit int32) *pb.SubscribeRequest {
	return &pb.SubscribeRequest{
		Namespace: shop, Consumer: "billing", Claimant: fmt.Sprintf("subscriber-%d", claimants.Add(1)), Credit: credit, WantPayload: true,
	}
}

func (s *subscriber) send(number uint64, cmd *pb.SessionRequest) {
	s.Helper()
	cmd.Correlation = number
	if err := s.stream.Send(cmd); err != nil {
		s.Fatal(err)
	}
}

func (s *subscriber) subscribe(number uint64, req *pb.SubscribeRequest) {
	s.Helper()
	s.send(number, &pb.SessionRequest{Command: &pb.SessionRequest_Subscribe{Subscribe: req}})
}

func (s *subscriber) credit(number, subscription uint64, n int32) {
	s.Helper()
	s.send(number, &pb.SessionRequest{Command: &pb.SessionRequest_AddCredit{AddCredit: &pb.AddCreditRequest{Subscription: subscription, Credit: n}}})
}

func (s *subscriber) next() *pb.SessionResponse {
	s.Helper()
	r, err := s.stream.Recv()
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// pushed is the next answer, which is a batch.
func (s *subscriber) pushed(number, batch uint64) []*pb.AcquiredEvent {
	s.Helper()
	r := s.next()
	got := r.GetAcquireEvents()
	if r.GetCorrelation() != number || got.GetBatch() != batch || len(got.GetEvents()) == 0 {
		s.Fatalf("%v, want batch %d of %d", r, batch, number)
	}
	return got.GetEvents()
}

func (f *fixture) arrived(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := f.client(t, "consumer").ReceiveEvent(t.Context(), receiptOf(id, "billing")); err != nil {
			t.Fatal(err)
		}
	}
}

// due is what another worker gets at once.
func (f *fixture) due(t *testing.T) []string {
	t.Helper()
	got, err := f.client(t, "consumer").AcquireEvents(t.Context(), acquisitionOf(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	return acquiredIDs(got.GetEvents())
}

func acquiredIDs(list []*pb.AcquiredEvent) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.GetEvent().GetEventId())
	}
	return out
}

// However credit comes, never more is pushed than was allowed, and in the end all of it, once.
func TestCreditIsNeverExceeded(t *testing.T) {
	t.Parallel()
	f := start(t)
	const events = 120
	for i := range events / 2 {
		f.arrived(t, fmt.Sprint("early-", i))
	}
	s := f.subscriber(t)
	given, seen, batch := 3, map[string]bool{}, uint64(0)
	s.subscribe(1, subscriptionOf(3))
	for number, late := uint64(2), 0; len(seen) < events; {
		r := s.next()
		switch got := r.GetAcquireEvents(); {
		case got != nil:
			batch++
			if got.GetBatch() != batch || !strings.HasSuffix(got.GetClaimant(), fmt.Sprint("/", batch)) {
				t.Fatalf("batch %d of %s, want %d", got.GetBatch(), got.GetClaimant(), batch)
			}
			for _, e := range got.GetEvents() {
				if seen[e.GetEvent().GetEventId()] || string(e.GetClaim().GetPayload()) != "body of "+e.GetEvent().GetEventId() {
					t.Errorf("%v", e)
				}
				seen[e.GetEvent().GetEventId()] = true
			}
			if len(seen) > given {
				t.Fatalf("%d events for a credit of %d", len(seen), given)
			}
		case r.GetAddCredit() == nil:
			t.Fatalf("%v", r)
		}
		if len(seen) == given && given < events { // all that was allowed is there: the rest waits for credit
			if late < events/2 {
				n := 1 + rand.N(min(9, events/2-late)) //nolint:gosec // a test
				for range n {
					f.arrived(t, fmt.Sprint("late-", late))
					late++
				}
			}
			n := 1 + rand.N(min(7, events-given)) //nolint:gosec // a test
			given += n
			s.credit(number, 1, int32(n)) //nolint:gosec // small
			number++
		}
	}
	// Nothing was acquired beyond it.
	f.arrived(t, "uncredited")
	if got := f.due(t); len(got) != 1 || got[0] != "uncredited" {
		t.Errorf("left: %v", got)
	}
}

// What is received is pushed at once, not at the next look at what is due: those come once a
// second.
func TestAReceiptIsPushedAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.subscriber(t)
	const events = 30
	s.subscribe(1, subscriptionOf(events))
	began := time.Now()
	for i := range uint64(events) {
		f.arrived(t, fmt.Sprint("evt-", i))
		if got := s.pushed(1, i+1); got[0].GetEvent().GetEventId() != fmt.Sprint("evt-", i) || len(got) != 1 {
			t.Fatalf("%v", got)
		}
	}
	if took := time.Since(began); took > events*time.Second/4 {
		t.Errorf("%d events took %v", events, took)
	}
}

// P5: a batch that was lost with its stream comes again, with the same claims; those that
// arrived go on, and what was not granted yet is granted then.
func TestP5_ABrokenStreamLosesNoBatch(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.subscriber(t)
	req := subscriptionOf(10)
	s.subscribe(1, req)
	f.arrived(t, "first")
	first := s.pushed(1, 1)
	f.arrived(t, "lost")
	lost := s.pushed(1, 2) // and let it not have arrived
	s.cut()
	f.arrived(t, "later")

	again := f.subscriber(t)
	req.ResumeAfter, req.Credit = 1, 9
	again.subscribe(7, req)
	back := again.pushed(7, 2)
	if len(back) != 1 || !bytes.Equal(back[0].GetClaim().GetToken(), lost[0].GetClaim().GetToken()) || !back[0].GetClaim().GetRepeated() {
		t.Errorf("%v, want %v", back, lost)
	}
	later := again.pushed(7, 3)
	if got := acquiredIDs(later); len(got) != 1 || got[0] != "later" {
		t.Errorf("%v", got)
	}
	for _, e := range append(append(first, back...), later...) {
		if a := e.GetClaim().GetAttempt(); a != 1 {
			t.Errorf("%s: attempt %d", e.GetEvent().GetEventId(), a)
		}
		if _, err := f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: e.GetClaim().GetToken()}); err != nil {
			t.Errorf("%s: %v", e.GetEvent().GetEventId(), err)
		}
	}
}

// A lost batch that the resumed subscription has not enough credit for: as much as it has is
// pushed, the rest is given back at once.
func TestAResumedSubscriptionKeepsToItsCredit(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.arrived(t, "a", "b", "c")
	s := f.subscriber(t)
	req := subscriptionOf(3)
	s.subscribe(1, req)
	if got := s.pushed(1, 1); len(got) != 3 {
		t.Fatalf("%v", got)
	}
	s.cut()
	again := f.subscriber(t)
	req.Credit = 1
	again.subscribe(1, req)
	if got := again.pushed(1, 1); len(got) != 1 {
		t.Errorf("%d events for a credit of 1", len(got))
	}
	if got := f.due(t); len(got) != 2 {
		t.Errorf("given back: %v, want two", got)
	}
}

// mute is the server's side of a stream on which nothing arrives any more.
type mute struct {
	grpc.ServerStream
	ctx  context.Context
	asks chan *pb.SessionRequest
	sent chan *pb.SessionResponse
}

func (m *mute) Context() context.Context { return m.ctx }

func (m *mute) Recv() (*pb.SessionRequest, error) {
	select {
	case r := <-m.asks:
		return r, nil
	case <-m.ctx.Done():
		return nil, m.ctx.Err()
	}
}

var errMute = errors.New("nothing arrives")

func (m *mute) Send(r *pb.SessionResponse) error {
	m.sent <- r
	return errMute
}

// What was granted and cannot be sent is given back: it is due at once, and counts as no attempt.
func TestABatchThatCannotBeSentIsGivenBack(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.arrived(t, "a", "b")
	ctx, cancel := context.WithCancel(metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+f.tokens["consumer"])))
	m := &mute{ctx: ctx, asks: make(chan *pb.SessionRequest, 1), sent: make(chan *pb.SessionResponse, 1)}
	m.asks <- &pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_Subscribe{Subscribe: subscriptionOf(2)}}
	ended := make(chan error)
	s := &idempotency{core: f.srv.core, drain: f.srv.drain, sessions: sessionLimits{inFlight: 4, drain: time.Second}}
	go func() { ended <- s.Session(m) }()
	if r := <-m.sent; len(r.GetAcquireEvents().GetEvents()) != 2 { // and before that nobody else has a chance
		t.Fatalf("%v", r)
	}
	got, err := f.client(t, "consumer").AcquireEvents(t.Context(), acquisitionOf(2, 30*time.Second))
	if err != nil || len(got.GetEvents()) == 0 {
		t.Fatalf("%v %v", got, err)
	}
	for _, e := range got.GetEvents() {
		r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, Source: "stripe", EventId: e.GetEvent().GetEventId()})
		if err != nil || r.GetEvents()[0].GetConsumers()[0].GetAttempts()[0].GetEnd() != pb.AttemptEnd_ATTEMPT_END_UNDELIVERED {
			t.Errorf("%v %v", r, err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, errMute) {
		t.Errorf("%v", err)
	}
}

// A stopping server asks the client to leave, ends its subscriptions and grants nothing more.
func TestAStoppingServerEndsSubscriptions(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.subscriber(t)
	s.subscribe(1, subscriptionOf(5))
	f.arrived(t, "a")
	claim := s.pushed(1, 1)[0].GetClaim()
	stopped := make(chan struct{})
	go func() {
		f.srv.Stop(context.Background())
		close(stopped)
	}()
	if r := s.next(); r.GetGoAway().GetReason() != "shutting down" {
		t.Fatalf("%v", r)
	}
	if r := s.next(); r.GetCorrelation() != 1 || r.GetSubscriptionEnded().GetReason() != "shutting down" {
		t.Fatalf("%v", r)
	}
	s.subscribe(2, subscriptionOf(5))
	if r := s.next(); r.GetCorrelation() != 2 || itemTold(r.GetError()) != streamOver {
		t.Errorf("a new subscription: %v", r)
	}
	s.send(3, &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: &pb.CompleteEventRequest{Token: claim.GetToken()}}})
	if r := s.next(); r.GetCorrelation() != 3 || r.GetCompleteEvent() == nil {
		t.Errorf("work that was begun: %v", r)
	}
	s.closes()
	<-stopped
}

// closes ends the client's side and waits for the server's.
func (s *subscriber) closes() {
	s.Helper()
	if err := s.stream.CloseSend(); err != nil {
		s.Fatal(err)
	}
	if r, err := s.stream.Recv(); !errors.Is(err, io.EOF) {
		s.Errorf("%v %v", r, err)
	}
}

func TestAnOldStreamEndsItsSubscriptions(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.MaxConnectionAge = 50 * time.Millisecond; c.MaxConnectionAgeGrace = time.Minute })
	s := f.subscriber(t)
	s.subscribe(1, subscriptionOf(1))
	if r := s.next(); r.GetGoAway().GetReason() != "connection age" {
		t.Fatalf("%v", r)
	}
	if r := s.next(); r.GetSubscriptionEnded().GetReason() != "connection age" {
		t.Fatalf("%v", r)
	}
	s.closes()
}

// Whoever unsubscribes is told when nothing more comes; what is due then is for others.
func TestUnsubscribing(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.subscriber(t)
	s.subscribe(1, subscriptionOf(5))
	s.subscribe(2, subscriptionOf(5))
	s.send(3, &pb.SessionRequest{Command: &pb.SessionRequest_Unsubscribe{Unsubscribe: &pb.UnsubscribeRequest{Subscription: 1}}})
	if r := s.next(); r.GetCorrelation() != 1 || r.GetSubscriptionEnded().GetReason() != "unsubscribed" {
		t.Fatalf("%v", r)
	}
	if r := s.next(); r.GetCorrelation() != 3 || r.GetUnsubscribe() == nil {
		t.Fatalf("%v", r)
	}
	f.arrived(t, "a")
	s.pushed(2, 1) // the other one goes on
	s.credit(4, 1, 1)
	if r := s.next(); r.GetCorrelation() != 4 || itemTold(r.GetError()) != (told{codes.NotFound, "NOT_FOUND", ""}) {
		t.Errorf("%v", r)
	}
	if err := s.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if r := s.next(); r.GetCorrelation() != 2 || r.GetSubscriptionEnded().GetReason() != "the client's side is closed" {
		t.Errorf("%v", r)
	}
	f.arrived(t, "b")
	if got := f.due(t); len(got) != 1 || got[0] != "b" {
		t.Errorf("%v", got)
	}
}

func TestSubscriptionsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	of := func(change func(*pb.SubscribeRequest)) *pb.SessionRequest {
		req := subscriptionOf(5)
		change(req)
		return &pb.SessionRequest{Command: &pb.SessionRequest_Subscribe{Subscribe: req}}
	}
	add := func(subscription uint64, n int32) *pb.SessionRequest {
		return &pb.SessionRequest{Command: &pb.SessionRequest_AddCredit{AddCredit: &pb.AddCreditRequest{Subscription: subscription, Credit: n}}}
	}
	bad := func(field string) told { return told{codes.InvalidArgument, "INVALID_ARGUMENT", field} }
	none := told{codes.NotFound, "NOT_FOUND", ""}
	s := f.subscriber(t)
	s.subscribe(1, subscriptionOf(999))
	for name, c := range map[string]struct {
		req  *pb.SessionRequest
		want told
		says string
	}{
		"no credit":          {of(func(r *pb.SubscribeRequest) { r.Credit = 0 }), bad("credit"), "1"},
		"much credit":        {of(func(r *pb.SubscribeRequest) { r.Credit = 1001 }), bad("credit"), "1000"},
		"no claimant":        {of(func(r *pb.SubscribeRequest) { r.Claimant = "" }), bad("claimant"), "1"},
		"a long claimant":    {of(func(r *pb.SubscribeRequest) { r.Claimant = strings.Repeat("c", 101) }), bad("claimant"), "100"},
		"a blank consumer":   {of(func(r *pb.SubscribeRequest) { r.Consumer = " " }), bad("consumer"), ""},
		"a short lease":      {of(func(r *pb.SubscribeRequest) { r.Lease = durationpb.New(time.Millisecond) }), bad("lease"), "12 h"},
		"a foreign one":      {of(func(r *pb.SubscribeRequest) { r.Namespace = "elsewhere" }), told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}, ""},
		"no more credit":     {add(1, 0), bad("credit"), "1"},
		"too much credit":    {add(1, 2), bad("credit"), "1000"},
		"credit for none":    {add(99, 1), none, ""},
		"no subscription":    {add(0, 1), bad("subscription"), ""},
		"to unsubscribe":     {&pb.SessionRequest{Command: &pb.SessionRequest_Unsubscribe{Unsubscribe: &pb.UnsubscribeRequest{Subscription: 99}}}, none, ""},
		"to unsubscribe all": {&pb.SessionRequest{Command: &pb.SessionRequest_Unsubscribe{Unsubscribe: &pb.UnsubscribeRequest{}}}, bad("subscription"), ""},
	} {
		s.send(50, c.req)
		r := s.next()
		if got := itemTold(r.GetError()); r.GetCorrelation() != 50 || got != c.want || !strings.Contains(r.GetError().GetMessage(), c.says) {
			t.Errorf("%s: %v, want %v", name, r, c.want)
		}
	}
	s.subscribe(1, subscriptionOf(1))
	if r := s.next(); itemTold(r.GetError()) != bad("correlation") {
		t.Errorf("the number of a live one: %v", r)
	}
	for i := range uint64(maxSubscriptions) {
		s.subscribe(2+i, subscriptionOf(1))
	}
	if r := s.next(); r.GetCorrelation() != maxSubscriptions+1 || itemTold(r.GetError()) != bad("subscribe") || !strings.Contains(r.GetError().GetMessage(), "16") {
		t.Errorf("too many: %v", r)
	}
	// Refusals end nothing.
	f.arrived(t, "a")
	if r := s.next(); len(r.GetAcquireEvents().GetEvents()) != 1 {
		t.Errorf("%v", r)
	}
}

// When the store fails, the subscription ends with an error that can be repeated, and resumed
// it goes on.
func TestAFailureEndsASubscription(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.subscriber(t)
	req := subscriptionOf(5)
	s.subscribe(1, req)
	f.arrived(t, "a")
	s.pushed(1, 1)
	f.backend.fail(fmt.Errorf("%w: down", storage.ErrUnavailable))
	r := s.next()
	if r.GetCorrelation() != 1 || itemTold(r.GetError()).reason != "UNAVAILABLE" || r.GetError().GetRetryAfter().AsDuration() <= 0 {
		t.Fatalf("%v", r)
	}
	f.backend.fail(nil)
	f.arrived(t, "b")
	req.ResumeAfter = 1
	s.subscribe(2, req)
	if got := acquiredIDs(s.pushed(2, 2)); len(got) != 1 || got[0] != "b" {
		t.Errorf("%v", got)
	}
}
