package idem_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
)

// Every field of a policy can be set, and no setting sets none: what nothing reads cannot
// be written, and what the rules read can be.
func TestSettingsAndPolicyAreTheSame(t *testing.T) {
	t.Parallel()
	other := map[idem.SettingKind][]string{
		idem.Span: {"2s", "40d", "forever"}, idem.Count: {"3", "4"}, idem.Factor: {"3"},
		idem.Names: {`["a"]`}, idem.Machines: {`{"m":{"initial":"a","edges":{"a":["b"]}}}`},
	}
	for name, want := range map[string]string{"self_origins": "[]", "machines": "{}", "retain_versions": "forever", "lease": "1m", "sequence_start": "first_seen"} {
		if got := idem.FindSetting(name).Default(); got != want {
			t.Errorf("%s: the default is %s, want %s", name, got, want)
		}
	}
	set := map[string]string{} // field of Policy → setting
	for _, s := range idem.Settings {
		if c, err := s.Canonical(s.Default()); err != nil || c != s.Default() {
			t.Errorf("%s: its default %q is %q, %v", s.Name, s.Default(), c, err)
		}
		if s.Means == "" || s.Why == "" || s.Limits == "" {
			t.Errorf("%s is not explained", s.Name)
		}
		changed := []string{}
		for _, text := range append(other[s.Kind], s.Choices...) {
			p := idem.DefaultPolicy()
			if s.Put(p, text) != nil || s.Of(p) == s.Default() {
				continue
			}
			if s.Of(p) != text {
				t.Errorf("%s: %s is shown as %s", s.Name, text, s.Of(p))
			}
			changed = differences("", reflect.ValueOf(*idem.DefaultPolicy()), reflect.ValueOf(*p))
		}
		if len(changed) != 1 {
			t.Errorf("%s changes the fields %v of a policy, want one", s.Name, changed)
			continue
		}
		if twice := set[changed[0]]; twice != "" {
			t.Errorf("%s is set by %s and %s", changed[0], twice, s.Name)
		}
		set[changed[0]] = s.Name
	}
	for _, f := range fieldsOf("", reflect.TypeFor[idem.Policy]()) {
		if set[f] == "" && f != "Version" {
			t.Errorf("nothing sets %s", f)
		}
	}
}

func fieldsOf(prefix string, t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if f.Type == reflect.TypeFor[idem.Backoff]() {
			out = append(out, fieldsOf(f.Name+".", f.Type)...)
		} else {
			out = append(out, prefix+f.Name)
		}
	}
	return out
}

func differences(prefix string, a, b reflect.Value) []string {
	var out []string
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		switch {
		case a.Field(i).Type() == reflect.TypeFor[idem.Backoff]():
			out = append(out, differences(name+".", a.Field(i), b.Field(i))...)
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			out = append(out, prefix+name)
		}
	}
	return out
}

// Limits: the value on either side of each is accepted or refused, with the limit named.
func TestSettingLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting string
		good    []string
		bad     []string
		says    string
	}{
		{"lease", []string{"1s", "12h", "90m", "1h30m"}, []string{"999ms", "12h1s", "0s", "-1s", "60", "", "1.5d", "forever", "+5s"}, "1s to 12h"},
		{"max_attempts", []string{"1", "1000"}, []string{"0", "1001", "-1", "3.5", "many"}, "1 to 1000"},
		{"backoff_factor", []string{"1", "1.5", "100"}, []string{"0.9", "100.1", "NaN", "inf"}, "1 to 100"},
		{"backoff_cap", []string{"1ms", "30d"}, []string{"30d1s", "1us"}, "1ms to 30d"},
		{"stale_claim", []string{"hold", "reclaim"}, []string{"HOLD", "drop"}, "reclaim, hold"},
		{"stuck_after", []string{"1s", "31d", "15m"}, []string{"999ms", "31d1s", "0s", "forever"}, "1s to 31d"},
		{"retain_events", []string{"forever", "1m", "36500d", "1d12h"}, []string{"59s", "36501d"}, "or forever"},
		{"sequence_start", []string{"first_seen", "1", "9223372036854775807"}, []string{"-1", "9223372036854775808", "first"}, "or first_seen"},
		{"self_origins", []string{`[]`, `["a","b"]`}, []string{`["a",""]`, `"a"`, `[1]`, `["` + strings.Repeat("x", 513) + `"]`}, ""},
		{"machines", []string{`{}`, `{"m":{"initial":"a"}}`}, []string{`{"m":{}}`, `{"m":{"states":["a"]}}`, `[]`, `{"":{"initial":"a"}}`}, ""},
	} {
		s := idem.FindSetting(c.setting)
		for _, text := range c.good {
			if _, err := s.Canonical(text); err != nil {
				t.Errorf("%s: %s is refused: %v", c.setting, text, err)
			}
		}
		for _, text := range c.bad {
			got, err := s.Canonical(text)
			if err == nil {
				t.Errorf("%s: %s is accepted as %s", c.setting, text, got)
			} else if strings.Contains(err.Error(), "duration") == strings.Contains(err.Error(), c.says) && c.says != "" {
				t.Errorf("%s: %s: %v does not name the limit %q", c.setting, text, err, c.says)
			}
		}
	}
}

func TestDurationsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(36500*24*time.Hour)).Draw(t, "d"))
		if rapid.Bool().Draw(t, "whole") {
			d = d.Truncate(time.Hour)
		}
		if got, err := idem.ParseDuration(idem.FormatDuration(d)); err != nil || got != d {
			t.Fatalf("%v is written %s and read as %v, %v", d, idem.FormatDuration(d), got, err)
		}
	})
	for d, want := range map[time.Duration]string{
		0: "0s", time.Minute: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m", 35 * 24 * time.Hour: "35d", 36 * time.Hour: "1d12h", 1500 * time.Millisecond: "1.5s", 10 * time.Minute: "10m",
	} {
		if got := idem.FormatDuration(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

// Specificity, against a rule that is plainly written down: of all rules that match and
// say something, the one that names more; then consumer before source before type.
func TestTheMostSpecificPolicyWins(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"", "", "a", "b", "c"})
	values := rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", "7"})
	settings := []string{"max_attempts", "max_releases"}
	rapid.Check(t, func(t *rapid.T) {
		var rules []idem.Rule
		used := map[[3]string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "rules") {
			r := idem.Rule{Consumer: names.Draw(t, "consumer"), Source: names.Draw(t, "source"), Type: names.Draw(t, "type"), Set: map[string]string{}}
			for _, s := range settings {
				if rapid.Bool().Draw(t, "sets") {
					r.Set[s] = values.Draw(t, s)
				}
			}
			if k := [3]string{r.Consumer, r.Source, r.Type}; !used[k] && len(r.Set) > 0 {
				used[k] = true
				rules = append(rules, r)
			}
		}
		if bad := idem.CheckRules(rules); len(bad) > 0 {
			t.Fatal(bad)
		}
		book := idem.NewRulebook().With("ns", 7, rules).With("other", 1, []idem.Rule{{Set: map[string]string{"max_attempts": "999"}}})
		for range 8 {
			event := [3]string{names.Draw(t, "c"), names.Draw(t, "s"), names.Draw(t, "t")}
			p := book.Policy(idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: event[1], EventID: "e"}, Consumer: event[0]}, event[2])
			if len(rules) > 0 && p.Version != 7 {
				t.Fatalf("version %d", p.Version)
			}
			explained := idem.Explain(rules, event[0], event[1], event[2])
			for _, s := range settings {
				want, from := idem.FindSetting(s).Default(), (*idem.Rule)(nil)
				if r := winner(rules, event, s); r != nil {
					want, from = r.Set[s], r
				}
				if got := idem.FindSetting(s).Of(p); got != want {
					t.Fatalf("%v of %v under %v: %s, want %s", s, event, rules, got, want)
				}
				i := slices.IndexFunc(explained, func(e idem.Effective) bool { return e.Setting.Name == s })
				if e := explained[i]; e.Value != want || (e.From == nil) != (from == nil) || (from != nil && !reflect.DeepEqual(*e.From, *from)) {
					t.Fatalf("%v of %v is explained by %v with %s", s, event, e.From, e.Value)
				}
			}
		}
	})
}

