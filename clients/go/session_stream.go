package idemsvc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// sendAhead is how many commands may wait for the transport.
const sendAhead = 256

// stream is one stream of a session: callers put commands into out, one goroutine sends
// them, another hands the answers to whoever waits for them.
type stream struct {
	rpc    pb.IdempotencyService_SessionClient
	cancel context.CancelFunc
	out    chan *pb.SessionRequest
	left   chan struct{} // closed: nothing is sent any more, after what is in out
	ended  chan struct{} // closed: nothing is answered any more

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan answer
	pushing map[uint64]chan answer // of subscriptions
	leaving bool                   // takes no new commands
	over    bool                   // answers none
}

// answer is what became of a command.
type answer struct {
	resp *pb.SessionResponse
	err  error
	at   time.Time // when it arrived
}

func newStream(rpc pb.IdempotencyService_SessionClient, cancel context.CancelFunc) *stream {
	return &stream{
		rpc: rpc, cancel: cancel, out: make(chan *pb.SessionRequest, sendAhead), left: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[uint64]chan answer{}, pushing: map[uint64]chan answer{},
	}
}

// taking reports whether the stream takes commands.
func (x *stream) taking() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.leaving && !x.over
}

// do sends a command and waits for its answer. A caller whose context ends leaves at
// once; the answer, when it comes, is dropped.
func (x *stream) do(ctx context.Context, req *pb.SessionRequest) answer {
	got := make(chan answer, 1)
	x.mu.Lock()
	if x.leaving || x.over {
		x.mu.Unlock()
		return answer{err: moved(errMoved)}
	}
	x.last++
	req.Correlation = x.last
	x.waiting[req.GetCorrelation()] = got
	x.mu.Unlock()
	select {
	case x.out <- req:
	case <-ctx.Done():
		x.forget(req.GetCorrelation())
		return answer{err: ctx.Err()}
	case a := <-got: // the stream ended
		return a
	}
	select {
	case a := <-got:
		return a
	case <-ctx.Done():
		x.forget(req.GetCorrelation())
		return answer{err: ctx.Err()}
	}
}

// run sends and receives until the stream ends.
func (x *stream) run() {
	var sending sync.WaitGroup
	sending.Go(x.send)
	err := x.receive()
	x.end(err)
	close(x.ended)
	x.cancel()
	sending.Wait()
}

func (x *stream) send() {
	for {
		select {
		case req := <-x.out:
			if x.rpc.Send(req) != nil {
				return // the receiver learns why
			}
		case <-x.ended:
			return
		case <-x.left:
			_ = x.rpc.CloseSend() // the receiver learns what happens
			return
		}
	}
}

// receive hands out answers until the stream ends, and says why it did.
func (x *stream) receive() error {
	for {
		resp, err := x.rpc.Recv()
		if err != nil {
			return err
		}
		if resp.GetGoAway() != nil {
			x.leave()
			continue
		}
		if got := x.whose(resp); got != nil {
			got <- answer{resp: resp, at: time.Now()}
		}
	}
}

// whose is where an answer is waited for, nil for nowhere any more.
func (x *stream) whose(resp *pb.SessionResponse) chan<- answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	number := resp.GetCorrelation()
	if got := x.pushing[number]; got != nil {
		if resp.GetAcquireEvents() == nil { // the last one
			delete(x.pushing, number)
		}
		return got
	}
	got := x.waiting[number]
	delete(x.waiting, number)
	x.closeIfIdle()
	return got
}

// leave takes no more commands. The stream ends when those that were sent are answered.
func (x *stream) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.leaving {
		x.leaving = true
		x.closeIfIdle()
	}
}

// closeIfIdle closes the sending side of a stream that is left and owes no answer. That
// ends subscriptions, too; where the server does not say so in time, the stream is given up,
// so that they go on over another one. The caller holds the lock.
func (x *stream) closeIfIdle() {
	if x.leaving && len(x.waiting) == 0 {
		select {
		case <-x.left:
		default:
			close(x.left)
			if len(x.pushing) > 0 {
				time.AfterFunc(closeTimeout, x.cancel)
			}
		}
	}
}

func (x *stream) forget(correlation uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.waiting, correlation)
	x.closeIfIdle()
}

// end tells everybody who still waits to go on over another stream, or that there is no
// use in that.
func (x *stream) end(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	for correlation, got := range x.waiting {
		delete(x.waiting, correlation)
		got <- answer{err: moved(err)}
	}
	for number, got := range x.pushing {
		delete(x.pushing, number)
		got <- answer{err: moved(err)}
	}
}

// moved is the error of commands of a stream that ended: repeatable, unless the server
// refused the stream itself.
func moved(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, errMoved) && status.Code(err) != codes.Unavailable {
		return err
	}
	return &Error{Code: codes.Unavailable, Reason: ErrUnavailable, Message: err.Error(), moved: true}
}
