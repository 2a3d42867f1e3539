package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/bench"
)

func (c *cli) benchCommands() []command {
	return []command{{
		name: "bench", brief: "Measure the service against one-row SQL on this machine",
		about:   "Serves a database in a process of its own and lets callers claim and complete events in several ways, in turn with a program that does the same with one-row SQL through pgx. Prints the ratios beside their goals, and what an event costs: CPU of PostgreSQL and of the server, bytes of write-ahead log, buffers; then the latency of claims that come by a schedule. Takes about ten minutes. --growth, --waiting, --refusals, --idle and --telemetry measure something else instead, each by itself. A variable IDEMSVC_BENCH_SERVER_POOL_SIZE sets IDEMSVC_POOL_SIZE for the server that is measured, and so for every setting of «serve».",
		prepare: c.bench,
	}}
}

// What --quick stands for.
const (
	quickPairs    = 3
	quickTime     = 500 * time.Millisecond
	quickRefusals = 2000
	quickIdle     = 3 * time.Second
)

// What is measured without --quick.
const (
	refusals = 100_000
	idleTime = time.Minute
)

// measurements is what «bench» is told to do.
type measurements struct {
	bench.Options
	growth         int
	waiting        int
	refusals, idle bool
	telemetry      bool
}

// measured is what was found, each part where it was asked for.
type measured struct {
	Comparison *bench.Comparison   `json:"comparison,omitempty"`
	Growth     *bench.GrowthRun    `json:"growth,omitempty"`
	Waiting    *bench.WaitingRun   `json:"waiting,omitempty"`
	Refusals   *bench.RefusalRun   `json:"refusals,omitempty"`
	Idle       *bench.IdleRun      `json:"idle,omitempty"`
	Telemetry  *bench.TelemetryRun `json:"telemetry,omitempty"`
}

func (c *cli) bench() (settings, action) {
	m := &measurements{Options: bench.Options{Progress: c.stderr}}
	asJSON, file := false, ""
	s := settings{
		{flag: "database-url", env: "IDEMSVC_DATABASE_URL", arg: "URL", secret: true, set: text(&m.DatabaseURL), doc: "Database to compare with; use an empty one and reach it without a pooler: what is measured stays in it. Empty: a durable PostgreSQL in the directory for temporary files (TMPDIR)."},
		{flag: "pairs", arg: "N", def: "9", set: number(&m.Pairs, 1, 1000), doc: "Rounds, in each of which every way runs once."},
		{flag: "duration", arg: "TIME", def: "1s", set: duration(&m.Duration, time.Millisecond), doc: "How long every way runs in each round."},
		{flag: "only", arg: "NAME,...", set: list(&m.Only), doc: "Compare only these, such as unary64,batch; a name without its number of callers means all of them. There are " + strings.Join(bench.Names(), ", ") + "."},
		{flag: "river", arg: "PROGRAM", set: text(&m.River), doc: "Compare the arms of the inbox with River, by this program; «make bench-inbox» builds and names it."},
		{flag: "growth", arg: "N", def: "0", set: number(&m.growth, 0, 1_000_000_000), doc: "Instead: what claims and look-ups cost beside N stored events and beside none. Skipped with a message where the disk has no room."},
		{flag: "waiting", arg: "N", def: "0", set: number(&m.waiting, 0, 100_000_000), doc: "Instead: how long AcquireEvents takes beside N waiting events and beside a thousand, when ten thousand fall due at once, and what waiting for nothing costs. Skipped with a message where the disk has no room."},
		{flag: "refusals", set: toggle(&m.refusals), doc: fmt.Sprintf("Instead: %d calls to a server whose queue is full, their time and its memory.", refusals)},
		{flag: "idle", set: toggle(&m.idle), doc: fmt.Sprintf("Instead: the CPU of a server with 8 clients that ask nothing, over %s.", idleTime)},
		{flag: "telemetry", set: toggle(&m.telemetry), doc: "Instead: the server's CPU for an event with nothing to be seen, with its log, and with log, metrics and a hundredth of the traces."},
		{flag: "quick", set: toggle(&m.Quick), doc: fmt.Sprintf("%d rounds of %s, less of everything else, and no buffers: a first impression.", quickPairs, quickTime)},
		{flag: "out", arg: "FILE", set: text(&file), doc: "Write the report as JSON to this file, too."},
		jsonFlag(&asJSON),
	}
	return s, func(ctx context.Context, args []string) error {
		if slices.Equal(args, bench.EchoArgs[1:]) {
			return bench.Echo(ctx, c.stdout)
		}
		if err := noArguments(args); err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		m.Program = []string{self}
		if err := m.check(); err != nil {
			return usageError{err}
		}
		if err := writable(file); err != nil {
			return usageError{fmt.Errorf("--out: %w", err)}
		}
		ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer release()
		found, err := m.run(ctx)
		if err != nil {
			return err
		}
		if file != "" {
			if err := writeJSON(file, found); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
		}
		if asJSON {
			return c.print(true, found, "")
		}
		return found.text(c.stdout)
	}
}

