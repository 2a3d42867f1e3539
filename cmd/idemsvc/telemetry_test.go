package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/otlptest"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parent      = "00-" + parentTrace + "-b7ad6b7169203331-01"
	unsampled   = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// traced sends a trace context with each call.
func traced(traceparent string) idemsvc.Option {
	return idemsvc.WithDialOptions(grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, resp any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return call(metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent), method, req, resp, cc, opts...)
	}))
}

// Traces and metrics go where OpenTelemetry's variables say, over both of OTLP's ways; what
// has gathered is sent when the server stops.
func TestTelemetryIsSentOverOTLP(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"grpc", "http/protobuf"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			sink := otlptest.New(t)
			endpoint := sink.HTTP
			if way == "grpc" {
				endpoint = "http://" + sink.GRPC
			}
			url := migrated(t)
			p := startProgramIn(t, []string{
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=" + way, "OTEL_BSP_SCHEDULE_DELAY=3600000",
				"OTEL_METRIC_EXPORT_INTERVAL=3600000", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test",
			}, "--database-url", url)
			if err := process(t.Context(), dial(t, p.addr, traced(parent)), "evt_1"); err != nil {
				t.Fatal(err)
			}
			if o := idemsvcRun(t, map[string]string{"IDEMSVC_ADDRESS": p.addr}, "event", "show", "evt_1"); strings.Count(o.stdout, "in trace "+parentTrace) != 2 {
				t.Errorf("the delivery and the attempt do not name their trace: %+v", o)
			}
			if n := len(sink.Spans()); n != 0 {
				t.Errorf("%d spans were sent before they should", n)
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := p.wait(); err != nil {
				t.Fatalf("%v\n%s", err, p.stderr)
			}
			byName := map[string]*otlptest.Span{}
			for _, s := range sink.Spans() {
				byName[s.GetName()] = s
			}
			call, batch := byName["idemsvc.v1.IdempotencyService/ClaimEvent"], byName["idemsvc.batch"]
			var trip *otlptest.Span // below the batch
			for _, s := range sink.Spans() {
				if batch != nil && s.GetName() == "BATCH" && s.Parent() == batch.ID() {
					trip = s
				}
			}
			if call == nil || batch == nil || trip == nil {
				t.Fatalf("%v", byName)
			}
			if call.Trace() != parentTrace || call.Attribute("idemsvc.event_ref") != "stripe/evt_1" || call.Attribute("idemsvc.outcome") != "CLAIMED" {
				t.Errorf("%v", call)
			}
			for key, want := range map[string]string{"service.name": "idemsvc", "service.version": version(), "deployment.environment.name": "test"} {
				if call.Resource[key] != want || sink.Resource()[key] != want {
					t.Errorf("%s is %q and %q", key, call.Resource[key], sink.Resource()[key])
				}
			}
			if call.Resource["service.instance.id"] == "" {
				t.Error("the instance has no name")
			}
			if batch.Parent() != "" || batch.Trace() == parentTrace || len(batch.GetLinks()) != 1 || trip.Trace() != batch.Trace() {
				t.Errorf("the batch %v and its trip %v", batch, trip)
			}
			for _, name := range []string{"idemsvc.claims", "rpc.server.call.duration", "idemsvc.batch.size", "db.client.connection.max"} {
				if sink.Metric(name) == nil {
					t.Errorf("%s was not sent", name)
				}
			}
		})
	}
}

// A call that nobody samples leaves no span, unless something is wrong with it.
func TestAnomaliesAreKeptWhateverIsSampled(t *testing.T) {
	t.Parallel()
	sink := otlptest.New(t)
	p := startProgramIn(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + sink.HTTP, "OTEL_BSP_SCHEDULE_DELAY=20"}, "--ephemeral")
	c := dial(t, p.addr, traced(unsampled))
	for _, hash := range []string{"A", "B"} {
		if _, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1", PayloadHash: []byte(strings.Repeat(hash, 32))}); err != nil {
			t.Fatal(err)
		}
	}
	spans := sink.Await(t, "anomaly", func(s []*otlptest.Span) bool { return len(s) > 0 })
	if len(spans) != 1 || spans[0].GetName() != "anomaly payload_mismatch" || spans[0].Attribute("idemsvc.anomaly") != "payload_mismatch" ||
		spans[0].Attribute("idemsvc.event_ref") != "stripe/evt_1" || spans[0].Trace() != unsampled[3:35] {
		t.Errorf("%v", spans)
	}
}

