package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/internal/telemetry"
)

// monitoring is the folder of rules and dashboards.
const monitoring = "../../deploy/monitoring"

// queries are those of the rules and the dashboards, by where they stand.
func queries(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	rules := read(t, filepath.Join(monitoring, "rules.yaml"))
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (?:\|\n((?:          .*\n)+)|(.+)\n)`).FindAllStringSubmatch(rules, -1) {
		found["rules.yaml"] = append(found["rules.yaml"], strings.Join(strings.Fields(m[1]+m[2]), " "))
	}
	dashboards, err := filepath.Glob(filepath.Join(monitoring, "dashboard-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range dashboards {
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
			Templating struct {
				List []struct{ Query any }
			}
		}
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range d.Panels {
			if p.Title == "" || len(p.Targets) == 0 {
				t.Errorf("%s: the panel %q shows nothing", file, p.Title)
			}
			for _, target := range p.Targets {
				found[filepath.Base(file)] = append(found[filepath.Base(file)], target.Expr)
			}
		}
		for _, v := range d.Templating.List {
			if q, ok := v.Query.(map[string]any); ok {
				found[filepath.Base(file)] = append(found[filepath.Base(file)], q["query"].(string)) //nolint:errcheck // of our own making
			}
		}
	}
	if len(found) != 3 || len(found["rules.yaml"]) < 15 {
		t.Fatalf("queries are missing: %v", found)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // of this repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	metricInQuery = regexp.MustCompile(`\b(?:idemsvc|rpc|db)_[a-z_]+\b(\{[^}]*\})?`)
	labelInQuery  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	groupInQuery  = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// metricOf is the definition of a metric by its name in a query.
func metricOf(name string) *telemetry.Metric {
	for _, m := range telemetry.All() {
		own := m.PrometheusName()
		if name == own && m.Kind != telemetry.KindHistogram {
			return m
		}
		if rest, ok := strings.CutPrefix(name, own); ok && m.Kind == telemetry.KindHistogram && slices.Contains([]string{"_bucket", "_count", "_sum"}, rest) {
			return m
		}
	}
	return nil
}

// Rules and dashboards ask for metrics and labels that there are.
func TestQueriesAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	for where, list := range queries(t) {
		for _, query := range list {
			labels := []string{"instance", "job", "le"}
			for _, use := range metricInQuery.FindAllString(query, -1) {
				name, matchers, _ := strings.Cut(use, "{")
				if strings.Contains(query, "by ("+name) || slices.Contains([]string{"rpc_method", "rpc_response_status_code"}, name) {
					continue // a label
				}
				m := metricOf(name)
				if m == nil {
					t.Errorf("%s: there is no metric %s in %s", where, name, query)
					continue
				}
				own := []string{"le"}
				for _, l := range m.Labels {
					own = append(own, telemetry.PrometheusLabel(l.Key))
				}
				labels = append(labels, own...)
				for _, l := range labelInQuery.FindAllStringSubmatch(matchers, -1) {
					if !slices.Contains(own, l[1]) {
						t.Errorf("%s: %s has no label %s in %s", where, name, l[1], query)
					}
				}
			}
			for _, group := range groupInQuery.FindAllStringSubmatch(query, -1) {
				for l := range strings.SplitSeq(group[1], ",") {
					if !slices.Contains(labels, strings.TrimSpace(l)) {
						t.Errorf("%s: no label %s in %s", where, l, query)
					}
				}
			}
		}
	}
}

// Each alert has a runbook, and each runbook an alert that it names.
func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	rules := read(t, filepath.Join(monitoring, "rules.yaml"))
	index := read(t, "../../docs/runbooks/README.md")
	used := map[string]bool{"README.md": true}
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?runbook: (\S+)\n`).FindAllStringSubmatch(rules, -1)
	if len(alerts) != strings.Count(rules, "- alert:") || len(alerts) == 0 {
		t.Fatalf("%d alerts of %d name a runbook", len(alerts), strings.Count(rules, "- alert:"))
	}
	for _, a := range alerts {
		page := read(t, filepath.Join("../..", a[2]))
		used[filepath.Base(a[2])] = true
		if !strings.Contains(page, a[1]) || !strings.Contains(index, "| "+a[1]+" |") {
			t.Errorf("%s is not in %s or its index", a[1], a[2])
		}
	}
	pages, err := os.ReadDir("../../docs/runbooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if !used[p.Name()] {
			t.Errorf("no alert leads to %s", p.Name())
		}
	}
}
