package postgres

import (
	"cmp"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// signalOf is the resource of the signal whose claim a command completes, zero for any other
// command.
func signalOf(c idem.Command, e *idem.Event) idem.ID {
	if _, ok := c.(*idem.Complete); !ok || e == nil || !e.Signals() {
		return idem.ID{}
	}
	return e.Ordering.Resource.ID()
}

// signalsOf are the signals that may end with an item, those that arrived first.
func (w *world) signalsOf(it *item) []*idem.Event {
	if it.signal.IsZero() {
		return nil
	}
	var list []*idem.Event
	for id, e := range w.signals {
		if e.Signals() && e.Ordering.Resource.ID() == it.signal && id != it.subject() {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *idem.Event) int { return cmp.Compare(a.Fence, b.Fence) })
	return list
}
