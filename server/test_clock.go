package server

import (
	"context"
	"sync"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// TestClock is a clock that can be moved.
type TestClock interface {
	// Shows is the instant that it shows, and whether it stands still there.
	Shows() (now idem.Instant, frozen bool)
	// Advance moves it forward.
	Advance(d time.Duration)
	// Set puts it to an instant (zero: the one that it shows), frozen there or running on.
	Set(at idem.Instant, frozen bool)
}

// featureTestClock is what a server with TestingService names among its features.
const featureTestClock = "test_clock"

// lastMoment bounds the test clock, as the contract does.
var lastMoment = idem.InstantOf(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))

// testService serves tests.
type testService struct {
	pb.UnimplementedTestingServiceServer
	*core
	clock TestClock
	mu    sync.Mutex // one move at a time
}

// GetClock implements the contract's method.
func (s *testService) GetClock(context.Context, *pb.GetClockRequest) (*pb.GetClockResponse, error) {
	return &pb.GetClockResponse{Clock: s.shown()}, nil
}

// AdvanceClock implements the contract's method.
func (s *testService) AdvanceClock(ctx context.Context, req *pb.AdvanceClockRequest) (*pb.AdvanceClockResponse, error) {
	by := req.GetBy().AsDuration()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, _ := s.clock.Shows(); now.Add(by) >= lastMoment {
		return nil, invalid("by", "the clock cannot be moved beyond the year 2199")
	}
	s.clock.Advance(by)
	clock := s.shown()
	s.log.InfoContext(ctx, "AdvanceClock", "by", by.String(), "clock", clock.GetTime().AsTime())
	return &pb.AdvanceClockResponse{Clock: clock}, nil
}

// SetClock implements the contract's method.
func (s *testService) SetClock(ctx context.Context, req *pb.SetClockRequest) (*pb.SetClockResponse, error) {
	var at idem.Instant
	if req.GetTime() != nil {
		at = idem.InstantOf(req.GetTime().AsTime())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock.Set(at, req.GetFrozen())
	clock := s.shown()
	s.log.InfoContext(ctx, "SetClock", "frozen", req.GetFrozen(), "clock", clock.GetTime().AsTime())
	return &pb.SetClockResponse{Clock: clock}, nil
}

func (s *testService) shown() *pb.TestClock {
	now, frozen := s.clock.Shows()
	return &pb.TestClock{Time: instant(now), Frozen: frozen}
}
