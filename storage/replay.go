package storage

import (
	"context"

	"github.com/idemsvc/idemsvc/idem"
)

// ReplayRun is a run of replays: what its first request has selected. A repeat of the
// request is about the same events, whatever a list would show by then.
type ReplayRun struct {
	Namespace string
	RequestID string
	Request   idem.ID   // the hash of what was asked for
	Events    []idem.ID // the records, at most [MaxReplayed]
	Received  int       // of a backfill: what its search has passed over because the consumer had it
	More      bool      // another run goes on behind Next
	Next      Cursor
}

// MaxReplayed bounds the events of a run.
const MaxReplayed = 1000

// StoreReplayRun stores a run if there is none of its request, and returns the one that is
// stored.
func (s *Service) StoreReplayRun(ctx context.Context, run ReplayRun) (ReplayRun, error) {
	return s.backend.StoreReplayRun(ctx, run)
}
