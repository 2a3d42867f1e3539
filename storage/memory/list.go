package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// List implements [storage.Reader]. It looks at every event of the namespace; the order is
// that of a store with indexes.
func (s *Store) List(ctx context.Context, q storage.ListQuery) (storage.Listed, error) {
	var out storage.Listed
	if err := ctx.Err(); err != nil {
		return out, err
	}
	way := q.Way()
	if way == storage.NoWay {
		return out, errors.New("memory: no index would serve this list")
	}
	if q.Limit < 1 || q.Limit > storage.MaxListed {
		q.Limit = storage.MaxListed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	out.Now = now
	type place struct {
		storage.Cursor
		view storage.View
	}
	var places []place
	for _, id := range s.stored[q.Namespace] {
		e := s.events[id]
		v := storage.View{Event: s.settled(e, now), Now: now}
		if way == storage.ByUnfinished {
			v.Since = s.entered[id]
			if !unfinished(v.Event) && !v.Event.ReplayFailed {
				continue
			}
		}
		if at := s.cursor(e, way); q.After.Before(at) && q.Matches(&v, s.policyOfEvent(e)) {
			places = append(places, place{at, v})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.Before(b.Cursor) {
			return -1
		}
		return 1
	})
	for _, p := range places {
		if len(out.Views) == q.Limit {
			out.More = true
			break
		}
		v := s.view(s.events[p.ID], now)
		v.Since = p.view.Since
		out.Views, out.Cursors, out.Next = append(out.Views, v), append(out.Cursors, p.Cursor), p.Cursor
	}
	return out, nil
}

// cursor is an event's place in a list of the given order.
func (s *Store) cursor(e *idem.Event, way storage.ListWay) storage.Cursor {
	c := storage.Cursor{ID: e.ID()}
	switch way {
	case storage.ByUnfinished:
		c.At = s.entered[c.ID]
	case storage.ByFirstSeenAt:
		c.At = storage.FirstSeenMinute(e.CreatedAt)
	default:
	}
	return c
}
