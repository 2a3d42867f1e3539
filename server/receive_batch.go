package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const (
	maxConsumers = 32   // of an event
	maxReceipts  = 1000 // of a call: an item brings one for each of its consumers
)

// ReceiveEvents implements the contract's method.
func (s *idempotency) ReceiveEvents(ctx context.Context, req *pb.ReceiveEventsRequest) (*pb.ReceiveEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	b := s.receiptBatch(ctx, req)
	started := time.Now()
	stored := s.store.DoAll(ctx, b.cmds)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx = inItems(ctx)
	results := make([]*pb.ReceiveItemResult, len(req.GetItems()))
	for i, item := range req.GetItems() {
		refused := func(err error) *pb.ItemError { return s.refuseItem(ctx, i, "ReceiveEvents", item, err) }
		if err := b.errs[i]; err != nil {
			results[i] = refusedReceipts(refused(err))
			continue
		}
		n := len(consumersOf(req, item))
		resp, err := s.receiveResponse(ctx, consumersOf(req, item), b.cmds[:n], stored[:n], started, refused)
		b.cmds, stored = b.cmds[n:], stored[n:]
		if err != nil {
			results[i] = refusedReceipts(resp.GetResults()[0].GetError())
			continue
		}
		results[i] = &pb.ReceiveItemResult{Result: &pb.ReceiveItemResult_Response{Response: resp}}
	}
	fitReceipts(results)
	return &pb.ReceiveEventsResponse{Results: results}, nil
}

// consumersOf are the consumers of an item: its own, else those of the request.
func consumersOf(req *pb.ReceiveEventsRequest, item *pb.ReceiveItem) []string {
	if own := item.GetConsumers(); len(own) > 0 {
		return own
	}
	return req.GetConsumers()
}

// receiptBatch makes the commands of each item that is valid, one for each consumer.
func (s *idempotency) receiptBatch(ctx context.Context, req *pb.ReceiveEventsRequest) *batch {
	outer, in := marksOf(req), incomingOf(ctx)
	b := newBatch(len(req.GetItems()))
	for i, item := range req.GetItems() {
		if b.errs[i] = s.item(outer, i, item); b.errs[i] != nil {
			continue
		}
		one := &pb.ReceiveEventRequest{
			Namespace: req.GetNamespace(), Consumers: consumersOf(req, item), Event: item.GetEvent(), Delivery: item.GetDelivery(),
			Ordering: item.GetOrdering(), StaleClaim: req.GetStaleClaim(),
		}
		if len(one.GetConsumers()) == 0 {
			b.errs[i] = invalid("consumers", "value is required where the request names none")
			continue
		}
		if one.Delivery == nil {
			one.Delivery = req.GetDelivery()
		}
		for _, cmd := range receiptsOf(ctx, one, in) {
			b.add(i, cmd)
		}
	}
	s.correlate(ctx, b.cmds...)
	return b
}

func refusedReceipts(e *pb.ItemError) *pb.ReceiveItemResult {
	return &pb.ReceiveItemResult{Result: &pb.ReceiveItemResult_Error{Error: e}}
}

// checkReceipts bounds what the items of a call ask for together. An item that names too
// many consumers fails alone and brings none.
func checkReceipts(req *pb.ReceiveEventsRequest) *refusal {
	receipts := 0
	for _, item := range req.GetItems() {
		if n := len(consumersOf(req, item)); n <= maxConsumers {
			receipts += n
		}
	}
	if receipts > maxReceipts {
		return invalid("items", "the items must have at most 1000 consumers in all")
	}
	return nil
}

// fitReceipts leaves out of the answers what the reply has no room for.
func fitReceipts(results []*pb.ReceiveItemResult) {
	n := 0
	for _, r := range results {
		n += max(1, len(r.GetResponse().GetResults()))
	}
	room := newBudget(n)
	for _, r := range results {
		for _, one := range r.GetResponse().GetResults() {
			room.fitReceipt(one)
		}
		if e := r.GetError(); e != nil {
			room.fitError(e)
		}
		room.take(aroundReceipts)
	}
}

// aroundReceipts is what an item's answer needs beside its receipts.
const aroundReceipts = 40

// fitReceipt leaves out what the reply has no room for. A receipt brings no result; what is
// left to be large is the text of a failure, and the details of an error.
func (b *budget) fitReceipt(r *pb.ReceiptResult) {
	if room := b.room(); proto.Size(r) > room {
		if e := r.GetReceipt().GetExisting().GetError(); len(e.GetMessage()) > leanMessage {
			e.Message, e.MessageCut = cutText(e.GetMessage(), leanMessage), true
		}
		if e := r.GetError(); e != nil {
			e.Metadata = nil
		}
	}
	b.take(proto.Size(r))
}
