package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// sessionLimits bound a session.
type sessionLimits struct {
	inFlight int           // commands carried out at the same time
	aging    aging         // of the connection, which asks the client to go on over a new one
	drain    time.Duration // between the asking and the stream's end, when the server stops
}

// session is one stream: a reader hands commands to workers, workers hand answers to a
// writer, which alone sends.
type session struct {
	s      *idempotency
	stream pb.IdempotencyService_SessionServer
	ctx    context.Context // of the commands: ends with the stream, or when the server's time is over
	work   chan *pb.SessionRequest
	out    chan *pb.SessionResponse
	read   chan error    // the reader's end
	stop   chan struct{} // closed: take no more commands

	mu            sync.Mutex
	workers       int
	stopped       bool
	leaving       bool // no more subscriptions
	subscriptions map[uint64]*subscription
	busy          sync.WaitGroup
}

// Session implements the contract's method.
func (s *idempotency) Session(stream pb.IdempotencyService_SessionServer) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	x := &session{
		s: s, stream: stream, ctx: ctx,
		work: make(chan *pb.SessionRequest), out: make(chan *pb.SessionResponse, s.sessions.inFlight),
		read: make(chan error, 1), stop: make(chan struct{}), subscriptions: map[uint64]*subscription{},
	}
	return x.serve(cancel)
}

// errStreamOver ends a stream, and the commands that it still carries out, when its time
// is over. It says nothing about the commands: they are safe to repeat.
var errStreamOver = &refusal{
	reason: pb.ErrorReason_ERROR_REASON_UNAVAILABLE, message: "the stream's time is over, go on over a new one", retry: retryNow,
}

// serve returns when the client has closed its side and has its answers, or when it was
// asked to leave and the time for that is over. The reader ends with the stream.
func (x *session) serve(cancel context.CancelCauseFunc) error {
	written := make(chan error, 1)
	go func() { written <- x.write() }()
	go func() { x.read <- x.readAll() }()
	err := x.untilRead()
	x.takeNoMore()
	x.endSubscriptions(sideClosed)
	x.awaitWorkers(cancel)
	close(x.out)
	return errors.Join(err, <-written)
}

// awaitWorkers waits for the answers to what was taken. When the server's time is over,
// those that are missing are that.
func (x *session) awaitWorkers(cancel context.CancelCauseFunc) {
	idle := make(chan struct{})
	go func() {
		x.busy.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-x.s.drain.over:
		cancel(errStreamOver)
		<-idle
	}
}

// untilRead waits for the last command, and asks the client to leave when the server
// stops or the stream has grown old.
func (x *session) untilRead() error {
	old := x.s.sessions.aging.timer(x.stream.Context())
	defer old.Stop()
	var end <-chan time.Time
	leave := func(grace time.Duration, why string) {
		x.send(&pb.SessionResponse{Result: &pb.SessionResponse_GoAway{GoAway: &pb.GoAway{Drain: durationpb.New(grace), Reason: why}}})
		x.endSubscriptions(endReason(why))
		end = time.After(grace)
	}
	stopping := x.s.drain.begun
	for {
		select {
		case err := <-x.read:
			return err
		case <-stopping:
			stopping = nil
			leave(x.s.sessions.drain, "shutting down")
		case <-old.C:
			leave(x.s.sessions.aging.least()/2, "connection age")
		case <-end:
			return errStreamOver
		case <-x.s.drain.over:
			return errStreamOver
		}
	}
}

// readAll takes commands off the stream. When all workers are busy it takes no more,
// and the transport's flow control holds the client back.
func (x *session) readAll() error {
	for {
		req, err := x.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take := x.hand
		if controls(req) {
			take = x.control
		}
		if !take(req) {
			return nil
		}
	}
}

// hand gives a command to an idle worker, or to a new one while there may be more. It
// is false when no more commands are taken.
func (x *session) hand(req *pb.SessionRequest) bool {
	select {
	case x.work <- req:
		return true
	default:
	}
	if x.startWorker(req) {
		return true
	}
	select {
	case x.work <- req:
		return true
	case <-x.stop:
		return false
	}
}

func (x *session) startWorker(req *pb.SessionRequest) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped || x.workers >= x.s.sessions.inFlight {
		return false
	}
	x.workers++
	x.busy.Go(func() { x.worker(req) })
	return true
}

func (x *session) takeNoMore() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopped = true
	close(x.stop)
}

// worker carries out its first command and then whatever is handed to it.
func (x *session) worker(req *pb.SessionRequest) {
	for {
		x.send(x.s.answer(x.ctx, req))
		select {
		case req = <-x.work:
		case <-x.stop:
			return
		}
	}
}

func (x *session) send(r *pb.SessionResponse) { x.out <- r }

// write sends answers. The transport puts those that are ready together into one
// write. After a failure it goes on taking them, so that no worker waits; what was to be
// pushed is given back.
func (x *session) write() error {
	var failed error
	for r := range x.out {
		if failed == nil {
			failed = x.stream.Send(r)
		}
		if failed != nil && r.GetAcquireEvents().GetBatch() > 0 {
			x.s.giveBack(x.ctx, r.GetAcquireEvents().GetEvents())
		}
	}
	return failed
}
