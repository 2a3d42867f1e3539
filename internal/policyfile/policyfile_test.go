package policyfile_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/policyfile"
)

const whole = `# what holds in the shop
namespace: shop-live
policies:
  - retain_events: 60d
  - match: {consumer: billing, source: stripe}
    max_attempts: 5
    stale_claim: hold
    backoff_factor: 1.5
    sequence_start: first_seen
    self_origins: [billing, "2026"]
    machines:
      order:
        initial: new
        edges:
          new: [paid, cancelled]
          paid: [sent]
  - match: {type: "null"}
    lease: 90s
`

func TestRead(t *testing.T) {
	t.Parallel()
	f, err := policyfile.Read(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := []idem.Rule{
		{Set: map[string]string{"retain_events": "60d"}},
		{Consumer: "billing", Source: "stripe", Set: map[string]string{
			"max_attempts": "5", "stale_claim": "hold", "backoff_factor": "1.5", "sequence_start": "first_seen", "self_origins": `["billing","2026"]`,
			"machines": `{"order":{"initial":"new","edges":{"new":["paid","cancelled"],"paid":["sent"]}}}`,
		}},
		{Type: "null", Set: map[string]string{"lease": "1m30s"}},
	}
	if f.Namespace != "shop-live" || !reflect.DeepEqual(f.Rules, want) {
		t.Errorf("%s\n%v\nwant\n%v", f.Namespace, f.Rules, want)
	}
	if f.Line(1, "stale_claim") != 7 || f.Line(1, "consumer") != 5 || f.Line(1, "lease") != 5 || f.Line(9, "") != 1 {
		t.Errorf("lines %d %d %d %d", f.Line(1, "stale_claim"), f.Line(1, "consumer"), f.Line(1, "lease"), f.Line(9, ""))
	}
}

// All that is wrong is told at once, each with its line, its field and the limit.
func TestEveryProblemHasItsLine(t *testing.T) {
	t.Parallel()
	const bad = `namespace: ""
owner: me
policies:
  - match: {consumer: billing, tenant: x}
    lease: 13h
    max_attempts: 0
    maxattempts: 3
    gap: leap
  - match: {consumer: billing}
    retention: 5d
    self_origins: billing
  - lease:
    lease: 1m
    machines: {m: {initial: a, states: [b]}}
    signature: [required]
  - just text
  - match: {source: adyen}
    tie_instant: &tie hold
    tie_sequence: *tie
    stuck_after: 32d
`
	_, err := policyfile.Read(strings.NewReader(bad))
	problems, ok := errors.AsType[policyfile.Problems](err)
	if !ok {
		t.Fatal(err)
	}
	want := []struct {
		line int
		says string
	}{
		{1, "namespace: a name is missing"},
		{2, "there is no field owner"},
		{4, "match has no field tenant"},
		{5, "lease: 13h is not from 1s to 12h"},
		{6, "max_attempts: 0 is not a whole number from 1 to 1000"},
		{7, "there is no setting maxattempts: is max_attempts meant?"},
		{8, `gap: "leap" is none of wait, skip, hold`},
		{10, "there is no setting retention"},
		{11, "self_origins: "},
		{12, "lease: a value is missing: 1s to 12h"},
		{13, "lease stands in line 12 already"},
		{14, "machines: it is no mapping"},
		{15, "signature: a value is missing: learned, optional, required"},
		{16, "a policy is no mapping"},
		{19, "tie_sequence: a value is missing"},
		{20, "stuck_after: 32d is not from 1s to 31d"},
	}
	found := map[int]string{}
	for _, p := range problems {
		found[p.Line] += p.Message + "\n"
	}
	for _, w := range want {
		if !strings.Contains(found[w.line], w.says) {
			t.Errorf("line %d: %q does not say %q", w.line, found[w.line], w.says)
		}
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("line %d is told after line %d", problems[i].Line, problems[i-1].Line)
		}
	}
}

func TestWhatIsNoFileOfPolicies(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                                "the file is empty",
		"policies: [\n":                   "line",
		"- lease: 1m\n":                   "the file is no mapping",
		"namespace: a\n":                  "policies is missing",
		"policies: 5\n":                   "policies is no list",
		"policies: []\n---\npolicies: []": "one document",
		"policies:\n  - match: {source: adyen}\n    retain_events: 20d\n":                           "line 3: retain_events 20d is shorter than longest_resend 30d, the default: set both",
		"policies:\n  - match: {source: a}\n    lease: 1m\n  - match: {source: a}\n    lease: 2m\n": "line 4: policy 1 is for the same events: source a",
		"policies:\n  - match: {source: a}\n":                                                       "line 2: the policy for source a sets nothing",
		strings.Repeat("#", policyfile.MaxBytes) + "\npolicies: []":                                 "longer than 1048576 bytes",
	} {
		if _, err := policyfile.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v, want %q", text, err, says)
		}
	}
	if f, err := policyfile.Read(strings.NewReader("policies: []\n")); err != nil || len(f.Rules) != 0 {
		t.Errorf("no policies: %v %v", f, err)
	}
}

// What is written is read as it was, whatever names are made of.
func TestWrittenCanBeRead(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(rapid.StringMatching(`[a-z0-9._:-]{1,12}`), rapid.SampledFrom([]string{"null", "true", "1e3", "a: b", "# c", "é", "'", `"`, "- x", "*a", "{", " pad"}), rapid.StringN(1, 20, 100))
	values := map[idem.SettingKind][]string{
		idem.Span: {"10s", "90s"}, idem.Count: {"3"}, idem.Factor: {"3"}, idem.Names: {`["a","null"]`, `[]`}, idem.Machines: {`{"m":{"initial":"yes","edges":{"yes":["no","1"]}}}`},
	}
	rapid.Check(t, func(t *rapid.T) {
		f := &policyfile.File{Namespace: "ns"}
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			r := idem.Rule{Consumer: name.Draw(t, "consumer"), Source: name.Draw(t, "source"), Set: map[string]string{}}
			for _, s := range idem.Settings {
				choices := slices.Concat(values[s.Kind], s.Choices)
				if strings.HasPrefix(s.Name, "retain") || s.Name == "backoff_base" || s.Name == "max_lease" || s.Name == "longest_resend" || !rapid.Bool().Draw(t, s.Name) {
					continue
				}
				r.Set[s.Name] = rapid.SampledFrom(choices).Draw(t, "value")
			}
			f.Rules = append(f.Rules, r)
		}
		if idem.CheckRules(f.Rules) != nil {
			t.Skip("not in order")
		}
		var out bytes.Buffer
		if err := policyfile.Write(&out, f); err != nil {
			t.Fatal(err)
		}
		back, err := policyfile.Read(&out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if back.Namespace != "ns" || len(back.Rules) != len(f.Rules) || (len(f.Rules) > 0 && !reflect.DeepEqual(back.Rules, f.Rules)) {
			t.Fatalf("%v\nwritten and read\n%v", f.Rules, back.Rules)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(whole)
	f.Add("policies:\n  - &a\n    lease: 1m\n  - *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := policyfile.Read(strings.NewReader(text))
		if err == nil && idem.CheckRules(file.Rules) != nil {
			t.Errorf("%q was read and is not in order", text)
		}
	})
}
