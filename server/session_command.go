package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// answer carries out one command of a session as its unary method would.
func (s *idempotency) answer(ctx context.Context, req *pb.SessionRequest) *pb.SessionResponse {
	return s.carryOut(ctx, req, s.dispatch)
}

// carryOut authorises and bounds a command, has it done, and reports what became of it.
func (s *idempotency) carryOut(
	ctx context.Context, req *pb.SessionRequest, do func(context.Context, []mark, *pb.SessionRequest, *pb.SessionResponse) error,
) (resp *pb.SessionResponse) {
	started := time.Now()
	resp = &pb.SessionResponse{Correlation: req.GetCorrelation()}
	defer func() {
		if p := recover(); p != nil {
			err := s.panicked(ctx, p)
			resp.Result = &pb.SessionResponse_Error{Error: refuse(ctx, s.log, err).item()}
		}
	}()
	method := commandMethod(req)
	ctx, more := commandParent(ctx, req.GetTraceparent())
	ctx, span := s.startCall(ctx, method, more...)
	var err error = &refusal{reason: pb.ErrorReason_ERROR_REASON_INTERNAL} // unless it is answered
	defer func() { s.endCall(ctx, span, method, roadSession, err, started) }()
	if err = s.command(ctx, req, resp, do); err != nil {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errStreamOver) {
			err = errStreamOver
		}
		r := refuse(ctx, s.log, err)
		s.tellRefusal(ctx, "Session", commandOf(req), r, time.Since(started))
		resp.Result = &pb.SessionResponse_Error{Error: r.item()}
		err = r
	}
	return resp
}

// commandMethods are the unary methods of a session's commands, by field.
var commandMethods = sync.OnceValue(func() map[protoreflect.FieldNumber]string {
	m := map[protoreflect.FieldNumber]string{}
	service := pb.File_idemsvc_v1_idempotency_service_proto.Services().ByName("IdempotencyService")
	fields := (&pb.SessionRequest{}).ProtoReflect().Descriptor().Oneofs().ByName("command").Fields()
	for i := range fields.Len() {
		for j := range service.Methods().Len() {
			if method := service.Methods().Get(j); method.Input() == fields.Get(i).Message() {
				m[fields.Get(i).Number()] = string(service.FullName()) + "/" + string(method.Name())
			}
		}
	}
	return m
})

// noCommand is what a command is called that this server does not know.
const noCommand = "idemsvc.v1.IdempotencyService/Session"

// commandMethod is the full name of the unary method that a command stands for.
func commandMethod(req *pb.SessionRequest) string {
	m := req.ProtoReflect()
	if fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("command")); fd != nil {
		return commandMethods()[fd.Number()]
	}
	return noCommand
}

// command authorises and bounds a command, and has it done.
func (s *idempotency) command(
	ctx context.Context, req *pb.SessionRequest, resp *pb.SessionResponse, do func(context.Context, []mark, *pb.SessionRequest, *pb.SessionResponse) error,
) error {
	outer := marksOf(req)
	if req.GetCommand() == nil {
		if r := refuseMarks(outer, ""); r != nil {
			return r
		}
	}
	if err := checkFrame(req); err != nil {
		return err
	}
	id, err := s.access.identify(ctx) // each time: a token may end while its stream lives
	if err != nil {
		return err
	}
	if ctx, err = s.access.admit(ctx, id, pb.IdempotencyService_Session_FullMethodName); err != nil {
		return err
	}
	limit := unaryDeadline
	if req.GetTimeout() != nil {
		limit = min(limit, req.GetTimeout().AsDuration())
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx, outer, req, resp)
}

func checkFrame(req *pb.SessionRequest) error {
	t := req.GetTimeout()
	switch {
	case req.GetCorrelation() == 0:
		return invalid("correlation", "value must be 1 or more")
	case t != nil && (t.CheckValid() != nil || t.AsDuration() <= 0):
		return invalid("timeout", "value must be more than 0")
	}
	return nil
}

// commandOf is the request inside a session's frame, nil for none.
func commandOf(req *pb.SessionRequest) proto.Message {
	m := req.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("command"))
	if fd == nil {
		return nil
	}
	return m.Get(fd).Message().Interface()
}

