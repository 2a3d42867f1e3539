package server

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// batch is the items of one call that are on their way: those that were refused have no
// command.
type batch struct {
	errs  []error
	cmds  []idem.Command
	index []int // of each command, its item
	sizes []int // of each item's payload as it is stored
}

func newBatch(n int) *batch { return &batch{errs: make([]error, n), sizes: make([]int, n)} }

func (b *batch) add(i int, cmd idem.Command) {
	b.cmds = append(b.cmds, cmd)
	b.index = append(b.index, i)
}

// run carries out the commands and hands each answer to its item.
func (b *batch) run(ctx context.Context, c *core, answer func(i int, cmd idem.Command, res storage.Result, started time.Time) error) {
	started := time.Now()
	for k, res := range c.store.DoAll(ctx, b.cmds) {
		b.errs[b.index[k]] = answer(b.index[k], b.cmds[k], res, started)
	}
}

func itemPath(i int) string { return "items[" + strconv.Itoa(i) + "]." }

// item validates one item as if it had come alone.
func (s *idempotency) item(outer []mark, i int, msg proto.Message) error {
	carryMarks(outer, itemPath(i), msg)
	return s.valid.request(msg)
}

// refuseItem is the form of an error in a batch: the field's path begins at the top of
// the request.
func (s *idempotency) refuseItem(ctx context.Context, i int, method string, item proto.Message, err error) *pb.ItemError {
	r := refuse(ctx, s.log, err)
	moved := *r
	moved.fields = append([]violation(nil), r.fields...)
	s.tellRefusal(ctx, method, item, &moved, 0)
	return moved.under(itemPath(i)).item()
}

