package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// finished is how many finished events duplicates are asked for: more than the server
	// remembers (32768), so that it has to look.
	finished = 40_000
	// live is how many claims are alive while everything runs, and longLease how long they
	// live: longer than any run.
	live      = 5000
	longLease = 12 * time.Hour
	// bulk is how many events a call of the preparation has.
	bulk = 1000
)

// site is what a comparison is made on.
type site struct {
	stage
	Options
	direct   map[int]*pgxpool.Pool // by size
	best     map[int]int           // size by callers
	finished []string

	slots     int      // handlers with which the inbox is fastest
	riverBest riverRun // settings with which River is
}

// ownSettings are those of a PostgreSQL of our own: checkpoints inside a short run would fall on one
// arm and not on another.
func ownSettings() map[string]string {
	return map[string]string{"max_connections": "300", "shared_buffers": "256MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
}

func newSite(o Options) *site {
	return &site{stage: stage{cluster: &cluster{}}, Options: o, direct: map[int]*pgxpool.Pool{}, best: map[int]int{}}
}

// open starts what the arms need.
func (s *site) open(ctx context.Context, arms []*arm) error {
	var err error
	if s.db, err = s.cluster.open(ctx, s.DatabaseURL, ownSettings()); err != nil {
		return err
	}
	if err := s.openBase(ctx); err != nil {
		return err
	}
	if s.service, err = serve(ctx, s.Program, s.db.url); s.service != nil {
		s.later(s.service.close)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(arms, func(a *arm) bool { return a.way == overRiver }) {
		if err := s.openRiver(ctx); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(arms, func(a *arm) bool { return a.way == overEcho }) {
		if s.echo, err = start(ctx, s.Program, EchoArgs, []string{"GOGC=400"}); s.echo != nil { // as the server's default
			s.later(s.echo.close)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the claims that live during the whole run, the finished events that
// duplicates are asked for, and finds the base's best pools.
func (s *site) prepare(ctx context.Context, arms []*arm) error {
	if err := liveClaims(ctx, s.service, live); err != nil {
		return err
	}
	var callers []int
	for _, a := range arms {
		if a.behind > 0 && len(s.finished) == 0 {
			s.say("making finished events")
			if err := s.finish(ctx); err != nil {
				return err
			}
		}
		if a.base == nil && a.way == overSQL && !slices.Contains(callers, a.callers) {
			callers = append(callers, a.callers)
		}
	}
	if slices.ContainsFunc(arms, func(a *arm) bool { return a.way == overServer && a.whole != nil }) {
		if err := s.tuneInbox(ctx); err != nil {
			return err
		}
	}
	if s.river != nil {
		if err := s.tuneRiver(ctx); err != nil {
			return err
		}
	}
	return s.calibrate(ctx, callers, s.Duration)
}

// liveClaims makes claims that nobody ends.
func liveClaims(ctx context.Context, v *service, n int) error {
	for range n / bulk {
		req := freshBatch(bulk)
		req.Lease = durationpb.New(longLease)
		if _, err := claimAll(ctx, v, 0, req); err != nil {
			return err
		}
	}
	return nil
}

// finish makes finished events on both sides.
func (s *site) finish(ctx context.Context) error {
	for range finished / bulk {
		req := freshBatch(bulk)
		if _, err := many(ctx, s.service, 0, req); err != nil {
			return err
		}
		for _, item := range req.GetItems() {
			s.finished = append(s.finished, item.GetEvent().GetEventId())
		}
	}
	_, err := s.db.admin.Exec(ctx, baseFinished, namespace, consumer, source, s.finished, result)
	return err
}

func (s *site) anyFinished() string { return s.finished[rand.IntN(len(s.finished))] } //nolint:gosec // any will do
