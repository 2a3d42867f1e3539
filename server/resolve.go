package server

import (
	"context"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// ResolveEvent implements the contract's method.
func (s *operations) ResolveEvent(ctx context.Context, req *pb.ResolveEventRequest) (*pb.ResolveEventResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	cmd := &idem.Resolve{
		Event: keyOf(req.GetNamespace(), req.GetConsumer(), req.GetEvent()).ID(), RequestID: req.GetRequestId(), Who: identityOf(ctx).Name(), Why: req.GetWhy(),
	}
	switch d := req.GetDecision().(type) {
	case *pb.ResolveEventRequest_Processed:
		cmd.To, cmd.Result, cmd.ContentType = idem.ResolveProcessed, d.Processed.GetResult(), d.Processed.GetContentType()
	case *pb.ResolveEventRequest_Retry:
		cmd.To = idem.ResolveRetry
	case *pb.ResolveEventRequest_Terminal:
		cmd.To = idem.ResolveTerminal
	}
	a, err := decide[*idem.EndAnswer](ctx, s.core, cmd)
	if err != nil {
		return nil, fieldsAt(err, decisionField)
	}
	return &pb.ResolveEventResponse{State: fromState(a.State), AlreadyResolved: a.Already}, nil
}

// ResolveSideEffect implements the contract's method.
func (s *operations) ResolveSideEffect(ctx context.Context, req *pb.ResolveSideEffectRequest) (*pb.ResolveSideEffectResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	cmd := &idem.ResolveEffect{
		Key: idem.EffectKey{
			Scope: idem.Scope(req.GetScope()), Namespace: req.GetNamespace(), Consumer: req.GetConsumer(), Key: req.GetKey(), //nolint:gosec // validated
			Event: keyOf(req.GetNamespace(), req.GetConsumer(), req.GetEvent()).ID(),
		}.Scoped(),
		RequestID: req.GetRequestId(), Who: identityOf(ctx).Name(), Why: req.GetWhy(),
	}
	switch d := req.GetDecision().(type) {
	case *pb.ResolveSideEffectRequest_Done:
		cmd.To, cmd.Result, cmd.ContentType = idem.EffectWasDone, d.Done.GetResult(), d.Done.GetContentType()
	case *pb.ResolveSideEffectRequest_NotDone:
		cmd.To = idem.EffectWasNot
	case *pb.ResolveSideEffectRequest_Redo:
		cmd.To = idem.EffectRedo
	}
	a, err := decide[*idem.EffectAnswer](ctx, s.core, cmd)
	if err != nil {
		return nil, fieldsAt(err, decisionField)
	}
	return &pb.ResolveSideEffectResponse{
		State: pb.EffectState(a.Effect.State), Generation: a.Effect.Generation, AlreadyResolved: a.Repeat,
	}, nil
}

func keyOf(namespace, consumer string, ref *pb.EventRef) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: namespace, Source: ref.GetSource(), EventID: ref.GetEventId()}, Consumer: consumer}
}

// decisionField is where a rule's field stands in an operator's request.
func decisionField(field string) string {
	if field == "to" {
		return "decision"
	}
	return field
}

func checkResolveEffect(m *pb.ResolveSideEffectRequest) *refusal {
	switch {
	case m.GetScope() == pb.EffectScope_EFFECT_SCOPE_EVENT && m.GetEvent() == nil:
		return refused(pb.ErrorReason_ERROR_REASON_EFFECT_SCOPE_INVALID, "event", "value is required in EVENT scope")
	case m.GetScope() != pb.EffectScope_EFFECT_SCOPE_NAMESPACE && m.GetConsumer() == "":
		return refused(pb.ErrorReason_ERROR_REASON_EFFECT_SCOPE_INVALID, "consumer", "value is required in EVENT and CONSUMER scope")
	}
	return nil
}
