package idemsvc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// maxCredit is what the server lets be open of one subscription.
const maxCredit = 1000

// Subscription has events of one consumer pushed as they fall due, never more than there is
// credit for. It is EXPERIMENTAL, as sessions are. [Subscription.Next] is for one goroutine,
// the rest is safe for concurrent use.
//
// It outlives its streams: over the next one it goes on behind the last batch that arrived,
// and what was lost comes again with the same claims.
type Subscription struct {
	s    *Session
	what *pb.SubscribeRequest
	more chan struct{} // there may be credit again, or it is closed

	mu     sync.Mutex
	open   int // credit that no event has used up
	given  int // as much of it as the server knows of
	last   uint64
	on     *pushes // nil: over no stream for now
	closed bool
}

// Batch is what was pushed at once: events that are the caller's to process.
type Batch struct {
	*pb.AcquireEventsResponse
	arrived time.Time
}

// Subscribe begins a subscription with the request's credit, which may be 0. A claimant is
// made where the request names none. Nothing is asked before the first
// [Subscription.Next]. A server whose features do not name "subscribe" answers that with
// [ErrUnimplemented].
func (s *Session) Subscribe(req *pb.SubscribeRequest) *Subscription {
	p := &Subscription{s: s, what: proto.CloneOf(req), more: make(chan struct{}, 1), open: int(req.GetCredit()), last: req.GetResumeAfter()}
	if p.what.GetClaimant() == "" {
		p.what.Claimant = NewClaimant()
	}
	return p
}

// AddCredit lets so many more events be pushed: as many as the caller can begin to work on.
// What goes beyond the server's limit of 1000 is kept until there is room.
func (p *Subscription) AddCredit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += n
	p.top()
	p.wake()
}

// Close has nothing more pushed. [Subscription.Next] gives what is on its way, and then
// [io.EOF]. Claims stay as they are.
func (p *Subscription) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.on != nil {
		p.on.tell(&pb.SessionRequest{Command: &pb.SessionRequest_Unsubscribe{Unsubscribe: &pb.UnsubscribeRequest{Subscription: p.on.number}}})
	}
	p.closed = true
	p.wake()
}

// Next waits for the next batch. Where the stream broke or the server could not go on, it
// subscribes again, as calls are repeated. After an error it may be called again; after
// [io.EOF] there is nothing more.
func (p *Subscription) Next(ctx context.Context) (*Batch, error) {
	for n := 0; ; n++ {
		b, err := p.next(ctx)
		if err == nil || errors.Is(err, io.EOF) {
			return b, err
		}
		wait, ok := Repeatable(err)
		if !ok || !p.s.client.cfg.again(ctx, n, wait, err) {
			return nil, err
		}
	}
}

func (p *Subscription) next(ctx context.Context) (*Batch, error) {
	for {
		on, err := p.subscribed(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case a := <-on.answers:
			if b, err := p.took(a); b != nil || err != nil {
				return b, err
			}
		case <-ctx.Done():
			return nil, asError(ctx.Err())
		}
	}
}

// subscribed is where the answers come. It subscribes where nothing was left to come, as soon
// as there is credit.
func (p *Subscription) subscribed(ctx context.Context) (*pushes, error) {
	for {
		p.mu.Lock()
		on, closed, open := p.on, p.closed, p.open
		p.mu.Unlock()
		switch {
		case on != nil:
			return on, nil
		case closed:
			return nil, io.EOF
		case open > 0:
			x, err := p.s.stream(ctx)
			if err != nil {
				return nil, asError(err)
			}
			if err := p.over(x); err != nil {
				return nil, asError(err)
			}
			continue
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			return nil, asError(ctx.Err())
		}
	}
}

// over subscribes over a stream, behind what has arrived, with the credit that is left.
func (p *Subscription) over(x *stream) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	req := proto.CloneOf(p.what)
	p.given = min(p.open, maxCredit)
	req.Credit, req.ResumeAfter = int32(p.given), p.last //nolint:gosec // at most 1000
	on, err := x.subscribe(&pb.SessionRequest{Command: &pb.SessionRequest_Subscribe{Subscribe: req}})
	p.on = on
	return err
}

// took looks at an answer. It is neither a batch nor an error where the server asks to go on
// over another stream.
func (p *Subscription) took(a answer) (*Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := a.resp.GetAcquireEvents()
	if got != nil {
		p.last = got.GetBatch()
		p.open -= len(got.GetEvents())
		p.given -= len(got.GetEvents())
		p.top()
		return &Batch{got, a.at}, nil
	}
	p.on = nil
	switch {
	case a.err != nil:
		return nil, asError(a.err)
	case a.resp.GetError() != nil:
		return nil, itemError(a.resp.GetError())
	default:
		return nil, nil
	}
}

// top tells the server of as much credit as it takes. The caller holds the lock.
func (p *Subscription) top() {
	n := min(p.open, maxCredit) - p.given
	if p.on == nil || n <= 0 {
		return
	}
	p.given += n
	p.on.tell(&pb.SessionRequest{Command: &pb.SessionRequest_AddCredit{
		AddCredit: &pb.AddCreditRequest{Subscription: p.on.number, Credit: int32(n)}, //nolint:gosec // at most 1000
	}})
}

func (p *Subscription) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// unused is the credit that no event has used up.
func (p *Subscription) unused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// pushes is a subscription over one stream.
type pushes struct {
	*stream
	number  uint64
	answers chan answer // has room for all that there can be
}

// subscribe sends a command that is answered more than once.
func (x *stream) subscribe(req *pb.SessionRequest) (*pushes, error) {
	p := &pushes{stream: x, answers: make(chan answer, maxCredit+2)}
	x.mu.Lock()
	if x.leaving || x.over {
		x.mu.Unlock()
		return nil, moved(errMoved)
	}
	x.last++
	p.number = x.last
	req.Correlation = p.number
	x.pushing[p.number] = p.answers
	x.mu.Unlock()
	x.put(req)
	return p, nil
}

// tell sends a command whose answer does not matter.
func (x *stream) tell(req *pb.SessionRequest) {
	x.mu.Lock()
	x.last++
	req.Correlation = x.last
	x.mu.Unlock()
	x.put(req)
}

// put does not wait for a stream that nothing is sent over any more.
func (x *stream) put(req *pb.SessionRequest) {
	select {
	case x.out <- req:
	case <-x.ended:
	case <-x.left:
	}
}
