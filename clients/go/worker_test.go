package idemsvc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// working is a worker that runs until the test ends it.
type working struct {
	stop context.CancelFunc
	done chan error
}

func work(w *idemsvc.Worker) *working {
	ctx, cancel := context.WithCancel(context.Background())
	x := &working{cancel, make(chan error, 1)}
	go func() { x.done <- w.Run(ctx) }()
	return x
}

func (x *working) end(t *testing.T) {
	t.Helper()
	x.stop()
	select {
	case err := <-x.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the worker does not end")
	}
}

func received(t *testing.T, c *idemsvc.Client, id string, opts ...idemsvc.ReceiveOption) {
	t.Helper()
	e := event(id)
	e.Body = &pb.Event_Payload{Payload: []byte("body of " + id)}
	a, err := c.Receive(t.Context(), e, opts...)
	if err != nil || !a.Acknowledge() {
		t.Fatalf("%v %v", a, err)
	}
}

// book remembers what handlers did.
type book struct {
	mu   sync.Mutex
	seen map[string]int
}

func (b *book) note(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]int{}
	}
	b.seen[id]++
	return b.seen[id]
}

func (b *book) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

func TestWorkersShareTheWork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"calls", "session"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := memory.New(memory.Options{})
			one, two := replicaOf(t, backend), replicaOf(t, backend) // two replicas
			var opts []idemsvc.Option
			if name == "session" {
				opts = append(opts, idemsvc.WithSession())
			}
			var seen book
			var running, most int
			handle := func(_ context.Context, claim *idemsvc.Claim) error {
				seen.mu.Lock()
				running++
				most = max(most, running)
				seen.mu.Unlock()
				defer func() { seen.mu.Lock(); running--; seen.mu.Unlock() }()
				id := claim.Event().GetEventId()
				if string(claim.GetPayload()) != "body of "+id || claim.Delivery().GetRequestId() == "" {
					t.Errorf("%s came with %q, %v", id, claim.GetPayload(), claim.Delivery())
				}
				if n := seen.note(id); n > 1 {
					t.Errorf("%s was worked on %d times", id, n)
				}
				return nil
			}
			a := work(dial(t, one.addr, opts...).Worker(handle, idemsvc.WorkerConcurrency(4)))
			b := work(dial(t, two.addr, opts...).Worker(handle, idemsvc.WorkerConcurrency(4)))
			client := dial(t, one.addr)
			const n = 60
			for i := range n {
				received(t, client, fmt.Sprint("evt_", i))
			}
			until(t, "all are worked on", func() bool { return seen.len() == n })
			a.end(t)
			b.end(t)
			if most > 8 {
				t.Errorf("%d handlers at the same time", most)
			}
			answer, err := client.Claim(t.Context(), event("evt_0"))
			if err != nil || answer.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED {
				t.Errorf("%v %v", answer, err)
			}
		})
	}
}

// What a handler returns ends the event as it does under Process, and what failed comes
// again when it is due.
func TestAWorkersErrorsMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	s := idemtest.New(t, idemtest.WithPolicy(func(p *idem.Policy) { p.Backoff = idem.Backoff{Base: time.Hour, Factor: 1, Cap: time.Hour} }))
	client := s.Client(idemsvc.WithConsumer("billing"))
	type end struct {
		id    string
		state idemsvc.EventState
		err   error
	}
	ends := make(chan end, 16)
	worker := work(client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
		switch claim.Event().GetEventId() {
		case "rejected":
			return idemsvc.Reject(errors.New("never"))
		case "soon":
			if claim.GetAttempt() == 1 {
				return idemsvc.RetryAfter(0, errors.New("once more"))
			}
			if claim.GetPreviousError().GetMessage() != "once more" {
				t.Errorf("the error before: %v", claim.GetPreviousError())
			}
		case "later":
			if claim.GetAttempt() == 1 {
				return errors.New("backs off")
			}
		}
		return nil
	}, idemsvc.WorkerAnswered(func(c *idemsvc.Claim, a *idemsvc.Answer, err error) {
		ends <- end{c.Event().GetEventId(), a.State, err}
	})))
	defer worker.end(t)
	want := func(id string, state idemsvc.EventState, failed bool) {
		t.Helper()
		select {
		case e := <-ends:
			if e.id != id || e.state != state || (e.err != nil) != failed {
				t.Errorf("%+v, want %s %v", e, id, state)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is not worked on", id)
		}
	}
	received(t, client, "rejected")
	want("rejected", pb.EventState_EVENT_STATE_FAILED_TERMINAL, true)
	received(t, client, "soon")
	first, second := <-ends, <-ends // the retry may be over before its first attempt is told of
	if first.state == pb.EventState_EVENT_STATE_PROCESSED {
		first, second = second, first
	}
	if first.id != "soon" || first.state != pb.EventState_EVENT_STATE_FAILED_RETRYABLE || first.err == nil {
		t.Errorf("the first attempt: %+v", first)
	}
	if second.id != "soon" || second.state != pb.EventState_EVENT_STATE_PROCESSED || second.err != nil {
		t.Errorf("the second attempt: %+v", second)
	}
	received(t, client, "later")
	want("later", pb.EventState_EVENT_STATE_FAILED_RETRYABLE, true)
	s.Advance(2 * time.Hour)
	want("later", pb.EventState_EVENT_STATE_PROCESSED, false)
}

