package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
)

var errNever = errors.New("never")

// What the marker decided alone is told to the service afterwards: all of it, once, with the
// results; what cannot be told holds nothing up.
func TestReport(t *testing.T) {
	onEachDriver(t, func(t *testing.T, pool *pgxpool.Pool, open func(...inbox.Option) subject) {
		t.Helper()
		s := memoryService(t)
		client := s.Client(idemsvc.WithConsumer(consumer))
		box := open()
		const many = 230 // three batches
		work := func(e *idemsvc.Event, opts ...idemsvc.ClaimOption) {
			t.Helper()
			a, err := box.process(t.Context(), e, book(e.GetEventId()), opts...)
			acknowledged(t, e.GetEventId(), true, a, err)
		}
		for i := range many {
			work(event(fmt.Sprint("evt_", i)))
		}
		verified := idemsvc.WithDelivery(&idemsvc.Delivery{Signature: pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED})
		work(&idemsvc.Event{Source: "stripe", EventId: "with payload", Type: "invoice.paid", Body: &pb.Event_Payload{Payload: []byte("{}")}})
		work(event("failed for good"))
		work(event("running"))
		work(&idemsvc.Event{Source: "stripe", EventId: "never fits", Type: strings.Repeat("x", 513)})
		work(&idemsvc.Event{Source: "signed", EventId: "signed"}, verified)
		if a, err := client.Claim(t.Context(), &idemsvc.Event{Source: "signed", EventId: "first"}, verified); err != nil || a.Claim == nil {
			t.Fatal(a, err) // from now on the source has to sign
		}
		if _, err := client.Process(t.Context(), event("failed for good"), func(context.Context, *idemsvc.Claim) error { return idemsvc.Reject(errNever) }); !errors.Is(err, errNever) {
			t.Fatal(err)
		}
		if a, err := client.Claim(t.Context(), event("running")); err != nil || a.Claim == nil {
			t.Fatal(a, err)
		}

		box = open(inbox.Enforce(client))
		r, err := box.Report(t.Context())
		if err != nil || r.Told != many+2 || r.Left != 1 || r.Refused != 1 || len(r.Errs) != 1 || !strings.Contains(r.Errs[0].Error(), "never fits") {
			t.Errorf("%+v, %v", r, err)
		}
		want := inbox.Difference{Source: "stripe", EventID: "failed for good", Outcome: pb.ClaimOutcome_CLAIM_OUTCOME_FAILED_TERMINAL}
		if len(r.Differs) != 1 || r.Differs[0] != want {
			t.Errorf("%+v", r.Differs)
		}
		s.Advance(time.Hour)
		if r, err = box.Report(t.Context()); err != nil || r.Told != 1 || r.Left != 0 || r.Refused != 1 || len(r.Differs) != 0 {
			t.Errorf("once more: %+v, %v", r, err)
		}
		for i := range many {
			told(t, client, fmt.Sprint("evt_", i))
		}
		told(t, client, "running")
		resp, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: namespace, Source: "stripe", EventId: "with payload"})
		if err != nil || len(resp.GetEvents()) != 1 || resp.GetEvents()[0].GetEvent().GetType() != "invoice.paid" {
			t.Errorf("%v, %v", resp, err)
		}
		other := &idemsvc.Event{Source: "stripe", EventId: "with payload", Body: &pb.Event_Payload{Payload: []byte("{ }")}}
		a, err := client.Claim(t.Context(), other)
		if err != nil || len(a.GetAnomalies()) != 1 || a.GetAnomalies()[0] != pb.Anomaly_ANOMALY_PAYLOAD_MISMATCH {
			t.Errorf("another payload: %v, %v", a, err)
		}
	})
}

// Results of any size fit into the calls that report them.
func TestLargeResultsAreReported(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	client := memoryService(t).Client(idemsvc.WithConsumer(consumer))
	box := drivers["pgx"](t, url)
	const n = 90 // 5.9 MB, above what one call takes
	for i := range n {
		if _, err := box.process(t.Context(), event(fmt.Sprint("evt_", i)), result(inbox.Result{Body: make([]byte, 65536)})); err != nil {
			t.Fatal(err)
		}
	}
	r, err := drivers["pgx"](t, url, inbox.Observe(client)).Report(t.Context())
	if err != nil || r.Told != n {
		t.Errorf("%+v, %v", r, err)
	}
	if left := count(t, pool, "SELECT count(*) FROM idemsvc_inbox WHERE report IS NOT NULL"); left != 0 {
		t.Errorf("%d are left", left)
	}
}

