package monitoring_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rule is an alert or a record.
type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type ruleGroup struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval,omitempty"`
	Rules    []rule `yaml:"rules"`
}

type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

// testFile is a file for promtool test rules, as far as it is looked at here.
type testFile struct {
	RuleFiles []string    `yaml:"rule_files"`
	Interval  string      `yaml:"evaluation_interval"`
	Order     []string    `yaml:"group_eval_order"`
	Tests     []testGroup `yaml:"tests"`
}

type testGroup struct {
	Name     string      `yaml:"name"`
	Interval string      `yaml:"interval"`
	Input    []yaml.Node `yaml:"input_series"`
	Alerts   []struct {
		Time     string      `yaml:"eval_time"`
		Name     string      `yaml:"alertname"`
		Expected []yaml.Node `yaml:"exp_alerts,omitempty"`
	} `yaml:"alert_rule_test,omitempty"`
	Values []struct {
		Expr    string      `yaml:"expr"`
		Time    string      `yaml:"eval_time"`
		Samples []yaml.Node `yaml:"exp_samples"`
	} `yaml:"promql_expr_test,omitempty"`
}

func load[T any](t *testing.T, file string) *T {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // of this repository
	if err != nil {
		t.Fatal(err)
	}
	x := new(T)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(x); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return x
}

func testFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of rules: %v", err)
	}
	return files
}

// Each rule gives the values and alerts that its tests demand, and Prometheus accepts the
// configuration that is shipped.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	run := func(t *testing.T, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil { //nolint:gosec // of the machine
			t.Errorf("%v\n%s", err, out)
		}
	}
	run(t, "check", "config", filepath.Join(folder, "prometheus.yaml"))
	for _, file := range testFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			run(t, "test", "rules", file)
		})
	}
}

// A rule with another threshold, another duration or another value fails its tests. So each
// alert is shown to fire just above its thresholds, not to fire just below each of them,
// and to wait.
func TestWrongAlertsAreNoticed(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	rules := load[ruleFile](t, filepath.Join(folder, "rules.yaml"))
	var tests []*testFile
	for _, file := range testFiles(t) {
		tests = append(tests, load[testFile](t, file))
	}
	for _, g := range rules.Groups {
		for i := range g.Rules {
			r := &g.Rules[i]
			t.Run(r.Alert+r.Record, func(t *testing.T) {
				t.Parallel()
				about := r.tests(tests)
				if about == nil {
					t.Fatal("it has no tests")
				}
				if out, ok := about.pass(t, promtool, rules, r, *r); !ok {
					t.Fatalf("its tests fail without the other rules:\n%s", out)
				}
				for what, wrong := range r.wrong(t) {
					if _, ok := about.pass(t, promtool, rules, r, wrong); ok {
						t.Errorf("nothing notices %s:\n%s", what, wrong.Expr)
					}
				}
			})
		}
	}
}

// tests are those of the files that ask for the rule; nil for none.
func (r *rule) tests(files []*testFile) *testFile {
	for _, f := range files {
		found := *f
		found.Tests = nil
		for _, g := range f.Tests {
			all := g
			g.Alerts, g.Values = nil, nil
			for _, a := range all.Alerts {
				if a.Name == r.Alert {
					g.Alerts = append(g.Alerts, a)
				}
			}
			for _, v := range all.Values {
				if r.Record != "" && slices.Contains(names.FindAllString(v.Expr, -1), r.Record) {
					g.Values = append(g.Values, v)
				}
			}
			if len(g.Alerts)+len(g.Values) > 0 {
				found.Tests = append(found.Tests, g)
			}
		}
		if len(found.Tests) > 0 {
			return &found
		}
	}
	return nil
}

var (
	names     = regexp.MustCompile(`idemsvc:\w+:\w+`) // of records
	threshold = regexp.MustCompile(`(>|==|\+) ([0-9.]+)`)
)

// wrong are the rule with one thing changed, by what that is.
func (r *rule) wrong(t *testing.T) map[string]rule {
	t.Helper()
	all := map[string]rule{}
	if r.Record != "" {
		w := *r
		w.Expr = "1.01 * (" + r.Expr + ")"
		all["a hundredth more"] = w
		return all
	}
	places := threshold.FindAllStringSubmatchIndex(r.Expr, -1)
	if len(places) == 0 {
		t.Fatalf("no threshold in %s", r.Expr)
	}
	for n, at := range places {
		change := func(what, to string) {
			w := *r
			w.Expr = r.Expr[:at[0]] + to + r.Expr[at[1]:]
			all[fmt.Sprintf("threshold %d %s", n+1, what)] = w
		}
		operator, number := r.Expr[at[2]:at[3]], r.Expr[at[4]:at[5]]
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if x == 0 {
			change("met by zero, or by all", ">= 0")
			change("out of reach", "> 1e9")
			continue
		}
		change("a quarter lower", fmt.Sprint(operator, " ", x*0.75))
		change("a third higher", fmt.Sprint(operator, " ", x*1.34))
	}
	if r.For != "" {
		w := *r
		w.For = ""
		all["no waiting"] = w
		w = *r
		w.For = regexp.MustCompile(`^\d+`).ReplaceAllStringFunc(r.For, func(s string) string {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.Itoa(2 * n)
		})
		all["twice the waiting"] = w
	}
	return all
}

// pass runs the tests with instead in place of the rule, and with no more of the others than
// it is made from.
func (f *testFile) pass(t *testing.T, promtool string, rules *ruleFile, r *rule, instead rule) (output string, ok bool) {
	t.Helper()
	needed := names.FindAllString(r.Expr, -1)
	var few ruleFile
	for _, g := range rules.Groups {
		all := g.Rules
		g.Rules = nil
		for i := range all {
			switch x := &all[i]; {
			case x == r:
				g.Rules = append(g.Rules, instead)
			case slices.Contains(needed, x.Record):
				g.Rules = append(g.Rules, *x)
			}
		}
		if len(g.Rules) > 0 {
			few.Groups = append(few.Groups, g)
		}
	}
	dir := t.TempDir()
	alone := *f
	alone.RuleFiles, alone.Order = []string{"rules.yaml"}, nil
	for _, g := range few.Groups {
		alone.Order = append(alone.Order, g.Name)
	}
	for name, content := range map[string]any{"rules.yaml": few, "test.yaml": alone} {
		text, err := yaml.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", filepath.Join(dir, "test.yaml")).CombinedOutput() //nolint:gosec // of the machine
	if err != nil && !strings.Contains(string(out), "exp:") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), err == nil
}
