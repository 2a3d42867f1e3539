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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// RefusalRun is what a server does whose queue is full: its database hangs, and more
// callers come than it lets wait.
type RefusalRun struct {
	Machine []string `json:"machine"`
	// Refused is how many calls were turned away as one too many, PerSecond how many in a
	// second, and Other how many of the same callers' calls ended in another way.
	Refused   int     `json:"refused"`
	PerSecond float64 `json:"per_second"`
	Other     int     `json:"other"`
	// Times of the refusals in microseconds, as their callers see them.
	P50 int64 `json:"p50_us"`
	P99 int64 `json:"p99_us"`
	// Memory of the server's process in bytes: before the queue filled, when it was full, and
	// then after every tenth of the refusals.
	Idle   int64   `json:"memory_idle"`
	Full   int64   `json:"memory_full"`
	Tenths []int64 `json:"memory_tenths"`
}

const (
	// refusalCallers are few: their own waiting for a core is not the server's time.
	refusalCallers = 16
	refusalGoal    = 5 * time.Millisecond
	// fillers ask for so many events at once, filling each, that more commands want to wait
	// than a server admits (8192). Toppers are more than it has under way at the same time
	// (two batches of 512) and take the places that are left.
	fillers, filling, toppers = 40, 250, 1300
	// refusalTime is after how long no more refusals are waited for.
	refusalTime = time.Minute
	// refusalPatience is how long a measured call waits: one that got into the queue, because
	// a batch was given up, must not keep its caller.
	refusalPatience = 500 * time.Millisecond
)

// Refusals fills the queue of a server and counts n calls that are turned away, or as many
// as are in a minute. It uses a PostgreSQL of its own, whatever the options say.
func Refusals(ctx context.Context, o Options, n int) (r *RefusalRun, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx, refusalTime)
	defer cancel()
	c := &cluster{}
	defer func() { err = o.cleared(ctx, err, c.close()) }()
	v, g, err := gatedService(ctx, o, c)
	if err != nil {
		return nil, err
	}
	// Not the client for consumers: that leaves a server that is not ready, and repeats.
	var calls []pb.IdempotencyServiceClient
	for range connections {
		conn, err := grpc.NewClient(v.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		c.later(conn.Close)
		calls = append(calls, pb.NewIdempotencyServiceClient(conn))
	}
	if _, err := unaryEvent(ctx, v, 0); err != nil {
		return nil, err
	}
	q := &full{calls: calls, pid: v.pid(), want: n}
	r = &RefusalRun{Machine: machine(c.dir), Idle: memory(v.pid())}
	g.shut()
	defer g.unlock()
	o.say("filling the queue")
	return r, q.measure(ctx, r, o.say)
}

// gatedService starts a server whose database can be made to hang.
func gatedService(ctx context.Context, o Options, c *cluster) (*service, *gate, error) {
	db, err := c.open(ctx, "", ownSettings())
	if err != nil {
		return nil, nil, err
	}
	at, err := pgx.ParseConfig(db.url)
	if err != nil {
		return nil, nil, err
	}
	g, err := newGate(ctx, c.dir, &at.Config)
	if err != nil {
		return nil, nil, err
	}
	c.later(g.close)
	v, err := serve(ctx, o.Program, fmt.Sprintf("postgres://%s@/%s?host=%s", at.User, at.Database, c.dir))
	if v != nil {
		c.later(v.close)
	}
	return v, g, err
}

// full keeps a server's queue full and counts what it turns away.
type full struct {
	calls []pb.IdempotencyServiceClient
	pid   int
	want  int

	mu     sync.Mutex
	times  []int64
	other  int
	tenths []int64
}

func (q *full) measure(ctx context.Context, r *RefusalRun, say func(string, ...any)) error {
	fctx, stop := context.WithCancel(ctx)
	var crowd, asking sync.WaitGroup
	defer crowd.Wait()
	defer stop()
	for i := range fillers {
		crowd.Go(func() {
			keepTrying(fctx, 5*time.Second, func() { _, _ = q.call(i).ClaimEvents(fctx, freshBatch(filling)) })
		})
	}
	for i := range toppers {
		crowd.Go(func() {
			keepTrying(fctx, time.Second, func() { _, _ = q.call(i).ClaimEvent(fctx, claimOf(freshID())) })
		})
	}
	if err := q.untilFull(ctx); err != nil {
		return err
	}
	r.Full = memory(q.pid)
	say("counting refusals")
	started := time.Now()
	for i := range refusalCallers {
		asking.Go(func() {
			for q.more() && time.Since(started) < refusalTime && ctx.Err() == nil {
				q.ask(ctx, i)
			}
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(q.times) == 0 {
		return errors.New("nothing was refused")
	}
	r.PerSecond = float64(len(q.times)) / time.Since(started).Seconds()
	slices.Sort(q.times)
	r.Refused, r.Other, r.Tenths = len(q.times), q.other, q.tenths
	r.P50, r.P99 = quantile(q.times, 0.5), quantile(q.times, 0.99)
	return nil
}

// keepTrying repeats a call, whatever comes of it, at most once in a while.
func keepTrying(ctx context.Context, while time.Duration, call func()) {
	for ctx.Err() == nil {
		next := time.Now().Add(while)
		call()
		_ = pause(ctx, time.Until(next))
	}
}

func (q *full) call(i int) pb.IdempotencyServiceClient { return q.calls[i%connections] }

// turnedAway tells whether a call was one too many.
func turnedAway(err error) bool { return status.Code(err) == codes.ResourceExhausted }

// untilFull waits until single calls are turned away.
func (q *full) untilFull(ctx context.Context) error {
	for in := 0; in < 10; {
		actx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := q.call(0).ClaimEvent(actx, claimOf(freshID()))
		cancel()
		if turnedAway(err) {
			in++
		} else {
			in = 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (q *full) more() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.times) < q.want
}

// ask makes one call and notes how it ended.
func (q *full) ask(ctx context.Context, i int) {
	actx, cancel := context.WithTimeout(ctx, refusalPatience)
	defer cancel()
	started := time.Now()
	_, err := q.call(i).ClaimEvent(actx, claimOf(freshID()))
	took := time.Since(started).Microseconds()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !turnedAway(err) {
		q.other++
		return
	}
	q.times = append(q.times, took)
	if len(q.times)%max(q.want/10, 1) == 0 {
		q.tenths = append(q.tenths, memory(q.pid))
	}
}

// Text writes the report for people.
func (r *RefusalRun) Text(out io.Writer) error {
	most := r.Full
	for _, n := range r.Tenths {
		most = max(most, n)
	}
	last := r.Full
	if n := len(r.Tenths); n > 0 {
		last = r.Tenths[n-1]
	}
	_, err := fmt.Fprintf(out, `A full queue, because the database hangs:
%s refusals, %.0f in a second: median %s ms (goal: under %d ms, reached: %s), p99 %s ms; %d calls ended in another way.
The server's process had %s before, %s when the queue was full, %s at the most and %s after the last refusal.
`, grouped(r.Refused), r.PerSecond, milliseconds(r.P50), refusalGoal.Milliseconds(), reached(r.P50 < refusalGoal.Microseconds()), milliseconds(r.P99), r.Other,
		megabytes(r.Idle), megabytes(r.Full), megabytes(most), megabytes(last))
	return err
}
