package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// ReceiveEvent implements the contract's method.
func (s *idempotency) ReceiveEvent(ctx context.Context, req *pb.ReceiveEventRequest) (*pb.ReceiveEventResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	started := time.Now()
	cmds := receiptsOf(ctx, req, incomingOf(ctx))
	s.correlate(ctx, cmds...)
	results := s.store.DoAll(ctx, cmds)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	resp, err := s.receiveResponse(ctx, req.GetConsumers(), cmds, results, started, func(err error) *pb.ItemError {
		return s.refuseReceipt(ctx, req, err)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// receiptsOf are the receipts of all consumers of an event.
func receiptsOf(ctx context.Context, req *pb.ReceiveEventRequest, in incoming) []idem.Command {
	e := req.GetEvent()
	facts := toFacts(e, req.GetDelivery(), in)
	cmds := make([]idem.Command, len(req.GetConsumers()))
	for i, consumer := range req.GetConsumers() {
		cmd := &idem.Receive{
			Key: idem.EventKey{
				EventRef: idem.EventRef{Namespace: req.GetNamespace(), Source: e.GetSource(), EventID: e.GetEventId()}, Consumer: consumer,
			},
			Facts: facts, Holder: identityOf(ctx).Name(), Stale: idem.StaleClaim(req.GetStaleClaim()), Payload: e.GetPayload(), //nolint:gosec // validated
		}
		if o := req.GetOrdering(); o != nil {
			ordering := toOrdering(req.GetNamespace(), consumer, e.GetResource(), o.GetVersion(), o.GetMode(), o.GetTransition())
			cmd.Ordering = &ordering
		}
		cmds[i] = cmd
	}
	return cmds
}

// receiveResponse gathers the answers. One consumer's refusal is its own, unless nothing was
// stored for anybody: then the first one's error is returned, too.
func (s *idempotency) receiveResponse(
	ctx context.Context, consumers []string, cmds []idem.Command, results []storage.Result, started time.Time, refused func(error) *pb.ItemError,
) (*pb.ReceiveEventResponse, error) {
	resp := &pb.ReceiveEventResponse{Advice: pb.Advice_ADVICE_ACKNOWLEDGE}
	var first error
	answered := 0
	for i, res := range results {
		a, err := decided[*idem.ReceiveAnswer](ctx, s.core, cmds[i], res, started)
		r := &pb.ReceiptResult{}
		if err != nil {
			r.Result = &pb.ReceiptResult_Error{Error: refused(err)}
			if first == nil {
				first = err
			}
		} else {
			answered++
			r.Result = &pb.ReceiptResult_Receipt{Receipt: fromReceipt(consumers[i], a)}
		}
		if err != nil || a.Outcome.Advice() != idem.AdviceAcknowledge {
			resp.Advice, resp.RetryAfter = pb.Advice_ADVICE_REPEAT_LATER, durationpb.New(defaultRepeat)
		}
		resp.Results = append(resp.Results, r)
	}
	if answered == 0 {
		return resp, first
	}
	return resp, nil
}

// refuseReceipt is the form of an error of one consumer.
func (s *idempotency) refuseReceipt(ctx context.Context, req *pb.ReceiveEventRequest, err error) *pb.ItemError {
	r := refuse(ctx, s.log, err)
	if len(req.GetConsumers()) > 1 {
		s.tellRefusal(ctx, "ReceiveEvent", req, r, 0)
	}
	return r.item()
}

func fromReceipt(consumer string, a *idem.ReceiveAnswer) *pb.Receipt {
	r := &pb.Receipt{
		Consumer: consumer, Outcome: pb.ReceiveOutcome(a.Outcome), Advice: pb.Advice(a.Outcome.Advice()),
		Disposition: pb.Disposition(a.Disposition()), Repeated: a.Repeated,
	}
	for _, x := range a.Anomalies {
		r.Anomalies = append(r.Anomalies, pb.Anomaly(x))
	}
	r.Existing = fromExisting(&idem.ClaimAnswer{Event: a.Event, Replaying: a.Replaying, Now: a.Now})
	if x := r.GetExisting(); len(x.GetResult()) > 0 || len(x.GetOutputs()) > 0 {
		x.Result, x.Outputs, x.ResultOmitted = nil, nil, true
	}
	return r
}