// What cannot be understood is refused before anything starts.
func TestTelemetryVariablesAreChecked(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "jaeger", "OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon", "OTEL_TRACES_SAMPLER": "some", "OTEL_METRICS_EXPORTER": "console",
	} {
		o := idemsvcRun(t, map[string]string{name: value}, "serve", "--ephemeral", "--listen", "127.0.0.1:0")
		if o.code != exitUsage || !strings.Contains(o.stderr, name) || !strings.Contains(o.stderr, value) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// The page of metrics needs the token where there is one, and shows what the table of
// metrics says and nothing else of ours.
func TestThePageOfMetrics(t *testing.T) {
	t.Parallel()
	p := startProgramIn(t, []string{"IDEMSVC_METRICS_TOKEN=wp-42"}, "--database-url", migrated(t), "--metrics-listen", "127.0.0.1:0")
	c := dial(t, p.addr)
	exercise(t, c)
	var text string
	const unfinished = `idemsvc_events_unfinished{consumer="billing",namespace="dev",state="FAILED_RETRYABLE"} 1`
	for end := time.Now().Add(time.Minute); !strings.Contains(text, unfinished) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		text = scrape(t, p.metrics, "wp-42", http.StatusOK)
	}
	scrape(t, p.metrics, "", http.StatusUnauthorized)
	scrape(t, p.metrics, "wp-4", http.StatusUnauthorized)
	for _, want := range []string{
		`idemsvc_deliveries_total{disposition="IGNORED_DUPLICATE",kind="UNSPECIFIED",namespace="dev",source="stripe"} 2`,
		`idemsvc_claims_total{consumer="billing",namespace="dev",outcome="CLAIMED"} 3`,
		`idemsvc_event_processing_duration_seconds_count{consumer="billing",namespace="dev"} 1`,
		unfinished,
		`idemsvc_ready 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	rare := []*telemetry.Metric{telemetry.StorageFailures, telemetry.AnomalySpansDropped} // nothing is wrong here
	for _, m := range telemetry.All() {
		if !slices.Contains(rare, m) && !strings.Contains(text, "\n# TYPE "+m.PrometheusName()+" ") {
			t.Errorf("%s is not on the page", m.PrometheusName())
		}
	}
	known := map[string]*telemetry.Metric{}
	for _, m := range telemetry.All() {
		known[m.PrometheusName()] = m
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ((?:idemsvc|rpc|db)_\S+)`).FindAllStringSubmatch(text, -1) {
		if known[m[1]] == nil {
			t.Errorf("%s is in no table", m[1])
		}
	}
}

// exercise makes one event that is processed and claimed again, one that fails, and of
// everything else a little.
func exercise(t *testing.T, c *idemsvc.Client) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := process(t.Context(), c, "evt_1")
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	wantDuplicate(t, c, "evt_1")
	a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_2"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim.RecordEffect(t.Context(), pb.EffectScope_EFFECT_SCOPE_EVENT, "mail", []byte("sent"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim.CheckVersion(t.Context(), &pb.Resource{Type: "order", Id: "7"}, idemsvc.LatestWins(idemsvc.Sequence(3))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Idempotency().CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: []byte("x")}); err == nil {
		t.Fatal("a token was made up")
	}
	for _, hash := range []string{"A", "B"} {
		if _, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_3", PayloadHash: []byte(strings.Repeat(hash, 32))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Claim.Fail(t.Context(), idemsvc.RetryAfter(time.Hour, errors.New("not yet"))); err != nil {
		t.Fatal(err)
	}
}

func scrape(t *testing.T, url, token string, want int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%v %s\n%s", err, resp.Status, text)
	}
	return string(text)
}

// migrated is the URL of a database with the schema.
func migrated(t *testing.T) string {
	t.Helper()
	return pgtest.Database(t, "telemetry", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
		return err
	})
}

func TestThePageOfMetricsIsNotForEverybody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--metrics-listen 0.0.0.0:0", "--metrics-token"},
		{"--metrics-listen nonsense", "--metrics-listen"},
		{"--metrics-token x", "--metrics-listen"},
	} {
		o := idemsvcRun(t, nil, append([]string{"serve", "--ephemeral", "--listen", "127.0.0.1:0"}, strings.Fields(c.args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
}

// The table of metrics in the documentation is the one that instruments are made from.
func TestThePageAboutMetricsIsUpToDate(t *testing.T) {
	t.Parallel()
	golden(t, "../../docs/metrics.md", generatedMetrics+telemetry.Page())
}

const generatedMetrics = "<!-- Made by «go test ./cmd/idemsvc -run TestThePageAboutMetrics -update»: change the program instead. -->\n\n" + `# Metrics

What the server counts. The same instruments are read by Prometheus at ` + "`--metrics-listen`" + ` and sent over OTLP;
[telemetry.md](telemetry.md) says how to switch them on. Labels have a bounded number of values and never name an event.

`
