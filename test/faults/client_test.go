//go:build linux

package faults_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// clientJob is what a client process is told.
type clientJob struct {
	campaignID
	ID      int
	Servers []string
	Ledger  string
	Workers int
	Began   int64 // of the campaign, in microseconds since 1970
}

// pace is how often a new event arrives, for all clients together.
const pace = 10 * time.Millisecond

// runClient is a client process: it works until it is killed.
func runClient(text string) error {
	job := &clientJob{}
	if err := json.Unmarshal([]byte(text), job); err != nil {
		return err
	}
	led, err := openLedger(job.Ledger)
	if err != nil {
		return err
	}
	c, err := newCaller(job.Servers)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range job.Workers {
		w := &worker{job: job, led: led, caller: c}
		wg.Go(w.work)
	}
	wg.Wait()
	return nil
}

// caller repeats calls with the same identity until they are answered, at one server or
// another, as clients do.
type caller struct {
	servers    []pb.IdempotencyServiceClient
	operations []pb.OperationsServiceClient
}

func newCaller(addrs []string) (*caller, error) {
	c := &caller{}
	for _, addr := range addrs {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry(),
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
		if err != nil {
			return nil, err
		}
		c.servers, c.operations = append(c.servers, pb.NewIdempotencyServiceClient(conn)), append(c.operations, pb.NewOperationsServiceClient(conn))
	}
	return c, nil
}

// final are the codes that a repeat does not change.
func final(code codes.Code) bool {
	switch code {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unauthenticated, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// ask makes a call until there is a final answer or the patience ends.
func ask[R any](c *caller, patience time.Duration, call func(context.Context, pb.IdempotencyServiceClient) (R, error)) (r R, err error) {
	return askOne(c.servers, patience, call)
}

func askOne[S, R any](servers []S, patience time.Duration, call func(context.Context, S) (R, error)) (r R, err error) {
	end := time.Now().Add(patience)
	for i := mrand.IntN(len(servers)); ; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		r, err = call(ctx, servers[i%len(servers)])
		cancel()
		if final(status.Code(err)) || time.Now().After(end) {
			return r, err
		}
		time.Sleep(mrand.N(30 * time.Millisecond))
	}
}

// worker is one of a client's threads.
type worker struct {
	job    *clientJob
	led    *ledger
	caller *caller
	mine   []int64 // events that this worker left unfinished, as far as it knows
}

func (w *worker) work() {
	for {
		w.one(w.pick())
	}
}

// pick chooses an event: one of the newest, for which all compete, an older one, or one
// that was left.
func (w *worker) pick() int64 {
	newest := (micros() - w.job.Began) / pace.Microseconds()
	switch n := mrand.IntN(10); {
	case n < 2 && len(w.mine) > 0:
		i := mrand.IntN(len(w.mine))
		e := w.mine[i]
		w.mine = append(w.mine[:i], w.mine[i+1:]...)
		return e
	case n < 4:
		return max(0, newest-mrand.Int64N(400))
	default:
		return max(0, newest-mrand.Int64N(25))
	}
}

func (w *worker) claimRequest(event int64) *pb.ClaimEventRequest {
	r := &pb.ClaimEventRequest{
		Namespace: namespace, Consumer: consumer, Claimant: rand.Text(), Lease: durationpb.New(lease),
		Event:    &pb.Event{Source: source, EventId: w.job.eventID(event), Type: "test"},
		Delivery: &pb.Delivery{Kind: pb.DeliveryKind_DELIVERY_KIND_PROVIDER_RETRY, RequestId: rand.Text()},
	}
	switch kindOf(event) {
	case held:
		r.StaleClaim = pb.StaleClaim_STALE_CLAIM_HOLD
	case ordered:
		r.Event.Resource = &pb.Resource{Type: "thing", Id: w.job.resource(event)}
		r.Ordering = &pb.Ordering{Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, Version: &pb.Version{Value: &pb.Version_Sequence{Sequence: event}}}
	default:
	}
	return r
}

// one claims an event and, where it is given, works on it.
func (w *worker) one(event int64) {
	req, asked := w.claimRequest(event), micros()
	resp, err := ask(w.caller, 6*time.Second, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.ClaimEventResponse, error) {
		return s.ClaimEvent(ctx, req)
	})
	if err != nil {
		return
	}
	claim := resp.GetClaim()
	if claim == nil {
		if resp.GetOutcome() == pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED {
			w.led.write(line{Op: opDuplicate, Event: event, Asked: asked, Result: string(resp.GetExisting().GetResult())})
		}
		time.Sleep(mrand.N(5 * time.Millisecond))
		return
	}
	run := &run{worker: w, event: event, claim: claim}
	run.note(opClaim, line{Attempt: claim.GetAttempt(), Expires: claim.GetLeaseExpiresAt().AsTime().UnixMicro(), Asked: asked})
	run.note(opRun, line{})
	run.do()
}

// run is the work on one claim.
type run struct {
	*worker
	event int64
	claim *pb.Claim
}

