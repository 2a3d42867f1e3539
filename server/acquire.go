package server

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// acquireBytes is what the events of one reply may have.
const acquireBytes = replyBytes - 64<<10

// AcquireEvents implements the contract's method.
func (s *idempotency) AcquireEvents(ctx context.Context, req *pb.AcquireEventsRequest) (*pb.AcquireEventsResponse, error) {
	return s.acquireUntil(ctx, ctx, req)
}

// acquireUntil waits for events no longer than the second context lives.
func (s *idempotency) acquireUntil(ctx, waits context.Context, req *pb.AcquireEventsRequest) (*pb.AcquireEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys, err := s.tokens.load(ctx) // first: a grant that cannot be told helps nobody
	if err != nil {
		return nil, err
	}
	started := time.Now()
	got, err := s.acquire(ctx, waits, req)
	if err != nil {
		return nil, err
	}
	return s.acquired(ctx, req, keys, got, started)
}

// acquire waits for events until the server stops: then the caller goes on elsewhere.
func (s *idempotency) acquire(ctx, waits context.Context, req *pb.AcquireEventsRequest) ([]storage.Acquired, error) {
	wctx, cancel := s.drain.during(ctx)
	defer cancel()
	defer context.AfterFunc(waits, cancel)()
	got, err := s.store.Acquire(wctx, storage.AcquireQuery{
		Group:    storage.Group{Namespace: req.GetNamespace(), Consumer: req.GetConsumer()},
		Claimant: req.GetClaimant(), Holder: identityOf(ctx).Name(), Lease: req.GetLease().AsDuration(),
		Max: int(req.GetMaxEvents()), Bytes: acquireBytes, Wait: boundedWait(ctx, req.GetWait().AsDuration()), Nonce: s.nonces.next,
	})
	if err != nil && wctx.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return got, err
}

// acquired is the reply. A grant whose caller has gone meanwhile is given back.
func (s *idempotency) acquired(
	ctx context.Context, req *pb.AcquireEventsRequest, keys *tokenKeys, got []storage.Acquired, started time.Time,
) (*pb.AcquireEventsResponse, error) {
	resp := &pb.AcquireEventsResponse{}
	refs := make([]idem.EventRef, 0, len(got))
	for _, g := range got {
		a, err := decided[*idem.ClaimAnswer](ctx, s.core, g.Claim, g.Result, started)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil && a.Granted {
			s.undelivered(ctx, a.Event)
		}
		resp.Events = append(resp.Events, fromAcquired(a, keys))
		refs = append(refs, a.Event.Key.EventRef)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !req.GetWantPayload() || len(refs) == 0 {
		return resp, nil
	}
	claims := make([]*pb.Claim, len(refs))
	for i, e := range resp.GetEvents() {
		claims[i] = e.GetClaim()
	}
	err := s.addPayloads(ctx, claims, refs)
	fitPayloads(resp)
	return resp, err
}

// fitPayloads leaves out what the reply has no room for: events whose payload came with
// another consumer's receipt are not known to have one.
func fitPayloads(resp *pb.AcquireEventsResponse) {
	room := replyBytes - proto.Size(resp)
	for _, e := range slices.Backward(resp.GetEvents()) {
		if room >= 0 {
			return
		}
		room += len(e.GetClaim().GetPayload())
		e.Claim.Payload, e.Claim.PayloadOmitted = nil, true
	}
}

// addPayloads loads what claims are for, all in one question. When that fails the claims
// stand, and the claimant's repeat gets both.
func (s *idempotency) addPayloads(ctx context.Context, claims []*pb.Claim, refs []idem.EventRef) error {
	payloads, err := s.store.Payloads(ctx, refs)
	for i, c := range claims {
		payload, ok := payloads[refs[i]]
		c.Payload, c.PayloadGone = payload, !ok
	}
	return err
}

func fromAcquired(a *idem.ClaimAnswer, keys *tokenKeys) *pb.AcquiredEvent {
	e := a.Event
	f := &e.Facts
	out := &pb.AcquiredEvent{
		Event: fromFacts(e.Key, f), Claim: fromClaim(a, keys), Ordering: fromOrdering(e.Ordering),
		Delivery:           toDelivery(f.RequestID, f.Kind, f.Attempt, f.Signature, f.ReceivedAt, f.Headers),
		FirstDeliveryTrace: f.TraceParent, CauseTrace: f.CauseTrace,
	}
	for _, x := range a.Anomalies {
		out.Anomalies = append(out.Anomalies, pb.Anomaly(x))
	}
	return out
}

func fromOrdering(o *idem.Ordering) *pb.Ordering {
	if o == nil {
		return nil
	}
	out := &pb.Ordering{Version: fromVersion(&o.Version), Mode: pb.OrderingMode(o.Mode)}
	if t := o.Transition; t != nil {
		out.Transition = &pb.Transition{Machine: t.Machine, ToState: t.To}
	}
	return out
}
