package server

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// What the subscriptions of a session may be.
const (
	maxSubscriptions = 16
	maxCredit        = 1000
	maxPushed        = 100 // events of a batch, as of AcquireEvents
)

// subscription has events pushed over a session: it is a loop of AcquireEvents, each of which
// may be granted as much as there is credit for.
type subscription struct {
	x      *session
	number uint64
	req    *pb.SubscribeRequest
	ctx    context.Context // until nothing more is to be acquired
	end    context.CancelCauseFunc
	ended  chan struct{} // closed after the last answer
	more   chan struct{} // there is credit again

	mu      sync.Mutex
	credit  int // that nothing is being acquired for
	pending int // that something is being acquired for
}

// endReason is why a subscription ends that is not at fault.
type endReason string

func (r endReason) Error() string { return string(r) }

const (
	unsubscribed endReason = "unsubscribed"
	sideClosed   endReason = "the client's side is closed"
)

// controls reports whether a command is about subscriptions.
func controls(req *pb.SessionRequest) bool {
	switch req.GetCommand().(type) {
	case *pb.SessionRequest_Subscribe, *pb.SessionRequest_AddCredit, *pb.SessionRequest_Unsubscribe:
		return true
	default:
		return false
	}
}

// control carries out a command about subscriptions: at once, since it takes no time, so that
// credit comes after its subscription. It is false when no more commands are taken.
func (x *session) control(req *pb.SessionRequest) bool {
	if !x.begin() {
		return false
	}
	defer x.busy.Done()
	var do func(context.Context, []mark, *pb.SessionRequest, *pb.SessionResponse) error
	var ended <-chan struct{}
	switch c := req.GetCommand().(type) {
	case *pb.SessionRequest_Subscribe:
		do = func(_ context.Context, outer []mark, req *pb.SessionRequest, _ *pb.SessionResponse) error {
			return x.subscribe(outer, req.GetCorrelation(), c.Subscribe)
		}
	case *pb.SessionRequest_AddCredit:
		do = func(_ context.Context, outer []mark, _ *pb.SessionRequest, resp *pb.SessionResponse) error {
			return x.addCredit(outer, c.AddCredit, resp)
		}
	case *pb.SessionRequest_Unsubscribe:
		do = func(_ context.Context, outer []mark, _ *pb.SessionRequest, resp *pb.SessionResponse) (err error) {
			ended, err = x.unsubscribe(outer, c.Unsubscribe, resp)
			return err
		}
	}
	resp := x.s.carryOut(x.ctx, req, do)
	switch {
	case ended != nil:
		x.busy.Go(func() {
			<-ended
			x.send(resp)
		})
	case resp.GetResult() != nil: // to subscribe, only a refusal is answered now
		x.send(resp)
	}
	return true
}

// begin adds to what is waited for before the stream ends.
func (x *session) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped {
		return false
	}
	x.busy.Add(1)
	return true
}

func (x *session) subscribe(outer []mark, number uint64, req *pb.SubscribeRequest) error {
	carryMarks(outer, "subscribe.", req)
	if err := x.s.valid.request(req); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.leaving:
		return errStreamOver
	case x.subscriptions[number] != nil:
		return invalid("correlation", "value is that of a live subscription of this stream")
	case len(x.subscriptions) >= maxSubscriptions:
		return invalid("subscribe", fmt.Sprintf("a stream can have at most %d subscriptions", maxSubscriptions))
	}
	p := &subscription{
		x: x, number: number, req: req, ended: make(chan struct{}), more: make(chan struct{}, 1), credit: int(req.GetCredit()),
	}
	p.ctx, p.end = context.WithCancelCause(x.ctx)
	x.subscriptions[number] = p
	x.busy.Go(p.run)
	return nil
}

func (x *session) subscription(number uint64) (*subscription, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.subscriptions[number]; p != nil {
		return p, nil
	}
	return nil, &refusal{reason: pb.ErrorReason_ERROR_REASON_NOT_FOUND, message: "no such subscription of this stream is live"}
}

func (x *session) addCredit(outer []mark, req *pb.AddCreditRequest, resp *pb.SessionResponse) error {
	carryMarks(outer, "add_credit.", req)
	if err := x.s.valid.request(req); err != nil {
		return err
	}
	p, err := x.subscription(req.GetSubscription())
	if err != nil {
		return err
	}
	open, ok := p.give(int(req.GetCredit()))
	if !ok {
		return invalid("credit", fmt.Sprintf("at most %d events may be open, there are %d already", maxCredit, open))
	}
	resp.Result = &pb.SessionResponse_AddCredit{AddCredit: &pb.AddCreditResponse{Open: int32(open)}} //nolint:gosec // at most 1000
	return nil
}

func (x *session) unsubscribe(outer []mark, req *pb.UnsubscribeRequest, resp *pb.SessionResponse) (<-chan struct{}, error) {
	carryMarks(outer, "unsubscribe.", req)
	if err := x.s.valid.request(req); err != nil {
		return nil, err
	}
	p, err := x.subscription(req.GetSubscription())
	if err != nil {
		return nil, err
	}
	p.end(unsubscribed)
	resp.Result = &pb.SessionResponse_Unsubscribe{Unsubscribe: &pb.UnsubscribeResponse{}}
	return p.ended, nil
}

