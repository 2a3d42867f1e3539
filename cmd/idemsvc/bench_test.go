package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/bench"
)

// measure runs the benchmark in a process of its own and returns what it prints. Nothing
// is said about speed: only that everything is measured.
func measure(t *testing.T, args ...string) (stdout []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, append([]string{"bench", "--quick"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dataDir(t), "IDEMSVC_DATABASE_URL=")
	said := &lockedBuffer{}
	cmd.Stderr = said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its children
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	return out
}

// One after the other: each has many callers. The longer modes run with IDEMSVC_TEST_HEAVY.
func TestBench(t *testing.T) {
	t.Parallel()
	t.Run("compares", benchCompares)
	if os.Getenv("IDEMSVC_TEST_HEAVY") == "" {
		return
	}
	t.Run("beside retention", benchRetained)
	t.Run("growth", benchGrowth)
	t.Run("waiting", benchWaiting)
	t.Run("beside River", benchRiver)
	t.Run("refusals and idle", benchRefusalsAndIdle)
}

func benchCompares(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	out := measure(t, "--only", "unary64,batch,inbox,echo1,latency", "--json", "--out", file)
	written, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(bytes.TrimSpace(written), bytes.TrimSpace(out)) {
		t.Errorf("the file is not what was printed: %v\n%s", err, written)
	}
	var r measured
	if err := json.Unmarshal(out, &r); err != nil || r.Comparison == nil || r.Growth != nil || r.Refusals != nil || r.Idle != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := r.Comparison
	var arms []string
	for _, w := range c.Rows {
		arms = append(arms, w.Arm+" "+w.Base)
		if w.Ratio.Low <= 0 || w.Ratio.Low > w.Ratio.Median || w.Ratio.Median > w.Ratio.High || w.Ours.PerSecond <= 0 || w.Ours.Server <= 0 {
			t.Errorf("%+v", w)
		}
		if w.Echo {
			continue
		}
		if w.CPURatio == nil || w.CPURatio.Low <= 0 ||
			w.PostgresRatio == nil || w.PostgresRatio.Low <= 0 || (w.Goal <= 0) != (w.Arm == "inbox64") {
			t.Errorf("%+v", w)
		}
		if w.Ours.Memory < 1<<20 || (w.Bases.Server != 0) != (w.Base == "unary64") {
			t.Errorf("%s: %+v", w.Arm, w)
		}
		sane(t, w.Arm, w.Ours)
		sane(t, w.Base, w.Bases)
	}
	if want := []string{"echo1 direct1", "batch16 direct16", "unary64 direct64", "inbox64 unary64"}; !slices.Equal(arms, want) {
		t.Errorf("%q", arms)
	}
	if c.Pairs != quickPairs || c.Duration != quickTime || c.LiveClaims < 1000 || c.Connections < 1 || len(c.Machine) == 0 ||
		!slices.Contains(c.Database, "fsync=on") || !slices.Contains(c.Database, "synchronous_commit=on") || len(c.Held) > 0 || len(c.Latency) != 2 {
		t.Errorf("%+v", c)
	}
	for _, l := range c.Latency {
		for _, w := range []bench.Waits{l.Service, l.Direct} {
			if w.PerSecond <= 0 || w.Claims <= 0 || w.P50 <= 0 || w.P99 < w.P50 || w.P999 < w.P99 || l.P99Ratio.Low <= 0 {
				t.Errorf("%+v", l)
			}
		}
	}
}

func benchRetained(t *testing.T) {
	var r measured
	if out := measure(t, "--only", "retained", "--json"); json.Unmarshal(out, &r) != nil || r.Comparison == nil {
		t.Fatalf("%s", out)
	}
	for _, w := range r.Comparison.Rows {
		if w.Arm == "retained64" && w.Base == "unary64" && w.Ratio.Low > 0 && w.CPURatio != nil && w.CPURatio.Low > 0 {
			return
		}
	}
	t.Errorf("%+v", r.Comparison.Rows)
}

// sane fails for a cost that nothing can have.
func sane(t *testing.T, name string, c bench.Cost) {
	t.Helper()
	for what, v := range map[string]float64{"rate": c.PerSecond, "CPU of PostgreSQL": c.Postgres, "CPU of the callers": c.Client, "log": c.WAL} {
		if v <= 0 {
			t.Errorf("%s: %s is %v", name, what, v)
		}
	}
	if c.WAL > 1e6 || c.Postgres > 1e6 {
		t.Errorf("%s: %+v", name, c)
	}
}

func benchGrowth(t *testing.T) {
	var r measured
	if out := measure(t, "--growth", "5000", "--json"); json.Unmarshal(out, &r) != nil || r.Growth == nil || r.Comparison != nil {
		t.Fatalf("%s", out)
	}
	g := r.Growth
	if g.Skipped != "" {
		t.Skip(g.Skipped)
	}
	if g.Events != 5000 || g.EventBytes < 100 || g.LookupBytes < 50 || g.JournalBytes < 50 || len(g.Rows) != 3 || len(g.Lookups) != 11 {
		t.Errorf("%+v", g)
	}
	for _, w := range g.Rows {
		if w.CPURatio.Low <= 0 || w.Ratio.Low <= 0 {
			t.Errorf("%+v", w)
		}
		sane(t, w.Arm, w.Full)
		sane(t, w.Arm, w.Empty)
	}
	for _, w := range g.Lookups {
		if w.Full.P50 <= 0 || w.Full.P99 < w.Full.P50 || w.Empty.P50 <= 0 || w.Full.Claims != w.Empty.Claims {
			t.Errorf("%+v", w)
		}
	}
}

func benchWaiting(t *testing.T) {
	var r measured
	if out := measure(t, "--waiting", "3000", "--json"); json.Unmarshal(out, &r) != nil || r.Waiting == nil || r.Comparison != nil {
		t.Fatalf("%s", out)
	}
	w := r.Waiting
	if skipped := w.Skipped + w.Due.Skipped; skipped != "" {
		t.Skip(skipped)
	}
	for _, x := range []bench.Waits{w.Full, w.Empty, w.Due.Usual, w.Due.Meanwhile} {
		if x.Claims < 1 || x.P50 <= 0 || x.P99 < x.P50 {
			t.Errorf("%+v", x)
		}
	}
	granted := 0
	for _, n := range w.Due.Granted {
		granted += n
	}
	if w.Events != 3000 || w.P99Ratio.Low <= 0 || w.CPURatio.Low <= 0 || granted != w.Due.Events || w.Due.P50 <= 0 || w.Due.Samples < 1 {
		t.Errorf("%+v", w)
	}
	if w.Scans != 0 || w.Due.InFlight > w.Due.InFlightGoal || w.Polls.Asked <= 0 {
		t.Errorf("%d scans over a whole table, %d questions in flight, %v a second while nothing is due", w.Scans, w.Due.InFlight, w.Polls.Asked)
	}
}

func benchRiver(t *testing.T) {
	program := filepath.Join(t.TempDir(), "riverbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../tools/riverbench", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r measured
	if out := measure(t, "--only", "inbox,inbox-stored", "--river", program, "--json"); json.Unmarshal(out, &r) != nil || r.Comparison == nil {
		t.Fatalf("%s", out)
	}
	var arms []string
	for _, w := range r.Comparison.Rows {
		arms = append(arms, w.Arm+" "+w.Base)
		if w.Ratio.Low <= 0 || w.PostgresRatio == nil || w.PostgresRatio.Low <= 0 || w.Ours.Server <= 0 || w.Bases.Server <= 0 {
			t.Errorf("%+v", w)
		}
		sane(t, w.Arm, w.Ours)
	}
	if want := []string{"inbox64 river64", "inbox-stored64 river-stored64"}; !slices.Equal(arms, want) {
		t.Errorf("%q", arms)
	}
}

func benchRefusalsAndIdle(t *testing.T) {
	var r measured
	if out := measure(t, "--refusals", "--idle", "--telemetry", "--json"); json.Unmarshal(out, &r) != nil || r.Refusals == nil || r.Idle == nil || r.Telemetry == nil || len(r.Telemetry.Arms) != 3 {
		t.Fatalf("%s", out)
	}
	if x := r.Refusals; x.Refused < 1 || x.PerSecond <= 0 || x.P50 <= 0 || x.P99 < x.P50 || x.Idle <= 0 || x.Full < x.Idle || len(x.Tenths) < x.Refused*10/quickRefusals {
		t.Errorf("%+v", x)
	}
	if x := r.Idle; x.Clients != 8 || x.Over < quickIdle || x.Server < 0 || x.Server > 1 || x.Memory <= 0 {
		t.Errorf("%+v", x)
	}
}

func TestBenchRefusesMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--only unary64,nonsense,direct64", "nonsense, direct64; there are unary1, "},
		{"--growth 10 --only unary64", "--only has no use"},
		{"--idle --database-url postgres://x/y", "--database-url has no use"},
		{"--out /no/such/place/r.json", "--out: "},
		{"extra", `unexpected argument "extra"`},
	} {
		o := idemsvcRun(t, nil, append([]string{"bench"}, strings.Fields(c.args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
}
