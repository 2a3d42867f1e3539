package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// PollsRun is how often a server asks for what is due while workers wait and nothing is.
type PollsRun struct {
	Workers int           `json:"workers"`
	Over    time.Duration `json:"over_ns"`
	// Asked is how often in a second, and Goal the most that was aimed at.
	Asked float64 `json:"asked_per_second"`
	Goal  float64 `json:"goal"`
	// Transactions are all of the server's in a second, with what it does whether or not
	// somebody waits.
	Transactions float64 `json:"transactions_per_second"`
}

const (
	pollWorkers  = 8
	pollTime     = 30 * time.Second
	pollSettle   = 5 * time.Second // until what came before is over
	pollGoal     = 1
	pollSlack    = 1.05 // one question more or less at the ends
	pollConsumer = "nobody-sends-it-anything"
)

// polls measures on the empty side.
func (w *waiting) polls(ctx context.Context, r *WaitingRun) error {
	p := &r.Polls
	*p = PollsRun{Workers: pollWorkers, Over: pollTime, Goal: pollGoal}
	if w.Quick {
		p.Over /= 5
	}
	w.say("waiting for nothing: %s", p.Over)
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	faults := make([]error, pollWorkers)
	for i := range pollWorkers {
		workers.Go(func() {
			for waiting.Err() == nil && faults[i] == nil {
				_, err := acquireSome(waiting, w.empty.service, i, pollConsumer, 1, time.Minute)
				if status.Code(err) != codes.Canceled {
					faults[i] = err
				}
			}
		})
	}
	err := pause(ctx, pollSettle)
	if err == nil {
		err = w.empty.asked(ctx, p)
	}
	stop()
	workers.Wait()
	return errors.Join(append(faults, err)...)
}

// asked counts scans of the index by which due events are found, which nothing else uses: one
// for each question about a consumer. A session that asks again has told of the last time.
func (x *queued) asked(ctx context.Context, p *PollsRun) error {
	const counters = `SELECT (SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = 'idemsvc' AND indexrelname = 'unfinished_acquire'),
		(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())`
	var scans, commits [2]int64
	if err := x.db.admin.QueryRow(ctx, counters).Scan(&scans[0], &commits[0]); err != nil {
		return err
	}
	started := time.Now()
	if err := pause(ctx, p.Over); err != nil {
		return err
	}
	if err := x.db.admin.QueryRow(ctx, counters).Scan(&scans[1], &commits[1]); err != nil {
		return err
	}
	took := time.Since(started).Seconds()
	p.Asked, p.Transactions = float64(scans[1]-scans[0])/took, float64(commits[1]-commits[0])/took
	return nil
}

func (p *PollsRun) report(out io.Writer) {
	fmt.Fprintf(out, "%d workers that wait while nothing is due: the server asks %.2f times a second for all of them, over %s (goal: ≤ %.0f, reached: %s), beside all else that it does, %.1f transactions a second.\n",
		p.Workers, p.Asked, p.Over, p.Goal, reached(p.Asked <= p.Goal*pollSlack), p.Transactions)
}
