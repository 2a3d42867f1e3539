package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Events implements [storage.Reader].
func (s *Store) Events(ctx context.Context, namespace, source, eventID string) (storage.Found, error) {
	return s.find(ctx, namespace, 0, func(e *idem.Event) bool {
		return e.Key.Namespace == namespace && e.Key.EventID == eventID && (source == "" || e.Key.Source == source)
	})
}

// Facts implements [storage.Reader].
func (s *Store) Facts(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef]*idem.Facts, error) {
	out := make(map[idem.EventRef]*idem.Facts, len(refs))
	for _, ref := range refs {
		found, err := s.Events(ctx, ref.Namespace, ref.Source, ref.EventID)
		if err != nil {
			return nil, err
		}
		var oldest *idem.Event
		for _, v := range found.Views {
			if oldest == nil || v.Event.CreatedAt < oldest.CreatedAt {
				oldest = v.Event
			}
		}
		if oldest != nil {
			out[ref] = &oldest.Facts
		}
	}
	return out, nil
}

// Lookup implements [storage.Reader].
func (s *Store) Lookup(ctx context.Context, q storage.Query) (storage.Found, error) {
	return s.find(ctx, q.Namespace, q.Limit, func(e *idem.Event) bool { return e.Key.Namespace == q.Namespace && s.matches(e, &q) })
}

func (s *Store) matches(e *idem.Event, q *storage.Query) bool {
	switch q.Kind {
	case storage.ByEventID:
		return e.Key.EventID == q.Value
	case storage.ByCorrelation:
		return e.Facts.Correlation == q.Value
	case storage.ByRequestID:
		return e.Facts.RequestID == q.Value || slices.ContainsFunc(s.deliveries[e.ID()], func(d storage.Delivery) bool {
			return d.RequestID == q.Value
		})
	case storage.ByResource:
		if e.Facts.ResourceType == q.Value && e.Facts.ResourceID == q.Name {
			return true
		}
		return slices.ContainsFunc(s.resourcesOf(e), func(r *idem.Resource) bool {
			return r.Key.Type == q.Value && r.Key.Name == q.Name
		})
	case storage.ByOutput:
		return slices.Contains(e.Outputs, q.Value)
	case storage.ByCause:
		return e.Facts.CauseSource == q.Value && e.Facts.CauseEventID == q.Name
	case storage.ByEffectKey:
		return slices.ContainsFunc(s.effectsOf(e.ID()), func(f *idem.Effect) bool { return f.Key.Key == q.Value })
	default:
		return false
	}
}

// unfinished reports whether somebody or something still has to act on the event. A
// dead letter is finished for the rules and unfinished for people.
func unfinished(e *idem.Event) bool {
	switch e.State {
	case idem.DeadLettered, idem.FailedTerminal:
		return e.Reason != idem.ByOperator
	default:
		return !e.State.Finished()
	}
}

// find gathers the matching events of a namespace (of all, when it is empty), oldest
// first. A limit of zero or less means all.
func (s *Store) find(ctx context.Context, namespace string, limit int, match func(*idem.Event) bool) (storage.Found, error) {
	var out storage.Found
	if err := ctx.Err(); err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for _, id := range s.stored[namespace] {
		e := s.events[id]
		if !match(e) {
			continue
		}
		if limit > 0 && len(out.Views) == limit {
			out.Truncated = true
			break
		}
		out.Views = append(out.Views, s.view(e, now))
	}
	return out, nil
}

func (s *Store) view(e *idem.Event, now idem.Instant) storage.View {
	id := e.ID()
	v := storage.View{
		Event: s.settled(cloneEvent(e), now), Now: now,
		Effects: s.effectsOf(id), Resources: s.resourcesOf(e), LaneOwners: map[idem.ID]idem.EventKey{},
	}
	for i := range s.attempts[id] {
		v.Attempts = append(v.Attempts, cloneAttempt(&s.attempts[id][i]))
	}
	for i := range s.deliveries[id] {
		v.Deliveries = append(v.Deliveries, cloneDelivery(&s.deliveries[id][i]))
	}
	for _, r := range v.Resources {
		for _, owner := range []idem.ID{r.Owner, r.AppliedBy} {
			if o := s.events[owner]; o != nil {
				v.LaneOwners[owner] = o.Key
			}
		}
	}
	for _, other := range []idem.ID{e.Waiting.Event, e.CarriedBy} {
		if o := s.events[other]; o != nil {
			v.LaneOwners[other] = o.Key
		}
	}
	return v
}

// resourcesOf are the resources that an event reserved with its last grant or is
// ordered by.
func (s *Store) resourcesOf(e *idem.Event) []*idem.Resource {
	var out []*idem.Resource
	add := func(id idem.ID) {
		r := s.resources[id]
		if r == nil || slices.ContainsFunc(out, func(o *idem.Resource) bool { return o.Key == r.Key }) {
			return
		}
		out = append(out, cloneResource(r))
	}
	if e.Ordering != nil {
		add(e.Ordering.Resource.ID())
	}
	for _, l := range e.Lanes {
		add(l.Resource)
	}
	return out
}

// Payload implements [storage.Reader].
func (s *Store) Payload(ctx context.Context, ref idem.EventRef) (payload []byte, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	payload, ok = s.payloads[ref.ID()]
	return bytes.Clone(payload), ok, nil
}

// Payloads implements [storage.Reader].
func (s *Store) Payloads(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef][]byte, error) {
	out := make(map[idem.EventRef][]byte, len(refs))
	for _, ref := range refs {
		payload, ok, err := s.Payload(ctx, ref)
		if err != nil {
			return nil, err
		}
		if ok {
			out[ref] = payload
		}
	}
	return out, nil
}

// Info implements [storage.Reader].
func (s *Store) Info(context.Context) (storage.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return storage.Info{Storage: "memory", Now: s.clock(), Epoch: s.epoch, Retention: s.removed}, nil
}
