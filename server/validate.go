package server

import (
	"errors"
	"fmt"
	"sync"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// validator judges requests. Every road uses it: the interceptor for unary calls, the
// batches for their items, the session for its commands.
type validator struct{ rules protovalidate.Validator }

// compiledRules are the contract's rules. They are the same for every server and take
// longer than all else at its start, so they are compiled once.
var compiledRules = sync.OnceValues(func() (protovalidate.Validator, error) {
	return protovalidate.New(protovalidate.WithMessages(
		&pb.ClaimEventRequest{}, &pb.ClaimEventsRequest{}, &pb.ClaimItem{}, &pb.CompleteEventRequest{}, &pb.CompleteEventsRequest{},
		&pb.FailEventRequest{}, &pb.ExtendClaimRequest{}, &pb.ReleaseClaimRequest{}, &pb.CheckVersionRequest{},
		&pb.RecordSideEffectRequest{}, &pb.GetEventRequest{}, &pb.GetServerInfoRequest{}, &pb.GetPoliciesRequest{}, &pb.ApplyPoliciesRequest{},
		&pb.ReceiveEventRequest{}, &pb.ReceiveEventsRequest{}, &pb.ReceiveItem{}, &pb.AcquireEventsRequest{}, &pb.RecordDeliveryAnswerRequest{},
		&pb.SubscribeRequest{}, &pb.AddCreditRequest{}, &pb.UnsubscribeRequest{},
		&pb.GetClockRequest{}, &pb.AdvanceClockRequest{}, &pb.SetClockRequest{},
	))
})

func newValidator() (*validator, error) {
	rules, err := compiledRules()
	if err != nil {
		return nil, fmt.Errorf("compile the contract's rules: %w", err)
	}
	return &validator{rules: rules}, nil
}

// request refuses a request that breaks the contract: what the codec could not read,
// the rules in the protos, the forms that they cannot state, and what its fields mean
// together. It returns nil or a *refusal.
func (v *validator) request(msg proto.Message) error {
	if r := refuseMarks(marksOf(msg), itemsOf(msg)); r != nil {
		return r
	}
	if r := v.byRules(msg); r != nil {
		return r
	}
	if r := checkForm(msg.ProtoReflect()); r != nil {
		return r
	}
	if r := checkMeaning(msg); r != nil {
		return r
	}
	return nil
}

// itemsOf is the path of items that are judged for themselves.
func itemsOf(msg proto.Message) string {
	switch msg.(type) {
	case *pb.ClaimEventsRequest, *pb.CompleteEventsRequest, *pb.ReceiveEventsRequest:
		return "items["
	default:
		return ""
	}
}

func (v *validator) byRules(msg proto.Message) *refusal {
	err := v.rules.Validate(msg)
	if err == nil {
		return nil
	}
	found, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok || len(found.Violations) == 0 {
		return &refusal{reason: pb.ErrorReason_ERROR_REASON_INTERNAL, message: "internal error", cause: err}
	}
	r := &refusal{reason: pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT}
	for _, x := range found.Violations[:min(len(found.Violations), maxViolations)] {
		field := protovalidate.FieldPathString(x.Proto.GetField())
		r.fields = append(r.fields, violation{field: field, message: x.Proto.GetMessage()})
	}
	r.message = r.fields[0].message
	return r
}
