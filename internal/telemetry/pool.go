package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/metric"
)

// PoolStats is what a pool of connections to the database says of itself.
type PoolStats struct {
	Idle, Used, Max int32
	Waits           int64
	WaitTime        time.Duration
}

// Pool tells a pool's numbers to whoever reads the metrics.
func Pool(p metric.MeterProvider, stats func() PoolStats) error {
	i := &Instruments{Meter: p.Meter(Scope)}
	i.Observe(PoolConnections, func(tell Observe) {
		s := stats()
		tell(float64(s.Idle), "idle")
		tell(float64(s.Used), "used")
	})
	i.Observe(PoolMax, func(tell Observe) { tell(float64(stats().Max)) })
	i.Observe(PoolWaits, func(tell Observe) { tell(float64(stats().Waits)) })
	i.Observe(PoolWaitTime, func(tell Observe) { tell(stats().WaitTime.Seconds()) })
	return i.Err
}
