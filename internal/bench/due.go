package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// DueRun is what happens when many events of one consumer fall due at the same moment, while
// another consumer's events are acquired by a schedule.
type DueRun struct {
	Events int `json:"events"`
	// Granted is how many were granted within each of DueWithin, since they were due, and at
	// last those that took longer.
	Granted []int `json:"granted"`
	P50     int64 `json:"p50_us"`
	P99     int64 `json:"p99_us"`
	// Usual and Meanwhile are the other consumer's acquisitions before and while the events
	// are granted, P99Ratio of the latter to the former in each round.
	Usual     Waits    `json:"usual"`
	Meanwhile Waits    `json:"meanwhile"`
	P99Ratio  Interval `json:"p99_ratio"`
	Goal      float64  `json:"goal"`
	// InFlight is the most questions for due events that were seen running at the same time,
	// in as many Samples.
	InFlight     int `json:"questions_in_flight"`
	InFlightGoal int `json:"questions_in_flight_goal"`
	Samples      int `json:"samples"`
	// Skipped says why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

const (
	dueEvents   = 10_000
	dueLead     = 10 * time.Second // from storing them until they are due, at least
	dueGoal     = 3
	dueInFlight = 2
	dueUsual    = 5 * time.Second
	duePatience = 2 * time.Minute
	// dueRate is how often the other consumer acquires an event, in a second.
	dueRate = 40
)

// errTooBusy reports that the machine is too slow for the schedule.
var errTooBusy = errors.New("making the events due took longer than until they were: the machine is too busy to measure on")

// DueWithin are the bounds of [DueRun.Granted].
var DueWithin = []time.Duration{
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

// dueAtOnce measures beside the few events that wait.
func (w *waiting) dueAtOnce(ctx context.Context, r *WaitingRun) error {
	d := &r.Due
	*d = DueRun{Events: dueEvents, Granted: make([]int, len(DueWithin)+1), Goal: dueGoal, InFlightGoal: dueInFlight}
	var granted, usual, meanwhile []int64
	var p99 ratios
	rounds := max(w.Pairs/3, 1)
	for round := range rounds {
		w.say("%s events fall due at once: round %d of %d", grouped(dueEvents), round+1, rounds)
		b := &burst{x: w.empty, of: fmt.Sprint("burst", round)}
		switch err := b.run(ctx, d, w.say); {
		case errors.Is(err, errTooBusy):
			*d = DueRun{Skipped: err.Error()}
			return nil
		case err != nil:
			return err
		}
		for _, x := range []struct{ all, one *[]int64 }{{&granted, &b.granted}, {&usual, &b.usual}, {&meanwhile, &b.meanwhile}} {
			slices.Sort(*x.one)
			*x.all = append(*x.all, *x.one...)
		}
		p99.add(float64(quantile(b.meanwhile, 0.99)), float64(quantile(b.usual, 0.99)))
	}
	slices.Sort(granted)
	d.P50, d.P99 = quantile(granted, 0.5), quantile(granted, 0.99)
	for _, us := range granted {
		i, _ := slices.BinarySearch(DueWithin, time.Duration(us)*time.Microsecond)
		d.Granted[i]++
	}
	d.Usual.PerSecond, d.Meanwhile.PerSecond = dueRate, dueRate
	d.Usual.fill(usual)
	d.Meanwhile.fill(meanwhile)
	d.P99Ratio = intervalOf(p99)
	return nil
}

// burst is one time that many events fall due at once.
type burst struct {
	x  *queued
	of string // the consumer

	granted, usual, meanwhile []int64 // in microseconds

	mu     sync.Mutex
	others []*pb.AcquiredEvent // of the other consumer
	faults []error
}

func (b *burst) run(ctx context.Context, d *DueRun, say func(string, ...any)) error {
	// Storing takes a while, which is not known: they are due long after, and put forward then.
	if err := b.x.store(ctx, b.of, dueEvents, "clock_timestamp() + interval '1 day'", say); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for i := range waitingCallers {
		workers.Go(func() { b.work(working, i) })
	}
	err := b.measure(ctx, d)
	stop()
	workers.Wait()
	if ctx.Err() == nil {
		err = errors.Join(append(b.faults, err, b.settle(ctx))...)
	}
	return err
}

// measure times the other consumer's acquisitions first as usual, then while the events are
// granted.
func (b *burst) measure(ctx context.Context, d *DueRun) (err error) {
	other := &arm{family: "acquire", callers: waitingCallers, way: overServer, step: b.other}
	if b.usual, _, err = scheduled(ctx, other, dueRate, dueUsual); err != nil {
		return err
	}
	due, err := b.putForward(ctx)
	if err != nil {
		return err
	}
	sampling, stop := context.WithCancel(ctx)
	var sampler sync.WaitGroup
	sampler.Go(func() { b.failed(b.sample(sampling, d)) })
	defer sampler.Wait()
	defer stop()
	if err := pause(ctx, time.Until(due.Add(-200*time.Millisecond))); err != nil {
		return err
	}
	for end := time.Now().Add(duePatience); ; {
		waits, _, err := scheduled(ctx, other, dueRate, time.Second)
		if err != nil {
			return err
		}
		b.meanwhile = append(b.meanwhile, waits...)
		rest, err := b.left(ctx)
		switch {
		case err != nil:
			return err
		case rest == 0:
			return b.times(ctx, due)
		case time.Now().After(end):
			return fmt.Errorf("%d of %d events that fell due at once were not granted within %s", rest, dueEvents, duePatience)
		}
	}
}

// putForward makes all of them due at the same moment, which it returns: by the database's
// clock, that of this machine.
func (b *burst) putForward(ctx context.Context) (due time.Time, err error) {
	if err := b.x.db.admin.QueryRow(ctx, "SELECT clock_timestamp() + $1 * interval '1 microsecond'", dueLead.Microseconds()).Scan(&due); err != nil {
		return due, err
	}
	for _, sql := range []string{
		"UPDATE idemsvc.event SET due_at = $2 WHERE consumer = $1 AND state = 1 AND due_at > clock_timestamp()",
		"UPDATE idemsvc.unfinished SET due_at = $2, ready_at = $2, acquire_at = $2 WHERE consumer = $1 AND state = 1",
	} {
		tag, err := b.x.db.admin.Exec(ctx, sql, b.of, due)
		if err == nil && tag.RowsAffected() != dueEvents {
			err = fmt.Errorf("%d of %d events could be made due", tag.RowsAffected(), dueEvents)
		}
		if err != nil {
			return due, err
		}
	}
	if time.Until(due) <= 0 {
		return due, errTooBusy
	}
	return due, nil
}

// left is how many have not been granted.
func (b *burst) left(ctx context.Context) (n int, err error) {
	err = b.x.db.admin.QueryRow(ctx, "SELECT count(*) FROM idemsvc.unfinished WHERE namespace = $1 AND consumer = $2 AND state = 1", namespace, b.of).Scan(&n)
	return n, err
}

// times finds out when each was granted, by the database's clock.
func (b *burst) times(ctx context.Context, due time.Time) error {
	rows, err := b.x.db.admin.Query(ctx, `SELECT (extract(epoch FROM granted_at - $2) * 1000000)::bigint FROM idemsvc.event
		WHERE consumer = $1 AND due_at IS NOT DISTINCT FROM $2 OR consumer = $1 AND granted_at >= $2`, b.of, due)
	if err != nil {
		return err
	}
	b.granted, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil && len(b.granted) != dueEvents {
		err = fmt.Errorf("%d of %d events were granted", len(b.granted), dueEvents)
	}
	return err
}

// work acquires and completes what falls due.
func (b *burst) work(ctx context.Context, caller int) {
	for ctx.Err() == nil {
		got, err := acquireSome(ctx, b.x.service, caller, b.of, batchSize, time.Minute)
		if err == nil {
			err = completeAll(ctx, b.x.service, caller, got)
		}
		if err != nil && ctx.Err() == nil {
			b.failed(err)
			return
		}
	}
}

// other acquires one of the other consumer's events.
func (b *burst) other(ctx context.Context, caller int) (int, error) {
	got, err := acquireSome(ctx, b.x.service, caller, consumer, 1, 0)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.others = append(b.others, got...)
	return 1, err
}

// settle completes the other consumer's events, and hands in as many.
func (b *burst) settle(ctx context.Context) error {
	for list := range slices.Chunk(b.others, batchSize) {
		if err := completeAll(ctx, b.x.service, 0, list); err != nil {
			return err
		}
		if err := b.x.refill(ctx, 0, len(list)); err != nil {
			return err
		}
	}
	return caughtUp(ctx, b.x.service, 0)
}

func (b *burst) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, err)
}

