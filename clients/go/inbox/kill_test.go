package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
)

// asVictim makes the test binary behave as a consumer that is killed.
const asVictim = "IDEMSVC_INBOX_VICTIM"

// Where a victim dies.
const (
	beforeCommit = "before its commits"
	afterCommit  = "between its commits and the completions"
	nowhere      = ""
)

// victimJob is what a victim is told.
type victimJob struct {
	Service, Database string
	Events            []string
	Dies              string // with all its events at that place
}

// A consumer is killed by SIGKILL with many events in their transactions, and the next one
// with many events committed and not completed: each event's row is there once, and the
// service has the result that was committed with it.
func TestAKilledConsumerHasWorkedOnce(t *testing.T) {
	t.Parallel()
	const blocks, each = 12, 25 // 300 kills of an event at each place
	url, pool := consumerDB(t)
	s := newService(t)
	client := s.client()
	var kills atomic.Int64
	for block := range blocks {
		job := victimJob{Service: s.addr, Database: url}
		for i := range each {
			job.Events = append(job.Events, fmt.Sprintf("evt_%d_%d", block, i))
		}
		in := "SELECT count(*) FROM invoice WHERE event_id = ANY ($1)"
		for _, job.Dies = range []string{beforeCommit, afterCommit, nowhere} {
			out, err := victim(t, job)
			killed := false
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status, ok := exit.Sys().(syscall.WaitStatus)
				killed = ok && status.Signal() == syscall.SIGKILL
			}
			if job.Dies != nowhere && !killed || job.Dies == nowhere && err != nil {
				t.Fatalf("the consumer that dies %q: %v\n%s", job.Dies, err, out)
			}
			want := each
			if job.Dies == beforeCommit {
				want = 0
			}
			if n := count(t, pool, in, job.Events); n != want {
				t.Fatalf("%d rows of %d events after one that died %q, want %d", n, each, job.Dies, want)
			}
			if job.Dies != nowhere {
				kills.Add(each)
				s.endLeases()
			}
		}
		for _, id := range job.Events {
			booked(t, pool, id, 1)
			told(t, client, id)
		}
	}
	t.Logf("%d events were cut off by SIGKILL", kills.Load())
}

// told fails unless the service knows that an event was processed, and with the result of its
// row.
func told(t *testing.T, client *idemsvc.Client, id string) {
	t.Helper()
	a, err := client.Claim(t.Context(), event(id))
	if err != nil || a.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED || string(a.GetExisting().GetResult()) != "invoice of "+id {
		t.Errorf("%s: %v, %v, result %q", id, a, err, a.GetExisting().GetResult())
	}
}

// victim runs a consumer to its end.
func victim(t *testing.T, job victimJob) (output []byte, err error) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), asVictim+"="+string(text))
	return cmd.CombinedOutput()
}

// runVictim is a consumer process.
func runVictim(text string) error {
	var job victimJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // whatever becomes of the parent
	defer cancel()
	cfg, err := pgxpool.ParseConfig(job.Database)
	if err != nil {
		return err
	}
	cfg.MaxConns = int32(len(job.Events)) //nolint:gosec // a few
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := idemsvc.Dial(job.Service, idemsvc.WithNamespace(namespace), idemsvc.WithConsumer(consumer))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	box, err := pgxinbox.New(&cutting{Pool: pool, job: &job}, namespace, consumer, inbox.Enforce(client))
	if err != nil {
		return err
	}
	errs := make([]error, len(job.Events))
	var all sync.WaitGroup
	for i, id := range job.Events {
		all.Go(func() {
			a, err := pgxSubjectOf(box).process(ctx, event(id), book(id), idemsvc.WithLease(time.Hour))
			if err == nil && (!a.Acknowledge() || string(a.Result) != "invoice of "+id) {
				err = fmt.Errorf("answered %+v", a)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// cutting kills the process when as many transactions as there are events have written and
// come to the place where it dies.
type cutting struct {
	*pgxpool.Pool
	job *victimJob
	at  atomic.Int64
}

func (c *cutting) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := c.Pool.BeginTx(ctx, opts)
	return &cutTx{Tx: tx, cut: c}, err
}

type cutTx struct {
	pgx.Tx
	cut    *cutting
	booked bool
}

func (x *cutTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	x.booked = x.booked || strings.HasPrefix(sql, "INSERT INTO invoice")
	return x.Tx.Exec(ctx, sql, args...)
}

func (x *cutTx) Commit(ctx context.Context) error {
	x.here(beforeCommit)
	err := x.Tx.Commit(ctx)
	if err == nil {
		x.here(afterCommit)
	}
	return err
}

func (x *cutTx) here(place string) {
	if !x.booked || x.cut.job.Dies != place {
		return
	}
	if x.cut.at.Add(1) == int64(len(x.cut.job.Events)) {
		if own, err := os.FindProcess(os.Getpid()); err == nil {
			_ = own.Kill()
		}
	}
	select {}
}

// Owners of several consumers race for the same events while leases are taken
// from them again and again: no row is written twice, and all events end.
func TestOwnersRaceWhileLeasesEnd(t *testing.T) {
	t.Parallel()
	_, pool := consumerDB(t)
	s := newService(t)
	const events, workers = 40, 12
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var ended, taken atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		box, err := pgxinbox.New(pool, namespace, consumer, inbox.Enforce(s.client()))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range events {
				id := fmt.Sprint("evt_", (i+w)%events)
				for ctx.Err() == nil {
					a, err := pgxSubjectOf(box).process(ctx, event(id), func(ctx context.Context, exec statements) (inbox.Result, error) {
						if ended.Add(1)%3 == 0 {
							s.take(ctx, id)
							taken.Add(1)
						}
						return book(id)(ctx, exec)
					}, idemsvc.WithWait(time.Second))
					if a.Acknowledge() {
						if err != nil || string(a.Result) != "invoice of "+id {
							t.Errorf("%s: %+v, %v", id, a, err)
						}
						break
					}
				}
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		t.Error("not all events ended within a minute")
	}
	for i := range events {
		booked(t, pool, fmt.Sprint("evt_", i), 1)
	}
	if taken.Load() == 0 {
		t.Error("no lease was taken: this shows nothing")
	}
}