// endSubscriptions has nothing more acquired over this stream.
func (x *session) endSubscriptions(why endReason) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leaving = true
	for _, p := range x.subscriptions {
		p.end(why)
	}
}

// run pushes until the subscription ends, and says how.
func (p *subscription) run() {
	defer close(p.ended)
	last := p.push()
	p.x.mu.Lock()
	delete(p.x.subscriptions, p.number)
	p.x.mu.Unlock()
	p.end(nil)
	p.x.send(last)
}

// push is AcquireEvents again and again, and returns the last answer. A batch's number is
// used up when something was granted: what a lost answer told is then found under it.
func (p *subscription) push() *pb.SessionResponse {
	batch := p.req.GetResumeAfter() + 1
	for n := p.take(); n > 0; n = p.take() {
		claimant := p.req.GetClaimant() + "/" + strconv.FormatUint(batch, 10)
		resp := p.acquire(claimant, n)
		got := resp.GetAcquireEvents()
		switch {
		case got == nil:
			return resp
		case len(got.GetEvents()) > n: // of an earlier call by this claimant, which had more credit
			p.x.s.release(p.x.ctx, got.GetEvents()[n:])
			got.Events = got.GetEvents()[:n]
		}
		p.settle(n, len(got.GetEvents()))
		if len(got.GetEvents()) == 0 {
			p.pause()
			continue
		}
		got.Claimant, got.Batch = claimant, batch
		p.x.send(resp)
		batch++
	}
	var why endReason
	if r, ok := context.Cause(p.ctx).(endReason); ok { //nolint:errorlint // the cause itself
		why = r
	}
	return &pb.SessionResponse{Correlation: p.number, Result: &pb.SessionResponse_SubscriptionEnded{
		SubscriptionEnded: &pb.SubscriptionEnded{Reason: string(why)},
	}}
}

// acquire waits for a batch until the subscription ends.
func (p *subscription) acquire(claimant string, n int) *pb.SessionResponse {
	s := p.x.s
	req := &pb.AcquireEventsRequest{
		Namespace: p.req.GetNamespace(), Consumer: p.req.GetConsumer(), Claimant: claimant, MaxEvents: int32(n), //nolint:gosec // at most 100
		Wait: durationpb.New(maxWait), Lease: p.req.GetLease(), WantPayload: p.req.GetWantPayload(),
	}
	cmd := &pb.SessionRequest{Correlation: p.number, Command: &pb.SessionRequest_AcquireEvents{AcquireEvents: req}}
	return s.carryOut(p.x.ctx, cmd, func(ctx context.Context, outer []mark, _ *pb.SessionRequest, resp *pb.SessionResponse) (err error) {
		r := &pb.SessionResponse_AcquireEvents{}
		resp.Result = r
		r.AcquireEvents, err = through(ctx, s, outer, "subscribe", req, func(ctx context.Context, req *pb.AcquireEventsRequest) (*pb.AcquireEventsResponse, error) {
			return s.acquireUntil(ctx, p.ctx, req)
		})
		return err
	})
}

// pause keeps a subscription from asking again while the server stops, which acquires nothing
// any more.
func (p *subscription) pause() {
	select {
	case <-p.x.s.drain.begun:
		<-p.ctx.Done()
	default:
	}
}

// take waits for credit and takes as much as one batch may use; 0: the subscription is over.
func (p *subscription) take() int {
	for p.ctx.Err() == nil {
		p.mu.Lock()
		n := min(p.credit, maxPushed)
		p.credit -= n
		p.pending += n
		p.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-p.more:
		case <-p.ctx.Done():
		}
	}
	return 0
}

// settle uses up as much of the credit that was taken as there are events.
func (p *subscription) settle(taken, used int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending -= taken
	p.credit += taken - used
}

// give adds credit, unless more would be open than may be, and returns what is open.
func (p *subscription) give(n int) (open int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open = p.credit + p.pending; open+n > maxCredit {
		return open, false
	}
	p.credit += n
	select {
	case p.more <- struct{}{}:
	default:
	}
	return open + n, true
}

// release gives claims back that a client had before and has no credit for.
func (s *idempotency) release(ctx context.Context, events []*pb.AcquiredEvent) {
	for _, e := range events {
		req := &pb.ReleaseClaimRequest{Token: e.GetClaim().GetToken(), Reason: "no credit for it"}
		s.answer(ctx, &pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_ReleaseClaim{ReleaseClaim: req}})
	}
}

// giveBack gives grants back that could not be sent. One that a resumed subscription has been
// told of meanwhile stays.
func (c *core) giveBack(ctx context.Context, events []*pb.AcquiredEvent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undeliveredTimeout)
	defer cancel()
	keys, err := c.tokens.load(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "grants that could not be sent not given back, their leases will end them", "error", err)
		return
	}
	var all sync.WaitGroup
	for _, e := range events {
		if t, ok := keys.openClaim(e.GetClaim().GetToken()); ok {
			all.Go(func() { c.unsent(ctx, t) })
		}
	}
	all.Wait()
}
