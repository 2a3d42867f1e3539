package idemsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

// Handler does the work that an event asks for.
//
// Its context ends when the caller's does and when the claim is lost; then
// context.Cause(ctx) is [ErrClaimLost] and everything that is not fenced must stop. It
// carries the event's [Trail].
//
// What it returns ends the claim. nil completes it, with what [Claim.CompleteWith] was
// given. An error fails it: retryable, which counts as an attempt, backs off by policy and
// ends in the dead letters after the last one, unless the error or one that it wraps is of
// [Reject], [NotYet], [RetryAfter] or [Release]. Of two that contradict each other the
// outer one holds. The error's text is stored and shown; see [WithErrorText].
//
// A handler that returns an error because the caller's context was cancelled gives the
// event back; if that context's deadline has passed, the attempt has failed. A handler
// that panics, or ends its goroutine, has failed retryably with the panic's text; the
// panic goes on afterwards, since only the program knows whether it may live.
type Handler func(ctx context.Context, claim *Claim) error

// ErrNotNow is the error of a delivery that is to be repeated later although nothing
// failed: another claim is running, the next attempt is not due, or the event waits for
// its turn.
var ErrNotNow = errors.New("idemsvc: not now")

// errBusy refuses a second handler under one claim.
var errBusy = errors.New("idemsvc: a handler already runs under this claim")

// Answer is what became of a delivery, and what to tell its sender.
type Answer struct {
	// Advice is [Acknowledge] or [RepeatLater]. What this client does not know is
	// RepeatLater.
	Advice Advice
	// RetryAfter is how long the sender should wait at least, with RepeatLater. A Retry-After
	// header takes whole seconds: round up.
	RetryAfter time.Duration
	// Handled is set when the handler ran in this call.
	Handled bool
	// State is the event's state as far as it is known; unspecified otherwise.
	State EventState
	// Result is what the completion stored, now or earlier. GetExisting of Claimed tells
	// whether it was left out.
	Result      []byte
	ContentType string
	// Claimed is the service's answer to the claim. It is nil if there was none, and for a
	// claim that was resumed.
	Claimed *ClaimAnswer
}

// Acknowledge reports whether the sender may be told that the delivery is settled.
func (a *Answer) Acknowledge() bool { return a.Advice == Acknowledge }

// Outcome is why the claim was granted or not; unspecified if that was not answered.
func (a *Answer) Outcome() ClaimOutcome {
	if a.Claimed == nil {
		return 0
	}
	return a.Claimed.GetOutcome()
}

// Process claims the event, runs the handler if it is the caller's to process, keeps the
// claim alive meanwhile, and ends it by what the handler returns.
//
// The answer is never nil and says what to tell the sender. The error is nil only if the
// delivery is settled and no handler failed: then it may be acknowledged. Otherwise it is
// the handler's own error, [ErrNotNow], [ErrClaimLost] (the work must be taken to be
// another's), or an [*Error] when the service could not be asked or told. After a
// rejection, a last attempt or a hold the answer is to acknowledge and the error is the
// handler's.
//
// The end of the context stops the handler, not the report about it: see
// [WithEndTimeout].
func (c *Client) Process(ctx context.Context, event *Event, handle Handler, opts ...ClaimOption) (*Answer, error) {
	claimed, err := c.Claim(ctx, event, opts...)
	if err != nil {
		return later(err), err
	}
	if claimed.Advice() != Process {
		return claimed.Answer()
	}
	a, err := claimed.Claim.Process(ctx, handle)
	a.Claimed = claimed
	return a, err
}

// Process runs the handler under a claim that is held already, as [Client.Process] does
// after claiming.
func (c *Claim) Process(ctx context.Context, handle Handler) (*Answer, error) {
	for _, wrap := range slices.Backward(c.client.cfg.wrap) {
		handle = wrap(handle)
	}
	r := run{claim: c, handle: handle, end: c.client.cfg.end, obey: true}
	return r.do(ctx)
}

// run is one execution of a handler under a claim.
type run struct {
	claim  *Claim
	handle Handler
	end    time.Duration // for telling the service how it ended
	obey   bool          // the handler runs only while the claim lives
}

func (r *run) do(ctx context.Context) (*Answer, error) {
	c := r.claim
	if !c.busy.CompareAndSwap(false, true) {
		return later(errBusy), errBusy
	}
	defer c.busy.Store(false)
	if a := c.ended.Load(); a != nil {
		return copyOf(a), ErrAlreadyEnded
	}
	if r.obey {
		if err := r.ready(ctx); err != nil {
			return r.settle(ctx, nil, err)
		}
	}
	work, lose := context.WithCancelCause(WithTrail(ctx, c.trail()))
	defer lose(nil)
	var lost atomic.Pointer[error]
	stop := c.keep(ctx, func(err error) {
		lost.Store(&err)
		if r.obey {
			lose(err)
		}
	})
	defer stop()

	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		r.crashed(ctx, v)
		if v != nil {
			panic(v) // nothing has been unwound yet: the stack is that of its origin
		}
	}()
	err := r.handle(work, c)
	returned = true
	var loss error
	if e := lost.Load(); e != nil && r.obey {
		loss = *e
	}
	a, err := r.settle(ctx, loss, err)
	a.Handled = true
	return a, err
}

// ready sees to it that the handler begins with a live claim that will not be over at
// once, as after a long wait for it. The error says that it shall not begin.
func (r *run) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return Release(context.Cause(ctx))
	}
	left, length := r.claim.lease.left()
	if left >= length*2/3 {
		return nil
	}
	err := r.claim.extendOnce(ctx, r.end)
	switch left, _ = r.claim.lease.left(); {
	case err == nil:
		return nil
	case left > 0 && !errors.Is(err, ErrClaimLost) && !errors.Is(err, ErrAlreadyEnded):
		return nil // the extension goes on beside the handler
	default:
		return Release(err)
	}
}

// crashed ends the claim of a handler that did not return. v is what it panicked with,
// nil if it ended its goroutine.
func (r *run) crashed(ctx context.Context, v any) {
	err := errors.New("the handler ended its goroutine")
	if v != nil {
		err = fmt.Errorf("panic: %v", v)
	}
	r.claim.client.cfg.log.LogAttrs(ctx, slog.LevelError, "the handler did not return",
		append(r.claim.LogValue().Group(), slog.Any("error", err), slog.String("stack", string(debug.Stack())))...)
	_, _ = r.settle(ctx, nil, WithCode(codePanic, err)) // the caller learns it by the panic
}
