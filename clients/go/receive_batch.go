package idemsvc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// BatchReceipt is the answer to one item of a batch of receipts: an answer or an error.
type BatchReceipt struct {
	*ReceiveAnswer
	Err error // nil unless this item was refused for all its consumers
}

// Advice is what to tell the provider about the item: [Acknowledge] if it is settled for
// every consumer, else [RepeatLater].
func (r BatchReceipt) Advice() Advice {
	if r.Err != nil || r.ReceiveAnswer == nil {
		return RepeatLater
	}
	return r.ReceiveAnswer.Advice()
}

// Acknowledge reports whether the item is settled.
func (r BatchReceipt) Acknowledge() bool { return r.Advice() == Acknowledge }

// ReceiveAll keeps up to 1000 events for later work in one call, 4 MiB in all, and for at
// most 1000 consumers of events. Each item is stored or refused for itself: the answers are
// in the order of the items. Tell a sender of arrays that it is settled only if every item
// is; the rest are recognised as duplicates when it comes again.
//
// The options apply to all items, as far as an item has no consumers or delivery of its own.
// Ordering belongs to the items.
func (c *Client) ReceiveAll(ctx context.Context, items []*ReceiveItem, opts ...ReceiveOption) ([]BatchReceipt, error) {
	shared := &pb.ReceiveEventRequest{Namespace: c.cfg.namespace}
	if c.cfg.consumer != "" {
		shared.Consumers = []string{c.cfg.consumer}
	}
	for _, o := range opts {
		o(shared)
	}
	if shared.GetOrdering() != nil {
		return nil, &Error{Code: codes.InvalidArgument, Reason: ErrInvalidArgument, Message: "ordering belongs to the items of a batch"}
	}
	arrival := identified(shared.GetDelivery(), NewClaimant())
	req := &pb.ReceiveEventsRequest{Namespace: shared.GetNamespace(), Consumers: shared.GetConsumers(), Delivery: arrival, StaleClaim: shared.GetStaleClaim()}
	for _, item := range items {
		one := &pb.ReceiveItem{Event: trailed(ctx, req.GetNamespace(), item.GetEvent()), Ordering: item.GetOrdering(), Consumers: item.GetConsumers()}
		if item.GetDelivery() != nil {
			one.Delivery = identified(item.GetDelivery(), arrival.GetRequestId())
		}
		req.Items = append(req.Items, one)
	}
	resp, err := c.idem.ReceiveEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(resp.GetResults()) != len(items) {
		return nil, fmt.Errorf("idemsvc: %d items were given %d answers", len(items), len(resp.GetResults()))
	}
	out := make([]BatchReceipt, len(items))
	for i, r := range resp.GetResults() {
		if r.GetResponse() == nil {
			out[i].Err = missing(r.GetError())
			continue
		}
		out[i].ReceiveAnswer = &ReceiveAnswer{r.GetResponse()}
	}
	return out, nil
}

// identified is a delivery with a request ID, so that a repeat is recognised as one. The
// caller's own stays as it is.
func identified(d *Delivery, id string) *Delivery {
	if d.GetRequestId() != "" {
		return d
	}
	out := &Delivery{}
	if d != nil {
		out = proto.CloneOf(d)
	}
	out.RequestId = id
	return out
}

// ReceiveEvents implements the contract's method.
func (i itemwise) ReceiveEvents(ctx context.Context, req *pb.ReceiveEventsRequest, opts ...grpc.CallOption) (*pb.ReceiveEventsResponse, error) {
	return i.cfg.receiveItems(ctx, req, func(ctx context.Context, some *pb.ReceiveEventsRequest) (*pb.ReceiveEventsResponse, error) {
		return i.IdempotencyServiceClient.ReceiveEvents(ctx, some, opts...)
	})
}

// receiveItems sends a batch of receipts until every item has its answer for every
// consumer. An item's identity is its event and its delivery's request ID, so only items
// that were turned away, for one consumer or for all, are sent again.
func (c *config) receiveItems(
	ctx context.Context, req *pb.ReceiveEventsRequest, send func(context.Context, *pb.ReceiveEventsRequest) (*pb.ReceiveEventsResponse, error),
) (*pb.ReceiveEventsResponse, error) {
	ctx, cancel := c.bounded(ctx, req)
	defer cancel()
	out, err := send(ctx, req)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		some := &pb.ReceiveEventsRequest{Namespace: req.GetNamespace(), Consumers: req.GetConsumers(), Delivery: req.GetDelivery(), StaleClaim: req.GetStaleClaim()}
		var places []int
		var refused []*pb.ReceiveItemResult
		for at, r := range out.GetResults() {
			e := refusedReceipt(r)
			if _, ok := Repeatable(ItemErr(e)); ok && at < len(req.GetItems()) {
				some.Items, places = append(some.Items, req.GetItems()[at]), append(places, at)
				refused = append(refused, &pb.ReceiveItemResult{Result: &pb.ReceiveItemResult_Error{Error: e}})
			}
		}
		wait, last := repeatableItem(refused)
		if last == nil || !c.again(ctx, n, wait, last) {
			return out, nil
		}
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

// refusedReceipt is an item's error, else that of the first consumer for which repeating it
// helps; nil if there is none.
func refusedReceipt(r *pb.ReceiveItemResult) *pb.ItemError {
	if r.GetError() != nil {
		return r.GetError()
	}
	for _, one := range r.GetResponse().GetResults() {
		if _, ok := Repeatable(ItemErr(one.GetError())); ok {
			return one.GetError()
		}
	}
	return nil
}
