package server

import (
	"sync"
	"time"
)

// limiter bounds what each namespace may start in a time. What was not used comes back
// evenly, up to the whole.
type limiter struct {
	most int
	per  time.Duration
	now  func() time.Time

	mu    sync.Mutex
	state map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func newLimiter(most int, per time.Duration) *limiter {
	return &limiter{most: most, per: per, now: time.Now, state: map[string]*bucket{}}
}

// take takes n, or nothing and says how long it is until there are so many.
func (l *limiter) take(namespace string, n int) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.state[namespace]
	if b == nil { // namespaces are named in tokens: they are few
		b = &bucket{left: float64(l.most), at: now}
		l.state[namespace] = b
	}
	b.left = min(float64(l.most), b.left+float64(l.most)*now.Sub(b.at).Seconds()/l.per.Seconds())
	b.at = now
	if missing := float64(n) - b.left; missing > 0 {
		return time.Duration(missing / float64(l.most) * float64(l.per)), false
	}
	b.left -= float64(n)
	return 0, true
}
