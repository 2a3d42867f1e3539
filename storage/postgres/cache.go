package postgres

import (
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// recent remembers records that this replica wrote last. It is a source of guesses and
// never of answers: whatever is decided on it is written only where the database still
// holds that row version. Two generations bound its size: when the young one is full it
// becomes the old one.
type recent[T any] struct {
	mu         sync.Mutex
	limit      int
	young, old map[idem.ID]T
}

func newRecent[T any](limit int) *recent[T] {
	return &recent[T]{limit: max(1, limit/2), young: map[idem.ID]T{}}
}

func (c *recent[T]) get(id idem.ID) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.young[id]; ok {
		return v, true
	}
	v, ok := c.old[id]
	return v, ok
}

func (c *recent[T]) put(id idem.ID, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[id]; !ok && len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[idem.ID]T, c.limit)
	}
	delete(c.old, id)
	c.young[id] = v
}

func (c *recent[T]) drop(id idem.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.young, id)
	delete(c.old, id)
}

// odds estimates how many records of which this replica knows nothing are there already,
// made by another one or long ago. Where they are many, they are read first: a write that
// meets one has to read it anyway, and has drawn a fence for nothing.
type odds struct {
	mu    sync.Mutex
	share float64
}

// oddsSpan is how many records it takes to change the estimate, oddsDear the share from
// which reading first is the better guess.
const (
	oddsSpan = 100
	oddsDear = 0.25
)

func (o *odds) learn(known, fresh int) {
	n := float64(known + fresh)
	if n == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.share += (float64(known)/n - o.share) * min(1, n/oddsSpan)
}

func (o *odds) high() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.share > oddsDear
}