// Whoever cannot ask for the policy of each event, since there are too many, takes the first
// of the ranked rules that matches: it says what the policy says.
func TestTheFirstRankedRuleThatMatchesHolds(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"", "", "a", "b"})
	rapid.Check(t, func(t *rapid.T) {
		book := idem.NewRulebook()
		for _, ns := range []string{"ns", "other"} {
			rules := map[[3]string]idem.Rule{}
			for range rapid.IntRange(0, 8).Draw(t, "rules") {
				r := idem.Rule{Consumer: names.Draw(t, "consumer"), Source: names.Draw(t, "source"), Type: names.Draw(t, "type"), Set: map[string]string{"max_attempts": "3"}}
				if rapid.Bool().Draw(t, "sets") {
					r.Set["stuck_after"] = rapid.SampledFrom([]string{"1s", "1h", "2d"}).Draw(t, "stuck_after")
				}
				rules[[3]string{r.Consumer, r.Source, r.Type}] = r
			}
			book = book.With(ns, 1, slices.Collect(maps.Values(rules)))
		}
		ranked := book.Ranked("stuck_after")
		for range 8 {
			ns, event := rapid.SampledFrom([]string{"ns", "other", "none"}).Draw(t, "ns"), [3]string{names.Draw(t, "c"), names.Draw(t, "s"), names.Draw(t, "t")}
			got := idem.DefaultPolicy().StuckAfter
			for _, x := range ranked {
				fits := func(part, of string) bool { return part == "" || part == of }
				if x.Namespace == ns && fits(x.Rule.Consumer, event[0]) && fits(x.Rule.Source, event[1]) && fits(x.Rule.Type, event[2]) {
					got = x.Policy.StuckAfter
					break
				}
			}
			want := book.Policy(idem.EventKey{EventRef: idem.EventRef{Namespace: ns, Source: event[1], EventID: "e"}, Consumer: event[0]}, event[2]).StuckAfter
			if got != want {
				t.Fatalf("%v of %s stands still for %v, its policy says %v", event, ns, got, want)
			}
		}
	})
}

// winner compares every pair of rules by the documented order.
func winner(rules []idem.Rule, event [3]string, setting string) *idem.Rule {
	parts := func(r *idem.Rule) []string { return []string{r.Consumer, r.Source, r.Type} }
	named := func(r *idem.Rule) (n int) {
		for _, p := range parts(r) {
			if p != "" {
				n++
			}
		}
		return n
	}
	var best *idem.Rule
	for i := range rules {
		r := &rules[i]
		fits := r.Set[setting] != ""
		for j, p := range parts(r) {
			fits = fits && (p == "" || p == event[j])
		}
		if !fits {
			continue
		}
		better := best == nil || named(r) > named(best)
		if best != nil && named(r) == named(best) {
			for j := range 3 {
				if a, b := parts(r)[j] != "", parts(best)[j] != ""; a != b {
					better = a
					break
				}
			}
		}
		if better {
			best = r
		}
	}
	return best
}

// What is refused of rules that are each in order is refused because some event would meet
// it, and no event meets what is accepted.
func TestPoliciesFitEachOtherForEveryEvent(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"", "a", "b"})
	kept := rapid.SampledFrom([]string{"5d", "20d", "31d", "40d", "forever"})
	rapid.Check(t, func(t *rapid.T) {
		var rules []idem.Rule
		used := map[[3]string]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "rules") {
			r := idem.Rule{Consumer: names.Draw(t, "consumer"), Source: names.Draw(t, "source"), Type: names.Draw(t, "type"), Set: map[string]string{}}
			for _, s := range []string{"retain_events", "retain_payloads", "retain_versions", "longest_resend"} {
				if v := kept.Draw(t, s); rapid.Bool().Draw(t, "sets") && (s != "longest_resend" || v != "forever") {
					r.Set[s] = v
				}
			}
			if k := [3]string{r.Consumer, r.Source, r.Type}; !used[k] && len(r.Set) > 0 {
				used[k] = true
				rules = append(rules, r)
			}
		}
		bad := idem.CheckRules(rules)
		misfit := ""
		all := []string{"", "a", "b", "else"}
		for _, c := range all {
			for _, s := range all {
				for _, typ := range all {
					p := idem.NewRulebook().With("ns", 1, rules).Policy(idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: s}, Consumer: c}, typ)
					long := func(d time.Duration) time.Duration {
						if d == 0 {
							return 1 << 62
						}
						return d
					}
					if long(p.KeepEvents) < p.Resend || long(p.KeepEvents) < long(p.KeepPayloads) || long(p.KeepVersions) < long(p.KeepEvents) {
						misfit = c + "/" + s + "/" + typ
					}
				}
			}
		}
		if (misfit != "") != (len(bad) > 0) {
			t.Fatalf("an event that meets settings which do not fit: %q; told: %v; rules: %v", misfit, bad, rules)
		}
	})
}

