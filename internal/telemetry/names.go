package telemetry

import "sync"

// Other stands for all names beyond the bound of a label.
const Other = "_other"

// maxNames bounds the names that a label tells apart. They come from callers, who must not
// be able to fill the memory of whoever keeps metrics.
const maxNames = 100

// names bounds the values of a pair of labels that callers choose, and keeps something for
// each: the first ones that come keep their names, all later ones share [Other].
type names[T any] struct {
	under func(a, b string) *T

	mu    sync.RWMutex
	known map[[2]string]*T
	rest  *T
}

func newNames[T any](under func(a, b string) *T) *names[T] {
	return &names[T]{under: under, known: map[[2]string]*T{}, rest: under(Other, Other)}
}

// of is what is kept for the pair, or for [Other] when too many came before.
func (n *names[T]) of(a, b string) *T {
	key := [2]string{a, b}
	n.mu.RLock()
	x, ok := n.known[key]
	full := len(n.known) >= maxNames
	n.mu.RUnlock()
	switch {
	case ok:
		return x
	case full:
		return n.rest
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if x, ok := n.known[key]; ok {
		return x
	}
	if len(n.known) >= maxNames {
		return n.rest
	}
	x = n.under(a, b)
	n.known[key] = x
	return x
}
