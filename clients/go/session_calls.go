package idemsvc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// overSession is the contract's service over a session: its unary methods are commands.
type overSession struct{ s *Session }

// carry sends a command and takes its part of the answer.
func carry[R proto.Message](ctx context.Context, o overSession, req *pb.SessionRequest, part func(*pb.SessionResponse) R) (R, error) {
	resp, err := o.s.Do(ctx, req)
	if err != nil {
		var none R
		return none, err
	}
	return part(resp), nil
}

// ClaimEvent implements the contract\'s method.
func (o overSession) ClaimEvent(ctx context.Context, r *pb.ClaimEventRequest, _ ...grpc.CallOption) (*pb.ClaimEventResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: r}}, (*pb.SessionResponse).GetClaimEvent)
}

// ClaimEvents implements the contract\'s method.
func (o overSession) ClaimEvents(ctx context.Context, r *pb.ClaimEventsRequest, _ ...grpc.CallOption) (*pb.ClaimEventsResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvents{ClaimEvents: r}}, (*pb.SessionResponse).GetClaimEvents)
}

// CompleteEvent implements the contract\'s method.
func (o overSession) CompleteEvent(ctx context.Context, r *pb.CompleteEventRequest, _ ...grpc.CallOption) (*pb.CompleteEventResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: r}}, (*pb.SessionResponse).GetCompleteEvent)
}

// CompleteEvents implements the contract\'s method.
func (o overSession) CompleteEvents(ctx context.Context, r *pb.CompleteEventsRequest, _ ...grpc.CallOption) (*pb.CompleteEventsResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvents{CompleteEvents: r}}, (*pb.SessionResponse).GetCompleteEvents)
}

// FailEvent implements the contract\'s method.
func (o overSession) FailEvent(ctx context.Context, r *pb.FailEventRequest, _ ...grpc.CallOption) (*pb.FailEventResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_FailEvent{FailEvent: r}}, (*pb.SessionResponse).GetFailEvent)
}

// ExtendClaim implements the contract\'s method.
func (o overSession) ExtendClaim(ctx context.Context, r *pb.ExtendClaimRequest, _ ...grpc.CallOption) (*pb.ExtendClaimResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ExtendClaim{ExtendClaim: r}}, (*pb.SessionResponse).GetExtendClaim)
}

// ReleaseClaim implements the contract\'s method.
func (o overSession) ReleaseClaim(ctx context.Context, r *pb.ReleaseClaimRequest, _ ...grpc.CallOption) (*pb.ReleaseClaimResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ReleaseClaim{ReleaseClaim: r}}, (*pb.SessionResponse).GetReleaseClaim)
}

// CheckVersion implements the contract\'s method.
func (o overSession) CheckVersion(ctx context.Context, r *pb.CheckVersionRequest, _ ...grpc.CallOption) (*pb.CheckVersionResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_CheckVersion{CheckVersion: r}}, (*pb.SessionResponse).GetCheckVersion)
}

// RecordSideEffect implements the contract\'s method.
func (o overSession) RecordSideEffect(ctx context.Context, r *pb.RecordSideEffectRequest, _ ...grpc.CallOption) (*pb.RecordSideEffectResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_RecordSideEffect{RecordSideEffect: r}}, (*pb.SessionResponse).GetRecordSideEffect)
}

// ReceiveEvent implements the contract's method.
func (o overSession) ReceiveEvent(ctx context.Context, r *pb.ReceiveEventRequest, _ ...grpc.CallOption) (*pb.ReceiveEventResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ReceiveEvent{ReceiveEvent: r}}, (*pb.SessionResponse).GetReceiveEvent)
}

// ReceiveEvents implements the contract's method.
func (o overSession) ReceiveEvents(ctx context.Context, r *pb.ReceiveEventsRequest, _ ...grpc.CallOption) (*pb.ReceiveEventsResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_ReceiveEvents{ReceiveEvents: r}}, (*pb.SessionResponse).GetReceiveEvents)
}

// AcquireEvents implements the contract's method.
func (o overSession) AcquireEvents(ctx context.Context, r *pb.AcquireEventsRequest, _ ...grpc.CallOption) (*pb.AcquireEventsResponse, error) {
	return carry(ctx, o, &pb.SessionRequest{Command: &pb.SessionRequest_AcquireEvents{AcquireEvents: r}}, (*pb.SessionResponse).GetAcquireEvents)
}

// RecordDeliveryAnswer implements the contract's method: it is no command of a session.
func (o overSession) RecordDeliveryAnswer(ctx context.Context, r *pb.RecordDeliveryAnswerRequest, opts ...grpc.CallOption) (*pb.RecordDeliveryAnswerResponse, error) {
	return o.s.client.stub.RecordDeliveryAnswer(ctx, r, opts...)
}

// Session opens a stream of the caller's own.
func (o overSession) Session(ctx context.Context, opts ...grpc.CallOption) (pb.IdempotencyService_SessionClient, error) {
	return o.s.client.stub.Session(ctx, opts...)
}
