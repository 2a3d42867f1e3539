// Package bench measures the service against a program that does the same with one-row
// SQL, on one machine and one PostgreSQL, in one run.
//
// Machines drift, so only ratios count: in every round each arm runs for a moment, one
// after the other, and an arm's rate is divided by that of its base in the same round.
// Reported are the median of those ratios and the interval in which it lies with 95 %
// certainty. Results are printed and never judged.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Options say what is measured.
type Options struct {
	// DatabaseURL is a database to use, which should be empty: what is measured stays in
	// it, save for the schema of the base. Empty: a durable PostgreSQL in a temporary
	// directory.
	DatabaseURL string
	// Server is the command that serves a database, without its flags: it is run in a
	// process of its own.
	Server []string
	// Pairs is the number of rounds.
	Pairs int
	// Duration is how long each arm runs in each round.
	Duration time.Duration
	// Callers are the numbers of callers at the same time.
	Callers []int
	// Progress takes a line now and then. nil: none.
	Progress io.Writer
}

// Run measures.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Pairs < 1 || o.Duration <= 0 || len(o.Callers) == 0 || len(o.Server) == 0 {
		return nil, errors.New("bench: pairs, duration, callers and server are required")
	}
	s, err := newSite(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	arms, err := s.arms(ctx, o)
	if err != nil {
		return nil, err
	}
	runs, err := measure(ctx, s, arms, o)
	if err != nil {
		return nil, err
	}
	return s.report(arms, runs, o), nil
}

// measure runs every arm once in every round. The order changes from round to round, so
// that what an arm leaves behind falls on each of the others in turn.
func measure(ctx context.Context, s *site, arms []*arm, o Options) ([][]run, error) {
	runs := make([][]run, len(arms))
	for _, a := range arms { // warm caches, connections and plans
		if _, err := s.slot(ctx, a, min(o.Duration, 300*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	for round := range o.Pairs {
		fmt.Fprintf(o.Progress, "round %d of %d\n", round+1, o.Pairs)
		for i := range arms {
			n := (i + round) % len(arms)
			if round%2 == 1 {
				n = len(arms) - 1 - n
			}
			r, err := s.slot(ctx, arms[n], o.Duration)
			if err != nil {
				return nil, err
			}
			runs[n] = append(runs[n], r)
		}
	}
	return runs, nil
}
