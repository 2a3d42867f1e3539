package postgres

import (
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// begun is what this replica knows of the side effects of one event: all of them, as they were
// when its record was read or there were none yet, and what has been written here since, where
// every later version of the record was written here, too. Whoever begins one writes the
// event's record, so none can be missing, and none that is closed can be open again, as long
// as that record is the stored one: which is what a write tests.
type begun struct {
	event   *idem.Event
	effects []*idem.Effect
}

// noteEffects keeps what a write says of an event's side effects; e is the event's new record,
// nil where it was not written, and read are those that were read with the record before it.
func (s *Store) noteEffects(d *idem.Decision, e *idem.Event, read, written []*idem.Effect) {
	if e == nil {
		for _, f := range written { // a report
			if b, ok := s.begun.get(f.Event); ok && slices.ContainsFunc(b.effects, ofKey(f.Key)) {
				s.begun.put(f.Event, begun{b.event, with(b.effects, f)})
			}
		}
		return
	}
	old := d.Event.Old
	if old == nil || e.Effects == 0 {
		return
	}
	b, _ := s.begun.get(e.ID())
	switch {
	case guessable(e) == nil, b.event != old && len(read) != int(old.Effects):
		s.begun.drop(e.ID())
		return
	case b.event != old:
		b.effects = read
	}
	for _, f := range written {
		b.effects = with(b.effects, f)
	}
	s.begun.put(e.ID(), begun{e, b.effects})
}

// effectsOf are the side effects of an event as far as they are known.
func (s *Store) effectsOf(e *idem.Event) []*idem.Effect {
	if e.Effects == 0 {
		return nil
	}
	if b, ok := s.begun.get(e.ID()); ok && b.event == e {
		return b.effects
	}
	return nil
}

// with is a list in which an effect takes the place of its earlier record.
func with(list []*idem.Effect, f *idem.Effect) []*idem.Effect {
	return append(slices.DeleteFunc(slices.Clone(list), ofKey(f.Key)), f)
}

func ofKey(k idem.EffectKey) func(*idem.Effect) bool {
	return func(f *idem.Effect) bool { return f.Key == k }
}
