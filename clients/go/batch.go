package idemsvc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// BatchAnswer is the answer to one item of a batch: an answer or an error.
type BatchAnswer struct {
	*ClaimAnswer
	Err error // nil unless this item was refused
}

// ClaimAll asks for up to 1000 events of one consumer in one call, 4 MiB in all. Each item
// is granted or refused for itself: the answers are in the order of the items. Tell a
// sender of arrays that it is settled only if every item is; the rest are recognised as
// duplicates when it comes again. Use [Claim.Process] on what was granted, and begin soon:
// all leases run.
//
// The options apply to all items. Ordering belongs to the items, and a batch does not wait.
func (c *Client) ClaimAll(ctx context.Context, items []*ClaimItem, opts ...ClaimOption) ([]BatchAnswer, error) {
	shared := &pb.ClaimEventRequest{Namespace: c.cfg.namespace, Consumer: c.cfg.consumer, Claimant: NewClaimant()}
	for _, o := range opts {
		o(shared)
	}
	if shared.GetWait() != nil || shared.GetOrdering() != nil {
		return nil, &Error{Code: codes.InvalidArgument, Reason: ErrInvalidArgument, Message: "a batch does not wait, and ordering belongs to its items"}
	}
	req := &pb.ClaimEventsRequest{
		Namespace: shared.GetNamespace(), Consumer: shared.GetConsumer(), Claimant: shared.GetClaimant(), Delivery: shared.GetDelivery(),
		Lease: shared.GetLease(), StaleClaim: shared.GetStaleClaim(), WantPayload: shared.GetWantPayload(), AcceptReplay: shared.GetAcceptReplay(),
	}
	for _, item := range items {
		req.Items = append(req.Items, &pb.ClaimItem{
			Event: trailed(ctx, req.GetNamespace(), item.GetEvent()), Ordering: item.GetOrdering(), Delivery: item.GetDelivery(),
		})
	}
	asked := time.Now()
	resp, err := c.idem.ClaimEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(resp.GetResults()) != len(items) {
		return nil, fmt.Errorf("idemsvc: %d items were given %d answers", len(items), len(resp.GetResults()))
	}
	out := make([]BatchAnswer, len(items))
	for i, r := range resp.GetResults() {
		if r.GetResponse() == nil {
			out[i].Err = missing(r.GetError())
			continue
		}
		out[i].ClaimAnswer = c.claimed(r.GetResponse(), req.GetNamespace(), req.GetConsumer(), req.GetItems()[i].GetEvent(), asked)
	}
	return out, nil
}

// CompleteAll completes up to 1000 claims in one call, 4 MiB in all, each with what its
// [Claim.CompleteWith] was given and each for itself: the errors are in the order of the
// claims, nil for what was completed.
func (c *Client) CompleteAll(ctx context.Context, claims []*Claim) ([]error, error) {
	req := &pb.CompleteEventsRequest{}
	for _, claim := range claims {
		req.Items = append(req.Items, claim.completion(nil))
	}
	resp, err := c.idem.CompleteEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(resp.GetResults()) != len(claims) {
		return nil, fmt.Errorf("idemsvc: %d items were given %d answers", len(claims), len(resp.GetResults()))
	}
	out := make([]error, len(claims))
	for i, r := range resp.GetResults() {
		if r.GetResponse() == nil {
			out[i] = missing(r.GetError())
			continue
		}
		claims[i].ended.Store(claims[i].completed(req.GetItems()[i], r.GetResponse()))
	}
	return out, nil
}

// missing is why an item has no answer.
func missing(e *pb.ItemError) error {
	if e == nil {
		return &Error{Code: codes.Internal, Reason: ErrInternal, Message: "the item was given neither an answer nor an error"}
	}
	return itemError(e)
}
