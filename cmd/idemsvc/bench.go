package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/bench"
)

func (c *cli) benchCommands() []command {
	return []command{{
		name: "bench", brief: "Measure the service against one-row SQL on this machine",
		about:   "Serves a database in a process of its own and lets callers claim and complete events in several ways, in turn with a program that does the same with one-row SQL through pgx. Prints the ratios, and what an event costs: CPU of PostgreSQL, server and callers, and bytes of write-ahead log. Takes a few minutes. A variable IDEMSVC_BENCH_SERVER_POOL_SIZE sets IDEMSVC_POOL_SIZE for the server that is measured, and so for every setting of «serve».",
		prepare: c.bench,
	}}
}

// quickPairs and quickTime are what --quick stands for.
const (
	quickPairs = 3
	quickTime  = 500 * time.Millisecond
)

func (c *cli) bench() (settings, action) {
	o := bench.Options{Progress: c.stderr}
	var callers []string
	quick, asJSON := false, false
	s := settings{
		{flag: "database-url", env: "IDEMSVC_DATABASE_URL", arg: "URL", secret: true, set: text(&o.DatabaseURL), doc: "Database to measure with; use an empty one, what is measured stays in it. Empty: a durable PostgreSQL in a temporary directory."},
		{flag: "pairs", arg: "N", def: "9", set: number(&o.Pairs, 1, 1000), doc: "Rounds, in each of which every way runs once."},
		{flag: "duration", arg: "TIME", def: "1s", set: duration(&o.Duration, time.Millisecond), doc: "How long every way runs in each round."},
		{flag: "callers", arg: "N,...", def: "1,64,256", set: list(&callers), doc: "Numbers of callers at the same time."},
		{flag: "quick", set: toggle(&quick), doc: fmt.Sprintf("%d rounds of %s: a first impression.", quickPairs, quickTime)},
		{flag: "json", set: toggle(&asJSON), doc: "Print the report as JSON."},
	}
	return s, func(ctx context.Context, args []string) error {
		faults := []error{noArguments(args)}
		for _, text := range callers {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > 4096 {
				faults = append(faults, fmt.Errorf("--callers: %q is not a number from 1 to 4096", text))
			}
			o.Callers = append(o.Callers, n)
		}
		if len(callers) == 0 {
			faults = append(faults, errors.New("--callers is empty"))
		}
		if err := errors.Join(faults...); err != nil {
			return usageError{err}
		}
		if quick {
			o.Pairs, o.Duration = quickPairs, quickTime
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		o.Server = []string{self}
		ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer release()
		r, err := bench.Run(ctx, o)
		if err != nil {
			return err
		}
		if asJSON {
			e := json.NewEncoder(c.stdout)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}
		return r.Text(c.stdout)
	}
}