// The service goes away under load and comes back while consumers go on by the marker alone:
// nothing is refused for long, lost or done twice, and after the report the service knows all.
func TestTheServiceIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	s := newService(t)
	const senders, each = 8, 40
	client := s.client()
	box := drivers["pgx"](t, url, inbox.EnforceOrLocal(client, 300*time.Millisecond))
	var done, byMarker, repeated atomic.Int64
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for k := range each {
				id := fmt.Sprintf("evt_%d_%d", i, k)
				for again := true; again; {
					a, err := box.process(context.Background(), event(id), book(id), idemsvc.WithLease(2*time.Second))
					if again = !a.Acknowledge(); again {
						repeated.Add(1)
						time.Sleep(20 * time.Millisecond) // the provider comes again
						continue
					}
					if err != nil || string(a.Result) != "invoice of "+id {
						t.Errorf("%s: %+v, %v", id, a, err)
					}
					if a.Claimed == nil {
						byMarker.Add(1)
					}
				}
				done.Add(1)
			}
		})
	}
	until(t, "some events are done", func() bool { return done.Load() >= senders*each/4 })
	s.away()
	until(t, "some events are done by the marker alone", func() bool { return byMarker.Load() >= 20 })
	s.start()
	sending.Wait()

	owed := count(t, pool, "SELECT count(*) FROM idemsvc_inbox WHERE report IS NOT NULL")
	if int64(owed) < byMarker.Load() {
		t.Errorf("%d are to be reported, %d were done by the marker alone", owed, byMarker.Load())
	}
	toldNow := 0
	until(t, "all are reported", func() bool {
		r, err := box.Report(t.Context())
		toldNow += r.Told
		if err == nil && (len(r.Differs) > 0 || r.Refused > 0) {
			t.Fatalf("%+v", r)
		}
		s.endLeases() // of claims whose answer was lost with the server
		return err == nil && r.Left == 0
	})
	if toldNow != owed {
		t.Errorf("%d were reported of %d", toldNow, owed)
	}
	t.Logf("%d events, %d by the marker alone, %d tries repeated", done.Load(), byMarker.Load(), repeated.Load())
	if n := count(t, pool, "SELECT count(*) FROM invoice"); n != senders*each {
		t.Errorf("%d rows of %d events", n, senders*each)
	}
	for i := range senders {
		for k := range each {
			id := fmt.Sprintf("evt_%d_%d", i, k)
			booked(t, pool, id, 1)
			told(t, client, id)
		}
	}
}

// A completion that did not get through while the service went away is owed, not lost.
func TestACompletionThatDidNotGetThroughIsOwed(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	s := newService(t)
	client := s.client(idemsvc.WithEndTimeout(200 * time.Millisecond))
	box := drivers["pgx"](t, url, inbox.EnforceOrLocal(client, 30*time.Second))
	a, err := box.process(t.Context(), event("evt_1"), func(ctx context.Context, exec statements) (inbox.Result, error) {
		s.away()
		return book("evt_1")(ctx, exec)
	})
	acknowledged(t, "evt_1", true, a, err)
	s.start()
	s.endLeases()
	until(t, "it is reported", func() bool { r, err := box.Report(t.Context()); return err == nil && r.Told == 1 })
	booked(t, pool, "evt_1", 1)
	told(t, client, "evt_1")
}

// Observed by the service, what the marker says holds, and where they differ is counted.
func TestObservedTheMarkerDecides(t *testing.T) {
	t.Parallel()
	url, pool := consumerDB(t)
	s := memoryService(t)
	client := s.Client(idemsvc.WithConsumer(consumer))
	if a, err := drivers["pgx"](t, url).process(t.Context(), event("before"), book("before")); err != nil || !a.Handled {
		t.Fatal(a, err)
	}
	if _, err := client.Process(t.Context(), event("elsewhere"), func(context.Context, *idemsvc.Claim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	box := drivers["pgx"](t, url, inbox.Observe(client))
	a, err := box.process(t.Context(), event("before"), book("before"))
	acknowledged(t, "before", false, a, err)
	a, err = box.process(t.Context(), event("elsewhere"), book("elsewhere"))
	acknowledged(t, "elsewhere", true, a, err)
	if _, err := box.process(t.Context(), event("fails"), fails); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	booked(t, pool, "elsewhere", 1)
	seen := client.Observations()
	if seen.Unanswered == 0 && (seen.Missed != 1 || seen.Extra != 1 || seen.Agreed != 1) { // it has a second to answer
		t.Errorf("%+v", seen)
	}
	told(t, client, "before") // by the observation
}
