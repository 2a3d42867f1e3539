package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

func getter(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestWhatTheEnvironmentAsksFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vars map[string]string
		want environment
	}{
		{nil, environment{signal{false, true}, signal{false, true}}},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, environment{signal{true, true}, signal{true, true}}},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, environment{signal{true, false}, signal{false, false}}},
		{map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, environment{signal{false, true}, signal{true, false}}},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, environment{signal{false, true}, signal{true, true}}},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, environment{}},
	} {
		if got, err := environmentOf(getter(c.vars)); err != nil || got != c.want {
			t.Errorf("%v: %+v, %v", c.vars, got, err)
		}
	}
	off, err := New(t.Context(), Options{Getenv: getter(nil)})
	if err != nil || off.Tracer != nil || off.Meter != nil || off.Page != nil {
		t.Errorf("%+v %v", off, err)
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	never, err := samplerOf(getter(map[string]string{"OTEL_TRACES_SAMPLER": "always_off"}))
	if err != nil {
		t.Fatal(err)
	}
	link := func(flags trace.TraceFlags) []trace.Link {
		return []trace.Link{{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags})}}
	}
	for _, c := range []struct {
		what string
		p    sdktrace.SamplingParameters
		want sdktrace.SamplingDecision
	}{
		{"a call", sdktrace.SamplingParameters{}, sdktrace.Drop},
		{"an anomaly", sdktrace.SamplingParameters{Attributes: []attribute.KeyValue{AttrAnomaly.String("claim_lost")}}, sdktrace.RecordAndSample},
		{"a batch of a sampled call", sdktrace.SamplingParameters{Attributes: []attribute.KeyValue{AttrBatch.Int(3)}, Links: link(trace.FlagsSampled)}, sdktrace.RecordAndSample},
		{"a batch of others", sdktrace.SamplingParameters{Attributes: []attribute.KeyValue{AttrBatch.Int(3)}, Links: link(0)}, sdktrace.Drop},
	} {
		c.p.ParentContext = t.Context()
		if got := never.ShouldSample(c.p).Decision; got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	for _, vars := range []map[string]string{
		{"OTEL_TRACES_SAMPLER": "jaeger_remote"}, {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1.5"},
		{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "x"},
	} {
		if _, err := samplerOf(getter(vars)); err == nil {
			t.Errorf("%v", vars)
		}
	}
	if s, err := samplerOf(getter(map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"})); err != nil || !strings.Contains(s.Description(), "0.01") {
		t.Errorf("%v %v", s, err)
	}
}

// Of calls that nobody would record no span is made; those that are made are as many as the
// sampler would keep, and it keeps them.
func TestChosenSpans(t *testing.T) {
	t.Parallel()
	under := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags}))
	}
	const n = 4000
	for _, c := range []struct {
		name, ratio string
		ctx         context.Context
		chosen      float64 // the share
		recorded    float64 // of those
	}{
		{"parentbased_traceidratio", "0.25", t.Context(), 0.25, 1},
		{"parentbased_traceidratio", "0.25", under(trace.FlagsSampled), 1, 1},
		{"parentbased_traceidratio", "0.25", under(0), 0, 0},
		{"parentbased_always_on", "", t.Context(), 1, 1},
		{"parentbased_always_off", "", t.Context(), 0, 0},
		{"parentbased_always_off", "", under(trace.FlagsSampled), 1, 1},
		{"traceidratio", "0.25", t.Context(), 1, 0.25}, // whatever the parent says: its ID decides
		{"always_on", "", under(0), 1, 1},
	} {
		s, err := samplerOf(getter(map[string]string{"OTEL_TRACES_SAMPLER": c.name, "OTEL_TRACES_SAMPLER_ARG": c.ratio}))
		if err != nil {
			t.Fatal(err)
		}
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("test")
		chosen, recorded := 0.0, 0.0
		for range n {
			ctx, may := s.choose(c.ctx)
			if !may {
				continue
			}
			chosen++
			ctx, span := tracer.Start(ctx, "call")
			_, below := tracer.Start(ctx, "below")
			if span.IsRecording() != below.IsRecording() && c.name != "traceidratio" {
				t.Errorf("%s: a span and the one below it: recorded %v and %v", c.name, span.IsRecording(), below.IsRecording())
			}
			if span.IsRecording() {
				recorded++
			}
		}
		if math.Abs(chosen/n-c.chosen) > 0.05 || chosen > 0 && math.Abs(recorded/chosen-c.recorded) > 0.05 {
			t.Errorf("%s %s: of %d calls %v were chosen, and of those %v recorded", c.name, c.ratio, n, chosen, recorded)
		}
	}
}

// Whatever names callers choose, a metric has a bounded number of series.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	e, err := NewEvents(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxNames {
		name := fmt.Sprint("c", i)
		c := &idem.Claim{Key: idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: name, EventID: "e"}, Consumer: name}}
		e.Answered(t.Context(), "ns", name, c, &idem.ClaimAnswer{Outcome: idem.OutcomeClaimed, Fresh: true, Granted: true})
	}
	e.Answered(t.Context(), "ns", "c0", &idem.Claim{}, &idem.ClaimAnswer{Outcome: idem.OutcomeClaimed})
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	for _, m := range got.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if !ok {
			continue
		}
		if n := len(sum.DataPoints); n > maxNames+2 {
			t.Errorf("%s has %d series", m.Name, n)
		}
		others := int64(0)
		for _, p := range sum.DataPoints {
			for _, key := range []attribute.Key{"consumer", "source"} {
				if v, ok := p.Attributes.Value(key); ok && v.AsString() == Other {
					others += p.Value
				}
			}
		}
		if others < 2*maxNames {
			t.Errorf("%s counts %d of the others", m.Name, others)
		}
	}
}

