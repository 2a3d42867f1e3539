//go:build linux

package faults_test

import (
	"context"
	"crypto/rand"
	mrand "math/rand/v2"
	"time"

	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

const inboxWhy = "the campaign's operator"

// operator has events run again and decides what is held, beside the faults.
type operator struct {
	inboxPlan
	caller *caller
	judge  *inboxJudge
	rng    *mrand.Rand
	acts   map[string]int
	bad    []string
}

// act makes a call until it is answered, and one in three times once more: that must be
// known, and change nothing.
func act[R any](o *operator, name string, call func(context.Context, pb.OperationsServiceClient) (R, error), known func(R) bool) {
	if _, err := askOne(o.caller.operations, 20*time.Second, call); err != nil {
		o.acts[name+": "+status.Code(err).String()]++
		return
	}
	o.acts[name]++
	if o.rng.IntN(3) > 0 {
		return
	}
	switch r, err := askOne(o.caller.operations, 20*time.Second, call); {
	case err != nil:
		o.bad = append(o.bad, name+": the same request was refused: "+err.Error())
	case !known(r):
		o.bad = append(o.bad, name+": the same request was carried out twice")
	}
}

// decide acts on an event that workers do not get by themselves. all is set when no
// worker from before lives any more: then what was not performed will not be.
func (o *operator) decide(event int64, state idem.State, all bool) {
	switch {
	case state == idem.Held && o.sort(event) == performOnce:
		if done := o.judge.performed(event); done || all {
			o.settle(event, done)
			o.resolve(event, false)
		}
	case state == idem.Held:
		o.resolve(event, o.rng.IntN(3) == 0)
	case state == idem.Processed, o.rng.IntN(2) == 0 && o.sort(event) != latestWins:
		o.replay(event, state == idem.Processed)
	default: // a replay of what is out of date would leave it as it is
		o.resolve(event, false)
	}
}

// resolve has the event run again, or says that it was processed.
func (o *operator) resolve(event int64, processed bool) {
	req := &pb.ResolveEventRequest{
		Namespace: namespace, Consumer: inboxConsumer, Event: o.ref(event), RequestId: rand.Text(), Why: inboxWhy,
		Decision: &pb.ResolveEventRequest_Retry{Retry: &pb.ResolveAsRetry{}},
	}
	name := "resolved: retry"
	if processed {
		name, req.Decision = "resolved: processed", &pb.ResolveEventRequest_Processed{Processed: &pb.ResolveAsProcessed{Result: []byte(inboxWhy)}}
		o.judge.willBeClosed(event)
	} else {
		o.judge.willBeGiven(event)
	}
	act(o, name, func(ctx context.Context, s pb.OperationsServiceClient) (*pb.ResolveEventResponse, error) {
		return s.ResolveEvent(ctx, req)
	},
		(*pb.ResolveEventResponse).GetAlreadyResolved)
}

func (o *operator) replay(event int64, processed bool) {
	req := &pb.ReplayEventsRequest{
		Namespace: namespace, RequestId: rand.Text(), Why: inboxWhy, IncludeProcessed: processed,
		Selection: &pb.ReplayEventsRequest_Events{Events: &pb.ReplaySelection{Targets: []*pb.ReplayTarget{{Consumer: inboxConsumer, Event: o.ref(event)}}}},
	}
	name := "replayed"
	if processed {
		name = "replayed, though processed"
	}
	o.judge.willBeGiven(event)
	act(o, name, func(ctx context.Context, s pb.OperationsServiceClient) (*pb.ReplayEventsResponse, error) {
		return s.ReplayEvents(ctx, req)
	},
		func(r *pb.ReplayEventsResponse) bool { return r.GetStarted() == 0 })
}

// settle says whether the event's operation took place.
func (o *operator) settle(event int64, done bool) {
	req := &pb.ResolveSideEffectRequest{
		Namespace: namespace, Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Consumer: inboxConsumer, Event: o.ref(event), Key: o.effectKey(event),
		RequestId: rand.Text(), Why: inboxWhy, Decision: &pb.ResolveSideEffectRequest_NotDone{NotDone: &pb.ResolveEffectNotDone{}},
	}
	name := "side effect: not done"
	if done {
		name, req.Decision = "side effect: done", &pb.ResolveSideEffectRequest_Done{Done: &pb.ResolveEffectDone{Result: []byte(inboxWhy)}}
	}
	act(o, name, func(ctx context.Context, s pb.OperationsServiceClient) (*pb.ResolveSideEffectResponse, error) {
		return s.ResolveSideEffect(ctx, req)
	}, (*pb.ResolveSideEffectResponse).GetAlreadyResolved)
}
