package idemsvc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// lease is how long a claim is known to live, by this process's monotonic clock. It is
// counted from when the service was asked, so it is never over later than the service's.
type lease struct {
	mu     sync.Mutex
	until  time.Time
	length time.Duration
}

func (l *lease) set(asked time.Time, left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := asked.Add(left); until.After(l.until) {
		l.until = until
	}
	l.length = max(l.length, left)
}

// left is the time that is known to be left, and the longest that there ever was.
func (l *lease) left() (left, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until), l.length
}

// beat is how long to wait before the next extension: a third of what is left, spread so
// that claims granted together are not extended together. After a failure it is a
// twentieth of the lease. It never passes the end.
func (l *lease) beat(failed bool) time.Duration {
	left, length := l.left()
	d := max(left/3, length/20)
	if failed {
		d = min(length/20, time.Second)
	}
	spread := int64(d/4) + 1
	return min(d-time.Duration(rand.Int64N(spread)), left) //nolint:gosec // jitter
}

// errOver is why a handler's context ends when nobody could say whether the claim lives.
func errOver(last error) error {
	if last == nil {
		return fmt.Errorf("%w: the lease is over", ErrClaimLost)
	}
	return fmt.Errorf("%w: the lease is over, and extending it failed: %w", ErrClaimLost, last)
}

// keep extends the claim until stop is called or the claim is over. In the latter case it
// says so through lost, once. The context gives values only: a claim whose handler still
// runs is kept, whoever has stopped waiting for it.
func (c *Claim) keep(ctx context.Context, lost func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.extendUntil(ctx); err != nil && ctx.Err() == nil {
			c.warn(ctx, "claim lost while its handler runs", err)
			lost(err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// extendUntil extends the claim again and again. It returns why the claim is over, or nil
// when there is nothing more to extend. Failures that say nothing about the claim are
// tried again as long as it is known to live.
func (c *Claim) extendUntil(ctx context.Context) error {
	var failed error
	for {
		if !pause(ctx, c.lease.beat(failed != nil)) || c.ended.Load() != nil {
			return nil
		}
		left, length := c.lease.left()
		if left <= 0 {
			return errOver(failed)
		}
		failed = c.extendOnce(ctx, min(left, length/3))
		switch {
		case errors.Is(failed, ErrClaimLost):
			return failed
		case errors.Is(failed, ErrClaimExpired): // older than a claim may become
			return fmt.Errorf("%w: %w", ErrClaimLost, failed)
		case errors.Is(failed, ErrAlreadyEnded):
			return nil
		}
	}
}

func (c *Claim) extendOnce(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := c.Extend(ctx, 0)
	return err
}

// confirmed reports whether it was the service that said the claim is lost.
func confirmed(lost error) bool {
	e, ok := errors.AsType[*Error](lost)
	return ok && e.Is(ErrClaimLost)
}
