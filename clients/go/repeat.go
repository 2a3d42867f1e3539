package idemsvc

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	firstPause = 25 * time.Millisecond
	maxPause   = time.Second
	// longestAsked is the longest wait that the client sits out itself. What asks for
	// more needs a person or another plan: the caller is told.
	longestAsked = 5 * time.Second
	// faults is how often a call is repeated that met a fault of the service, which may be
	// gone the next time.
	faults = 2
)

// persistently lifts the bound on the number of repeats for calls with the context: they
// go on until its end. It is for what must not get lost, in contexts that end soon.
func persistently(ctx context.Context) context.Context {
	return context.WithValue(ctx, persistentKey{}, true)
}

type persistentKey struct{}

// repeatUnary repeats a call that can succeed later. The request is sent unchanged, so
// that its identity (claimant, token, effect token, begin or request ID) is the same.
func (c *config) repeatUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := checkIdentity(req); err != nil {
		return err
	}
	ctx, cancel := c.bounded(ctx, req)
	defer cancel()
	return c.repeat(ctx, c.tryFor(req), func(ctx context.Context) error {
		return asError(invoke(ctx, method, req, reply, conn, opts...))
	})
}

// bounded gives a call without a deadline the default one.
func (c *config) bounded(ctx context.Context, req any) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || c.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout+waitOf(req))
}

// tryFor is how long one try of a call may take.
func (c *config) tryFor(req any) time.Duration { return c.try + waitOf(req) }

// waitOf is how long a claim asks the server to wait.
func waitOf(req any) time.Duration {
	if w, ok := req.(interface{ GetWait() *durationpb.Duration }); ok {
		return max(w.GetWait().AsDuration(), 0)
	}
	return 0
}

// repeat makes a call until it succeeds, cannot succeed, or the repeats or the time are
// used up. It returns the call's last error. A try that gets no answer in time is given
// up: the next one goes to another replica.
func (c *config) repeat(ctx context.Context, try time.Duration, call func(context.Context) error) error {
	for n := 0; ; n++ {
		err := once(ctx, try, call)
		wait, ok := Repeatable(err)
		if errors.Is(err, ErrInternal) && n < faults {
			ok = true
		}
		if !ok || !c.again(ctx, n, wait, err) {
			return err
		}
	}
}

// again waits before repeat n, and is false when there is none.
func (c *config) again(ctx context.Context, n int, wait time.Duration, err error) bool {
	if n >= c.repeats && ctx.Value(persistentKey{}) == nil {
		return false
	}
	return wait <= longestAsked && pause(ctx, pauseBefore(err, n, wait))
}

// once makes one try. Its own time being over is no end of the caller's.
func once(ctx context.Context, try time.Duration, call func(context.Context) error) error {
	if try <= 0 {
		return call(ctx)
	}
	tctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	err := call(tctx)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == codes.DeadlineExceeded && tctx.Err() != nil && ctx.Err() == nil {
		late := *e
		late.slow = true
		return &late
	}
	return err
}

// pauseBefore is how long to wait before the next repeat: what the server asks for at
// least, and a growing, random time on top, so that callers do not come back together.
func pauseBefore(err error, n int, asked time.Duration) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && n == 0 && (e.moved || e.slow) {
		return 0
	}
	limit := min(firstPause<<min(n, 10), maxPause)
	return asked + time.Duration(rand.Int64N(int64(limit))) //nolint:gosec // jitter
}

// pause waits, and is false when the context ends before, or would.
func pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
