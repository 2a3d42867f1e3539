package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// EchoArgs are the arguments with which the program becomes a server without a database:
// it then calls [Echo].
var EchoArgs = []string{"bench", "echo-server"}

// tokenSize is about that of a claim's token.
const tokenSize = 128

// echo answers every claim as granted and every completion as done, and remembers
// nothing: what is left is grpc-go, the messages, and the callers.
type echo struct {
	pb.UnimplementedIdempotencyServiceServer
	token []byte
}

// Echo serves until a signal comes. It prints where.
func Echo(ctx context.Context, stdout io.Writer) error {
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := grpc.NewServer(grpc.WaitForHandlers(true),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	pb.RegisterIdempotencyServiceServer(srv, &echo{token: make([]byte, tokenSize)})
	ready := health.NewServer() // clients ask before they call
	ready.SetServingStatus(pb.IdempotencyService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(srv, ready)
	fmt.Fprintf(stdout, "echo listens on %s\n", lis.Addr())
	go func() {
		<-ctx.Done()
		srv.Stop()
	}()
	return srv.Serve(lis)
}

func (e *echo) claimed() *pb.ClaimEventResponse {
	return &pb.ClaimEventResponse{
		Outcome: pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED, Advice: pb.Advice_ADVICE_PROCESS, Disposition: pb.Disposition_DISPOSITION_ACCEPTED,
		Claim: &pb.Claim{
			Token: e.token, Fence: 1 << 50, Attempt: 1, MaxAttempts: 8, Round: 1, RoundAttempt: 1,
			LeaseExpiresAt: timestamppb.Now(), Lease: durationpb.New(time.Minute), StaleClaim: pb.StaleClaim_STALE_CLAIM_RECLAIM,
		},
	}
}

func completed() *pb.CompleteEventResponse {
	return &pb.CompleteEventResponse{State: pb.EventState_EVENT_STATE_PROCESSED}
}

// ClaimEvent implements the contract's method.
func (e *echo) ClaimEvent(context.Context, *pb.ClaimEventRequest) (*pb.ClaimEventResponse, error) {
	return e.claimed(), nil
}

// CompleteEvent implements the contract's method.
func (e *echo) CompleteEvent(context.Context, *pb.CompleteEventRequest) (*pb.CompleteEventResponse, error) {
	return completed(), nil
}

// ClaimEvents implements the contract's method.
func (e *echo) ClaimEvents(_ context.Context, req *pb.ClaimEventsRequest) (*pb.ClaimEventsResponse, error) {
	resp := &pb.ClaimEventsResponse{}
	for range req.GetItems() {
		resp.Results = append(resp.Results, &pb.ClaimItemResult{Result: &pb.ClaimItemResult_Response{Response: e.claimed()}})
	}
	return resp, nil
}

// CompleteEvents implements the contract's method.
func (e *echo) CompleteEvents(_ context.Context, req *pb.CompleteEventsRequest) (*pb.CompleteEventsResponse, error) {
	resp := &pb.CompleteEventsResponse{}
	for range req.GetItems() {
		resp.Results = append(resp.Results, &pb.CompleteItemResult{Result: &pb.CompleteItemResult_Response{Response: completed()}})
	}
	return resp, nil
}

// Session implements the contract's method.
func (e *echo) Session(stream pb.IdempotencyService_SessionServer) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		resp := &pb.SessionResponse{Correlation: req.GetCorrelation()}
		switch req.GetCommand().(type) {
		case *pb.SessionRequest_ClaimEvent:
			resp.Result = &pb.SessionResponse_ClaimEvent{ClaimEvent: e.claimed()}
		case *pb.SessionRequest_CompleteEvent:
			resp.Result = &pb.SessionResponse_CompleteEvent{CompleteEvent: completed()}
		default:
			return errors.New("the echo knows claims and completions only")
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}
