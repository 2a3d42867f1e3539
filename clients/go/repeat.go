package idemsvc

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	firstPause = 25 * time.Millisecond
	maxPause   = 2 * time.Second
	// longestAsked is the longest wait that the client sits out itself. What asks for
	// more needs a person or another plan: the caller is told.
	longestAsked = 5 * time.Second
)

// repeatUnary repeats a call that can succeed later. The request is sent unchanged, so
// that its identity (claimant, token, effect token, begin or request ID) is the same.
func (c *config) repeatUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := c.bounded(ctx, req)
	defer cancel()
	return c.repeat(ctx, func() error { return asError(invoke(ctx, method, req, reply, conn, opts...)) })
}

// bounded gives a call without a deadline the default one.
func (c *config) bounded(ctx context.Context, req any) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || c.timeout <= 0 {
		return ctx, func() {}
	}
	d := c.timeout
	if w, ok := req.(interface{ GetWait() *durationpb.Duration }); ok {
		d += max(w.GetWait().AsDuration(), 0)
	}
	return context.WithTimeout(ctx, d)
}

// repeat makes a call until it succeeds, cannot succeed, or the repeats or the time are
// used up. It returns the call's last error.
func (c *config) repeat(ctx context.Context, call func() error) error {
	for n := 0; ; n++ {
		err := call()
		wait, ok := RetryAfter(err)
		if !ok || n >= c.repeats || wait > longestAsked || !pause(ctx, pauseBefore(err, n, wait)) {
			return err
		}
	}
}

// pauseBefore is how long to wait before the next repeat: what the server asks for at
// least, and a growing, random time on top, so that callers do not come back together.
func pauseBefore(err error, n int, asked time.Duration) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok && e.moved && n == 0 {
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
