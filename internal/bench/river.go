package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// riverSchema is where tools/riverbench has River's tables.
const riverSchema = "idemsvc_bench_river"

// riverRun is a run that tools/riverbench makes.
type riverRun struct {
	Producers int   `json:"producers"`
	Workers   int   `json:"workers"`
	Pool      int   `json:"pool"`
	Cooldown  int   `json:"cooldown_ms"`
	Poll      int   `json:"poll_ms"`
	Time      int64 `json:"time_ms"`
	Window    int   `json:"window"`
	Apart     bool  `json:"apart"`
	Payload   int   `json:"payload_bytes"`
}

// riverSettings are those from which River's best is taken: few workers that are fed at once,
// many that are fed in large batches, and River's default pace.
var riverSettings = []riverRun{
	{Workers: 64, Pool: 16, Cooldown: 2, Poll: 20},
	{Workers: 256, Pool: 16, Cooldown: 10, Poll: 50},
	{Workers: 1000, Pool: 16, Cooldown: 20, Poll: 50},
	{Workers: 1000, Pool: 64, Cooldown: 20, Poll: 50},
	{Workers: 1000, Pool: 16, Cooldown: 100, Poll: 1000},
}

func (r riverRun) with(d time.Duration, alone apart) riverRun {
	r.Producers, r.Time, r.Window, r.Apart, r.Payload = producers, d.Milliseconds(), inboxWindow, bool(alone), payloadBytes
	if alone {
		r.Window = 0
	}
	return r
}

func (r riverRun) String() string {
	return fmt.Sprintf("MaxWorkers %d, FetchCooldown %d ms, FetchPollInterval %d ms, a pool of %d", r.Workers, r.Cooldown, r.Poll, r.Pool)
}

// river is tools/riverbench: producers, River's client and its workers, in one process.
type river struct {
	proc *childproc.Process
	in   io.WriteCloser
	out  *json.Decoder
	said *childproc.Tail
}

// openRiver starts it.
func (s *site) openRiver(ctx context.Context) error {
	drop := func(ctx context.Context) error {
		_, err := s.db.admin.Exec(ctx, "DROP SCHEMA IF EXISTS "+riverSchema+" CASCADE")
		return err
	}
	if err := drop(ctx); err != nil {
		return err
	}
	s.later(func() error { return drop(context.WithoutCancel(ctx)) })
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.River)                                  //nolint:gosec // the caller's own choice
	cmd.Env = append(childproc.Environ("IDEMSVC_"), "RIVERBENCH_DATABASE_URL="+s.db.url, "GOGC=400") // as the server's default
	r := &river{said: &childproc.Tail{}}
	cmd.Stderr = r.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if r.proc, err = childproc.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("--river: %w", err)
	}
	r.in, r.out = in, json.NewDecoder(out)
	s.river = r
	s.later(r.close)
	return nil
}

func (r *river) close() error {
	fault := r.in.Close() // which ends it
	select {
	case <-r.proc.Done():
		return nil
	case <-time.After(startTime):
		return errors.Join(fault, r.proc.Signal(syscall.SIGKILL))
	}
}

// do has a run made.
func (r *river) do(ctx context.Context, run riverRun) (events int64, seconds float64, err error) {
	stop := context.AfterFunc(ctx, func() { _ = r.proc.Signal(syscall.SIGKILL) })
	defer stop()
	if err := json.NewEncoder(r.in).Encode(run); err != nil {
		return 0, 0, fmt.Errorf("river: %w%s", err, r.said)
	}
	var done struct {
		Events  int64   `json:"events"`
		Seconds float64 `json:"seconds"`
		Error   string  `json:"error"`
	}
	if err := r.out.Decode(&done); err != nil {
		return 0, 0, fmt.Errorf("river: %w%s", err, r.said)
	}
	if done.Error != "" {
		return 0, 0, errors.New("river: " + done.Error)
	}
	return done.Events, done.Seconds, nil
}

// pid is its process; 0 where there is none.
func (r *river) pid() int {
	if r == nil {
		return 0
	}
	return r.proc.PID()
}

// tuneRiver finds River's best settings.
func (s *site) tuneRiver(ctx context.Context) error {
	best := 0.0
	for i, settings := range riverSettings {
		a := &arm{family: "river", callers: producers, way: overRiver, whole: func(ctx context.Context, d time.Duration) (int64, float64, error) {
			return s.river.do(ctx, settings.with(d, false))
		}}
		if i == 0 { // connects, and makes River's tables
			if _, err := s.slot(ctx, a, min(s.Duration, 300*time.Millisecond)); err != nil {
				return err
			}
		}
		r, err := s.slot(ctx, a, s.Duration)
		if err != nil {
			return err
		}
		s.say("River with %s: %.0f events/s, %.0f µs of PostgreSQL's CPU for an event", settings, r.rate(), r.postgres())
		if r.rate() > best {
			best, s.riverBest = r.rate(), settings
		}
	}
	return nil
}
