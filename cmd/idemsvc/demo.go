package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/idemsvc/idemsvc/internal/demo"
)

func (c *cli) demoCommands() []command {
	return []command{{
		name: "demo", brief: "Show a storm of webhooks with and without idemsvc",
		about:   "Delivers events several times, shuffled and at once, to consumer processes that are killed in the middle of their work: first to a handler that inserts a row for each delivery, then to one that asks idemsvc. Prints what both have done, counted in the tables of the business. Needs no server: it starts a PostgreSQL and idemsvc of its own and removes them. Ends with code 1 if the second handler did anything twice or lost anything.",
		prepare: c.demo,
	}}
}

// What --quick stands for.
const (
	quickEvents = 150
	quickKills  = 10
)

func (c *cli) demo() (settings, action) {
	o := demo.Options{Consumers: 4, Kills: 12}
	dir, events, seed := "", 0, 0
	quick, asJSON := false, false
	s := settings{
		{flag: "payloads", arg: "DIR", set: text(&dir), doc: "Folder of JSON files to deliver, with all folders below it. The first folder of a path names the provider; files of one folder are, four at a time, the states of one thing. Empty: samples of its own."},
		{flag: "events", arg: "N", def: "600", set: number(&events, 1, 100000), doc: "Number of events. Each is delivered 1 to 5 times. Too few payloads are used again under new IDs, of too many some are chosen."},
		{flag: "seed", arg: "N", def: "1", set: number(&seed, 0, 1<<31-1), doc: "Chooses the storm: which events come when and how often, and when consumers die."},
		{flag: "database-url", env: "IDEMSVC_DEMO_DATABASE_URL", arg: "URL", secret: true, set: text(&o.DatabaseURL), doc: "Empty database to use. All tables stay in it, for you to look at, in the schemas demo_naive and demo_idemsvc. Empty: a PostgreSQL of its own in a temporary directory."},
		{flag: "quick", set: toggle(&quick), doc: fmt.Sprintf("%d events: a few seconds.", quickEvents)},
		{flag: "json", set: toggle(&asJSON), doc: "Print the report as JSON."},
	}
	return s, func(ctx context.Context, args []string) error {
		if slices.Equal(args, demo.ConsumerArgs[1:]) {
			return demo.Consume(ctx, c.stdin, c.stdout, c.stderr)
		}
		if err := noArguments(args); err != nil {
			return err
		}
		o.Events, o.Seed = events, uint64(seed) //nolint:gosec // not negative
		if quick {
			o.Events, o.Kills = quickEvents, quickKills
		}
		return c.runDemo(ctx, o, dir, asJSON)
	}
}

func (c *cli) runDemo(ctx context.Context, o demo.Options, dir string, asJSON bool) error {
	payloads, err := demo.Load(dir)
	if err != nil {
		return usageError{fmt.Errorf("--payloads: %w", err)}
	}
	for _, note := range payloads.Notes {
		fmt.Fprintln(c.stderr, note)
	}
	o.Payloads = payloads.List
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Program = []string{self}
	o.Progress, o.Terminal = c.stderr, c.terminal(c.stderr)
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	r, err := demo.Run(ctx, o)
	if ctx.Err() != nil {
		return context.Cause(ctx) // the error is only what was interrupted
	}
	if err != nil {
		return err
	}
	plain, _ := c.env("NO_COLOR")
	if err := c.print(asJSON, r, "%s", r.Text(c.terminal(c.stdout) && plain == "")); err != nil {
		return err
	}
	if !r.Guarded.Clean() {
		return errors.New("with idemsvc, events were lost or processed twice: unless this machine was overloaded that is a fault of idemsvc, please report it with this output")
	}
	return nil
}

// terminal reports whether a bar can move and colours show there.
func (c *cli) terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	term, _ := c.env("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && term != "" && term != "dumb"
}
