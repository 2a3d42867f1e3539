package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// WaitingRun is what acquiring costs beside many waiting events and beside few, when many
// fall due at once, and while nothing does.
type WaitingRun struct {
	Setting
	// Events wait on the full side, Few on the other one.
	Events int `json:"events"`
	Few    int `json:"few"`
	// Skipped says why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
	// Load is how long storing them took, with VACUUM.
	Load time.Duration `json:"load_ns,omitempty"`
	// Full and Empty are the times of AcquireEvents, P50Ratio and P99Ratio those of the full
	// side to the other one's in each round, CPURatio of the CPU of PostgreSQL and server.
	Full     Waits    `json:"full"`
	Empty    Waits    `json:"empty"`
	P50Ratio Interval `json:"p50_ratio"`
	P99Ratio Interval `json:"p99_ratio"`
	CPURatio Interval `json:"cpu_ratio"`
	// Goal is the most P50Ratio and P99Ratio that were aimed at.
	Goal float64 `json:"goal"`
	// Scans is how many scans over a whole table of events there were meanwhile on the full
	// side.
	Scans int64    `json:"whole_table_scans"`
	Due   DueRun   `json:"due"`
	Polls PollsRun `json:"polls"`
}

const (
	waitingFew     = 1000
	waitingCallers = 8
	waitingMost    = 10 // events of one acquisition
	waitingGoal    = 2
)

// Waiting stores n events that wait to be acquired and measures beside them. It uses a
// PostgreSQL of its own, whatever the options say, in the directory for temporary files.
func Waiting(ctx context.Context, o Options, n int) (r *WaitingRun, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r = &WaitingRun{Events: max(n, waitingFew), Few: waitingFew, Goal: waitingGoal}
	if r.Skipped = noRoom(os.TempDir(), n); r.Skipped != "" {
		return r, nil
	}
	ctx, cancel := bounded(ctx, time.Duration(n/loadRate)*time.Second+time.Duration(o.Pairs)*30*time.Second)
	defer cancel()
	w := &waiting{Options: o, cluster: &cluster{}}
	defer func() { err = o.cleared(ctx, err, w.close()) }()
	if err := w.open(ctx, r); err != nil {
		return nil, err
	}
	if err := w.acquire(ctx, r); err != nil {
		return nil, err
	}
	if err := w.dueAtOnce(ctx, r); err != nil {
		return nil, err
	}
	return r, w.polls(ctx, r)
}

// waiting has a full side and an empty one, in one cluster.
type waiting struct {
	Options
	*cluster
	full, empty *queued
}

// queued is one side.
type queued struct {
	stage
	next int // number of the next event that is stored
}

func (w *waiting) open(ctx context.Context, r *WaitingRun) error {
	started := time.Now()
	empty, err := w.cluster.open(ctx, "", ownSettings())
	if err != nil {
		return err
	}
	full, err := w.add(ctx, empty, "full")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		db     *database
		to     **queued
		events int
	}{{empty, &w.empty, r.Few}, {full, &w.full, r.Events}} {
		side := &queued{stage: stage{cluster: w.cluster, db: x.db}}
		*x.to = side
		if side.service, err = serve(ctx, w.Program, x.db.url); side.service != nil {
			w.later(side.service.close)
		}
		if err != nil {
			return err
		}
		if err := side.store(ctx, consumer, x.events, "clock_timestamp() - random() * interval '1 hour'", w.say); err != nil {
			return err
		}
		for _, sql := range []string{"VACUUM (ANALYZE) idemsvc.event", "VACUUM (ANALYZE) idemsvc.unfinished", "CHECKPOINT"} {
			if _, err := side.db.admin.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	r.Load = time.Since(started)
	r.Setting = Setting{Machine: machine(w.dir), Database: w.settings, Pairs: w.Pairs, Duration: w.Duration}
	return nil
}

// acquire times acquisitions on both sides in turn.
func (w *waiting) acquire(ctx context.Context, r *WaitingRun) error {
	sides := [2]*queued{w.full, w.empty}
	var all [2][]int64
	var p50, p99, cpus ratios
	before, err := w.full.scans(ctx)
	if err != nil {
		return err
	}
	for round := range w.Pairs + 1 { // the first one warms up
		if round > 0 {
			w.say("acquiring: round %d of %d", round, w.Pairs)
		}
		var waits [2][]int64
		var runs [2]run
		for _, i := range turned([]int{0, 1}, round) {
			if runs[i], waits[i], err = sides[i].acquisitions(ctx, w.Duration); err != nil {
				return err
			}
		}
		if round == 0 {
			continue
		}
		for i := range waits {
			slices.Sort(waits[i])
			all[i] = append(all[i], waits[i]...)
		}
		p50.add(float64(quantile(waits[0], 0.5)), float64(quantile(waits[1], 0.5)))
		p99.add(float64(quantile(waits[0], 0.99)), float64(quantile(waits[1], 0.99)))
		cpus.add(runs[0].cpu(), runs[1].cpu())
	}
	after, err := w.full.scans(ctx)
	if err != nil {
		return err
	}
	r.Scans = after - before
	r.Full.fill(all[0])
	r.Empty.fill(all[1])
	r.P50Ratio, r.P99Ratio, r.CPURatio = intervalOf(p50), intervalOf(p99), intervalOf(cpus)
	return nil
}

// acquisitions have callers acquire events, complete them, and hand in as many new ones, for
// a while. Only the acquisitions are timed.
func (x *queued) acquisitions(ctx context.Context, d time.Duration) (run, []int64, error) {
	var mu sync.Mutex
	var waits []int64
	r, err := x.slot(ctx, &arm{family: "acquire", callers: waitingCallers, way: overServer, step: func(ctx context.Context, caller int) (int, error) {
		started := time.Now()
		got, err := acquireSome(ctx, x.service, caller, consumer, waitingMost, 0)
		took := time.Since(started)
		if err == nil && len(got) == 0 {
			err = errors.New("nothing was acquired, although events wait")
		}
		if err != nil {
			return 0, err
		}
		mu.Lock()
		waits = append(waits, max(took.Microseconds(), 1))
		mu.Unlock()
		if err := completeAll(ctx, x.service, caller, got); err != nil {
			return 0, err
		}
		return 1, x.refill(ctx, caller, len(got))
	}}, d)
	return r, waits, err
}

// refill hands in new events.
func (x *queued) refill(ctx context.Context, caller, n int) error {
	faults := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { faults[i] = receiveOne(ctx, x.service, caller, nil) })
	}
	calls.Wait()
	return errors.Join(faults...)
}

