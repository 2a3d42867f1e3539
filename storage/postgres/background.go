package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// partitionDays is how many days ahead partitions are made.
const partitionDays = 7

// background starts what runs beside the calls. Each step is taken by whichever replica
// gets the row lock that elects it; none is needed for a right answer.
func (s *Store) background(ctx context.Context, o Options) {
	if o.Follow > 0 {
		s.every(ctx, o.Follow, "follow the journal", s.reading(o.Follow))
	}
	if o.Sweep > 0 {
		s.every(ctx, o.Sweep, "sweep", func(ctx context.Context) error {
			_, err := s.Sweep(ctx)
			return err
		})
		s.every(ctx, time.Hour, "make partitions", s.MakePartitions)
		s.wg.Go(func() { // a service that was away for days must not wait an hour for today's
			if err := s.MakePartitions(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "partitions could not be made and are tried again in an hour", "error", err)
			}
		})
		s.every(ctx, time.Minute, "forget acquisitions", s.forgetAcquisitions)
		s.every(ctx, time.Second, "look for verified sources", func(ctx context.Context) error {
			return s.sources.load(ctx, s.pool)
		})
		s.every(ctx, policyPause, "look for policies", func(ctx context.Context) error {
			return s.book.look(ctx, s.pool)
		})
		if o.Retain > 0 {
			s.wg.Go(func() { s.retain(ctx, o.Retain) })
		}
	}
}

// every repeats a step with a pause. A failing step is logged and tried again, with
// growing pauses up to half a minute.
func (s *Store) every(ctx context.Context, d time.Duration, name string, step func(context.Context) error) {
	s.wg.Go(func() {
		wait := d
		for {
			pause(ctx, wait)
			if ctx.Err() != nil {
				return
			}
			sctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			err := step(sctx)
			cancel()
			wait = d
			if err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "a background step failed and is tried again", "step", name, "error", err)
				wait = min(max(2*wait, time.Second), 30*time.Second)
			}
		}
	})
}

// sweepBatch is how many expired claims one step settles.
const sweepBatch = 500

// Sweep writes down what the end of leases means, and returns how many claims it
// settled. No answer depends on it: it is what makes the end visible.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	var cmds []idem.Command
	b := &pgx.Batch{}
	b.Queue(sqlBegin).Exec(nothing)
	b.Queue(sqlSweep, sweepBatch).Query(func(rows pgx.Rows) error {
		var id [16]byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			cmds = append(cmds, &idem.Settle{Event: id})
			return nil
		})
		return err
	})
	if err := s.send(ctx, b); err != nil {
		return 0, err
	}
	if len(cmds) == 0 {
		return 0, nil
	}
	settled := 0
	for i, r := range s.Apply(ctx, cmds) {
		switch a, _ := r.Answer.(*idem.EndAnswer); {
		case r.Err != nil:
			s.log.WarnContext(ctx, "an expired claim could not be settled and is tried again later", "event", cmds[i].Subject(), "error", r.Err)
		case a != nil && !a.Already:
			settled++
			s.settled(a)
		}
	}
	return settled, nil
}

// MakePartitions makes the partitions of the next days.
func (s *Store) MakePartitions(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "SELECT idemsvc.make_partitions($1)", partitionDays)
	return err
}
