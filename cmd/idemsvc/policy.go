package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/policyfile"
	"github.com/idemsvc/idemsvc/internal/policypb"
)

func (c *cli) policyCommands() []command {
	return []command{
		{
			name: "policy show", brief: "Tell what holds for an event, and why",
			about:   "Shows every setting with its value, where that comes from, what it decides and the reason of its default; with --yaml the policies as a file to change and apply. Needs a token of the role reader, operator or admin where the server has tokens.",
			prepare: c.policyShow,
		},
		{
			name: "policy diff", args: "FILE", brief: "Check a file of policies and tell what applying it would change",
			about:   "Everything that is wrong with the file is told at once, each with its line. «-» reads the standard input. Changes nothing; needs a token of the role admin, as «policy apply» does.",
			prepare: func() (settings, action) { return c.policyApply(true) },
		},
		{
			name: "policy apply", args: "FILE", brief: "Put the policies of a file into force",
			about:   "The file is all policies of its namespace: those that are not in it end. Every replica goes by them within a second. A file that is in force already makes no new version. docs/policies.md tells what a file can say.",
			prepare: func() (settings, action) { return c.policyApply(false) },
		},
	}
}

// advisePolicies adds to an error what may help.
func (a *askConfig) advisePolicies(err error) error {
	switch {
	case errors.Is(err, idemsvc.ErrNotFound):
		return err // the version, which it names
	case errors.Is(err, idemsvc.Reason("POLICIES_CHANGED")):
		return fmt.Errorf("%w\n«idemsvc policy show --history 10» tells who has applied what; «idemsvc policy diff» compares with it", err)
	default:
		return a.advise(err)
	}
}

func namespaceFlag(v *string, doc string) setting {
	return setting{flag: "namespace", env: "IDEMSVC_NAMESPACE", arg: "NAME", def: "dev", set: text(v), doc: doc}
}

// maxHistory is how many versions are listed at most.
const maxHistory = 100

func (c *cli) policyShow() (settings, action) {
	cfg := &askConfig{}
	req := &pb.GetPoliciesRequest{EffectiveFor: &pb.PolicyMatch{}}
	version, history := 0, 0
	asJSON, asYAML := false, false
	s := append(cfg.settings(), settings{
		namespaceFlag(&req.Namespace, "Whose policies."),
		{flag: "consumer", arg: "NAME", set: text(&req.EffectiveFor.Consumer), doc: "Tell what holds for events of this consumer."},
		{flag: "source", arg: "NAME", set: text(&req.EffectiveFor.Source), doc: "Tell what holds for events of this sender."},
		{flag: "type", arg: "NAME", set: text(&req.EffectiveFor.Type), doc: "Tell what holds for events of this type."},
		{flag: "version", arg: "N", def: "0", set: number(&version, 0, 1<<31-1), doc: "An earlier version. 0: the one in force."},
		{flag: "history", arg: "N", def: "0", set: number(&history, 0, maxHistory), doc: "List so many versions, the newest first: who applied them, when and why."},
		{flag: "yaml", set: toggle(&asYAML), doc: "Print the policies alone, as a file."},
		{flag: "json", set: toggle(&asJSON), doc: "Print the contract's GetPoliciesResponse as JSON."},
	}...)
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		if asYAML && asJSON {
			return usageError{errors.New("--yaml and --json exclude each other")}
		}
		req.Version, req.History = int32(version), int32(history) //nolint:gosec // checked
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		resp, err := client.Operations().GetPolicies(ctx, req)
		switch {
		case err != nil:
			return cfg.advisePolicies(fmt.Errorf("policies of %s: %w", req.GetNamespace(), err))
		case asJSON:
			return c.printProto(resp)
		case asYAML:
			return policyfile.Write(c.stdout, &policyfile.File{Namespace: req.GetNamespace(), Rules: policypb.Rules(resp.GetPolicies())})
		default:
			return c.showPolicies(req, resp)
		}
	}
}

func (c *cli) printProto(m proto.Message) error {
	_, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(m))
	return err
}

