package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

type replayConfig struct {
	askConfig
	decisionConfig
	filterConfig
	most           int
	toConsumer     string
	page           []byte
	processed, yes bool
	dryRun, asJSON bool
}

func (c *cli) replay() (settings, action) {
	cfg := &replayConfig{}
	s := append(cfg.askConfig.settings(), cfg.decisionConfig.settings()...)
	s = append(s, cfg.filterConfig.settings()...)
	s = append(s, settings{
		{flag: "max", arg: "N", def: "100", set: number(&cfg.most, 1, 1000), doc: "How many events at most."},
		{flag: "to-consumer", arg: "NAME", set: text(&cfg.toConsumer), doc: "Have this consumer work on the events, as on its first ones. What it has a record of is left alone. " +
			"A filter means the seven days before --until, or before now, unless --from is given, and may be empty; --consumer says whose records the events are taken from."},
		{flag: "page-token", arg: "TOKEN", set: base64Bytes(&cfg.page), doc: "Go on where a run with the same filter has ended, which tells it when more may match. Times in the filter must be given as times then, not as how long ago."},
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
			return cfg.advise(cfg.repeatable(further(fmt.Errorf("%s: %w", cfg.namespace, err))))
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
	req.ToConsumer, req.PageToken = cfg.toConsumer, cfg.page
	if len(ids) == 0 {
		if len(cfg.states) == 0 && !cfg.selects() && cfg.toConsumer == "" {
			return nil, usageError{errors.New("name events, or a filter such as --state dead-lettered")}
		}
		filter, err := cfg.filter()
		req.DryRun = !cfg.yes
		req.Selection = &pb.ReplayEventsRequest_Filter{Filter: filter}
		return req, err
	}
	sel := &pb.ReplaySelection{}
	for _, id := range ids {
		t, err := cfg.target(ctx, client, id)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", id, cfg.namespace, err)
		}
		sel.Targets = append(sel.Targets, t)
	}
	req.Selection = &pb.ReplayEventsRequest_Events{Events: sel}
	return req, nil
}

// target is the record of an event that is meant. For another consumer, all records of an
// event are as good.
func (cfg *replayConfig) target(ctx context.Context, client *idemsvc.Client, id string) (*pb.ReplayTarget, error) {
	if cfg.toConsumer == "" {
		return findTarget(ctx, client, cfg.namespace, cfg.source, cfg.consumer, id)
	}
	found, err := findTargets(ctx, client, cfg.namespace, cfg.source, cfg.consumer, id)
	if err != nil {
		return nil, err
	}
	for _, t := range found[1:] {
		if t.GetEvent().GetSource() != found[0].GetEvent().GetSource() {
			return nil, nameOne(found)
		}
	}
	// The same one in a repeat, when the consumer has its own.
	return slices.MinFunc(found, func(a, b *pb.ReplayTarget) int {
		switch cfg.toConsumer {
		case b.GetConsumer():
			return -1
		case a.GetConsumer():
			return 1
		default:
			return strings.Compare(a.GetConsumer(), b.GetConsumer())
		}
	}), nil
}

// further adds to a refusal where another run goes on.
func further(err error) error {
	var told *idemsvc.Error
	if errors.As(err, &told) && told.Metadata["next_page_token"] != "" {
		return fmt.Errorf("%w\nhere: --page-token %s", err, told.Metadata["next_page_token"])
	}
	return err
}

// base64Bytes is bytes as people copy them.
func base64Bytes(v *[]byte) func(string) error {
	return func(s string) (err error) {
		if *v, err = base64.StdEncoding.DecodeString(s); err != nil {
			return errors.New("must be in base64")
		}
		return nil
	}
}

// showReplay prints what became of a run, the verdict first.
func (c *cli) showReplay(cfg *replayConfig, resp *pb.ReplayEventsResponse) error {
	failed := resp.GetFailed()
	if cfg.asJSON {
		if _, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp)); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.stdout, cfg.verdict(resp))
		for _, x := range resp.GetResults() {
			line := fmt.Sprintf("%s from %s for %s: %s", safe(x.GetEvent().GetEventId()), safe(x.GetEvent().GetSource()), safe(x.GetEvent().GetConsumer()),
				word(x.GetOutcome().String(), "REPLAY_OUTCOME_"))
			if x.GetReason() != "" {
				line += " (" + safe(x.GetReason()) + ")"
			}
			fmt.Fprintln(c.stdout, line)
		}
		if resp.GetMoreMatch() && len(resp.GetNextPageToken()) > 0 {
			fmt.Fprintf(c.stdout, "go on with --page-token %s\n", base64.StdEncoding.EncodeToString(resp.GetNextPageToken()))
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

func (cfg *replayConfig) verdict(resp *pb.ReplayEventsResponse) string {
	said := fmt.Sprintf("Replays started: %d of %d", resp.GetStarted(), resp.GetSelected())
	done := "consumers that accept replays claim them."
	would := "Would replay"
	if cfg.toConsumer != "" {
		said = fmt.Sprintf("Received for %s: %d of %d", safe(cfg.toConsumer), resp.GetStarted(), resp.GetSelected())
		done = "its workers claim them."
		would = fmt.Sprintf("Would be received for %s:", safe(cfg.toConsumer))
	}
	if resp.GetDryRun() {
		said = fmt.Sprintf("%s %d of %d", would, resp.GetStarted(), resp.GetSelected())
		done = "nothing was changed: --yes (or no --dry-run) does it."
	}
	if n := resp.GetAlreadyStarted(); n > 0 {
		said += fmt.Sprintf(", %d had been started by this request", n)
	}
	if n := resp.GetAlreadyReceived(); n > 0 {
		said += fmt.Sprintf(", %d it has already", n)
	}
	if n := resp.GetRefused(); n > 0 {
		said += fmt.Sprintf(", %d refused", n)
	}
	if resp.GetMoreMatch() {
		said += "; more may match"
	}
	return said + "; " + done
}
