package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

type replayConfig struct {
	askConfig
	decisionConfig
	filterConfig
	most           int
	processed, yes bool
	dryRun, asJSON bool
}

func (c *cli) replay() (settings, action) {
	cfg := &replayConfig{}
	s := append(cfg.askConfig.settings(), cfg.decisionConfig.settings()...)
	s = append(s, cfg.filterConfig.settings()...)
	s = append(s, settings{
		{flag: "max", arg: "N", def: "100", set: number(&cfg.most, 1, 1000), doc: "How many events at most."},
		{flag: "include-processed", set: toggle(&cfg.processed), doc: "Replay what has been processed, too."},
		{flag: "dry-run", set: toggle(&cfg.dryRun), doc: "Only tell what would be replayed. With a filter that is so until --yes is given."},
		{flag: "yes", set: toggle(&cfg.yes), doc: "Replay what the filter finds."},
		{flag: "json", set: toggle(&cfg.asJSON), doc: "Print the contract's ReplayEventsResponse as JSON."},
	}...)
	return s, func(ctx context.Context, ids []string) error {
		if cfg.dryRun && cfg.why == "" {
			cfg.why = "dry run"
		}
		if cfg.dryRun && cfg.yes {
			return usageError{errors.New("--dry-run and --yes contradict each other")}
		}
		if len(ids) == 0 && !cfg.yes && cfg.why == "" {
			cfg.why = "dry run"
		}
		if err := cfg.check(); err != nil {
			return err
		}
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		req, err := cfg.ask(ctx, client, ids)
		if err != nil {
			return cfg.advise(err)
		}
		resp, err := client.Operations().ReplayEvents(ctx, req)
		if err != nil {
			return cfg.advise(cfg.repeatable(fmt.Errorf("%s: %w", cfg.namespace, err)))
		}
		return c.showReplay(cfg, resp)
	}
}

// ask is what is asked of the server.
func (cfg *replayConfig) ask(ctx context.Context, client *idemsvc.Client, ids []string) (*pb.ReplayEventsRequest, error) {
	req := &pb.ReplayEventsRequest{
		Namespace: cfg.namespace, RequestId: cfg.request, Why: cfg.why, DryRun: cfg.dryRun, IncludeProcessed: cfg.processed,
		MaxEvents: int32(cfg.most), //nolint:gosec // bounded
	}
	if len(ids) == 0 {
		if len(cfg.states) == 0 && !cfg.selects() {
			return nil, usageError{errors.New("name events, or a filter such as --state dead-lettered")}
		}
		filter, err := cfg.filter()
		req.DryRun = !cfg.yes
		req.Selection = &pb.ReplayEventsRequest_Filter{Filter: filter}
		return req, err
	}
	sel := &pb.ReplaySelection{}
	for _, id := range ids {
		t, err := findTarget(ctx, client, cfg.namespace, cfg.source, cfg.consumer, id)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", id, cfg.namespace, err)
		}
		sel.Targets = append(sel.Targets, t)
	}
	req.Selection = &pb.ReplayEventsRequest_Events{Events: sel}
	return req, nil
}

// showReplay prints what became of a run, the verdict first.
func (c *cli) showReplay(cfg *replayConfig, resp *pb.ReplayEventsResponse) error {
	failed := resp.GetSelected() - resp.GetStarted() - resp.GetAlreadyStarted() - resp.GetRefused()
	if cfg.asJSON {
		if _, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp)); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.stdout, replayVerdict(resp))
		for _, x := range resp.GetResults() {
			line := fmt.Sprintf("%s from %s for %s: %s", safe(x.GetEvent().GetEventId()), safe(x.GetEvent().GetSource()), safe(x.GetEvent().GetConsumer()),
				word(x.GetOutcome().String(), "REPLAY_OUTCOME_"))
			if x.GetReason() != "" {
				line += " (" + safe(x.GetReason()) + ")"
			}
			fmt.Fprintln(c.stdout, line)
		}
	}
	if n := resp.GetRefused() + failed; n > 0 && !resp.GetDryRun() {
		err := fmt.Errorf("%s could not be replayed", plural(int64(n), "event"))
		if failed > 0 {
			err = fmt.Errorf("%w\nrepeat it with --request-id %s: what was started is not started again", err, cfg.request)
		}
		return err
	}
	return nil
}

func replayVerdict(resp *pb.ReplayEventsResponse) string {
	said := fmt.Sprintf("Replays started: %d of %d", resp.GetStarted(), resp.GetSelected())
	if resp.GetDryRun() {
		said = fmt.Sprintf("Would replay %d of %d", resp.GetStarted(), resp.GetSelected())
	}
	if n := resp.GetAlreadyStarted(); n > 0 {
		said += fmt.Sprintf(", %d had been started by this request", n)
	}
	if n := resp.GetRefused(); n > 0 {
		said += fmt.Sprintf(", %d refused", n)
	}
	if resp.GetMoreMatch() {
		said += "; more may match"
	}
	if resp.GetDryRun() {
		return said + "; nothing was changed: --yes (or no --dry-run) does it."
	}
	return said + "; consumers that accept replays claim them."
}
