package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/otlptranslator"
)

// PrometheusName is the name under which Prometheus knows a metric. A histogram's series
// have _bucket, _count and _sum after it.
func (m *Metric) PrometheusName() string {
	var kind otlptranslator.MetricType = otlptranslator.MetricTypeGauge
	switch m.Kind {
	case KindCounter:
		kind = otlptranslator.MetricTypeMonotonicCounter
	case KindHistogram:
		kind = otlptranslator.MetricTypeHistogram
	case KindGauge:
	}
	namer := otlptranslator.NewMetricNamer("", translation)
	name, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
	if err != nil {
		panic(err) // the table is wrong, and its test says so
	}
	return name
}

// PrometheusLabel is the name under which Prometheus knows a label.
func PrometheusLabel(key string) string { return strings.ReplaceAll(key, ".", "_") }

// Page is the table of metrics in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString("| metric | in Prometheus | kind, unit | what it tells | labels |\n| --- | --- | --- | --- | --- |\n")
	for _, m := range slices.Concat(All(), OfIngress()) {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, "`"+PrometheusLabel(l.Key)+"`: "+l.Text)
		}
		kind := string(m.Kind) + ", " + m.Unit
		if len(m.Buckets) > 0 {
			kind += fmt.Sprintf(", buckets %v", m.Buckets)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", m.Name, m.PrometheusName(), kind, m.Text, strings.Join(labels, "; "))
	}
	return b.String()
}
