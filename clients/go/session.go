package idemsvc

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// closeTimeout bounds how long [Session.Close] waits for answers.
const closeTimeout = 5 * time.Second

// errMoved says that a command is to be repeated over another stream.
var errMoved = errors.New("the stream is over")

// errSessionClosed refuses commands of a closed session.
var errSessionClosed = &Error{Code: codes.Canceled, Reason: ErrCancelled, Message: "the session is closed"}

// Session sends commands of many callers over one stream, without waiting for the
// answers in between. It is EXPERIMENTAL, as the contract's method is, and safe for
// concurrent use.
//
// A stream that breaks, or that the server asks to leave, is replaced; commands without
// an answer are sent again over the new one with the same identity.
type Session struct {
	client *Client
	ctx    context.Context // of the streams
	cancel context.CancelFunc

	mu      sync.Mutex
	current *stream       // takes new commands; nil: none
	opening chan struct{} // closed when somebody's opening of a stream has ended
	closed  bool
	streams sync.WaitGroup
}

// Session makes a session. Its streams end with [Session.Close], or with the context.
func (c *Client) Session(ctx context.Context) *Session {
	s := &Session{client: c}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Do sends one command and waits for its answer. The request's correlation is chosen
// here, and its timeout follows the context where the request has none. A refused
// command is an [*Error].
func (s *Session) Do(ctx context.Context, req *SessionRequest) (*SessionResponse, error) {
	cfg := &s.client.cfg
	switch c := req.GetCommand().(type) {
	case *pb.SessionRequest_ClaimEvents:
		out, err := cfg.claimItems(ctx, c.ClaimEvents, func(ctx context.Context) (*pb.ClaimEventsResponse, error) {
			resp, err := s.do(ctx, req, c.ClaimEvents)
			return resp.GetClaimEvents(), err
		})
		return answered(&SessionResponse{Result: &pb.SessionResponse_ClaimEvents{ClaimEvents: out}}, err)
	case *pb.SessionRequest_CompleteEvents:
		out, err := cfg.completeItems(ctx, c.CompleteEvents, func(ctx context.Context, some *pb.CompleteEventsRequest) (*pb.CompleteEventsResponse, error) {
			part := &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvents{CompleteEvents: some}, Timeout: req.GetTimeout()}
			resp, err := s.do(ctx, part, some)
			return resp.GetCompleteEvents(), err
		})
		return answered(&SessionResponse{Result: &pb.SessionResponse_CompleteEvents{CompleteEvents: out}}, err)
	case *pb.SessionRequest_ReceiveEvents:
		out, err := cfg.receiveItems(ctx, c.ReceiveEvents, func(ctx context.Context, some *pb.ReceiveEventsRequest) (*pb.ReceiveEventsResponse, error) {
			part := &pb.SessionRequest{Command: &pb.SessionRequest_ReceiveEvents{ReceiveEvents: some}, Timeout: req.GetTimeout(), Traceparent: req.GetTraceparent()}
			resp, err := s.do(ctx, part, some)
			return resp.GetReceiveEvents(), err
		})
		return answered(&SessionResponse{Result: &pb.SessionResponse_ReceiveEvents{ReceiveEvents: out}}, err)
	case *pb.SessionRequest_AcquireEvents:
		return s.do(ctx, req, c.AcquireEvents)
	default:
		return s.do(ctx, req, req.GetClaimEvent())
	}
}

func answered(resp *SessionResponse, err error) (*SessionResponse, error) {
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// do sends one command, and repeats it as a call is repeated. claim is what its identity
// and its waiting time are read from.
func (s *Session) do(ctx context.Context, req *SessionRequest, claim any) (*SessionResponse, error) {
	if err := checkIdentity(claim); err != nil {
		return nil, err
	}
	cfg := &s.client.cfg
	ctx, cancel := cfg.bounded(ctx, claim)
	defer cancel()
	var resp *SessionResponse
	err := cfg.repeat(ctx, cfg.tryFor(claim), func(try context.Context) (err error) {
		resp, err = s.once(ctx, try, req)
		return err
	})
	return answered(resp, err)
}

// once sends a command over the current stream. A stream that gives no answer while the
// try lasts, but the caller does, is left for another one.
func (s *Session) once(ctx, try context.Context, req *SessionRequest) (*SessionResponse, error) {
	x, err := s.stream(try)
	if err != nil {
		return nil, asError(err)
	}
	own := req.GetTraceparent()
	if trace := s.client.cfg.trace; own == "" && trace != nil {
		own = trace(ctx)
	}
	r := x.do(try, &pb.SessionRequest{Command: req.GetCommand(), Timeout: timeoutOf(try, req), Traceparent: own})
	switch {
	case r.err != nil:
		if try.Err() != nil && ctx.Err() == nil {
			x.leave()
		}
		return nil, asError(r.err)
	case r.resp.GetError() != nil:
		return nil, itemError(r.resp.GetError())
	default:
		return r.resp, nil
	}
}

func timeoutOf(ctx context.Context, req *SessionRequest) *durationpb.Duration {
	if req.GetTimeout() != nil {
		return req.GetTimeout()
	}
	if end, ok := ctx.Deadline(); ok {
		return durationpb.New(max(time.Until(end), time.Millisecond))
	}
	return nil
}

// stream is the current stream, or a new one. Several callers open only one.
func (s *Session) stream(ctx context.Context) (*stream, error) {
	for {
		s.mu.Lock()
		switch {
		case s.closed:
			s.mu.Unlock()
			return nil, errSessionClosed
		case s.current != nil && s.current.taking():
			x := s.current
			s.mu.Unlock()
			return x, nil
		case s.opening == nil:
			s.opening = make(chan struct{})
			s.streams.Add(1)
			failed := make(chan error, 1)
			go s.open(failed)
			s.mu.Unlock()
			select {
			case err := <-failed:
				if err != nil {
					return nil, err
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		default:
			opening := s.opening
			s.mu.Unlock()
			select {
			case <-opening:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// open makes a stream and reads it to its end. It runs beside the callers, because a
// stream must outlive the one who asked for it.
func (s *Session) open(failed chan<- error) {
	defer s.streams.Done()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	rpc, err := s.client.stub.Session(ctx)
	x := newStream(rpc, cancel)
	s.mu.Lock()
	if err == nil {
		s.current = x
		if s.closed {
			x.leave()
		}
	}
	close(s.opening)
	s.opening = nil
	s.mu.Unlock()
	failed <- err
	if err == nil {
		x.run()
	}
}

// Close takes no more commands, waits a moment for the answers to those that were sent,
// and ends the streams.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.current != nil {
		s.current.leave()
	}
	s.mu.Unlock()
	t := time.AfterFunc(closeTimeout, s.cancel)
	defer t.Stop()
	s.streams.Wait()
	s.cancel()
	return nil
}
