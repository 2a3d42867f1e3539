package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/provoke"
)

func (c *cli) provokeCommands() []command {
	return []command{{
		name: "provoke", args: "[-- COMMAND [ARGUMENT]...]", brief: "Send a webhook receiver on this machine what providers send on bad days",
		about:   "Delivers validly signed webhooks of a provider twice, at once, shuffled, over connections that are cut before the answer and behind a gateway that turns 200 into 502, and a forged one. If the receiver's own command follows, it is started, and killed and started again while it works, too; it must listen at the URL and keep what it starts in its process group. Says of each case whether the answers were right and what they were. It sees answers only: whether the work was done twice is for you to look at; its events have IDs that begin with «provoke-». Loopback URLs only. Ends with code 1 if a case failed.",
		prepare: c.provoke,
	}}
}

func (c *cli) provoke() (settings, action) {
	var o provoke.Options
	asJSON := false
	s := settings{
		{flag: "url", arg: "URL", set: text(&o.URL), doc: "Receiver to provoke, such as http://127.0.0.1:8080/hooks/stripe. Of this machine only."},
		{flag: "provider", arg: "NAME", choices: provoke.Providers(), def: "stripe", set: text(&o.Provider), doc: "Provider to play."},
		{flag: "secret", env: "IDEMSVC_PROVOKE_SECRET", arg: "SECRET", secret: true, set: text(&o.Secret), doc: "Secret that the receiver shares with the provider: one for tests, never a live one."},
		{flag: "public-url", arg: "URL", set: text(&o.Public), doc: "URL that the receiver takes for the one the provider was given, where providers sign it (HubSpot, Square, Twilio). Empty: the receiver's."},
		{flag: "patience", arg: "DURATION", def: provoke.DefaultPatience.String(), set: duration(&o.Patience, time.Second), doc: "How long the receiver may answer «not now» after it was killed: at least its lease."},
		{flag: "json", set: toggle(&asJSON), doc: "Print the results as JSON."},
	}
	return s, func(ctx context.Context, args []string) error {
		o.Command = args
		if err := o.Check(); err != nil {
			return usageError{err}
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		ctx, giveUp := context.WithCancel(ctx)
		defer giveUp()
		if len(o.Command) > 0 {
			signal.Ignore(syscall.SIGPIPE) // whoever reads may have gone, and the receiver is to be ended
		}
		p := provoked{c: c, asJSON: asJSON, giveUp: giveUp}
		if err := provoke.Run(ctx, o, p.add); err != nil {
			return errors.Join(p.err, err)
		}
		return p.end()
	}
}

// provoked prints how the cases went: for people as they end, for scripts together.
type provoked struct {
	c       *cli
	asJSON  bool
	results []provoke.Result
	failed  bool
	err     error // of printing
	giveUp  context.CancelFunc
}

func (p *provoked) add(r provoke.Result) {
	p.results = append(p.results, r)
	verdict := "pass"
	if !r.Pass {
		verdict, p.failed = "FAIL", true
	}
	if !p.asJSON && p.err == nil {
		if _, p.err = fmt.Fprintf(p.c.stdout, "%s  %s: %s\n", verdict, r.Case, r.Saw); p.err != nil {
			p.giveUp()
		}
	}
}

// end is the verdict: a case that failed is an error.
func (p *provoked) end() error {
	if p.asJSON {
		p.err = json.NewEncoder(p.c.stdout).Encode(struct {
			Results []provoke.Result `json:"results"`
		}{p.results})
	}
	if p.err == nil && p.failed {
		return errors.New("the receiver answered wrongly, see above")
	}
	return p.err
}
