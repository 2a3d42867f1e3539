package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// gate is a backend whose writes wait until they are let through.
type gate struct {
	storage.Backend
	entered chan struct{}
	open    chan struct{}
}

func (g *gate) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	g.entered <- struct{}{}
	<-g.open
	return g.Backend.Apply(ctx, batch)
}

func gated(g *gate) func(*Config) {
	return func(c *Config) { c.Store = storage.New(g, storage.Options{}) }
}

// A stopping server answers what it has taken: unary calls and the commands of
// sessions, which are asked to leave and do.
func TestAGracefulStopLosesNothing(t *testing.T) {
	t.Parallel()
	inner := start(t)
	g := &gate{Backend: inner.backend, entered: make(chan struct{}, 64), open: make(chan struct{})}
	f := start(t, gated(g))
	f.log = inner.log

	unary := make(chan error, 1)
	go func() {
		_, err := f.client(t, "consumer").ClaimEvent(t.Context(), claimOf("unary"))
		unary <- err
	}()
	<-g.entered
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("session")}}); err != nil {
		t.Fatal(err)
	}
	watch, err := healthpb.NewHealthClient(f.conn(t, "")).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		f.srv.Stop(context.Background())
		close(stopped)
	}()
	away, err := stream.Recv()
	if err != nil || away.GetGoAway().GetReason() != "shutting down" {
		t.Fatalf("%v %v", away, err)
	}
	close(g.open)
	answer, err := stream.Recv()
	if err != nil || answer.GetClaimEvent().GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		t.Fatalf("%v %v", answer, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the session ended with %v", err)
	}
	if err := <-unary; err != nil {
		t.Errorf("the call in flight was lost: %v", err)
	}
	<-stopped
	for err == nil {
		_, err = watch.Recv()
	}
}

// A session that does not leave is ended, with its answers.
func TestASessionThatStaysIsEnded(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.DrainTimeout = 100 * time.Millisecond })
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("e")}}); err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || r.GetClaimEvent() == nil {
		t.Fatalf("%v %v", r, err)
	}
	f.srv.Stop(context.Background())
	if r, err := stream.Recv(); err != nil || r.GetGoAway() == nil {
		t.Fatalf("%v %v", r, err)
	}
	if _, err := stream.Recv(); toldBy(t, err) != streamOver || retryOf(err) == 0 {
		t.Errorf("%v", err)
	}
}

// streamOver is what the client of a session that is ended is told.
var streamOver = told{code: codes.Unavailable, reason: "UNAVAILABLE"}

// A session whose command does not end is told so, and its client that the stream is over.
func TestASessionThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	inner := start(t)
	g := &gate{Backend: inner.backend, entered: make(chan struct{}, 64), open: make(chan struct{})}
	f := start(t, gated(g), func(c *Config) { c.DrainTimeout = 100 * time.Millisecond })
	t.Cleanup(func() { close(g.open) })
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.SessionRequest{Correlation: 7, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("e")}}); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	f.srv.Stop(context.Background())
	if r, err := stream.Recv(); err != nil || r.GetGoAway() == nil {
		t.Fatalf("%v %v", r, err)
	}
	if r, err := stream.Recv(); err != nil || r.GetCorrelation() != 7 || itemTold(r.GetError()) != streamOver {
		t.Fatalf("%v %v", r, err)
	}
	if _, err := stream.Recv(); toldBy(t, err) != streamOver || retryOf(err) == 0 {
		t.Errorf("%v", err)
	}
}

func TestAnOldSessionIsAskedToLeave(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.MaxConnectionAge = 50 * time.Millisecond; c.MaxConnectionAgeGrace = time.Second })
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || r.GetGoAway().GetReason() != "connection age" {
		t.Fatalf("%v %v", r, err)
	}
	if err := stream.Send(&pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("e")}}); err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || r.GetClaimEvent() == nil {
		t.Errorf("a command sent before the client left: %v %v", r, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// Many commands are answered each once, in whichever order, with no more of them in
// flight than allowed.
func TestASessionIsBoundedAndAnswersAll(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.SessionInFlight = 4 })
	stream, err := f.client(t, "consumer").Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 500
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range n {
			req := claimOf(fmt.Sprint("evt-", i))
			if err := stream.Send(&pb.SessionRequest{Correlation: uint64(i + 1), Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: req}}); err != nil {
				t.Error(err)
				return
			}
		}
		_ = stream.CloseSend()
	})
	seen := map[uint64]bool{}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.GetClaimEvent().GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED || seen[r.GetCorrelation()] {
			t.Fatalf("%v", r)
		}
		seen[r.GetCorrelation()] = true
	}
	sending.Wait()
	if len(seen) != n {
		t.Errorf("%d answers", len(seen))
	}
}

// A grant whose caller has gone is given back at once: the next claim has it, and the
// attempt does not count.
func TestAGrantNobodyReceivesIsGivenBack(t *testing.T) {
	t.Parallel()
	inner := start(t)
	g := &gate{Backend: inner.backend, entered: make(chan struct{}, 64), open: make(chan struct{})}
	f := start(t, gated(g))
	c := &core{store: f.srv.cfg.Store, log: f.srv.cfg.Logger}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		cmd := (&core{nonces: newNonces()}).claimCommand(withIdentity(ctx, testIdentity()), claimOf("evt"), incoming{})
		_, err := c.claim(ctx, cmd, 0)
		done <- err
	}()
	<-g.entered
	cancel()
	close(g.open)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	for { // until the release, which nobody waits for, has come through
		r, err := inner.client(t, "consumer").ClaimEvent(t.Context(), claimOf("evt"))
		if err != nil {
			t.Fatal(err)
		}
		if r.GetOutcome() == pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
			if r.GetClaim().GetRoundAttempt() != 1 {
				t.Errorf("the attempt counts: %v", r)
			}
			return
		}
	}
}

// Readiness follows the storage both ways; liveness does not.
func TestHealthFollowsTheStorage(t *testing.T) {
	t.Parallel()
	f := start(t)
	client := healthpb.NewHealthClient(f.conn(t, ""))
	watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{Service: pb.IdempotencyService_ServiceDesc.ServiceName})
	if err != nil {
		t.Fatal(err)
	}
	await := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for {
			r, err := watch.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if r.GetStatus() == want {
				return
			}
		}
	}
	await(healthpb.HealthCheckResponse_SERVING)
	for range 2 {
		f.backend.fail(storage.ErrUnavailable)
		await(healthpb.HealthCheckResponse_NOT_SERVING)
		live, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: LivenessService})
		if err != nil || live.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%v %v", live, err)
		}
		f.backend.fail(nil)
		await(healthpb.HealthCheckResponse_SERVING)
	}
	go f.srv.Stop(context.Background())
	await(healthpb.HealthCheckResponse_NOT_SERVING)
}

func TestOnlyLoopbackIsServedInPlainText(t *testing.T) {
	t.Parallel()
	f := start(t)
	srv, err := New(Config{Store: f.store, Auth: f.table(t)})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(lis); err == nil {
		t.Error("served in plain text to everybody")
	}
	srv.Stop(t.Context())
}