// sample looks at what the server's sessions are doing, until it is stopped.
func (b *burst) sample(ctx context.Context, d *DueRun) error {
	conn, err := pgx.Connect(ctx, b.x.db.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for ctx.Err() == nil {
		var n int
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1 AND state = 'active' AND query LIKE '%u.acquire_at >= g.since%'`, appServer).Scan(&n)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			d.InFlight, d.Samples = max(d.InFlight, n), d.Samples+1
		}
		_ = pause(ctx, 2*time.Millisecond)
	}
	return nil
}

func (d *DueRun) report(out io.Writer) {
	if d.Skipped != "" {
		fmt.Fprintf(out, "Many that fall due at once: skipped: %s\n\n", d.Skipped)
		return
	}
	fmt.Fprintf(out, "%s events fell due at once. Granted after p50 %s ms, p99 %s ms:", grouped(d.Events), milliseconds(d.P50), milliseconds(d.P99))
	for i, n := range d.Granted {
		if i < len(DueWithin) {
			fmt.Fprintf(out, " within %s %s;", DueWithin[i], grouped(n))
		} else {
			fmt.Fprintf(out, " later %s.\n", grouped(n))
		}
	}
	fmt.Fprintf(out, "Another consumer's acquisitions: p50 %s ms, p99 %s ms as usual; p50 %s ms, p99 %s ms meanwhile. p99 is %.2f of the usual one (at most %.2f; goal: ≤ %.0f, reached: %s).\n"+
		"Questions for due events in flight: %d at most in %d looks (goal: ≤ %d, reached: %s).\n\n",
		milliseconds(d.Usual.P50), milliseconds(d.Usual.P99), milliseconds(d.Meanwhile.P50), milliseconds(d.Meanwhile.P99),
		d.P99Ratio.Median, d.P99Ratio.High, d.Goal, reached(d.P99Ratio.High <= d.Goal),
		d.InFlight, d.Samples, d.InFlightGoal, reached(d.InFlight <= d.InFlightGoal))
}
