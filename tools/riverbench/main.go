// Command riverbench lets River do what the inbox does, for «idemsvc bench --river»: events
// are inserted, one in each call, worked on and completed.
//
// Each line on its standard input is a run to make (JSON, see run), each line on its standard
// output what it did. It ends with its input. It is a module of its own, so that the service
// does not depend on River.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schema is where River's tables are.
const schema = "idemsvc_bench_river"

func main() {
	if err := serve(context.Background(), os.Getenv("RIVERBENCH_DATABASE_URL"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "riverbench:", err)
		os.Exit(1)
	}
}

// run is what is asked for.
type run struct {
	Producers int  `json:"producers"`
	Workers   int  `json:"workers"` // River's MaxWorkers
	Pool      int  `json:"pool"`    // connections
	Cooldown  int  `json:"cooldown_ms"`
	Poll      int  `json:"poll_ms"`
	Time      int  `json:"time_ms"`
	Window    int  `json:"window"` // producers wait while so many are not finished; 0: they never do
	Apart     bool `json:"apart"`  // workers begin when the producers have ended
	Payload   int  `json:"payload_bytes"`
}

// done is what became of a run: the time is from the first insert to the last completion.
type done struct {
	Events  int64   `json:"events"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

func serve(ctx context.Context, databaseURL string, in io.Reader, out io.Writer) error {
	b := &bench{url: databaseURL, pools: map[int]*pgxpool.Pool{}}
	defer b.close()
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r run
		if err := requests.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		d, err := b.do(ctx, &r)
		if err != nil {
			d.Error = err.Error()
		}
		if err := answers.Encode(d); err != nil {
			return err
		}
	}
}

type bench struct {
	url   string
	pools map[int]*pgxpool.Pool // by size
}

func (b *bench) close() {
	for _, p := range b.pools {
		p.Close()
	}
}

// pool makes River's tables with the first one.
func (b *bench) pool(ctx context.Context, size int) (*pgxpool.Pool, error) {
	if p := b.pools[size]; p != nil {
		return p, nil
	}
	cfg, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		return nil, errors.New("RIVERBENCH_DATABASE_URL cannot be read")
	}
	cfg.MaxConns = int32(size)
	cfg.ConnConfig.RuntimeParams["application_name"] = "idemsvc-bench-river"
	p, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if len(b.pools) == 0 {
		if err := migrate(ctx, p); err != nil {
			p.Close()
			return nil, err
		}
	}
	b.pools[size] = p
	return p, nil
}

func migrate(ctx context.Context, p *pgxpool.Pool) error {
	if _, err := p.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema); err != nil {
		return err
	}
	m, err := rivermigrate.New(riverpgxv5.New(p), &rivermigrate.Config{Schema: schema, Logger: errorsOnly()})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// errorsOnly is River's log.
func errorsOnly() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// event is a job.
type event struct {
	ID      string `json:"id"`
	Source  string `json:"source"`
	Payload string `json:"payload"`
}

func (event) Kind() string { return "event" }

// worker does nothing: what is measured is how work gets there and is completed.
type worker struct {
	river.WorkerDefaults[event]
}

func (worker) Work(context.Context, *river.Job[event]) error { return nil }

// do makes a run.
func (b *bench) do(ctx context.Context, r *run) (d done, err error) {
	pool, err := b.pool(ctx, r.Pool)
	if err != nil {
		return d, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: schema, Logger: errorsOnly(), Workers: workers,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: r.Workers}},
		FetchCooldown:     time.Duration(r.Cooldown) * time.Millisecond,
		FetchPollInterval: time.Duration(r.Poll) * time.Millisecond,
	})
	if err != nil {
		return d, err
	}
	completed, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 100_000})
	defer unsubscribe()
	var finished atomic.Int64
	changed := make(chan struct{}, 1)
	go func() {
		for range completed {
			finished.Add(1)
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	if !r.Apart {
		if err := client.Start(ctx); err != nil {
			return d, err
		}
	}
	started := time.Now()
	inserted, err := produce(ctx, client, r, &finished)
	if r.Apart && err == nil {
		err = client.Start(ctx)
	}
	for err == nil && finished.Load() < inserted {
		select {
		case <-changed:
		case <-time.After(30 * time.Second):
			err = fmt.Errorf("%d of %d events are completed, and no more within half a minute", finished.Load(), inserted)
		}
	}
	d = done{Events: inserted, Seconds: time.Since(started).Seconds()}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return d, errors.Join(err, client.Stop(stopping))
}

// produce inserts events for a while and returns how many.
func produce(ctx context.Context, client *river.Client[pgx.Tx], r *run, finished *atomic.Int64) (int64, error) {
	payload := strings.Repeat("x", r.Payload)
	var inserted atomic.Int64
	var producers sync.WaitGroup
	failed := make(chan error, r.Producers)
	end := time.Now().Add(time.Duration(r.Time) * time.Millisecond)
	for range r.Producers {
		producers.Go(func() {
			for time.Now().Before(end) {
				if r.Window > 0 && inserted.Load()-finished.Load() >= int64(r.Window) {
					time.Sleep(time.Millisecond)
					continue
				}
				if _, err := client.Insert(ctx, event{ID: "evt_" + rand.Text(), Source: "bench", Payload: payload}, nil); err != nil {
					failed <- err
					return
				}
				inserted.Add(1)
			}
		})
	}
	producers.Wait()
	select {
	case err := <-failed:
		return inserted.Load(), err
	default:
		return inserted.Load(), nil
	}
}
