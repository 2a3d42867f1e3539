package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// answered waits until the service shows these answers with the deliveries of an event.
func answered(t *testing.T, client *idemsvc.Client, namespace, source, id string, want ...int32) {
	t.Helper()
	var got []int32
	defer func() {
		if t.Failed() {
			t.Logf("%s: the answers are shown as %v, not %v", id, got, want)
		}
	}()
	until(t, "the answers are shown", func() bool {
		r, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: namespace, Source: source, EventId: id})
		if err != nil {
			return false
		}
		got = nil
		for _, d := range r.GetEvents()[0].GetDeliveries() {
			got = append(got, d.GetAnswer().GetHttpStatus())
		}
		return fmt.Sprint(got) == fmt.Sprint(want)
	})
}

// Each delivery is shown with what its provider was told: a failure, an event in progress,
// the success after it, and a duplicate.
func TestEveryDeliveryHasItsAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	began, goOn := make(chan struct{}), make(chan struct{})
	first := true
	s.does(func(context.Context, *idemsvc.Claim, *webhook.Item) error {
		if first {
			first = false
			return idemsvc.RetryAfter(0, errors.New("the first try fails"))
		}
		close(began)
		<-goOn
		return nil
	})
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 503, "a failure")
	var second sync.WaitGroup
	second.Go(func() { s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "the second try") })
	<-began
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 503, "a try beside it")
	close(goOn)
	second.Wait()
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a duplicate")
	answered(t, s.client, idemtest.Namespace, "stripe", "evt_1", 503, 200, 503, 200)
}

// Of a request with many events each has the answer, and receipts and their duplicates have
// theirs, also those that were spooled.
func TestEveryEventOfARequestHasItsAnswer(t *testing.T) {
	t.Parallel()
	array := `[{"id":"a1"},{"id":"a2"},{"id":"a3","parcel":"p"},{"id":"a4","parcel":"p"}]`
	work := newScene(t, arrays())
	receipts, _ := newArrays(t)
	for _, s := range []*scene{work, receipts} {
		for range 2 {
			s.expect(s.deliver(array, nil), 200, "an array")
		}
		for i := range 4 {
			answered(t, s.client, idemtest.Namespace, "warehouse", fmt.Sprint("a", i+1), 200, 200)
		}
	}

	o, log := newOutage(t), &logged{}
	o.away()
	h, err := webhook.NewReceiver(o.dial(), arrays(), webhook.WithClaimTimeout(time.Second), webhook.Spool(t.TempDir()), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	if code := deliverTo(t, h, arrays(), array); code != 200 {
		t.Fatalf("answered %d", code)
	}
	o.start()
	until(t, "it is forwarded", func() bool { return len(log.lines("forwarded")) == 1 })
	answered(t, o.dial(), "dev", "warehouse", "a4", 200)
}

// telling is a service that meets the calls that tell answers by itself.
func telling(t *testing.T, meet func(ctx context.Context) error) (h *webhook.Handler, log *logged) {
	t.Helper()
	client := idemtest.New(t).Client(idemsvc.WithConsumer("billing"), idemsvc.WithDialOptions(grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if _, ok := req.(*pb.RecordDeliveryAnswerRequest); ok {
				return meet(ctx)
			}
			return invoke(ctx, method, req, reply, conn, opts...)
		})))
	log = &logged{}
	h, err := webhook.New(client, testProvider("stripe"), (&counts{n: map[string]int{}}).work, webhook.WithClaimTimeout(time.Minute),
		webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, log
}

// A first delivery that succeeds costs no call of its own, answers wait for none, and of
// those that are not taken a bounded number is under way.
func TestTellingAnswersHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var calls, running, most atomic.Int64
	h, log := telling(t, func(ctx context.Context) error {
		calls.Add(1)
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	})
	p := testProvider("stripe")
	if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != 200 || calls.Load() != 0 {
		t.Errorf("answered %d, %d answers were told for themselves", code, calls.Load())
	}
	for range 100 {
		if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != 200 {
			t.Errorf("a duplicate was answered %d", code)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if n := most.Load(); n == 0 || n > 64 {
		t.Errorf("%d answers were under way at once", n)
	}
	if n := strings.Count(log.text(), "was not told to the service"); n != 20 {
		t.Errorf("%d lines tell of it", n)
	}
}

// A service that does not know answers is told of none after the first.
func TestAServiceThatTakesNoAnswers(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	h, log := telling(t, func(context.Context) error {
		calls.Add(1)
		return status.Error(codes.Unimplemented, "unknown method")
	})
	p := testProvider("stripe")
	for i := range 10 {
		if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != 200 {
			t.Errorf("a duplicate was answered %d", code)
		}
		if i == 1 {
			until(t, "it is told", func() bool { return strings.Count(log.text(), "was not told to the service") == 1 })
		}
	}
	if err := h.Close(); err != nil || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}