// showPolicies prints what holds, for people.
func (c *cli) showPolicies(req *pb.GetPoliciesRequest, resp *pb.GetPoliciesResponse) error {
	fmt.Fprintf(c.stdout, "%s: %s, %s\n", safe(req.GetNamespace()), versionLine(resp.GetVersion()), plural2(len(resp.GetPolicies()), "policy", "policies"))
	for _, v := range resp.GetHistory() {
		fmt.Fprintf(c.stdout, "  %s\n", versionLine(v))
	}
	fmt.Fprintf(c.stdout, "\nWhat holds for %s:\n", matchText(req.GetEffectiveFor(), "events that no policy names"))
	for _, s := range resp.GetEffective() {
		fmt.Fprintf(c.stdout, "  %s: %s\n", s.GetName(), safe(s.GetValue()))
		for _, line := range wrap(s.GetMeaning(), 84) {
			fmt.Fprintln(c.stdout, "        "+line)
		}
		from := "the default, because: " + s.GetReason()
		if s.From != nil {
			from = "from the policy for " + matchText(s.GetFrom(), "every event") + "; default " + s.GetDefaultValue() + ", because: " + s.GetReason()
		}
		for _, line := range wrap(safe(from), 84) {
			fmt.Fprintln(c.stdout, "        "+line)
		}
	}
	return nil
}

func plural2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func versionLine(v *pb.PolicyVersion) string {
	if v.GetVersion() == 0 {
		return "no policies were ever applied"
	}
	line := fmt.Sprintf("version %d, applied %s by %s", v.GetVersion(), when(v.GetAppliedAt()), safe(v.GetAppliedBy()))
	if v.GetWhy() != "" {
		line += ": " + safe(v.GetWhy())
	}
	return line
}

func matchText(m *pb.PolicyMatch, none string) string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"consumer", m.GetConsumer()}, {"source", m.GetSource()}, {"type", m.GetType()}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+safe(p.value))
		}
	}
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, ", ")
}

func (c *cli) policyApply(dryRun bool) (settings, action) {
	cfg := &askConfig{}
	var namespace, why string
	base := -1
	asJSON := false
	s := append(cfg.settings(), namespaceFlag(&namespace, "Namespace, unless the file names one."))
	if !dryRun {
		s = append(s, settings{
			{flag: "why", arg: "TEXT", set: text(&why), doc: "The reason, for the history."},
			{flag: "base-version", arg: "N", def: "-1", set: number(&base, -1, 1<<31-1), doc: "Refuse unless this version is in force. -1: whichever is."},
		}...)
	}
	s = append(s, setting{flag: "json", set: toggle(&asJSON), doc: "Print the contract's ApplyPoliciesResponse as JSON."})
	return s, func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usageError{errors.New("name one file of policies, or - for the standard input")}
		}
		file, err := c.readPolicies(args[0])
		if err != nil {
			return usageError{err}
		}
		req := &pb.ApplyPoliciesRequest{Namespace: namespace, DryRun: dryRun, Why: why}
		if file.Namespace != "" {
			req.Namespace = file.Namespace
		}
		if base >= 0 {
			req.BaseVersion = new(int32(base)) //nolint:gosec // checked
		}
		if req.Policies, err = policypb.Policies(file.Rules); err != nil {
			return err
		}
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		resp, err := client.Operations().ApplyPolicies(ctx, req)
		if err != nil {
			return cfg.advisePolicies(fmt.Errorf("policies of %s: %w", req.GetNamespace(), err))
		}
		if asJSON {
			return c.printProto(resp)
		}
		return c.showChanges(req, resp)
	}
}

// readPolicies reads and checks a file. What is wrong is told in lines that editors jump to.
func (c *cli) readPolicies(path string) (*policyfile.File, error) {
	in, name := c.stdin, "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in, name = io.Reader(f), path
	}
	file, err := policyfile.Read(in)
	bad, ok := errors.AsType[policyfile.Problems](err)
	switch {
	case ok:
		var faults []error
		for _, p := range bad {
			faults = append(faults, fmt.Errorf("%s:%d: %s", name, p.Line, safe(p.Message)))
		}
		return nil, errors.Join(faults...)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	default:
		return file, nil
	}
}

// showChanges prints what an apply changed, or would.
func (c *cli) showChanges(req *pb.ApplyPoliciesRequest, resp *pb.ApplyPoliciesResponse) error {
	if len(resp.GetChanges()) == 0 {
		fmt.Fprintf(c.stdout, "%s: nothing changes; %s\n", safe(req.GetNamespace()), versionLine(resp.GetVersion()))
		return nil
	}
	verb := "changes"
	if req.GetDryRun() {
		verb = "would change"
	}
	fmt.Fprintf(c.stdout, "%s: %s %s\n", safe(req.GetNamespace()), plural(int64(len(resp.GetChanges())), "setting"), verb)
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, x := range resp.GetChanges() {
		old, now := x.GetOldValue(), x.GetNewValue()
		if old == "" {
			old = "(not set)"
		}
		if now == "" {
			now = "(not set)"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t→ %s\n", matchText(x.GetMatch(), "every event"), x.GetSetting(), safe(old), safe(now))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !req.GetDryRun() {
		fmt.Fprintf(c.stdout, "%s is in force\n", versionLine(resp.GetVersion()))
	}
	return nil
}
