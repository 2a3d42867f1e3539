package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

func (c *cli) listCommands() []command {
	return []command{
		{
			name: "list", brief: "List events by a filter, beginning with a verdict",
			about: "Without a filter: all that is not finished and that nobody works on. Every list is served by an index, so a filter needs states of " +
				"unfinished work, --stuck, --replay-failed, a resource, a correlation, or --from and --until at most 31 days apart. Needs a token of the role " +
				"reader, operator or admin where the server has tokens.",
			prepare: func() (settings, action) { return c.listing(idleStates, false) },
		},
		{
			name: "held", brief: "List what is held and waits for a person's decision",
			about:   "With its age, who had it, and the side effects so far. «idemsvc resolve» decides.",
			prepare: func() (settings, action) { return c.listing([]string{"held"}, true) },
		},
		{
			name: "dead-letters", brief: "List what has failed for good, with the history of its errors",
			about:   "Dead letters, and what a consumer has failed for good, until somebody resolves or replays it.",
			prepare: func() (settings, action) { return c.listing([]string{"dead-lettered", "failed-terminal"}, true) },
		},
	}
}

// idleStates are those of unfinished work that nobody is doing.
var idleStates = []string{"received", "failed-retryable", "failed-terminal", "dead-lettered", "held", "blocked-loop"}

// filterConfig is a filter as flags tell it.
type filterConfig struct {
	states                   []string
	consumer, source, kind   string
	resourceType, resourceID string
	correlation              string
	from, until              time.Time
	stuck, replayFailed      bool
	stuckAfter               time.Duration
	fixed                    bool // the states are the command's own
	usual                    []string
}

func (f *filterConfig) settings() settings {
	s := settings{
		{flag: "consumer", arg: "NAME", set: text(&f.consumer), doc: "Only of this consumer."},
		{flag: "source", arg: "NAME", set: text(&f.source), doc: "Only from this sender."},
		{flag: "type", arg: "NAME", set: text(&f.kind), doc: "Only events of this type."},
	}
	if f.fixed {
		return s
	}
	return append(s, settings{
		{flag: "state", arg: "STATE,...", set: list(&f.states), doc: "Only in one of these states, such as held,dead-lettered."},
		{flag: "resource-type", arg: "NAME", set: text(&f.resourceType), doc: "Only about a resource of this type; --resource-id says which one."},
		{flag: "resource-id", arg: "ID", set: text(&f.resourceID), doc: "Only about the resource with this ID."},
		{flag: "correlation", arg: "ID", set: text(&f.correlation), doc: "Only with this correlation ID."},
		{flag: "from", arg: "TIME", set: moment(&f.from), doc: "Only first delivered at this time or later: such as 2026-01-31T15:04:05Z, or 2h for two hours ago."},
		{flag: "until", arg: "TIME", set: moment(&f.until), doc: "Only first delivered before this time."},
		{flag: "stuck", set: toggle(&f.stuck), doc: "Only what stands still: held, blocked, waiting, or due without anybody coming."},
		{flag: "stuck-after", arg: "TIME", set: patience(&f.stuckAfter), doc: "How long something stands still before it is stuck. Without it the policies decide (stuck_after, by default 15m)."},
		{flag: "replay-failed", set: toggle(&f.replayFailed), doc: "Only what was replayed without success."},
	}...)
}

// patience is a time of the contract's limits; empty is none.
func patience(v *time.Duration) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return duration(v, time.Second)(s)
	}
}

// moment is a time, or how long ago it is; empty is none.
func moment(v *time.Time) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		if ago, err := time.ParseDuration(s); err == nil {
			*v = time.Now().Add(-ago)
			return nil
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return fmt.Errorf("%q is neither a time such as 2026-01-31T15:04:05Z nor a duration such as 2h", s)
		}
		*v = t
		return nil
	}
}

// filter is the filter, and what it says for people.
func (f *filterConfig) filter() (*pb.EventFilter, error) {
	x := &pb.EventFilter{
		Consumer: f.consumer, Source: f.source, Type: f.kind, CorrelationId: f.correlation, Stuck: f.stuck, ReplayFailed: f.replayFailed,
		FirstSeenFrom: told(f.from), FirstSeenUntil: told(f.until),
	}
	if f.resourceType != "" || f.resourceID != "" {
		x.Resource = &pb.Resource{Type: f.resourceType, Id: f.resourceID}
	}
	if f.stuckAfter != 0 {
		x.StuckAfter = durationpb.New(f.stuckAfter)
	}
	states := f.states
	if len(states) == 0 && !f.selects() {
		states = f.usual
	}
	for _, name := range states {
		n, ok := pb.EventState_value["EVENT_STATE_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))]
		if !ok || n == 0 {
			return nil, usageError{fmt.Errorf("--state: %q is none of %s", name, strings.Join(stateWords(), ", "))}
		}
		x.States = append(x.States, pb.EventState(n))
	}
	return x, nil
}

// selects reports whether the flags name a filter that an index serves without states.
func (f *filterConfig) selects() bool {
	return f.stuck || f.replayFailed || f.resourceType+f.resourceID+f.correlation != "" || !f.from.IsZero() || !f.until.IsZero()
}

func told(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func stateWords() []string {
	var out []string
	for n := range int32(len(pb.EventState_name)) {
		if name, ok := pb.EventState_name[n]; ok && n != 0 {
			out = append(out, strings.ReplaceAll(word(name, "EVENT_STATE_"), " ", "-"))
		}
	}
	return out
}

// listing is the command that lists what is in the states, unless flags say otherwise.
func (c *cli) listing(states []string, fixed bool) (settings, action) {
	cfg, f := &askConfig{}, &filterConfig{usual: states, fixed: fixed}
	var namespace string
	limit, asJSON := 0, false
	s := append(cfg.settings(), namespaceFlag(&namespace, "Namespace."))
	s = append(s, f.settings()...)
	s = append(s,
		setting{flag: "limit", arg: "N", def: "50", set: number(&limit, 1, 100_000), doc: "How many at most."},
		setting{flag: "json", set: toggle(&asJSON), doc: "Print the contract's ListEventsResponse as JSON. A next_page_token in it says that there are more."},
	)
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		filter, err := f.filter()
		if err != nil {
			return err
		}
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		resp, err := pages(ctx, client, &pb.ListEventsRequest{Namespace: namespace, Filter: filter}, limit)
		if err != nil {
			return cfg.advise(fmt.Errorf("%s: %w", namespace, err))
		}
		if asJSON {
			_, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp))
			return err
		}
		c.showList(namespace, filter, resp)
		return nil
	}
}

// pages reads as many pages as the limit allows, as one.
func pages(ctx context.Context, client *idemsvc.Client, req *pb.ListEventsRequest, limit int) (*pb.ListEventsResponse, error) {
	all := &pb.ListEventsResponse{}
	for {
		req.PageSize = int32(min(limit-len(all.GetEvents()), 200)) //nolint:gosec // bounded
		resp, err := client.Operations().ListEvents(ctx, req)
		if err != nil {
			return nil, err
		}
		all.Events = slices.Concat(all.GetEvents(), resp.GetEvents())
		all.IndexLag, all.DatabaseTime, all.NextPageToken = resp.GetIndexLag(), resp.GetDatabaseTime(), resp.GetNextPageToken()
		if req.PageToken = resp.GetNextPageToken(); len(req.GetPageToken()) == 0 || len(all.GetEvents()) >= limit {
			return all, nil
		}
	}
}
