package storage

import (
	"context"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Surveyor is a backend that can tell how much is unfinished, without reading each record.
type Surveyor interface {
	// Survey tells about each consumer and state that something unfinished is in, the
	// most numerous first, and at most limit of them.
	Survey(ctx context.Context, limit int) ([]Backlog, error)
	Info(ctx context.Context) (Info, error)
}

// Backlog is what is unfinished for one consumer in one state, as the list of unfinished
// work has it, which is a little behind.
type Backlog struct {
	Namespace, Consumer string
	State               idem.State
	Events              int64
	Oldest              time.Duration // in this state
	Stuck               int64         // of them, those that could have been claimed for longer than their policy allows (stuck_after)
}
