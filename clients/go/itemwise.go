package idemsvc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// itemwise repeats the items of a batch that were turned away, as whole calls are.
type itemwise struct {
	pb.IdempotencyServiceClient
	cfg *config
}

// ClaimEvents implements the contract's method.
func (i itemwise) ClaimEvents(ctx context.Context, req *pb.ClaimEventsRequest, opts ...grpc.CallOption) (*pb.ClaimEventsResponse, error) {
	return i.cfg.claimItems(ctx, req, func(ctx context.Context) (*pb.ClaimEventsResponse, error) {
		return i.IdempotencyServiceClient.ClaimEvents(ctx, req, opts...)
	})
}

// CompleteEvents implements the contract's method.
func (i itemwise) CompleteEvents(ctx context.Context, req *pb.CompleteEventsRequest, opts ...grpc.CallOption) (*pb.CompleteEventsResponse, error) {
	return i.cfg.completeItems(ctx, req, func(ctx context.Context, some *pb.CompleteEventsRequest) (*pb.CompleteEventsResponse, error) {
		return i.IdempotencyServiceClient.CompleteEvents(ctx, some, opts...)
	})
}

// claimItems sends a batch of claims until every item has its answer. An item's identity
// is its place in the batch, so the whole batch is sent again; of an item that was
// answered the first answer counts.
func (c *config) claimItems(
	ctx context.Context, req *pb.ClaimEventsRequest, send func(context.Context) (*pb.ClaimEventsResponse, error),
) (*pb.ClaimEventsResponse, error) {
	ctx, cancel := c.bounded(ctx, req)
	defer cancel()
	out, err := send(ctx)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		wait, last := repeatableItem(out.GetResults())
		if last == nil || !c.again(ctx, n, wait, last) {
			return out, nil
		}
		more, err := send(ctx)
		if err != nil {
			return out, nil // the items say what became of them
		}
		for at, r := range more.GetResults() {
			if at < len(out.GetResults()) && out.GetResults()[at].GetError() != nil {
				out.Results[at] = r
			}
		}
	}
}

// completeItems sends a batch of completions until every item has its answer. An item's
// identity is its token, so only what was turned away is sent again.
func (c *config) completeItems(
	ctx context.Context, req *pb.CompleteEventsRequest, send func(context.Context, *pb.CompleteEventsRequest) (*pb.CompleteEventsResponse, error),
) (*pb.CompleteEventsResponse, error) {
	ctx, cancel := c.bounded(ctx, req)
	defer cancel()
	out, err := send(ctx, req)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		wait, last := repeatableItem(out.GetResults())
		if last == nil || !c.again(ctx, n, wait, last) {
			return out, nil
		}
		some, places := turnedAway(req, out)
		more, err := send(ctx, some)
		if err != nil {
			return out, nil // the items say what became of them
		}
		for k, r := range more.GetResults() {
			if k < len(places) {
				out.Results[places[k]] = r
			}
		}
	}
}

// turnedAway are the completions that can be repeated, and their places in the batch.
func turnedAway(req *pb.CompleteEventsRequest, out *pb.CompleteEventsResponse) (some *pb.CompleteEventsRequest, places []int) {
	some = &pb.CompleteEventsRequest{}
	for at, r := range out.GetResults() {
		if _, ok := Repeatable(ItemErr(r.GetError())); ok && at < len(req.GetItems()) {
			some.Items = append(some.Items, req.GetItems()[at])
			places = append(places, at)
		}
	}
	return some, places
}

// repeatableItem is the longest wait that a repeatable item asks for, and its error; nil
// if there is none.
func repeatableItem[R interface{ GetError() *pb.ItemError }](results []R) (wait time.Duration, last error) {
	for r := range slices.Values(results) {
		err := ItemErr(r.GetError())
		if w, ok := Repeatable(err); ok && (last == nil || w > wait) {
			wait, last = w, err
		}
	}
	return wait, last
}
