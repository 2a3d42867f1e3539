// Package bench measures the service against a program that does the same with one-row
// SQL, on one machine and one PostgreSQL, in one run.
//
// Machines drift, so only ratios count: in every round each arm runs for a moment, next to
// those it is compared with, and its rate is divided by that of its base in the same
// round. Reported are the median of those ratios and the interval in which it lies with
// 95 % certainty. CPU, write-ahead log and buffers for an event drift less and are
// reported beside it. Results are printed; nothing here fails because of them.
//
// Server, callers and PostgreSQL are processes of their own, so that CPU can be told apart.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options say how it is measured.
type Options struct {
	// DatabaseURL is a database to use, reached without a pooler, which should be empty: what
	// is measured stays in it, save for the schema of the base. Empty: a durable PostgreSQL
	// in a temporary directory.
	DatabaseURL string
	// Program is the command of this program, without its arguments. It is run with "serve"
	// and with [EchoArgs], in processes of their own.
	Program []string
	// Pairs is the number of rounds.
	Pairs int
	// Duration is how long each arm runs in each round.
	Duration time.Duration
	// Quick leaves out what takes minutes by itself: buffers.
	Quick bool
	// Only limits a comparison to some of [Names]; a name without its number means all
	// numbers of callers. Empty: all.
	Only []string
	// River is the program of tools/riverbench: the inbox is compared with it. Empty: not with
	// River.
	River string
	// Progress takes a line now and then. nil: none.
	Progress io.Writer
}

func (o *Options) check() error {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Pairs < 1 || o.Duration <= 0 || len(o.Program) == 0 {
		return errors.New("bench: pairs, duration and program are required")
	}
	if unknown := unknownNames((&site{}).catalogue(), o.Only); len(unknown) > 0 {
		return fmt.Errorf("%w: %s; there are %s", ErrUnknownName, strings.Join(unknown, ", "), strings.Join(Names(), ", "))
	}
	return nil
}

// ErrUnknownName refuses what is in no comparison.
var ErrUnknownName = errors.New("unknown names")

func (o *Options) say(format string, args ...any) { fmt.Fprintf(o.Progress, format+"\n", args...) }

// wants tells whether a part of the comparison is asked for.
func (o *Options) wants(part string) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, part)
}

// patience is how long a run may take beyond what its slots add up to.
const patience = 5 * time.Minute

// bounded ends a run that takes three times as long as it should.
func bounded(ctx context.Context, expected time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 3*expected+patience, errors.New("it took far longer than it should: the machine is too busy to measure on"))
}

// told is why something failed: where it was ended from outside, by whom.
func told(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

// cleared is how a measurement ended, with what went wrong while it was cleared away. What
// was measured by then is not thrown away for that.
func (o *Options) cleared(ctx context.Context, err, fault error) error {
	if err != nil {
		return errors.Join(told(ctx, err), fault)
	}
	if fault != nil {
		o.say("what was measured stands; clearing up failed: %v", fault)
	}
	return nil
}

// Compare measures all arms against their bases, the latency beside direct SQL's, and
// some arms once more beside a long transaction of somebody else.
func Compare(ctx context.Context, o Options) (c *Comparison, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := newSite(o)
	arms := choose(s.catalogue(), o.Only)
	ctx, cancel := bounded(ctx, time.Duration(len(arms)*(o.Pairs+4))*(o.Duration+recordsBehind))
	defer cancel()
	defer func() { err = o.cleared(ctx, err, s.close()) }()
	if err := s.open(ctx, arms); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, arms); err != nil {
		return nil, err
	}
	return s.compare(ctx, arms)
}

func (s *site) compare(ctx context.Context, arms []*arm) (*Comparison, error) {
	c := &Comparison{Setting: s.setting(), LiveClaims: live, Handlers: s.slots}
	if s.river != nil {
		c.River = s.riverBest.String()
	}
	if len(arms) > 0 {
		runs, err := s.rounds(ctx, arms)
		if err != nil {
			return nil, err
		}
		if c.Connections, err = s.db.sessions(ctx); err != nil {
			return nil, err
		}
		pages, err := s.allBuffers(ctx, arms)
		if err != nil {
			return nil, err
		}
		c.Rows, c.legend = s.rows(arms, runs, func(a *arm) float64 { return known(pages, a) }), legend(arms)
		c.Memory = mostMemory(arms, runs)
	}
	if !s.wants(partHeld) && !s.wants(partLatency) {
		return c, nil
	}
	return c, s.besideStranger(ctx, c)
}

// rounds runs every arm once in every round. The order changes from round to round, so
// that what an arm leaves behind falls on each of the others in turn; the arms of a group
// stay together.
func (s *site) rounds(ctx context.Context, arms []*arm) (map[*arm][]run, error) {
	s.say("warming up")
	for _, a := range arms { // caches, connections and plans
		if _, err := s.slot(ctx, a, min(s.Duration, 300*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	runs := map[*arm][]run{}
	for round := range s.Pairs {
		s.say("round %d of %d", round+1, s.Pairs)
		for _, a := range order(arms, round) {
			r, err := s.slot(ctx, a, s.Duration)
			if err != nil {
				return nil, err
			}
			runs[a] = append(runs[a], r)
		}
	}
	return runs, nil
}

// allBuffers finds the buffers of each arm.
func (s *site) allBuffers(ctx context.Context, arms []*arm) (found map[*arm]float64, err error) {
	if s.Quick {
		return nil, nil
	}
	s.say("counting buffers")
	if err := s.autovacuum(ctx, s.db, "off"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.autovacuum(context.WithoutCancel(ctx), s.db, "on")) }()
	var turns [][]placed
	for _, a := range arms {
		if a.way != overEcho {
			turns = append(turns, []placed{{&s.stage, a}})
		}
	}
	return buffers(ctx, turns, 2*s.Duration)
}