// acquireSome acquires events of a consumer, without their payloads.
func acquireSome(ctx context.Context, v *service, caller int, of string, most int32, wait time.Duration) ([]*pb.AcquiredEvent, error) {
	resp, err := v.client(caller).Idempotency().AcquireEvents(ctx, acquisitionOf(of, most, wait))
	return resp.GetEvents(), err
}

// completeAll completes what was acquired.
func completeAll(ctx context.Context, v *service, caller int, list []*pb.AcquiredEvent) error {
	if len(list) == 0 {
		return nil
	}
	req := &pb.CompleteEventsRequest{}
	for _, e := range list {
		req.Items = append(req.Items, &pb.CompleteEventRequest{Token: e.GetClaim().GetToken()})
	}
	resp, err := v.client(caller).Idempotency().CompleteEvents(ctx, req)
	if err != nil {
		return err
	}
	for _, item := range resp.GetResults() {
		if item.GetError() != nil {
			return idemsvc.ItemErr(item.GetError())
		}
	}
	return nil
}

// scans is how often a whole table that grows was scanned, once all sessions have told.
func (x *queued) scans(ctx context.Context) (n int64, err error) {
	if err := pause(ctx, untilTold); err != nil {
		return 0, err
	}
	err = x.db.admin.QueryRow(ctx, `SELECT COALESCE(sum(seq_scan), 0)::bigint FROM pg_stat_user_tables
		WHERE schemaname = 'idemsvc' AND relname ~ '^(event|unfinished|acquired|attempt|effect|resource|member|payload|journal|lookup|delivery)'`).Scan(&n)
	return n, err
}

// Text writes the report for people.
func (r *WaitingRun) Text(out io.Writer) error {
	if r.Skipped != "" {
		_, err := fmt.Fprintf(out, "waiting: skipped: %s\n", r.Skipped)
		return err
	}
	r.text(out)
	fmt.Fprintf(out, "%s and %s waiting events were stored in %s. AcquireEvents of %d, %d callers, in ms:\n\n",
		grouped(r.Events), grouped(r.Few), r.Load.Round(time.Second), waitingMost, waitingCallers)
	t := &table{out: out}
	t.line("waiting", "calls", "p50", "p99", "p99.9")
	for _, x := range []struct {
		n int
		*Waits
	}{{r.Events, &r.Full}, {r.Few, &r.Empty}} {
		t.line(grouped(x.n), fmt.Sprint(x.Claims), milliseconds(x.P50), milliseconds(x.P99), milliseconds(x.P999))
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		of   Interval
	}{{"p50", r.P50Ratio}, {"p99", r.P99Ratio}} {
		fmt.Fprintf(out, "%s beside many is %.2f of that beside few (at most %.2f; goal: ≤ %.0f, reached: %s).\n",
			x.name, x.of.Median, x.of.High, r.Goal, reached(x.of.High <= r.Goal))
	}
	fmt.Fprintf(out, "CPU of PostgreSQL and server for an acquisition, its completions and as many receipts: %.2f of that beside few (%.2f to %.2f).\n"+
		"Scans over a whole table meanwhile: %d (goal: 0, reached: %s).\n\n",
		r.CPURatio.Median, r.CPURatio.Low, r.CPURatio.High, r.Scans, reached(r.Scans == 0))
	r.Due.report(out)
	r.Polls.report(out)
	return nil
}
