package telemetry

import (
	"strconv"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// However many combinations of labels come, at once, each count is told once: under its
// labels, or under those of the overflow.
func TestCountersAreBounded(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	i := &Instruments{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(MaxSeries)).Meter(Scope)}
	m := &Metric{Name: "many", Kind: KindCounter, Unit: "1", Labels: []Label{{Key: "n"}}}
	c, other := i.Counter(m), i.Counter(m)
	if i.Err != nil {
		t.Fatal(i.Err)
	}
	const callers, more = 4, 100
	var counting sync.WaitGroup
	for range callers {
		counting.Go(func() {
			for n := range MaxSeries + more {
				c.Add(1, strconv.Itoa(n))
			}
		})
	}
	counting.Wait()
	other.Add(callers, "0") // another part of the program counts for the same metric
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	sum, ok := got.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64])
	if !ok || !sum.IsMonotonic || sum.Temporality != metricdata.CumulativeTemporality {
		t.Fatalf("it is no counter: %+v", got.ScopeMetrics[0].Metrics[0])
	}
	total, overflow := int64(0), int64(0)
	for _, p := range sum.DataPoints {
		total += p.Value
		if p.Attributes.HasValue(attribute.Key("otel.metric.overflow")) {
			overflow += p.Value
		} else if n, _ := p.Attributes.Value("n"); p.Value != callers && (n.AsString() != "0" || p.Value != 2*callers) {
			t.Errorf("%v was counted %d times", p.Attributes, p.Value)
		}
	}
	if len(sum.DataPoints) != MaxSeries || total != callers*(MaxSeries+more+1) || overflow != callers*(more+1) {
		t.Errorf("%d series of %d in all, %d of them in the overflow", len(sum.DataPoints), total, overflow)
	}
}
