package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

func (c *cli) resolveCommands() []command {
	return []command{
		{
			name: "resolve", args: "[NAMESPACE] ID", brief: "Decide about an event that is held, dead or blocked, or about one of its side effects",
			about: "What is held can be resolved as processed, retry or terminal; what is dead, failed for good or blocked as retry. With --effect: one of unknown " +
				"outcome as done or not-done, one that is done as redo. --source and --consumer may be left out where only one is possible. Who decided and why go into " +
				"the journal. Needs a token of the role operator or admin where the server has tokens.",
			prepare: c.resolve,
		},
		{
			name: "replay", args: "[ID...]", brief: "Run finished events again, or have another consumer work on events",
			about: "Named events are replayed at once. With a filter it tells what would be replayed, until --yes is given. Finished side effects stay done. Without " +
				"--include-processed, what has been processed is not replayed. A replay is claimed only by consumers that accept replays. With --to-consumer, " +
				"events in any state are received for a consumer that had not been there when they came. Ends with code 1 when anything " +
				"could not be replayed. Needs a token of the role operator or admin where the server has tokens.",
			prepare: c.replay,
		},
	}
}

// decisionConfig is what every decision says.
type decisionConfig struct{ namespace, why, request string }

func (d *decisionConfig) settings() settings {
	return settings{
		namespaceFlag(&d.namespace, "Namespace."),
		{flag: "why", arg: "TEXT", set: text(&d.why), doc: "Why, for whoever reads the journal. Required, at most 1024 bytes."},
		{flag: "request-id", arg: "ID", set: text(&d.request), doc: "Repeats an earlier call whose answer was lost: it is the same decision. Default: a new one."},
	}
}

// check refuses what nobody could understand later, and makes the request ID.
func (d *decisionConfig) check() error {
	if strings.TrimSpace(d.why) == "" {
		return usageError{errors.New("say --why")}
	}
	if d.request == "" {
		d.request = "cli-" + rand.Text()
	}
	return nil
}

// repeatable adds to an error how to find out whether it was done all the same.
func (d *decisionConfig) repeatable(err error) error {
	if errors.Is(err, idemsvc.ErrUnavailable) || errors.Is(err, idemsvc.ErrDeadlineExceeded) || errors.Is(err, idemsvc.ErrOverloaded) {
		return fmt.Errorf("%w\nrepeat it with --request-id %s: it is carried out once", err, d.request)
	}
	return err
}

// Decisions by their word.
var (
	eventDecisions  = []string{"processed", "retry", "terminal"}
	effectDecisions = []string{"done", "not-done", "redo"}
)

type resolveConfig struct {
	askConfig
	decisionConfig
	source, consumer, as string
	result, contentType  string
	effect, scope        string
	asJSON               bool
}

func (c *cli) resolve() (settings, action) {
	cfg := &resolveConfig{}
	s := append(cfg.askConfig.settings(), cfg.decisionConfig.settings()...)
	s = append(s, settings{
		{flag: "as", arg: "DECISION", choices: slices.Concat(eventDecisions, effectDecisions), set: text(&cfg.as), doc: "The decision: processed, retry or terminal; with --effect done, not-done or redo. Required."},
		{flag: "source", arg: "NAME", set: text(&cfg.source), doc: "Sender."},
		{flag: "consumer", arg: "NAME", set: text(&cfg.consumer), doc: "Consumer for which it is decided."},
		{flag: "result", arg: "TEXT", set: text(&cfg.result), doc: "Result, with processed or done."},
		{flag: "content-type", arg: "TYPE", set: text(&cfg.contentType), doc: "Media type of the result."},
		{flag: "effect", arg: "KEY", set: text(&cfg.effect), doc: "Decide about this side effect of the event instead."},
		{flag: "scope", arg: "SCOPE", choices: []string{"event", "consumer", "namespace"}, def: "event", set: text(&cfg.scope), doc: "How far the effect's key reaches."},
		{flag: "json", set: toggle(&cfg.asJSON), doc: "Print the contract's response as JSON."},
	}...)
	return s, func(ctx context.Context, args []string) error {
		switch len(args) {
		case 1:
		case 2:
			cfg.namespace, args = args[0], args[1:]
		default:
			return usageError{errors.New("name an event: [NAMESPACE] ID")}
		}
		words := eventDecisions
		if cfg.effect != "" {
			words = effectDecisions
		}
		if !slices.Contains(words, cfg.as) {
			return usageError{fmt.Errorf("say --as %s", strings.Join(words, ", "))}
		}
		if cfg.result+cfg.contentType != "" && cfg.as != "processed" && cfg.as != "done" {
			return usageError{fmt.Errorf("--result and --content-type are for --as processed and --as done: «%s» has no result", cfg.as)}
		}
		if err := cfg.check(); err != nil {
			return err
		}
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		if err := cfg.resolve(ctx, c, client, args[0]); err != nil {
			return cfg.advise(cfg.repeatable(fmt.Errorf("%s in %s: %w", args[0], cfg.namespace, err)))
		}
		return nil
	}
}

