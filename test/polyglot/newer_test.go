package polyglot_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// newer is a server of a later version: it gives an advice and an outcome that today's
// contract does not have.
type newer struct {
	pb.UnimplementedIdempotencyServiceServer
	mu        sync.Mutex
	claimants map[string]int
	tokens    map[string]int
}

func (n *newer) ClaimEvent(ctx context.Context, req *pb.ClaimEventRequest) (*pb.ClaimEventResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claimants[req.GetClaimant()]++
	for _, token := range md.Get("authorization") {
		n.tokens[token]++
	}
	return &pb.ClaimEventResponse{Outcome: 99, Advice: 99, RetryAfter: durationpb.New(1500 * time.Millisecond)}, nil
}

// An advice that a client does not know means to repeat later. Each execution of a claim
// has a claimant of its own.
func TestUnknownAdviceIsRepeatLater(t *testing.T) {
	t.Parallel()
	n := &newer{claimants: map[string]int{}, tokens: map[string]int{}}
	srv := grpc.NewServer()
	pb.RegisterIdempotencyServiceServer(srv, n)
	ready := health.NewServer()
	ready.SetServingStatus(pb.IdempotencyService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(srv, ready)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	defer func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	ran := 0
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			out, err := l.claim(t, lis.Addr().String(), "a-token", "evt_1")
			if want := "not now: answer 503 and repeat evt_1 after 2 s\n"; err != nil || out != want {
				t.Errorf("it prints %q and not %q: %v", out, want, err)
			}
			ran++
		})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.claimants) != ran || n.tokens["Bearer a-token"] != ran {
		t.Errorf("%d runs: claimants %v, tokens %v", ran, n.claimants, n.tokens)
	}
	for claimant := range n.claimants {
		if len(claimant) < 22 { // 128 bits in base64
			t.Errorf("claimant %q is short", claimant)
		}
	}
}
