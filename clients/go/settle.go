package idemsvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// soon is how long to wait where the service does not say.
const soon = time.Second

func orSoon(d time.Duration) time.Duration {
	if d <= 0 {
		return soon
	}
	return d
}

// later is the answer when the service could not be asked or told.
func later(err error) *Answer {
	wait, _ := Repeatable(err)
	return &Answer{Advice: RepeatLater, RetryAfter: orSoon(wait)}
}

// ending is a context for telling the service how something ended: it outlives the
// caller's, and calls are repeated until its end.
func (c *Client) ending(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(persistently(context.WithoutCancel(ctx)), limit)
}

// settle tells the service how the handler ended. lost is why the claim is known to be
// over, nil if it is not.
func (r *run) settle(ctx context.Context, lost, err error) (*Answer, error) {
	c := r.claim
	if a := c.ended.Load(); a != nil { // the handler ended it itself
		return copyOf(a), err
	}
	r.deliver(ctx)
	end, cancel := c.client.ending(ctx, r.end)
	defer cancel()
	m := meaning(err)
	stopped := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	plain := m.kind == 0 && !m.timed // it says nothing else
	switch {
	case err == nil:
		return r.complete(end)
	case lost != nil && (stopped || errors.Is(err, ErrClaimLost)):
		return r.gone(end, lost)
	case m.release:
		return r.release(end, &m, c.client.cfg.text(err))
	case stopped && plain && errors.Is(ctx.Err(), context.Canceled):
		return r.release(end, &m, fmt.Sprintf("the caller's context ended: %v", context.Cause(ctx)))
	case stopped && ctx.Err() != nil && m.code == "":
		m.code = codeDeadline
	}
	return r.fail(end, &m, lost)
}

// complete ends the claim with success. A completion that would be refused for ever is a
// rejection: what the handler did must not be repeated, and a person has to see it.
func (r *run) complete(ctx context.Context) (*Answer, error) {
	_, err := r.claim.Complete(ctx)
	if err == nil {
		return copyOf(r.claim.ended.Load()), nil
	}
	switch {
	case errors.Is(err, ErrOpenEffects): // nobody knows what happened: the policy decides
		m := meaning(WithCode(codeOpen, err))
		return r.fail(ctx, &m, nil)
	case refused(err):
		m := meaning(Reject(WithCode(codeRefused, err)))
		return r.fail(ctx, &m, nil)
	}
	r.claim.warn(ctx, "completion not recorded", err)
	return later(err), err
}

// refused reports whether a completion is refused for what it says.
func refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	bad := ok && e.FromServer && e.Code == codes.InvalidArgument && e.Reason != ErrInvalidToken
	return bad || errors.Is(err, ErrVersionKindMismatch) || errors.Is(err, ErrTooLarge)
}

// fail ends the claim with a failure. The error is the handler's, and why the claim was
// lost if it was.
func (r *run) fail(ctx context.Context, m *failure, lost error) (*Answer, error) {
	_, err := r.claim.fail(ctx, m)
	switch {
	case err == nil && lost == nil:
		return copyOf(r.claim.ended.Load()), m.err
	case err == nil:
		return copyOf(r.claim.ended.Load()), errors.Join(m.err, lost)
	}
	r.claim.warn(ctx, "failure not recorded", err)
	return later(err), errors.Join(m.err, err)
}

// release gives the event back.
func (r *run) release(ctx context.Context, m *failure, reason string) (*Answer, error) {
	_, err := r.claim.Release(ctx, reason)
	if err != nil {
		r.claim.warn(ctx, "claim not given back", err)
		return later(err), errors.Join(m.err, err)
	}
	a := copyOf(r.claim.ended.Load())
	a.RetryAfter = max(a.RetryAfter, m.after)
	return a, m.err
}

// gone ends a claim whose handler stopped because it was over. If the service itself said
// so there is nothing to tell; otherwise the attempt has failed.
func (r *run) gone(ctx context.Context, lost error) (*Answer, error) {
	if confirmed(lost) {
		return later(lost), lost
	}
	m := meaning(lost)
	return r.fail(ctx, &m, nil)
}

// deliver sends the reports of effects that did not get through before.
func (r *run) deliver(ctx context.Context) {
	c := r.claim
	c.mu.Lock()
	unheard := c.unheard
	c.unheard = nil
	c.mu.Unlock()
	if len(unheard) == 0 {
		return
	}
	ctx, cancel := c.client.ending(ctx, r.end)
	defer cancel()
	for _, report := range unheard {
		if err := report(ctx); err != nil {
			c.warn(ctx, "side effect not recorded", err)
		}
	}
}

func copyOf(a *Answer) *Answer {
	if a == nil {
		return &Answer{Advice: RepeatLater, RetryAfter: soon}
	}
	out := *a
	return &out
}

// The answers that follow from how a claim ended.

func (c *Claim) completed(req *pb.CompleteEventRequest, resp *pb.CompleteEventResponse) *Answer {
	return &Answer{Advice: Acknowledge, State: resp.GetState(), Result: req.GetResult(), ContentType: req.GetContentType()}
}

func (c *Claim) failed(resp *pb.FailEventResponse) *Answer {
	a := &Answer{Advice: RepeatLater, State: resp.GetState()}
	switch resp.GetState() { // what else there is, or will be, is repeated
	case pb.EventState_EVENT_STATE_FAILED_TERMINAL, pb.EventState_EVENT_STATE_DEAD_LETTERED, pb.EventState_EVENT_STATE_HELD,
		pb.EventState_EVENT_STATE_PROCESSED: // a replay that failed leaves what it was settled as
		a.Advice = Acknowledge
	default:
		a.RetryAfter = orSoon(resp.GetNextAttemptIn().AsDuration())
	}
	return a
}

func (c *Claim) released(resp *pb.ReleaseClaimResponse) *Answer {
	return &Answer{Advice: RepeatLater, State: resp.GetState(), RetryAfter: orSoon(resp.GetAvailableIn().AsDuration())}
}