// ClaimEvents implements the contract's method.
func (s *idempotency) ClaimEvents(ctx context.Context, req *pb.ClaimEventsRequest) (*pb.ClaimEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys, err := s.tokens.load(ctx)
	if err != nil {
		return nil, err
	}
	b := s.claimBatch(ctx, req)
	ctx = inItems(ctx)
	results := make([]*pb.ClaimItemResult, len(req.GetItems()))
	b.run(ctx, s.core, func(i int, cmd idem.Command, res storage.Result, started time.Time) (err error) {
		results[i], b.sizes[i], err = s.claimResult(ctx, keys, cmd, res, started)
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if req.GetWantPayload() {
		s.batchPayloads(ctx, req, b, results)
	}
	return s.claimResults(ctx, req, b, results), nil
}

// batchPayloads adds the payloads of all that was granted, as many as a reply can hold. When they cannot be loaded, the
// items are refused and their claims stand: a repeat gets both.
func (s *idempotency) batchPayloads(ctx context.Context, req *pb.ClaimEventsRequest, b *batch, results []*pb.ClaimItemResult) {
	var claims []*pb.Claim
	var refs []idem.EventRef
	var items []int
	room := replyBytes
	for i, r := range results {
		if c := r.GetResponse().GetClaim(); c != nil {
			if room -= b.sizes[i]; room < 0 {
				c.PayloadOmitted = true
				continue
			}
			e := req.GetItems()[i].GetEvent()
			claims, items = append(claims, c), append(items, i)
			refs = append(refs, idem.EventRef{Namespace: req.GetNamespace(), Source: e.GetSource(), EventID: e.GetEventId()})
		}
	}
	if len(refs) == 0 {
		return
	}
	if err := s.addPayloads(ctx, claims, refs); err != nil {
		for _, i := range items {
			b.errs[i] = err
		}
	}
}

func (s *idempotency) claimResult(
	ctx context.Context, keys *tokenKeys, cmd idem.Command, res storage.Result, started time.Time,
) (r *pb.ClaimItemResult, payload int, err error) {
	a, err := decided[*idem.ClaimAnswer](ctx, s.core, cmd, res, started)
	if err != nil {
		return nil, 0, err
	}
	if a.Granted && ctx.Err() != nil {
		s.undelivered(ctx, a.Event)
		return nil, 0, ctx.Err()
	}
	if a.Event != nil {
		payload = int(a.Event.Facts.PayloadSize)
	}
	return &pb.ClaimItemResult{Result: &pb.ClaimItemResult_Response{Response: claimResponse(a, keys)}}, payload, nil
}

// claimBatch makes a command of each item that is valid. An item's identity is the
// claimant and its index.
func (s *idempotency) claimBatch(ctx context.Context, req *pb.ClaimEventsRequest) *batch {
	outer, in := marksOf(req), incomingOf(ctx)
	b := newBatch(len(req.GetItems()))
	for i, item := range req.GetItems() {
		if b.errs[i] = s.item(outer, i, item); b.errs[i] != nil {
			continue
		}
		one := &pb.ClaimEventRequest{
			Namespace: req.GetNamespace(), Consumer: req.GetConsumer(), Event: item.GetEvent(), Delivery: item.GetDelivery(),
			Claimant: req.GetClaimant() + "#" + strconv.Itoa(i), Lease: req.GetLease(), Ordering: item.GetOrdering(),
			StaleClaim: req.GetStaleClaim(), AcceptReplay: req.GetAcceptReplay(),
		}
		if one.Delivery == nil {
			one.Delivery = req.GetDelivery()
		}
		b.add(i, s.claimCommand(ctx, one, in))
	}
	s.correlate(ctx, b.cmds...)
	return b
}

func (s *idempotency) claimResults(
	ctx context.Context, req *pb.ClaimEventsRequest, b *batch, results []*pb.ClaimItemResult,
) *pb.ClaimEventsResponse {
	positions := positionsOf(req)
	room := newBudget(len(results))
	for i := range results {
		if b.errs[i] != nil {
			results[i] = &pb.ClaimItemResult{Result: &pb.ClaimItemResult_Error{Error: s.refuseItem(ctx, i, "ClaimEvents", req.GetItems()[i], b.errs[i])}}
		} else {
			pointAt(results[i].GetResponse(), positions, i)
		}
		room.fitClaim(results[i])
	}
	return &pb.ClaimEventsResponse{Results: results}
}

// positionsOf are the items by their event.
func positionsOf(req *pb.ClaimEventsRequest) map[[2]string]int {
	at := make(map[[2]string]int, len(req.GetItems()))
	for i, item := range req.GetItems() {
		ref := [2]string{item.GetEvent().GetSource(), item.GetEvent().GetEventId()}
		if _, seen := at[ref]; !seen {
			at[ref] = i
		}
	}
	return at
}

// pointAt says which item of the call stands in the way.
func pointAt(r *pb.ClaimEventResponse, positions map[[2]string]int, self int) {
	if e := r.GetBlockedBy().GetEvent(); e != nil {
		if i, ok := positions[[2]string{e.GetSource(), e.GetEventId()}]; ok && i != self {
			r.BlockedBy.ItemIndex = new(int32(i)) //nolint:gosec // at most 1000
		}
	}
}

// CompleteEvents implements the contract's method.
func (s *idempotency) CompleteEvents(ctx context.Context, req *pb.CompleteEventsRequest) (*pb.CompleteEventsResponse, error) {
	b := s.completeBatch(ctx, req)
	ctx = inItems(ctx)
	results := make([]*pb.CompleteItemResult, len(req.GetItems()))
	b.run(ctx, s.core, func(i int, cmd idem.Command, res storage.Result, started time.Time) error {
		a, err := decided[*idem.EndAnswer](ctx, s.core, cmd, res, started)
		if err == nil {
			results[i] = completeResult(a)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.completeResults(ctx, b, results), nil
}

// completeBatch makes a command of each item that is valid and has a token of the
// caller's.
func (s *idempotency) completeBatch(ctx context.Context, req *pb.CompleteEventsRequest) *batch {
	outer := marksOf(req)
	b := newBatch(len(req.GetItems()))
	for i, item := range req.GetItems() {
		if b.errs[i] = s.item(outer, i, item); b.errs[i] != nil {
			continue
		}
		t, err := s.claimToken(ctx, item.GetToken(), "token")
		if err != nil {
			b.errs[i] = err
			continue
		}
		b.add(i, completeCommand(*t, item))
	}
	return b
}

func completeResult(a *idem.EndAnswer) *pb.CompleteItemResult {
	return &pb.CompleteItemResult{Result: &pb.CompleteItemResult_Response{Response: completeResponse(a)}}
}

func (s *idempotency) completeResults(ctx context.Context, b *batch, results []*pb.CompleteItemResult) *pb.CompleteEventsResponse {
	room := newBudget(len(results))
	for i, err := range b.errs {
		if err != nil {
			e := s.refuseItem(ctx, i, "CompleteEvents", nil, err)
			room.fitError(e)
			results[i] = &pb.CompleteItemResult{Result: &pb.CompleteItemResult_Error{Error: e}}
		}
	}
	return &pb.CompleteEventsResponse{Results: results}
}