// check finds what does not go together.
func (m *measurements) check() error {
	if m.Quick {
		m.Pairs, m.Duration = quickPairs, quickTime
	}
	if m.growth == 0 && m.waiting == 0 && !m.refusals && !m.idle && !m.telemetry {
		return nil
	}
	var faults []error
	if m.DatabaseURL != "" {
		faults = append(faults, errors.New("--growth, --waiting, --refusals, --idle and --telemetry use a PostgreSQL of their own, so --database-url has no use"))
	}
	if len(m.Only) > 0 {
		faults = append(faults, errors.New("--growth, --waiting, --refusals, --idle and --telemetry compare nothing, so --only has no use"))
	}
	if m.River != "" {
		faults = append(faults, errors.New("--growth, --waiting, --refusals, --idle and --telemetry compare nothing, so --river has no use"))
	}
	return errors.Join(faults...)
}

// run measures what was asked for.
func (m *measurements) run(ctx context.Context) (*measured, error) {
	found := &measured{}
	var err error
	if m.growth > 0 {
		if found.Growth, err = bench.Growth(ctx, m.Options, m.growth); err != nil {
			return nil, err
		}
	}
	if m.waiting > 0 {
		if found.Waiting, err = bench.Waiting(ctx, m.Options, m.waiting); err != nil {
			return nil, err
		}
	}
	if m.refusals {
		n := refusals
		if m.Quick {
			n = quickRefusals
		}
		if found.Refusals, err = bench.Refusals(ctx, m.Options, n); err != nil {
			return nil, err
		}
	}
	if m.idle {
		d := idleTime
		if m.Quick {
			d = quickIdle
		}
		if found.Idle, err = bench.Idle(ctx, m.Options, d); err != nil {
			return nil, err
		}
	}
	if m.telemetry {
		if found.Telemetry, err = bench.Telemetry(ctx, m.Options); err != nil {
			return nil, err
		}
	}
	if *found != (measured{}) {
		return found, nil
	}
	found.Comparison, err = bench.Compare(ctx, m.Options)
	if errors.Is(err, bench.ErrUnknownName) {
		err = usageError{fmt.Errorf("--only: %w", err)}
	}
	return found, err
}

// text writes all parts for people.
func (m *measured) text(out io.Writer) error {
	var faults []error
	if m.Comparison != nil {
		faults = append(faults, m.Comparison.Text(out))
	}
	if m.Growth != nil {
		faults = append(faults, m.Growth.Text(out))
	}
	if m.Waiting != nil {
		faults = append(faults, m.Waiting.Text(out))
	}
	if m.Refusals != nil {
		faults = append(faults, m.Refusals.Text(out))
	}
	if m.Idle != nil {
		faults = append(faults, m.Idle.Text(out))
	}
	if m.Telemetry != nil {
		faults = append(faults, m.Telemetry.Text(out))
	}
	return errors.Join(faults...)
}

// writable finds out before minutes are spent whether the report can be written.
func writable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // a report for everybody
	if err != nil {
		return err
	}
	return f.Close()
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // a report for everybody
}
