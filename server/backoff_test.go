package server

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// backingOff is a server with a schedule for retries, and a clock that stands still.
func backingOff(t *testing.T, base, longest time.Duration) *fixture {
	t.Helper()
	clock := memory.NewClock(idem.InstantOf(time.Now()))
	f := start(t, func(c *Config) {
		c.Store = storage.New(memory.New(memory.Options{Clock: clock.Now}), storage.Options{})
		t.Cleanup(func() { _ = c.Store.Close(t.Context()) })
	})
	f.clock = clock
	req := applyOf(&pb.Policy{
		BackoffBase: durationpb.New(base), BackoffCap: durationpb.New(longest), MaxAttempts: proto.Int32(1000), RedeliveryMinInterval: durationpb.New(0),
	})
	if _, err := f.ops(t, "admin").ApplyPolicies(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return f
}

// retryIn fails a claim, and is how long it is until the next attempt is due.
func (f *fixture) retryIn(t *testing.T, token []byte, now time.Time) time.Duration {
	t.Helper()
	r, err := f.client(t, "consumer").FailEvent(t.Context(), &pb.FailEventRequest{
		Token: token, Error: &pb.ProcessingError{Code: "c", Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE},
	})
	if err != nil {
		t.Error(err)
		return 0
	}
	return r.GetNextAttemptAt().AsTime().Sub(now)
}

// O-25: ten thousand events that fail in one instant are due again over the whole pause, by
// the numbers that the server draws, and workers get them when they are.
func TestO25_ManyFailuresSpread(t *testing.T) {
	t.Parallel()
	const n, base = 10_000, 100 * time.Second
	f := backingOff(t, base, time.Hour)
	now := f.clock.Now().Time()
	var tokens [][]byte
	for i := 0; i < n; i += 100 {
		req := &pb.ClaimEventsRequest{Namespace: shop, Consumer: "billing", Claimant: fmt.Sprint("batch-", i)}
		for k := range 100 {
			req.Items = append(req.Items, &pb.ClaimItem{Event: &pb.Event{Source: "stripe", EventId: fmt.Sprint("e", i+k)}})
		}
		resp, err := f.client(t, "consumer").ClaimEvents(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resp.GetResults() {
			tokens = append(tokens, r.GetResponse().GetClaim().GetToken())
		}
	}
	var mu sync.Mutex
	seconds := map[time.Duration]int{}
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < len(tokens); i += 32 {
				d := f.retryIn(t, tokens[i], now)
				if d <= 0 || d > base {
					t.Errorf("due in %v, want above 0 and at most %v", d, base)
				}
				mu.Lock()
				seconds[(d-1)/time.Second]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	const mean = n * int(time.Second) / int(base)
	for s := range base / time.Second {
		if k := seconds[s]; k > 2*mean || k < mean/3 {
			t.Errorf("%d of %d are due in second %d, the mean is %d", k, n, s, mean)
		}
	}
	f.clock.Advance(base)
	for i := range 10 { // all are due, and each call is answered with as many as there is room for
		resp, err := f.client(t, "consumer").AcquireEvents(t.Context(), &pb.AcquireEventsRequest{Namespace: shop, Consumer: "billing", Claimant: fmt.Sprint("worker-when-all-are-due-", i), MaxEvents: 100})
		if err != nil || len(resp.GetEvents()) < 50 {
			t.Errorf("when all are due a worker gets %d, %v", len(resp.GetEvents()), err)
		}
	}
	f.claimed(t, "another")
}

// O-25: pauses are above nothing and at most the cap, however many attempts there were.
func TestO25_NoAttemptOverflowsTheBackoff(t *testing.T) {
	t.Parallel()
	const base, longest = 30 * time.Millisecond, time.Second
	f := backingOff(t, base, longest)
	pauses := map[time.Duration]bool{}
	const attempts = 100
	for attempt := 1; attempt <= attempts; attempt++ {
		c := f.claimed(t, "e")
		if int(c.GetAttempt()) != attempt {
			t.Fatalf("attempt %d, want %d", c.GetAttempt(), attempt)
		}
		ceiling := longest
		if attempt < 6 {
			ceiling = base << (attempt - 1)
		}
		d := f.retryIn(t, c.GetToken(), f.clock.Now().Time())
		if d <= 0 || d > ceiling {
			t.Errorf("after attempt %d: due in %v, want above 0 and at most %v", attempt, d, ceiling)
		}
		pauses[d] = true
		f.clock.Advance(longest)
	}
	if len(pauses) < attempts*9/10 {
		t.Errorf("%d attempts were given %d different pauses", attempts, len(pauses))
	}
}

// O-25: a schedule that could give no pause is refused, with the setting's name.
func TestO25_BadSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	f := ownPolicies(t)
	for name, c := range map[string]struct {
		policy *pb.Policy
		field  string
	}{
		"no base":        {&pb.Policy{BackoffBase: durationpb.New(0)}, "policies[0].backoff_base"},
		"negative base":  {&pb.Policy{BackoffBase: durationpb.New(-time.Second)}, "policies[0].backoff_base"},
		"no cap":         {&pb.Policy{BackoffCap: durationpb.New(0)}, "policies[0].backoff_cap"},
		"too long a cap": {&pb.Policy{BackoffCap: durationpb.New(31 * 24 * time.Hour)}, "policies[0].backoff_cap"},
		"cap below base": {&pb.Policy{BackoffBase: durationpb.New(time.Minute), BackoffCap: durationpb.New(time.Second)}, "policies[0].backoff_base"},
		"factor below 1": {&pb.Policy{BackoffFactor: new(0.5)}, "policies[0].backoff_factor"},
	} {
		_, err := f.ops(t, "admin").ApplyPolicies(t.Context(), applyOf(c.policy))
		if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", c.field}) {
			t.Errorf("%s: %v: %v", name, got, err)
		}
	}
	if p, err := f.ops(t, "reader").GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop}); err != nil || p.GetVersion().GetVersion() != 0 {
		t.Errorf("refused, and there is version %d: %v", p.GetVersion().GetVersion(), err)
	}
}