func (r *run) note(op string, x line) {
	x.Op, x.Event, x.Fence = op, r.event, r.claim.GetFence()
	r.led.write(x)
}

func (r *run) do() {
	time.Sleep(mrand.N(10 * time.Millisecond))
	if k := kindOf(r.event); (k == effectHold || k == effectRetry) && !r.charge(k) {
		r.mine = append(r.mine, r.event)
		return
	}
	switch n := mrand.IntN(100); {
	case n < 5: // vanishes
		r.mine = append(r.mine, r.event)
		return
	case n < 8: // is starved beyond its lease
		time.Sleep(lease + 300*time.Millisecond)
	case n < 13:
		r.extend()
	case n < 20 && kindOf(r.event) != held:
		r.fail()
		return
	case n < 24 && kindOf(r.event) != held:
		r.release()
		return
	}
	r.complete()
}

func (r *run) extend() {
	req := &pb.ExtendClaimRequest{Token: r.claim.GetToken(), Lease: durationpb.New(lease)}
	resp, err := ask(r.caller, 4*time.Second, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.ExtendClaimResponse, error) {
		return s.ExtendClaim(ctx, req)
	})
	if err == nil {
		r.note(opExtend, line{Expires: resp.GetLeaseExpiresAt().AsTime().UnixMicro()})
	}
}

func (r *run) complete() {
	result := fmt.Sprintf("%s by fence %d", r.job.eventID(r.event), r.claim.GetFence())
	req := &pb.CompleteEventRequest{Token: r.claim.GetToken(), Result: []byte(result), ContentType: "text/plain"}
	r.note(opEnding, line{})
	asked := micros()
	_, err := ask(r.caller, 8*time.Second, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.CompleteEventResponse, error) {
		return s.CompleteEvent(ctx, req)
	})
	if err == nil {
		r.note(opComplete, line{Result: result, Asked: asked})
		return
	}
	r.note(opOther, line{Note: "complete: " + status.Code(err).String()})
	r.mine = append(r.mine, r.event)
}

func (r *run) fail() {
	req := &pb.FailEventRequest{Token: r.claim.GetToken(), Error: &pb.ProcessingError{Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE, Code: "TEST", Message: "on purpose"}}
	r.note(opEnding, line{})
	_, err := ask(r.caller, 8*time.Second, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.FailEventResponse, error) {
		return s.FailEvent(ctx, req)
	})
	r.note(opOther, line{Note: "fail: " + status.Code(err).String()})
	r.mine = append(r.mine, r.event)
}

func (r *run) release() {
	req := &pb.ReleaseClaimRequest{Token: r.claim.GetToken(), Reason: "test"}
	r.note(opEnding, line{})
	_, err := ask(r.caller, 8*time.Second, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.ReleaseClaimResponse, error) {
		return s.ReleaseClaim(ctx, req)
	})
	r.note(opOther, line{Note: "release: " + status.Code(err).String()})
	r.mine = append(r.mine, r.event)
}

// charge performs the event's operation, if it is to be performed. It is false when the
// work cannot go on.
func (r *run) charge(k kind) bool {
	begin := &pb.EffectBegin{
		Scope: pb.EffectScope_EFFECT_SCOPE_NAMESPACE, Key: r.job.effect(r.event).Key, BeginId: rand.Text(), RequestHash: []byte("same"),
		Lease: durationpb.New(time.Second), OnUnknown: pb.OnUnknown_ON_UNKNOWN_HOLD,
	}
	if k == effectRetry {
		begin.OnUnknown = pb.OnUnknown_ON_UNKNOWN_RETRY
	}
	req := &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: r.claim.GetToken()}, Phase: &pb.RecordSideEffectRequest_Begin{Begin: begin},
	}
	send := func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.RecordSideEffectResponse, error) {
		return s.RecordSideEffect(ctx, req)
	}
	asked := micros()
	resp, err := ask(r.caller, 4*time.Second, send)
	switch {
	case err != nil:
		return false
	case resp.GetOutcome() == pb.EffectOutcome_EFFECT_OUTCOME_ALREADY_DONE:
		r.note(opKnown, line{Result: string(resp.GetResult()), Asked: asked})
		return true
	case resp.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_PERFORM:
		return false
	}
	r.note(opPerform, line{Attempt: resp.GetAttempt(), Asked: asked})
	time.Sleep(mrand.N(5 * time.Millisecond))
	if mrand.IntN(20) == 0 { // vanishes without a word
		return false
	}
	result := fmt.Sprintf("charged under fence %d, try %d", r.claim.GetFence(), resp.GetAttempt())
	req = &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{
		Done: &pb.EffectDone{EffectToken: resp.GetEffectToken(), Result: []byte(result), ContentType: "text/plain"},
	}}
	resp, err = ask(r.caller, 8*time.Second, send)
	if err != nil {
		return false
	}
	if resp.GetOutcome() == pb.EffectOutcome_EFFECT_OUTCOME_DONE {
		r.note(opDone, line{Result: result})
	}
	return true
}