// Whatever the values of the labels, each combination is counted by itself, the known ones
// like those that a newer contract may add.
func TestEachCombinationIsCountedByItself(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	e, err := NewEvents(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	count := func(n int64, metric *Metric, values ...string) {
		want[fmt.Sprint(metric.Name, append([]string{"ns"}, values...))] += n
	}
	end := &idem.Event{CreatedAt: 1}
	for range 3 {
		for who := range 3 {
			name := fmt.Sprint("c", who)
			key := idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: name, EventID: "e"}, Consumer: name}
			for o := range idem.Outcome(20) {
				a := &idem.ClaimAnswer{Outcome: o, Reentered: true}
				e.Answered(t.Context(), "ns", name, &idem.Claim{Key: key}, a)
				count(1, Claims, name, o.String())
			}
			for k := range idem.DeliveryKind(18) {
				c := &idem.Claim{Key: key, Facts: idem.Facts{Kind: k}}
				for _, o := range []idem.Outcome{idem.OutcomeRejected, idem.OutcomeLoopBlocked, idem.OutcomeStale, idem.OutcomeSelfOriginated} {
					a := &idem.ClaimAnswer{Outcome: o}
					e.Answered(t.Context(), "ns", name, c, a)
					count(1, Claims, name, o.String())
					count(1, Deliveries, name, k.String(), a.Disposition().String())
				}
			}
			for s := range idem.State(20) {
				for _, late := range []bool{false, true} {
					e.Answered(t.Context(), "ns", name, &idem.Complete{}, &idem.EndAnswer{State: s, Late: late, Event: end})
					count(1, Ended, name, s.String(), fmt.Sprint(late))
				}
			}
			count(2, Processing, name)
			for v := range idem.Verdict(20) {
				e.Answered(t.Context(), "ns", name, &idem.Check{}, &idem.CheckAnswer{Verdict: v})
				count(1, Checks, name, v.String())
			}
			for v := range idem.EffectVerdict(20) {
				e.Answered(t.Context(), "ns", name, &idem.BeginEffect{}, &idem.EffectAnswer{Verdict: v})
				count(1, Effects, name, v.String())
			}
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	byName := map[string]*Metric{}
	for _, m := range All() {
		byName[m.Name] = m
	}
	add := func(name string, attrs attribute.Set, n int64) {
		var values []string
		for _, l := range byName[name].Labels {
			v, _ := attrs.Value(attribute.Key(l.Key))
			values = append(values, v.AsString())
		}
		got[fmt.Sprint(name, values)] += n
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(m.Name, p.Attributes, int64(p.Count)) //nolint:gosec // small
			}
		}
	}
	if !maps.Equal(got, want) {
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%s is %d, want %d", k, got[k], n)
			}
		}
		t.Errorf("%d series, want %d", len(got), len(want))
	}
}

// The table is sound: names, units and labels by convention, each once.
func TestTheTableOfMetrics(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range slices.Concat(All(), OfIngress()) {
		if seen[m.Name] || !regexp.MustCompile(`^[a-z]+(\.[a-z]+)+$`).MatchString(m.Name) || m.Unit == "" || !strings.HasSuffix(m.Text, ".") {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if (m.Kind == KindHistogram) != (len(m.Buckets) > 0) || len(m.Labels) > maxLabels {
			t.Errorf("%s: %v %v", m.Name, m.Buckets, m.Labels)
		}
		for _, l := range m.Labels {
			if l.Key == "" || l.Text == "" || strings.Contains(l.Key, "event_id") {
				t.Errorf("%s: %+v", m.Name, l)
			}
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	b, now := NewBudget(2), time.Unix(1000, 0)
	for i, want := range []bool{true, true, false} {
		if b.Allow(now) != want {
			t.Errorf("%d", i)
		}
	}
	if !b.Allow(now.Add(time.Second)) {
		t.Error("a new second has no budget")
	}
}

func TestClassesOfFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""}, {&idem.Error{Code: idem.CodeClaimLost}, ""}, {fmt.Errorf("x: %w", storage.ErrFull), "full"},
		{fmt.Errorf("%w: %w", storage.ErrUnavailable, context.Canceled), "canceled"}, {storage.ErrUnavailable, "unavailable"}, {errors.New("x"), "other"},
	} {
		if got := Class(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// Each attempt is counted by what brought it about.
func TestCauses(t *testing.T) {
	t.Parallel()
	later := &idem.Event{Total: 2}
	for want, x := range map[string]struct {
		kind idem.DeliveryKind
		a    idem.ClaimAnswer
	}{
		"first":      {idem.ProviderFirst, idem.ClaimAnswer{Fresh: true, Event: &idem.Event{Total: 1}}},
		"redelivery": {idem.ProviderRetry, idem.ClaimAnswer{Event: later, PreviousEnd: idem.EndFailed}},
		"retry":      {idem.ConsumerRequeue, idem.ClaimAnswer{Event: later, PreviousEnd: idem.EndFailed}},
		"reclaim":    {idem.ProviderRetry, idem.ClaimAnswer{Event: later, PreviousEnd: idem.EndExpired}},
		"replay":     {idem.ProviderRetry, idem.ClaimAnswer{Event: &idem.Event{Total: 3, Replay: true}}},
	} {
		if got := causeNames[causeOf(&idem.Claim{Facts: idem.Facts{Kind: x.kind}}, &x.a)]; got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}
