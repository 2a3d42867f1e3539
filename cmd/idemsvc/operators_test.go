package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Operators find what is held and dead, decide about it and replay it.
func TestOperatorsAtTheCommandLine(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--ephemeral")
	c := dial(t, p.addr)
	vars := map[string]string{"IDEMSVC_ADDRESS": p.addr}
	claim := func(id string, opts ...idemsvc.ClaimOption) *idemsvc.Claim {
		t.Helper()
		a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: id, Type: "invoice.paid"}, opts...)
		if err != nil || a.Claim == nil {
			t.Fatalf("%s: %v %v", id, a, err)
		}
		return a.Claim
	}
	runs := func(code int, first string, args ...string) string {
		t.Helper()
		o := idemsvcRun(t, vars, args...)
		line, _, _ := strings.Cut(o.stdout, "\n")
		if o.code != code || !strings.Contains(line, first) {
			t.Errorf("%q: code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		return o.stdout + o.stderr
	}
	runs(exitOK, "No event held in dev; nothing to do.", "held")

	claim("evt_held", idemsvc.HoldWhenStale())
	for i := range 3 {
		if _, err := claim(fmt.Sprint("evt_dead_", i)).Fail(t.Context(), idemsvc.Reject(idemsvc.WithCode("no_such_order", errors.New("order 7 is missing")))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pb.NewTestingServiceClient(c.Conn()).AdvanceClock(t.Context(), &pb.AdvanceClockRequest{By: durationpb.New(3 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	out := runs(exitOK, "1 event held in dev, the longest for ", "held")
	if !strings.Contains(out, "evt_held from stripe (invoice.paid) for billing: held for ") || !strings.Contains(out, "LEASE_EXPIRED") {
		t.Errorf("%s", out)
	}
	out = runs(exitOK, "3 events dead lettered or failed terminal in dev", "dead-letters")
	if !strings.Contains(out, "no_such_order order 7 is missing") {
		t.Errorf("%s", out)
	}
	runs(exitOK, "More than 2 events dead lettered or failed terminal in dev", "dead-letters", "--limit", "2")
	runs(exitOK, "4 events", "list")
	runs(exitOK, "1 event stuck", "list", "--stuck", "--stuck-after", "1h")
	runs(exitOK, "1 event stuck", "list", "--stuck")
	patient := filepath.Join(t.TempDir(), "patient.yaml")
	if err := os.WriteFile(patient, []byte("policies:\n  - match: {type: invoice.paid}\n    stuck_after: 1d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := idemsvcRun(t, vars, "policy", "apply", patient); o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	runs(exitOK, "No event stuck", "list", "--stuck")
	runs(exitOK, "1 event stuck", "list", "--stuck", "--stuck-after", "1h")
	runs(exitUsage, "", "list", "--stuck", "--stuck-after", "10ms")
	runs(exitOK, "4 events of type invoice.paid, first delivered", "list", "--from", "1h", "--until", "-24h", "--type", "invoice.paid")
	if out := runs(exitFailed, "", "list", "--from", "1h"); !strings.Contains(out, "first_seen_until") {
		t.Errorf("%s", out)
	}
	runs(exitUsage, "", "list", "--state", "sleeping")
	var page struct{ Events []json.RawMessage }
	if err := json.Unmarshal([]byte(idemsvcRun(t, vars, "dead-letters", "--json").stdout), &page); err != nil || len(page.Events) != 3 {
		t.Errorf("%v %v", page, err)
	}

	runs(exitUsage, "", "resolve", "evt_held", "--as", "processed")
	runs(exitUsage, "", "resolve", "evt_held", "--as", "redo", "--why", "w")
	runs(exitNotFound, "", "resolve", "evt_none", "--as", "retry", "--why", "w")
	runs(exitOK, "evt_held from stripe for billing is processed.", "resolve", "evt_held", "--as", "processed", "--result", "by hand", "--why", "asked", "--request-id", "d1")
	runs(exitOK, "evt_held from stripe for billing had been resolved by this request", "resolve", "evt_held", "--as", "processed", "--result", "by hand", "--why", "asked", "--request-id", "d1")
	runs(exitFailed, "", "resolve", "evt_held", "--as", "retry", "--why", "w")
	runs(exitOK, "evt_dead_0 from stripe for billing is received.", "resolve", "evt_dead_0", "--as", "retry", "--why", "mended")
	if _, err := claim("evt_dead_0").Complete(t.Context()); err != nil {
		t.Fatal(err)
	}

	runs(exitUsage, "", "replay", "--why", "mended")
	runs(exitUsage, "", "replay", "evt_dead_1")
	runs(exitOK, "Would replay 2 of 2; nothing was changed", "replay", "--state", "failed-terminal")
	runs(exitOK, "Replays started: 1 of 1; consumers", "replay", "evt_dead_1", "--why", "mended", "--request-id", "r1")
	runs(exitOK, "Replays started: 0 of 1, 1 had been started by this request", "replay", "evt_dead_1", "--why", "mended", "--request-id", "r1")
	runs(exitOK, "Replays started: 1 of 1", "replay", "--state", "failed-terminal", "--yes", "--why", "mended")
	runs(exitNotFound, "", "replay", "--state", "failed-terminal", "--yes", "--why", "mended")
	if out := runs(exitFailed, "", "replay", "evt_dead_0", "--why", "mended"); !strings.Contains(out, "ALREADY_PROCESSED") {
		t.Errorf("%s", out)
	}
	runs(exitOK, "Replays started: 1 of 1", "replay", "evt_dead_0", "--why", "mended", "--include-processed")
	runs(exitFailed, "Replays started: 1 of 2, 1 refused", "replay", "evt_held", "evt_dead_1", "--why", "mended", "--include-processed")
}

// A consumer that is new gets what came before it: a dry run first, then the run, then its
// worker has the events, flagged as a replay.
func TestReplayToAnotherConsumer(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--ephemeral")
	c := dial(t, p.addr)
	vars := map[string]string{"IDEMSVC_ADDRESS": p.addr}
	runs := func(code int, said string, args ...string) string {
		t.Helper()
		o := idemsvcRun(t, vars, append([]string{"replay"}, args...)...)
		if o.code != code || !strings.Contains(o.stdout+o.stderr, said) {
			t.Errorf("%q: code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		return o.stdout
	}
	for i := range 4 {
		req := &pb.ReceiveEventRequest{
			Namespace: "dev", Consumers: []string{"billing", "audit"},
			Event: &pb.Event{Source: "stripe", EventId: fmt.Sprint("evt_", i), Type: "invoice.paid", Body: &pb.Event_Payload{Payload: []byte("{}")}},
		}
		if _, err := c.Idempotency().ReceiveEvent(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	acquired := func() []*pb.AcquiredEvent {
		t.Helper()
		got, err := c.Idempotency().AcquireEvents(t.Context(), &pb.AcquireEventsRequest{Namespace: "dev", Consumer: "ledger", Claimant: "worker-" + fmt.Sprint(time.Now().UnixNano()), MaxEvents: 10, WantPayload: true})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetEvents()
	}

	runs(exitOK, "Would be received for ledger: 4 of 4; nothing was changed", "--to-consumer", "ledger", "--consumer", "audit")
	if got := acquired(); len(got) != 0 {
		t.Fatalf("the dry run changed something: %v", got)
	}
	runs(exitOK, "Received for ledger: 1 of 1; its workers claim them.", "evt_0", "--to-consumer", "ledger", "--why", "new here", "--request-id", "r0")
	runs(exitOK, "Received for ledger: 0 of 1, 1 had been started by this request", "evt_0", "--to-consumer", "ledger", "--why", "new here", "--request-id", "r0")
	runs(exitFailed, "ALREADY_RECEIVED", "evt_0", "--to-consumer", "ledger", "--why", "new here")

	args := []string{"--to-consumer", "ledger", "--consumer", "billing", "--why", "new here", "--yes", "--max", "2"}
	out := runs(exitOK, "Received for ledger: 2 of 2", args...)
	_, token, found := strings.Cut(out, "go on with --page-token ")
	if !found {
		t.Fatalf("it does not say where to go on: %s", out)
	}
	runs(exitOK, "Received for ledger: 1 of 1", append(args, "--page-token", strings.TrimSpace(token))...)
	runs(exitUsage, "base64", append(args, "--page-token", "*")...)
	runs(exitFailed, "ALREADY_RECEIVED", args...)
	runs(exitNotFound, "", append(args, "--type", "none")...)
	runs(exitFailed, "include_processed", append(args, "--include-processed")...)

	// Where a run starts nothing, the refusal tells where the next one goes on.
	rules := []*pb.Policy{{Match: &pb.PolicyMatch{Consumer: "mailer"}, Signature: pb.SignatureRule_SIGNATURE_RULE_REQUIRED}}
	if _, err := c.Operations().ApplyPolicies(t.Context(), &pb.ApplyPoliciesRequest{Namespace: "dev", Policies: rules, Why: "careful"}); err != nil {
		t.Fatal(err)
	}
	runs(exitFailed, "here: --page-token ", "--to-consumer", "mailer", "--consumer", "billing", "--why", "new here", "--yes", "--max", "1")

	got := acquired()
	if len(got) != 4 {
		t.Errorf("%d events", len(got))
	}
	for _, x := range got {
		if !x.GetClaim().GetIsReplay() || string(x.GetClaim().GetPayload()) != "{}" {
			t.Errorf("%v", x)
		}
	}
}