// dispatch has one case for each command, which differ in nothing but their types.
func (s *idempotency) dispatch(ctx context.Context, outer []mark, req *pb.SessionRequest, resp *pb.SessionResponse) (err error) {
	switch c := req.GetCommand().(type) {
	case *pb.SessionRequest_ClaimEvent:
		r := &pb.SessionResponse_ClaimEvent{}
		resp.Result = r
		r.ClaimEvent, err = through(ctx, s, outer, "claim_event", c.ClaimEvent, s.ClaimEvent)
	case *pb.SessionRequest_CompleteEvent:
		r := &pb.SessionResponse_CompleteEvent{}
		resp.Result = r
		r.CompleteEvent, err = through(ctx, s, outer, "complete_event", c.CompleteEvent, s.CompleteEvent)
	case *pb.SessionRequest_FailEvent:
		r := &pb.SessionResponse_FailEvent{}
		resp.Result = r
		r.FailEvent, err = through(ctx, s, outer, "fail_event", c.FailEvent, s.FailEvent)
	case *pb.SessionRequest_ExtendClaim:
		r := &pb.SessionResponse_ExtendClaim{}
		resp.Result = r
		r.ExtendClaim, err = through(ctx, s, outer, "extend_claim", c.ExtendClaim, s.ExtendClaim)
	case *pb.SessionRequest_ReleaseClaim:
		r := &pb.SessionResponse_ReleaseClaim{}
		resp.Result = r
		r.ReleaseClaim, err = through(ctx, s, outer, "release_claim", c.ReleaseClaim, s.ReleaseClaim)
	case *pb.SessionRequest_CheckVersion:
		r := &pb.SessionResponse_CheckVersion{}
		resp.Result = r
		r.CheckVersion, err = through(ctx, s, outer, "check_version", c.CheckVersion, s.CheckVersion)
	case *pb.SessionRequest_RecordSideEffect:
		r := &pb.SessionResponse_RecordSideEffect{}
		resp.Result = r
		r.RecordSideEffect, err = through(ctx, s, outer, "record_side_effect", c.RecordSideEffect, s.RecordSideEffect)
	case *pb.SessionRequest_ClaimEvents:
		r := &pb.SessionResponse_ClaimEvents{}
		resp.Result = r
		r.ClaimEvents, err = through(ctx, s, outer, "claim_events", c.ClaimEvents, s.ClaimEvents)
	case *pb.SessionRequest_CompleteEvents:
		r := &pb.SessionResponse_CompleteEvents{}
		resp.Result = r
		r.CompleteEvents, err = through(ctx, s, outer, "complete_events", c.CompleteEvents, s.CompleteEvents)
	case *pb.SessionRequest_ReceiveEvent:
		r := &pb.SessionResponse_ReceiveEvent{}
		resp.Result = r
		r.ReceiveEvent, err = through(ctx, s, outer, "receive_event", c.ReceiveEvent, s.ReceiveEvent)
	case *pb.SessionRequest_AcquireEvents:
		r := &pb.SessionResponse_AcquireEvents{}
		resp.Result = r
		r.AcquireEvents, err = through(ctx, s, outer, "acquire_events", c.AcquireEvents, s.AcquireEvents)
	case *pb.SessionRequest_ReceiveEvents:
		r := &pb.SessionResponse_ReceiveEvents{}
		resp.Result = r
		r.ReceiveEvents, err = through(ctx, s, outer, "receive_events", c.ReceiveEvents, s.ReceiveEvents)
	default:
		return &refusal{reason: pb.ErrorReason_ERROR_REASON_UNIMPLEMENTED, message: "the server does not know this command"}
	}
	return err
}

// through validates a command and calls its unary method.
func through[Q proto.Message, R any](
	ctx context.Context, s *idempotency, outer []mark, path string, req Q, call func(context.Context, Q) (R, error),
) (R, error) {
	carryMarks(outer, path+".", req)
	if err := s.valid.request(req); err != nil {
		var none R
		return none, err
	}
	return call(ctx, req)
}
