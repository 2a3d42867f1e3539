package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// arm is one way to do the work.
type arm struct {
	name    string
	what    string // for the legend
	callers int
	base    *arm // nil: it is a base itself
	// step is one turn of a caller: it returns how many events it has finished.
	step func(ctx context.Context, caller int) (int, error)
}

func (a *arm) String() string { return fmt.Sprintf("%s/%d", a.name, a.callers) }

// run is what one arm did in one round.
type run struct {
	events  int64
	seconds float64
	use     usage
}

func (r *run) rate() float64 { return float64(r.events) / r.seconds }

// slot lets an arm's callers work for a while.
func (s *site) slot(ctx context.Context, a *arm, d time.Duration) (run, error) {
	before, err := s.usage(ctx)
	if err != nil {
		return run{}, err
	}
	var events atomic.Int64
	var callers sync.WaitGroup
	failed := make(chan error, a.callers)
	started := time.Now()
	end := started.Add(d)
	for caller := range a.callers {
		callers.Go(func() {
			for time.Now().Before(end) {
				n, err := a.step(ctx, caller)
				if err != nil {
					failed <- fmt.Errorf("%s: %w", a, err)
					return
				}
				events.Add(int64(n))
			}
		})
	}
	callers.Wait()
	seconds := time.Since(started).Seconds()
	select {
	case err := <-failed:
		return run{}, err
	default:
	}
	after, err := s.usage(ctx)
	if err != nil {
		return run{}, err
	}
	return run{events: events.Load(), seconds: seconds, use: after.minus(before)}, nil
}
