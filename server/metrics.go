package server

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/idemsvc/idemsvc/storage"
)

// meters count what the server decides and refuses, by kind: never by namespace, event
// or caller. A nil one counts nothing.
type meters struct {
	decisions metric.Int64Counter
	refusals  metric.Int64Counter
}

// newMeters makes the instruments, and those that show the storage's work.
func newMeters(p metric.MeterProvider, store *storage.Service) (*meters, error) {
	if p == nil {
		return nil, nil
	}
	m := p.Meter(scopeName)
	decisions, err := m.Int64Counter(metricDecisions, metric.WithDescription("answered commands, by call and outcome"))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	refusals, err := m.Int64Counter(metricRefusals, metric.WithDescription("refused calls and items, by call and reason"))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	return &meters{decisions: decisions, refusals: refusals}, observeStorage(m, store)
}

func observeStorage(m metric.Meter, store *storage.Service) error {
	for _, g := range []struct {
		name, text string
		value      func(storage.Stats) int64
	}{
		{metricQueued, "commands that wait for a batch", func(s storage.Stats) int64 { return int64(s.Queued) }},
		{metricAcquiring, "calls that wait for events that are due", func(s storage.Stats) int64 { return int64(s.Acquiring) }},
		{metricWaiting, "claims that wait for another claim to end", func(s storage.Stats) int64 { return int64(s.Waiting) }},
	} {
		_, err := m.Int64ObservableGauge(g.name, metric.WithDescription(g.text),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(g.value(store.Stats()))
				return nil
			}))
		if err != nil {
			return fmt.Errorf("make metrics: %w", err)
		}
	}
	return nil
}

func (m *meters) decided(ctx context.Context, d *decision) {
	if m != nil {
		m.decisions.Add(ctx, 1, metric.WithAttributes(labelCall.String(d.call), labelOutcome.String(d.outcome)))
	}
}

func (m *meters) refused(ctx context.Context, call string, r *refusal) {
	if m != nil {
		m.refusals.Add(ctx, 1, metric.WithAttributes(labelCall.String(call), labelReason.String(reasonName(r.reason))))
	}
}