func TestARetentionShorterThanTheLongestResendIsRefused(t *testing.T) {
	t.Parallel()
	bad := idem.CheckRules([]idem.Rule{{Source: "adyen", Set: map[string]string{"retain_events": "29d"}}})
	if len(bad) != 1 || bad[0].Field != "retain_events" || bad[0].Message != "retain_events 29d is shorter than longest_resend 30d, the default: set both" {
		t.Errorf("%+v", bad)
	}
	if bad := idem.CheckRules([]idem.Rule{{Source: "github", Set: map[string]string{"retain_events": "7d", "retain_payloads": "7d", "longest_resend": "3d"}}}); bad != nil {
		t.Errorf("%+v", bad)
	}
	// The two values may come from two policies.
	bad = idem.CheckRules([]idem.Rule{
		{Set: map[string]string{"longest_resend": "3d", "retain_events": "20d"}},
		{Source: "adyen", Set: map[string]string{"longest_resend": "30d"}},
	})
	if len(bad) != 1 || bad[0].Rule != 0 || !strings.Contains(bad[0].Message, "of the policy for source adyen") {
		t.Errorf("%+v", bad)
	}
}

func TestCheckRulesTellsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	bad := idem.CheckRules([]idem.Rule{
		{Set: map[string]string{"lease": "1ms", "max_attempts": "0", "nonsense": "1"}},
		{Consumer: strings.Repeat("c", 513), Set: map[string]string{"gap": "leap"}},
		{Set: map[string]string{"lease": "1m"}},
		{Source: "s", Set: nil},
	})
	var got []string
	for _, p := range bad {
		got = append(got, p.Field)
	}
	if want := []string{"lease", "max_attempts", "nonsense", "consumer", "gap", "", ""}; !slices.Equal(got, want) {
		t.Errorf("%q\n%+v", got, bad)
	}
	many := make([]idem.Rule, idem.MaxRules+1)
	if bad := idem.CheckRules(many); len(bad) != 1 || !strings.Contains(bad[0].Message, "at most 200") {
		t.Errorf("%+v", bad)
	}
	big := `["` + strings.Repeat("x", 500) + `"` + strings.Repeat(`,"`+strings.Repeat("x", 500)+`"`, 63) + "]"
	var rules []idem.Rule
	for i := range 9 {
		rules = append(rules, idem.Rule{Consumer: string(rune('a' + i)), Set: map[string]string{"self_origins": big}})
	}
	if bad := idem.CheckRules(rules[:8]); bad != nil {
		t.Errorf("%+v", bad[0].Message)
	}
	if bad := idem.CheckRules(rules); len(bad) != 1 || !strings.Contains(bad[0].Message, "at most 262144") {
		t.Errorf("%+v", bad)
	}
}

func TestDiffRules(t *testing.T) {
	t.Parallel()
	old := []idem.Rule{{Set: map[string]string{"lease": "1m", "gap": "wait"}}, {Consumer: "a", Set: map[string]string{"lease": "2m"}}}
	now := []idem.Rule{{Consumer: "b", Set: map[string]string{"lease": "3m"}}, {Set: map[string]string{"lease": "1m", "gap": "hold"}}}
	var got []string
	for _, c := range idem.DiffRules(old, now) {
		got = append(got, c.Rule.Match()+" "+c.Setting+" "+c.Old+">"+c.New)
	}
	if want := []string{"every event gap wait>hold", "consumer a lease 2m>", "consumer b lease >3m"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if d := idem.DiffRules(now, now); d != nil {
		t.Errorf("%v", d)
	}
}

// What a newer version of the program has written does not stop this one.
func TestUnknownStoredSettingsAreLeftAlone(t *testing.T) {
	t.Parallel()
	set := map[string]string{"of_the_future": "x", "gap": "leap", "max_attempts": "3"}
	p := idem.NewRulebook().With("ns", 1, []idem.Rule{{Set: maps.Clone(set)}}).Policy(idem.EventKey{EventRef: idem.EventRef{Namespace: "ns"}}, "")
	if p.MaxAttempts != 3 || p.Gap != idem.GapWait {
		t.Errorf("%+v", p)
	}
}
