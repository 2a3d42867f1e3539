package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// way is who answers an arm's callers.
type way int

const (
	overSQL    way = iota // PostgreSQL itself
	overServer            // the server
	overEcho              // a server without a database
	overRiver             // River, in the process that works with it
)

// arm is one way to do the work.
type arm struct {
	family  string
	callers int
	what    string // for the legend
	base    *arm   // nil: it is a base itself
	// goal is the least ratio of its rate to the base's, goalPostgres the most of its CPU
	// of PostgreSQL for each event. 0: none.
	goal, goalPostgres float64

	group  int // arms of one group run one after the other
	way    way
	behind time.Duration // how long the server writes on after its answers
	// beside does something else meanwhile, until it is stopped; nil: nothing.
	beside func(ctx context.Context, g *stage) (stop func() error, err error)
	// step is one turn of a caller: it returns how many events it has finished.
	step func(ctx context.Context, caller int) (int, error)
	// whole works for a while by itself instead, and tells how many events it has finished,
	// and in what time.
	whole func(ctx context.Context, d time.Duration) (events int64, seconds float64, err error)
}

func (a *arm) String() string { return fmt.Sprintf("%s%d", a.family, a.callers) }

// run is what one arm did in one round.
type run struct {
	events  int64
	seconds float64
	use     usage
	memory  int64 // of the server, at the end
	all     bool  // the callers' CPU counts, too: it cannot be told from the rest
}

func (r *run) rate() float64 { return float64(r.events) / max(r.seconds, 1e-9) }

// cpu is the CPU of PostgreSQL and of the server for an event.
func (r *run) cpu() float64 {
	sum := r.use.postgres + r.use.server
	if r.all {
		sum += r.use.client
	}
	return float64(sum) / float64(max(r.events, 1))
}

// postgres is the CPU of PostgreSQL for an event.
func (r *run) postgres() float64 { return float64(r.use.postgres) / float64(max(r.events, 1)) }

// work lets callers take turns for a while, and ends when all have ended their last one.
func work(ctx context.Context, a *arm, d time.Duration) (events int64, seconds float64, err error) {
	if a.whole != nil {
		if events, seconds, err = a.whole(ctx, d); err != nil {
			err = fmt.Errorf("%s: %w", a, err)
		}
		return events, seconds, err
	}
	var done atomic.Int64
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
				done.Add(int64(n))
			}
		})
	}
	callers.Wait()
	seconds = time.Since(started).Seconds()
	select {
	case err = <-failed:
	default:
	}
	return done.Load(), seconds, err
}

// choose leaves the arms that are asked for, by their name or their family's, and those
// that they are compared with. Nothing asked for: all.
func choose(all []*arm, only []string) []*arm {
	wanted := map[*arm]bool{}
	for _, a := range all {
		if len(only) == 0 || slices.Contains(only, a.String()) || slices.Contains(only, a.family) {
			for x := a; x != nil; x = x.base {
				wanted[x] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(a *arm) bool { return !wanted[a] })
}

// unknownNames are those that no arm and no part has.
func unknownNames(all []*arm, only []string) []string {
	var unknown []string
	for _, name := range only {
		known := slices.Contains(parts, name) ||
			slices.ContainsFunc(all, func(a *arm) bool { return a.base != nil && (a.family == name || a.String() == name) })
		if !known {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// Names are what a comparison can be limited to: arms and parts.
func Names() []string {
	var names []string
	for _, a := range (&site{}).catalogue() {
		if a.base != nil {
			names = append(names, a.String())
		}
	}
	return append(names, parts...)
}

// legend says what the names mean.
func legend(arms []*arm) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, a := range arms {
		if !seen[a.family] {
			seen[a.family] = true
			fmt.Fprintf(&b, "  %-20s %s\n", a.family, a.what)
		}
	}
	return b.String()
}
