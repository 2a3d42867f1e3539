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

// Keys implements [storage.Reader].
func (s *Store) Keys(ctx context.Context, ids []idem.ID) (map[idem.ID]idem.EventKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[idem.ID]idem.EventKey{}
	for _, id := range ids {
		if e := s.events[id]; e != nil {
			out[id] = e.Key
		}
	}
	return out, nil
}
