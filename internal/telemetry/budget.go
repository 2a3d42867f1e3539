package telemetry

import (
	"sync"
	"time"
)

// Budget lets a number of things through in each second.
type Budget struct {
	each int

	mu     sync.Mutex
	second int64
	used   int
}

// NewBudget lets n through in each second.
func NewBudget(n int) *Budget { return &Budget{each: n} }

// Allow takes one, and is false where none is left.
func (b *Budget) Allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := now.Unix(); s != b.second {
		b.second, b.used = s, 0
	}
	if b.used >= b.each {
		return false
	}
	b.used++
	return true
}
