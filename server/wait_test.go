package server

import (
	"context"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// A waiting duplicate is answered with the result, over all roads that can wait.
func TestADuplicateWaitsForTheResult(t *testing.T) {
	t.Parallel()
	f := start(t)
	claim := f.claimed(t, "evt")
	waiting := func() *pb.ClaimEventRequest {
		req := claimOf("evt")
		req.Wait = durationpb.New(time.Minute)
		return req
	}
	answers := make(chan *pb.ClaimEventResponse, 2)
	go func() {
		r, err := f.client(t, "consumer").ClaimEvent(t.Context(), waiting())
		if err != nil {
			t.Error(err)
		}
		answers <- r
	}()
	go func() { answers <- f.session(t.Context(), t, "consumer", framed(waiting())).GetClaimEvent() }()
	for f.store.Stats().Waiting < 2 {
		runtime.Gosched()
	}
	if _, err := f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken(), Result: []byte("ok")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := <-answers; string(r.GetExisting().GetResult()) != "ok" {
			t.Errorf("%v", r)
		}
	}
}

// A wait that is longer than the caller's deadline ends with an answer, not with an
// error.
func TestAWaitLeavesTimeForItsAnswer(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.claimed(t, "evt")
	req := framed(claimOf("evt"))
	req.GetClaimEvent().Wait = durationpb.New(time.Minute)
	req.Timeout = durationpb.New(2 * time.Second)
	if r := f.session(t.Context(), t, "consumer", req); r.GetClaimEvent().GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS {
		t.Errorf("%v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for wait, most := range map[time.Duration]time.Duration{time.Minute: 750 * time.Millisecond, time.Millisecond: time.Millisecond, 0: 0} {
		if got := boundedWait(ctx, wait); got > most {
			t.Errorf("%s: %s", wait, got)
		}
	}
}
