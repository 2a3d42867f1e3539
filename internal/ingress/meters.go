package ingress

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/idemsvc/idemsvc/internal/telemetry"
)

// unknown is the source of requests for paths that no source has.
const unknown = "_unknown"

// meters count what is answered. A nil one counts nothing.
type meters struct {
	answers *telemetry.Counter
	time    *telemetry.Histogram
}

func (i *Ingress) newMeters(p metric.MeterProvider) (*meters, error) {
	if p == nil {
		return nil, nil
	}
	in := &telemetry.Instruments{Meter: p.Meter(telemetry.Scope)}
	m := &meters{answers: in.Counter(telemetry.IngressAnswers), time: in.Histogram(telemetry.IngressTime)}
	in.Observe(telemetry.IngressSpooled, func(o telemetry.Observe) {
		spooled := map[string]int{} // two paths may have one source
		for _, s := range i.sources {
			spooled[s.name] += s.handler.Spooled()
		}
		for name, n := range spooled {
			o(float64(n), name)
		}
	})
	return m, in.Err
}

func (m *meters) answered(ctx context.Context, source string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.answers.Add(1, source, strconv.Itoa(status))
	if source != unknown {
		m.time.Record(ctx, took.Seconds(), source)
	}
}
