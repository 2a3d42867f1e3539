package memory

import (
	"context"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// runKey names a run of replays.
type runKey struct{ namespace, request string }

// StoreReplayRun implements [storage.Backend].
func (s *Store) StoreReplayRun(ctx context.Context, run storage.ReplayRun) (storage.ReplayRun, error) {
	if err := ctx.Err(); err != nil {
		return run, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := runKey{run.Namespace, run.RequestID}
	if _, known := s.runs[k]; !known {
		run.Events = slices.Clone(run.Events)
		s.runs[k] = run
	}
	run = s.runs[k]
	run.Events = slices.Clone(run.Events)
	return run, nil
}

// ReplayRun implements [storage.Reader].
func (s *Store) ReplayRun(ctx context.Context, namespace, requestID string) (run storage.ReplayRun, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return run, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run, ok = s.runs[runKey{namespace, requestID}]
	run.Events = slices.Clone(run.Events)
	return run, ok, nil
}

// Records implements [storage.Reader].
func (s *Store) Records(ctx context.Context, ids []idem.ID) (map[idem.ID]storage.View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	out := map[idem.ID]storage.View{}
	for _, id := range ids {
		if e := s.events[id]; e != nil {
			out[id] = storage.View{Event: cloneEvent(s.settled(e, now)), Now: now}
		}
	}
	return out, nil
}