func (cfg *resolveConfig) resolve(ctx context.Context, c *cli, client *idemsvc.Client, id string) error {
	target, err := findTarget(ctx, client, cfg.namespace, cfg.source, cfg.consumer, id)
	if err != nil {
		return err
	}
	if cfg.effect != "" {
		return cfg.resolveEffect(ctx, c, client, target)
	}
	req := &pb.ResolveEventRequest{
		Namespace: cfg.namespace, Consumer: target.GetConsumer(), Event: target.GetEvent(), RequestId: cfg.request, Why: cfg.why,
	}
	switch cfg.as {
	case "processed":
		req.Decision = &pb.ResolveEventRequest_Processed{Processed: &pb.ResolveAsProcessed{Result: []byte(cfg.result), ContentType: cfg.contentType}}
	case "retry":
		req.Decision = &pb.ResolveEventRequest_Retry{Retry: &pb.ResolveAsRetry{}}
	default:
		req.Decision = &pb.ResolveEventRequest_Terminal{Terminal: &pb.ResolveAsTerminal{}}
	}
	resp, err := client.Operations().ResolveEvent(ctx, req)
	if err != nil {
		return err
	}
	if cfg.asJSON {
		_, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp))
		return err
	}
	what := "is"
	if resp.GetAlreadyResolved() {
		what = "had been resolved by this request and was then"
	}
	fmt.Fprintf(c.stdout, "%s from %s for %s %s %s.%s\n", safe(id), safe(target.GetEvent().GetSource()), safe(target.GetConsumer()), what,
		word(resp.GetState().String(), "EVENT_STATE_"), nextStep(resp.GetState()))
	return nil
}

// nextStep says what follows from a decision.
func nextStep(s pb.EventState) string {
	if s == pb.EventState_EVENT_STATE_RECEIVED {
		return " A worker that acquires events may take it now; where there are none, have it delivered again."
	}
	return ""
}

func (cfg *resolveConfig) resolveEffect(ctx context.Context, c *cli, client *idemsvc.Client, target *pb.ReplayTarget) error {
	req := &pb.ResolveSideEffectRequest{
		Namespace: cfg.namespace, Scope: pb.EffectScope(pb.EffectScope_value["EFFECT_SCOPE_"+strings.ToUpper(cfg.scope)]), Key: cfg.effect,
		Consumer: target.GetConsumer(), Event: target.GetEvent(), RequestId: cfg.request, Why: cfg.why,
	}
	switch cfg.as {
	case "done":
		req.Decision = &pb.ResolveSideEffectRequest_Done{Done: &pb.ResolveEffectDone{Result: []byte(cfg.result), ContentType: cfg.contentType}}
	case "not-done":
		req.Decision = &pb.ResolveSideEffectRequest_NotDone{NotDone: &pb.ResolveEffectNotDone{}}
	default:
		req.Decision = &pb.ResolveSideEffectRequest_Redo{Redo: &pb.ResolveEffectRedo{}}
	}
	resp, err := client.Operations().ResolveSideEffect(ctx, req)
	if err != nil {
		return err
	}
	if cfg.asJSON {
		_, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp))
		return err
	}
	fmt.Fprintf(c.stdout, "effect %s is %s, generation %d.\n", safe(cfg.effect), word(resp.GetState().String(), "EFFECT_STATE_"), resp.GetGeneration())
	return nil
}

// findTarget completes the name of an event's processing where only one is possible.
func findTarget(ctx context.Context, client *idemsvc.Client, namespace, source, consumer, id string) (*pb.ReplayTarget, error) {
	found, err := findTargets(ctx, client, namespace, source, consumer, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, nameOne(found)
}

// nameOne is the error where an ID alone does not say which record is meant.
func nameOne(found []*pb.ReplayTarget) error {
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = fmt.Sprintf("--source %s --consumer %s", safe(t.GetEvent().GetSource()), safe(t.GetConsumer()))
	}
	return usageError{fmt.Errorf("there are several, name one:\n%s", strings.Join(names, "\n"))}
}

// findTargets finds the records of an event, at least one.
func findTargets(ctx context.Context, client *idemsvc.Client, namespace, source, consumer, id string) ([]*pb.ReplayTarget, error) {
	if source != "" && consumer != "" {
		return []*pb.ReplayTarget{{Consumer: consumer, Event: &pb.EventRef{Source: source, EventId: id}}}, nil
	}
	resp, err := client.Operations().GetEvent(ctx, &pb.GetEventRequest{Namespace: namespace, Source: source, EventId: id})
	if err != nil {
		return nil, err
	}
	var found []*pb.ReplayTarget
	for _, e := range resp.GetEvents() {
		for _, x := range e.GetConsumers() {
			if consumer == "" || x.GetConsumer() == consumer {
				found = append(found, &pb.ReplayTarget{Consumer: x.GetConsumer(), Event: &pb.EventRef{Source: e.GetEvent().GetSource(), EventId: id}})
			}
		}
	}
	if len(found) == 0 {
		return nil, notFound{errors.New("no consumer of this name has claimed it")}
	}
	return found, nil
}
