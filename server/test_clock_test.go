package server

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// movable is a server whose clock callers may move.
func movable(t *testing.T) *fixture {
	t.Helper()
	return start(t, func(c *Config) {
		clock := memory.NewRunningClock()
		backend := memory.New(memory.Options{Clock: clock.Now, Policy: testPolicy})
		c.Store, c.TestClock = storage.New(backend, storage.Options{}), clock
		clock.OnMove(func() {
			backend.Sweep(context.Background())
			c.Store.Recheck()
		})
		t.Cleanup(func() { _ = c.Store.Close(context.Background()) })
	})
}

// A claim's lease ends when the clock passes its end, and not before; the claim that
// waits for it gets the event at once.
func TestMovingTheClockEndsLeases(t *testing.T) {
	t.Parallel()
	f := movable(t)
	clock := pb.NewTestingServiceClient(f.conn(t, "admin"))
	start := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	set, err := clock.SetClock(t.Context(), &pb.SetClockRequest{Time: timestamppb.New(start), Frozen: true})
	if err != nil || !set.GetClock().GetTime().AsTime().Equal(start) || !set.GetClock().GetFrozen() {
		t.Fatalf("%v %v", set, err)
	}
	req := claimOf("e")
	req.Lease = durationpb.New(time.Hour)
	first, err := f.client(t, "consumer").ClaimEvent(t.Context(), req)
	if err != nil || !first.GetClaim().GetLeaseExpiresAt().AsTime().Equal(start.Add(time.Hour)) {
		t.Fatalf("%v %v", first, err)
	}
	advance := func(by time.Duration) {
		t.Helper()
		r, err := clock.AdvanceClock(t.Context(), &pb.AdvanceClockRequest{By: durationpb.New(by)})
		start = start.Add(by)
		if err != nil || !r.GetClock().GetTime().AsTime().Equal(start) || !r.GetClock().GetFrozen() {
			t.Fatalf("%v %v", r, err)
		}
	}
	advance(time.Hour - time.Microsecond)
	if r, err := f.client(t, "consumer").ClaimEvent(t.Context(), claimOf("e")); err != nil || r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS {
		t.Fatalf("a microsecond before the end: %v %v", r, err)
	}
	waiting := make(chan *pb.ClaimEventResponse, 1)
	go func() {
		req := claimOf("e")
		req.Wait = durationpb.New(time.Minute)
		r, err := f.client(t, "consumer").ClaimEvent(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		waiting <- r
	}()
	for f.srv.cfg.Store.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	advance(time.Microsecond)
	if r := <-waiting; r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		t.Errorf("the waiting claim: %v", r)
	}
	view, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "e"})
	if err != nil || view.GetEvents()[0].GetConsumers()[0].GetAttempts()[0].GetEnd() != pb.AttemptEnd_ATTEMPT_END_LEASE_EXPIRED {
		t.Errorf("%v %v", view, err)
	}
}

func TestTheTestClockRunsOn(t *testing.T) {
	t.Parallel()
	f := movable(t)
	clock := pb.NewTestingServiceClient(f.conn(t, "admin"))
	start := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := clock.SetClock(t.Context(), &pb.SetClockRequest{Time: timestamppb.New(start)}); err != nil {
		t.Fatal(err)
	}
	var before time.Time
	for range 2 {
		r, err := pb.NewTestingServiceClient(f.conn(t, "reader")).GetClock(t.Context(), &pb.GetClockRequest{})
		now := r.GetClock().GetTime().AsTime()
		if err != nil || r.GetClock().GetFrozen() || !now.After(before) || now.Before(start) || now.After(start.Add(time.Hour)) {
			t.Fatalf("%v %v", r, err)
		}
		before = now
	}
	info, err := f.ops(t, "consumer").GetServerInfo(t.Context(), &pb.GetServerInfoRequest{})
	if err != nil || info.GetDatabaseTime().AsTime().Before(start) || info.GetFeatures()[len(info.GetFeatures())-1] != featureTestClock {
		t.Errorf("%v %v", info, err)
	}
}

func TestTheTestClockRefuses(t *testing.T) {
	t.Parallel()
	f := movable(t)
	last := timestamppb.New(time.Date(2199, 12, 31, 23, 0, 0, 0, time.UTC))
	if _, err := pb.NewTestingServiceClient(f.conn(t, "admin")).SetClock(t.Context(), &pb.SetClockRequest{Time: last, Frozen: true}); err != nil {
		t.Fatal(err)
	}
	invalid := told{code: codes.InvalidArgument, reason: "INVALID_ARGUMENT"}
	at := func(field string) told { invalid.field = field; return invalid }
	denied := told{code: codes.PermissionDenied, reason: "PERMISSION_DENIED"}
	for _, c := range []struct {
		name, caller string
		call         func(pb.TestingServiceClient) error
		want         told
	}{
		{"none", "admin", advanceBy(nil), at("by")},
		{"back", "admin", advanceBy(durationpb.New(-time.Second)), at("by")},
		{"too little", "admin", advanceBy(durationpb.New(999)), at("by")},
		{"too far", "admin", advanceBy(durationpb.New(101 * 366 * 24 * time.Hour)), at("by")},
		{"beyond", "admin", advanceBy(durationpb.New(time.Hour)), at("by")},
		{"too early", "admin", setTo(timestamppb.New(time.Unix(946684799, 0))), at("time")},
		{"too late", "admin", setTo(timestamppb.New(lastMoment.Time())), at("time")},
		{"consumer", "consumer", advanceBy(durationpb.New(time.Second)), denied},
		{"operator", "operator", setTo(last), denied},
	} {
		if got := toldBy(t, c.call(pb.NewTestingServiceClient(f.conn(t, c.caller)))); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	r, err := pb.NewTestingServiceClient(f.conn(t, "admin")).GetClock(t.Context(), &pb.GetClockRequest{})
	if err != nil || !r.GetClock().GetTime().AsTime().Equal(last.AsTime()) {
		t.Errorf("a refused call moved the clock: %v %v", r, err)
	}
}

func advanceBy(by *durationpb.Duration) func(pb.TestingServiceClient) error {
	return func(c pb.TestingServiceClient) error {
		_, err := c.AdvanceClock(context.Background(), &pb.AdvanceClockRequest{By: by})
		return err
	}
}

func setTo(at *timestamppb.Timestamp) func(pb.TestingServiceClient) error {
	return func(c pb.TestingServiceClient) error {
		_, err := c.SetClock(context.Background(), &pb.SetClockRequest{Time: at})
		return err
	}
}

// Other servers have no such service.
func TestNobodyMovesTheClockOfOtherServers(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, call := range map[string]func(pb.TestingServiceClient) error{"advance": advanceBy(durationpb.New(time.Second)), "set": setTo(nil)} {
		if got := toldBy(t, call(pb.NewTestingServiceClient(f.conn(t, "admin")))); got.code != codes.Unimplemented {
			t.Errorf("%s: %+v", name, got)
		}
	}
	info, err := f.ops(t, "consumer").GetServerInfo(t.Context(), &pb.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range info.GetFeatures() {
		if x == featureTestClock {
			t.Error("it says that it has one")
		}
	}
}
