package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// shorter is what each time of the rules becomes, so that a day passes in seconds. What is
// longer stays longer, but for the day, which is as long as the story needs it.
var shorter = map[string]string{
	"30s": "250ms", "2m": "500ms", "5m": "2s", "10m": "2500ms", "15m": "3s", "30m": "5s", "1h": "6s", "6h": "8s", "1d": "10s",
}

// timeInRules is a time where the rules have one: an interval, a wait, a window, an offset.
var timeInRules = regexp.MustCompile(`(interval: |for: |\[|offset )(\d+[a-z]+)\b`)

// shortened are the rules that are shipped, with all their times shortened. Names, which
// have times in them, stay.
func shortened(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return timeInRules.ReplaceAllStringFunc(string(text), func(s string) string {
		m := timeInRules.FindStringSubmatch(s)
		short, ok := shorter[m[2]]
		if !ok {
			t.Errorf("the rules have a time that is not shortened: %s", s)
		}
		return m[1] + short
	})
}

// prometheus is a running one.
type prometheus struct{ url string }

// prometheus starts one that scrapes the server and runs the shortened rules.
func (s *site) prometheus(t *testing.T) *prometheus {
	t.Helper()
	binary := program(t, "prometheus")
	metrics, err := neturl.Parse(s.metrics)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.dir, "prometheus")
	// It runs as another user, who may not enter every folder.
	copied := filepath.Join(dir, "prometheus")
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, data} {
		if err := os.Chmod(d, 0o777); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
	}
	from, err := os.ReadFile(binary) //nolint:gosec // of the machine
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}\nrule_files: [rules.yaml]\n"+
		"scrape_configs:\n- job_name: idemsvc\n  metrics_path: %s\n  static_configs: [{targets: [%q]}]\n", metrics.Path, metrics.Host)
	for name, content := range map[string]string{copied: string(from), filepath.Join(dir, "rules.yaml"): shortened(t), filepath.Join(dir, "config.yaml"): config} {
		if err := os.WriteFile(name, []byte(content), 0o755); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
	}
	// A port that was free may be taken before Prometheus listens on it.
	for range 3 {
		if p := startPrometheus(t, copied, dir); p != nil {
			return p
		}
	}
	t.Fatal("prometheus does not start")
	return nil
}

// startPrometheus is nil when it ended instead of getting ready.
func startPrometheus(t *testing.T, binary, dir string) *prometheus {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	_ = lis.Close()
	said := &strings.Builder{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "--config.file="+filepath.Join(dir, "config.yaml"), //nolint:gosec // of the machine
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Dir, cmd.Stderr = dir, said
	child, err := childproc.Start(cmd, syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Signal(os.Kill) // its data goes with it
		<-child.Done()
	})
	p := &prometheus{url: "http://" + addr}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		select {
		case <-child.Done():
			t.Logf("prometheus ended: %v\n%s", child.Err(), said)
			return nil
		default:
		}
		if body, err := p.get(t.Context(), "/-/ready", nil); err == nil && len(body) > 0 {
			return p
		}
	}
	return nil
}

func (p *prometheus) get(ctx context.Context, path string, query neturl.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return body, err
}

type series struct{ Metric map[string]string }

// ask evaluates a query now.
func (p *prometheus) ask(t *testing.T, query string) []series {
	t.Helper()
	body, err := p.get(t.Context(), "/api/v1/query", neturl.Values{"query": {query}})
	var answer struct{ Data struct{ Result []series } }
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer.Data.Result
}

func (p *prometheus) has(t *testing.T, query string) bool {
	t.Helper()
	return len(p.ask(t, query)) > 0
}

func (p *prometheus) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	began := time.Now()
	for !done() {
		if time.Since(began) > time.Minute {
			t.Fatalf("there is no %s; alerts: %v", what, p.ask(t, "ALERTS"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%s after %v", what, time.Since(began).Round(100*time.Millisecond))
}

// awaitAlert waits until the alert about the consumer or the source fires, or does no more.
func (p *prometheus) awaitAlert(t *testing.T, name, about string, firing bool) {
	t.Helper()
	query := fmt.Sprintf(`ALERTS{alertstate="firing",alertname=%q}`, name)
	what := "firing " + name
	if !firing {
		what = "end of " + name
	}
	p.await(t, what, func() bool {
		found := p.ask(t, query)
		if !firing {
			return len(found) == 0
		}
		return slices.ContainsFunc(found, func(s series) bool {
			return about == "" || s.Metric["consumer"] == about || s.Metric["source"] == about
		})
	})
}

// everFired are the names of the alerts that fired at any time.
func (p *prometheus) everFired(t *testing.T) []string {
	t.Helper()
	var fired []string
	for _, s := range p.ask(t, `count by (alertname) (last_over_time(ALERTS{alertstate="firing"}[1h]))`) {
		fired = append(fired, s.Metric["alertname"])
	}
	return fired
}
