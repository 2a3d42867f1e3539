package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/idemsvc/idemsvc/internal/provoke"
)

func (c *cli) provokeCommands() []command {
	return []command{{
		name: "provoke", brief: "Send a webhook receiver on this machine what providers send on bad days",
		about:   "Delivers validly signed webhooks of a provider twice, at once, shuffled and over connections that are cut before the answer, and a forged one, and says of each case whether the answers were right and what they were. It sees answers only: whether the work was done twice is for you to look at. Loopback URLs only. Ends with code 1 if a case failed.",
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
		{flag: "json", set: toggle(&asJSON), doc: "Print the results as JSON."},
	}
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		if err := o.Check(); err != nil {
			return usageError{err}
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		results, err := provoke.Run(ctx, o)
		if err != nil {
			return err
		}
		return c.provoked(results, asJSON)
	}
}

// provoked prints how the cases went. One that failed is an error.
func (c *cli) provoked(results []provoke.Result, asJSON bool) error {
	failed := 0
	for _, r := range results {
		verdict := "pass"
		if !r.Pass {
			verdict = "FAIL"
			failed++
		}
		if !asJSON {
			if _, err := fmt.Fprintf(c.stdout, "%s  %s: %s\n", verdict, r.Case, r.Saw); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := json.NewEncoder(c.stdout).Encode(struct {
			Results []provoke.Result `json:"results"`
		}{results}); err != nil {
			return err
		}
	}
	if failed > 0 {
		return errors.New("the receiver answered wrongly, see above")
	}
	return nil
}
