package telemetry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Kind is what an instrument does.
type Kind string

// The kinds of instruments.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// Metric defines one instrument. Instruments are made from it and the page of metrics is
// written from it, so that neither can differ from the other.
type Metric struct {
	Name    string
	Kind    Kind
	Unit    string // UCUM
	Text    string // one sentence for people
	Labels  []Label
	Buckets []float64 // upper bounds, for histograms
}

// Label is a dimension of a metric. No label has an unbounded number of values.
type Label struct {
	Key  string
	Text string // its values, or what bounds them
}

// MaxSeries bounds the combinations of labels of one instrument; what goes beyond is added
// up under otel.metric.overflow.
const MaxSeries = 4000

// maxLabels is how many labels a counter or a histogram may have.
const maxLabels = 4

// series remembers something for each combination of values.
type series[T any] struct {
	metric *Metric
	under  func(attribute.Set) T

	mu    sync.RWMutex
	known map[[maxLabels]string]T
	rest  T // of all that come when there are [MaxSeries]
}

func newSeries[T any](m *Metric, under func(attribute.Set) T) series[T] {
	return series[T]{metric: m, under: under, known: map[[maxLabels]string]T{}, rest: under(attribute.NewSet(attribute.Bool("otel.metric.overflow", true)))}
}

func (s *series[T]) of(values []string) T {
	var key [maxLabels]string
	copy(key[:], values)
	s.mu.RLock()
	x, ok := s.known[key]
	s.mu.RUnlock()
	if ok {
		return x
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.known[key]; ok {
		return x
	}
	if len(s.known) >= MaxSeries-1 {
		return s.rest
	}
	attrs := make([]attribute.KeyValue, len(s.metric.Labels))
	for i, l := range s.metric.Labels {
		attrs[i] = attribute.String(l.Key, key[i])
	}
	x = s.under(attribute.NewSet(attrs...))
	s.known[key] = x
	return x
}

// Counter counts by labels. A nil one counts nothing.
type Counter struct{ series[*sum] }

// sum is what a counter has come to under some labels. It is told when metrics are read:
// to tell OpenTelemetry each time costs several times as much, and there is no exemplar of
// a count.
type sum struct {
	n     atomic.Int64
	under []metric.ObserveOption
}

// Add counts n under the values of the labels, in the order of the definition.
func (c *Counter) Add(n int64, values ...string) {
	if c != nil {
		c.of(values).n.Add(n)
	}
}

// tell tells what has been counted.
func (c *Counter) tell(o metric.Observer, to metric.Int64Observable) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, x := range c.known {
		o.ObserveInt64(to, x.n.Load(), x.under...)
	}
	if n := c.rest.n.Load(); n > 0 {
		o.ObserveInt64(to, n, c.rest.under...)
	}
}

// Histogram records by labels. A nil one records nothing.
type Histogram struct {
	series[recordOptions]
	to metric.Float64Histogram
}

// recordOptions are some labels, as OpenTelemetry wants them.
type recordOptions []metric.RecordOption

// Record records one value under the values of the labels, in the order of the definition.
func (h *Histogram) Record(ctx context.Context, x float64, values ...string) {
	if h != nil {
		h.to.Record(ctx, x, h.of(values)...)
	}
}

// Instruments makes instruments from definitions, and gathers what went wrong.
type Instruments struct {
	Meter metric.Meter
	Err   error
}

// Counter makes a counter. Several may count for one metric.
func (i *Instruments) Counter(m *Metric) *Counter {
	c := &Counter{newSeries(m, func(s attribute.Set) *sum { return &sum{under: []metric.ObserveOption{metric.WithAttributeSet(s)}} })}
	to, err := i.Meter.Int64ObservableCounter(m.Name, metric.WithDescription(m.Text), metric.WithUnit(m.Unit))
	if err == nil { // a callback given with the instrument would be the first one's alone
		_, err = i.Meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			c.tell(o, to)
			return nil
		}, to)
	}
	i.failed(m, err)
	return c
}

// Histogram makes a histogram.
func (i *Instruments) Histogram(m *Metric) *Histogram {
	to, err := i.Meter.Float64Histogram(m.Name, metric.WithDescription(m.Text), metric.WithUnit(m.Unit), metric.WithExplicitBucketBoundaries(m.Buckets...))
	i.failed(m, err)
	return &Histogram{to: to, series: newSeries(m, func(s attribute.Set) recordOptions { return recordOptions{metric.WithAttributeSet(s)} })}
}

// Observe tells one value of a metric, under the values of its labels.
type Observe func(value float64, values ...string)

// Observe asks for a metric's values whenever metrics are read. It must not block.
func (i *Instruments) Observe(m *Metric, ask func(Observe)) {
	callback := func(_ context.Context, o metric.Float64Observer) error {
		ask(func(value float64, values ...string) {
			attrs := make([]attribute.KeyValue, len(m.Labels))
			for i, l := range m.Labels {
				attrs[i] = attribute.String(l.Key, values[i])
			}
			o.Observe(value, metric.WithAttributes(attrs...))
		})
		return nil
	}
	var err error
	if m.Kind == KindCounter {
		_, err = i.Meter.Float64ObservableCounter(m.Name, metric.WithDescription(m.Text), metric.WithUnit(m.Unit), metric.WithFloat64Callback(callback))
	} else {
		_, err = i.Meter.Float64ObservableGauge(m.Name, metric.WithDescription(m.Text), metric.WithUnit(m.Unit), metric.WithFloat64Callback(callback))
	}
	i.failed(m, err)
}

func (i *Instruments) failed(m *Metric, err error) {
	if err != nil && i.Err == nil {
		i.Err = fmt.Errorf("make metric %s: %w", m.Name, err)
	}
}