func TestAWorkerDrains(t *testing.T) {
	t.Parallel()
	r := replicaOf(t, memory.New(memory.Options{}))
	client := dial(t, r.addr)
	received(t, client, "patient")
	received(t, client, "stubborn")
	begun := make(chan struct{}, 2)
	finish := make(chan struct{})
	w := work(client.Worker(func(ctx context.Context, claim *idemsvc.Claim) error {
		begun <- struct{}{}
		if claim.Event().GetEventId() == "patient" {
			<-finish
			return nil
		}
		<-ctx.Done() // when its time is over
		return ctx.Err()
	}, idemsvc.WorkerDrain(200*time.Millisecond)))
	<-begun
	<-begun
	w.stop()
	received(t, client, "late")
	close(finish)
	w.end(t)
	for id, want := range map[string]idemsvc.ClaimOutcome{
		"patient": pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED, "stubborn": pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED, "late": pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED,
	} {
		a, err := client.Claim(t.Context(), event(id))
		if err != nil || a.GetOutcome() != want {
			t.Errorf("%s: %v %v", id, a, err)
		}
		if a.Claim != nil && a.Claim.GetRoundAttempt() != 1 {
			t.Errorf("%s: the attempt before counted", id)
		}
	}
}

// A claim is kept alive while its handler runs, however short its lease.
func TestAWorkersClaimsAreKeptAlive(t *testing.T) {
	t.Parallel()
	r := replicaOf(t, memory.New(memory.Options{}))
	client := dial(t, r.addr)
	received(t, client, "slow")
	ends := make(chan error, 2)
	w := work(client.Worker(func(ctx context.Context, claim *idemsvc.Claim) error {
		if claim.GetAttempt() > 1 {
			t.Error("it was given on")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2500 * time.Millisecond):
			return nil
		}
	}, idemsvc.WorkerLease(time.Second), idemsvc.WorkerAnswered(func(_ *idemsvc.Claim, _ *idemsvc.Answer, err error) { ends <- err })))
	defer w.end(t)
	if err := <-ends; err != nil {
		t.Error(err)
	}
}

func TestAWorkerEndsWhereTryingAgainCannotHelp(t *testing.T) {
	t.Parallel()
	change, _ := withToken(t, auth.Consumer, "dev")
	r := replicaOf(t, memory.New(memory.Options{}), change)
	w := dial(t, r.addr, idemsvc.WithToken("unknown")).Worker(func(context.Context, *idemsvc.Claim) error { return nil })
	if err := w.Run(t.Context()); !errors.Is(err, idemsvc.ErrUnauthenticated) {
		t.Error(err)
	}
}

func TestAWorkerOutlivesItsReplica(t *testing.T) {
	t.Parallel()
	backend := memory.New(memory.Options{})
	lis := listen(t)
	first, err := serve(lis, backend)
	if err != nil {
		t.Fatal(err)
	}
	second := replicaOf(t, backend)
	var seen book
	log := &bytes.Buffer{}
	w := work(dial(t, first.addr, idemsvc.WithMaxRepeats(0), idemsvc.WithLogger(slog.New(slog.NewTextHandler(log, nil)))).Worker(
		func(_ context.Context, claim *idemsvc.Claim) error {
			seen.note(claim.Event().GetEventId())
			return nil
		}))
	until(t, "it waits", func() bool { return first.store.Stats().Acquiring > 0 })
	first.stop(context.Background())
	received(t, dial(t, second.addr), "evt_1")
	again, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", first.addr)
	if err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, again, backend)
	until(t, "it is worked on", func() bool { return seen.len() == 1 })
	w.end(t)
	for _, want := range []string{"could not be acquired", "events worked on", "acquired=1 completed=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell %q:\n%s", want, log)
		}
	}
}
