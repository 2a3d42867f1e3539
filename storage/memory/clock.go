package memory

import (
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Clock is a clock that can be moved. It stands still, or it runs as the machine's clock
// does, from wherever it was put. All methods are safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	at     idem.Instant
	since  time.Time // when the running clock showed that
	frozen bool
	moved  []func()
}

// NewClock is a clock that stands still at the given instant.
func NewClock(at idem.Instant) *Clock { return &Clock{at: at, frozen: true} }

// NewRunningClock is a clock that begins at the machine's time and runs.
func NewRunningClock() *Clock {
	now := time.Now()
	return &Clock{at: idem.InstantOf(now), since: now}
}

// Now is the instant that the clock shows.
func (c *Clock) Now() idem.Instant {
	now, _ := c.Shows()
	return now
}

// Shows is the instant that the clock shows, and whether it stands still there.
func (c *Clock) Shows() (now idem.Instant, frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now(), c.frozen
}

func (c *Clock) now() idem.Instant {
	if c.frozen {
		return c.at
	}
	return c.at.Add(time.Since(c.since))
}

// OnMove has f called after each move, before the method that moved returns.
func (c *Clock) OnMove(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = append(c.moved, f)
}

// Advance moves the clock by d, cut to microseconds; running or not, it stays that.
func (c *Clock) Advance(d time.Duration) {
	c.move(func() { c.at = c.at.Add(d) })
}

// Set puts the clock to an instant, forward or back, and freezes it there or lets it run
// from there. The zero instant leaves it where it is.
func (c *Clock) Set(at idem.Instant, frozen bool) {
	c.move(func() {
		if at == 0 {
			at = c.now()
		}
		c.at, c.since, c.frozen = at, time.Now(), frozen
	})
}

func (c *Clock) move(how func()) {
	c.mu.Lock()
	how()
	told := c.moved
	c.mu.Unlock()
	for _, f := range told {
		f()
	}
}
