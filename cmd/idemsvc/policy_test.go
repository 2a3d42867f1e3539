package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The whole way of a policy: checked with lines, compared, applied, gone by and shown.
func TestPolicies(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--ephemeral")
	ask := func(args ...string) outcome {
		t.Helper()
		return idemsvcRun(t, map[string]string{"IDEMSVC_ADDRESS": p.addr}, args...)
	}
	file := filepath.Join(t.TempDir(), "policies.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if o := ask("policy", "show"); o.code != exitOK || !strings.Contains(o.stdout, "dev: no policies were ever applied") ||
		!strings.Contains(o.stdout, "retain_events: 35d") || !strings.Contains(o.stdout, "the default, because: longer than the longest resend") {
		t.Errorf("%+v", o)
	}

	write("policies:\n  - lease: 13h\n  - match: {consumer: billing}\n    max_atempts: 3\n    gap: leap\n")
	for _, verb := range []string{"diff", "apply"} {
		o := ask("policy", verb, file)
		for _, want := range []string{file + ":2: lease: 13h is not from 1s to 12h", file + ":4: there is no setting max_atempts", file + `:5: gap: "leap" is none of wait, skip, hold`} {
			if o.code != exitUsage || !strings.Contains(o.stderr, want) {
				t.Errorf("%s: %+v\nwant %s", verb, o, want)
			}
		}
	}

	write("policies:\n  - max_attempts: 3\n  - match: {consumer: billing, type: invoice.paid}\n    max_attempts: 2\n    retain_events: 60d\n")
	if o := ask("policy", "diff", file); o.code != exitOK || !strings.Contains(o.stdout, "dev: 3 settings would change") || !strings.Contains(o.stdout, "→ 60d") {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "show"); !strings.Contains(o.stdout, "no policies were ever applied") {
		t.Errorf("a diff changed something: %+v", o)
	}
	if o := ask("policy", "apply", file, "--why", "a trial"); o.code != exitOK || !strings.Contains(o.stdout, "version 1, applied ") || !strings.Contains(o.stdout, "by anonymous: a trial is in force") {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "apply", file); o.code != exitOK || !strings.Contains(o.stdout, "nothing changes; version 1") {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "apply", file, "--namespace", "elsewhere"); o.code != exitRefused {
		t.Errorf("%+v", o)
	}

	a, err := dial(t, p.addr).Claim(t.Context(), event("e1"))
	if err != nil || a.Claim.GetMaxAttempts() != 2 {
		t.Fatalf("%v %v", a, err)
	}
	shown := ask("policy", "show", "--consumer", "billing", "--type", "invoice.paid", "--history", "3")
	for _, want := range []string{"2 policies", "What holds for consumer billing, type invoice.paid:", "retain_events: 60d", "from the policy for consumer billing, type invoice.paid; default 35d, because"} {
		if shown.code != exitOK || !strings.Contains(shown.stdout, want) {
			t.Errorf("%+v\nwant %s", shown, want)
		}
	}

	// What is shown as a file is what was applied.
	yaml := ask("policy", "show", "--yaml")
	write(yaml.stdout)
	if o := ask("policy", "diff", file); yaml.code != exitOK || o.code != exitOK || !strings.Contains(o.stdout, "nothing changes") {
		t.Errorf("%+v\n%+v", yaml, o)
	}
	write("policies: []\n")
	if o := ask("policy", "apply", file, "--base-version", "7"); o.code != exitFailed || !strings.Contains(o.stderr, "POLICIES_CHANGED") {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "apply", file, "--base-version", "1", "--json"); o.code != exitOK || !strings.Contains(o.stdout, `"version"`) {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "show", "--version", "1", "--json"); o.code != exitOK || !strings.Contains(o.stdout, `"max_attempts"`) {
		t.Errorf("%+v", o)
	}
	if o := ask("policy", "show", "--version", "9"); o.code != exitNotFound {
		t.Errorf("%+v", o)
	}
}

func TestPolicyMistakes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"policy apply":                      "name one file",
		"policy diff a b":                   "name one file",
		"policy apply /nonexistent.yaml":    "no such file",
		"policy apply -":                    "standard input:1: the file is empty",
		"policy show --yaml --json":         "exclude each other",
		"policy show --history 101":         "101 is not between 0 and 100",
		"policy":                            "use one of «policy show», «policy diff», «policy apply»",
		"policy apply x --base-version=yes": `"yes" is not a number`,
	} {
		if o := idemsvcRun(t, nil, strings.Fields(args)...); o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
