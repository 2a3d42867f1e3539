package linear

import (
	"cmp"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// signals are, for the completion of a signal's claim, all others about its resource, those
// that arrived first in front.
func (s *state) signals(c idem.Command) (list []*idem.Event) {
	e := s.events[c.Subject()]
	if _, ends := c.(*idem.Complete); !ends || e == nil || !e.Signals() {
		return nil
	}
	for _, o := range s.events {
		if o != e && o.Signals() && o.Ordering.Resource == e.Ordering.Resource {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *idem.Event) int { return cmp.Compare(a.Fence, b.Fence) })
	return list
}

// worlds are what a command may have been decided on at an instant, to be written at another.
// A completion ends those of the signals it has answered that it finds on the list of
// unfinished work, which may know of none: each choice of those that ended in that very
// moment is tried.
func (m *model) worlds(s *state, c idem.Command, now, at idem.Instant) []*idem.World {
	w := s.world(c, m.policy, now)
	var ended []*idem.Event
	for _, e := range w.Signals {
		if r := m.rows[rowKey{e.ID(), e.Version + 1}]; r != nil && r.Kind == idem.EntryIgnored && r.At == at {
			ended = append(ended, e)
		}
	}
	var list []*idem.World
	for choice := range 1 << len(ended) {
		own := *w
		own.Signals = nil
		for i, e := range ended {
			if choice&(1<<i) != 0 {
				own.Signals = append(own.Signals, e)
			}
		}
		list = append(list, &own)
	}
	return list
}
