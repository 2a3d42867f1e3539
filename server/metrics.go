package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/storage"
)

// meters count what the server decides and refuses. A nil one counts nothing.
type meters struct {
	events   *telemetry.Events
	calls    map[string]*telemetry.HistogramPart // by method
	refusals *telemetry.Counter
	dropped  *telemetry.Counter // spans of anomalies that were one too many
}

// newMeters makes the instruments, and those that show the storage's work.
func newMeters(cfg *Config) (*meters, error) {
	if cfg.MeterProvider == nil {
		return nil, nil
	}
	events, err := telemetry.NewEvents(cfg.MeterProvider)
	i := &telemetry.Instruments{Meter: cfg.MeterProvider.Meter(telemetry.Scope)}
	m := &meters{events: events, calls: map[string]*telemetry.HistogramPart{}, refusals: i.Counter(telemetry.Refusals), dropped: i.Counter(telemetry.AnomalySpansDropped)}
	calls := i.Histogram(telemetry.Calls)
	for method := range callOptions() {
		m.calls[method] = calls.Part("grpc", method, len(codeNames)*len(roadNames))
	}
	for _, x := range []struct {
		metric *telemetry.Metric
		value  func(storage.Stats) float64
	}{
		{telemetry.Queued, func(s storage.Stats) float64 { return float64(s.Queued) }},
		{telemetry.Waiting, func(s storage.Stats) float64 { return float64(s.Waiting) }},
		{telemetry.Acquiring, func(s storage.Stats) float64 { return float64(s.Acquiring) }},
		{telemetry.Overloads, func(s storage.Stats) float64 { return float64(s.Refused) }},
		{telemetry.Dropped, func(s storage.Stats) float64 { return float64(s.DeliveriesDropped) }},
	} {
		i.Observe(x.metric, func(tell telemetry.Observe) { tell(x.value(cfg.Store.Stats())) })
	}
	return m, errors.Join(err, i.Err)
}

// observeReadiness shows what the health checks say.
func (m *meters) observeReadiness(cfg *Config, w *watcher) error {
	if m == nil {
		return nil
	}
	i := &telemetry.Instruments{Meter: cfg.MeterProvider.Meter(telemetry.Scope)}
	i.Observe(telemetry.Ready, func(tell telemetry.Observe) {
		if w.ready() {
			tell(1)
		} else {
			tell(0)
		}
	})
	return i.Err
}

// road is a way on which commands come.
type road int

const (
	roadUnary road = iota
	roadSession
)

var roadNames = [...]string{"unary", "session"}

// called records how long a call took.
func (m *meters) called(ctx context.Context, method string, r road, err error, took time.Duration) {
	if m != nil {
		c := codeOf(err)
		m.calls[method].Record(ctx, took.Seconds(), int(c)*len(roadNames)+int(r), codeText(c), roadNames[r])
	}
}

// answered counts a decision and what is wrong with it.
func (m *meters) answered(ctx context.Context, d *decision, cmd idem.Command, a idem.Answer) {
	if m != nil {
		m.events.Answered(ctx, d.key.Namespace, d.key.Consumer, cmd, a)
		m.found(d)
	}
}

// spanDropped counts a span of an anomaly that was not made.
func (m *meters) spanDropped() {
	if m != nil {
		m.dropped.Add(1)
	}
}

// found counts what is wrong with a decision.
func (m *meters) found(d *decision) {
	if m == nil {
		return
	}
	for _, kind := range d.anomalies {
		m.events.Anomaly(d.key.Namespace, d.key.Consumer, kind)
	}
}

func (m *meters) refused(call string, r *refusal) {
	if m != nil {
		m.refusals.Add(1, call, reasonName(r.reason))
	}
}

// codeNames are the codes as telemetry writes them.
var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
	"UNAUTHENTICATED",
}

func codeOf(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.code()
	}
	return status.Code(err)
}

func codeName(err error) string { return codeText(codeOf(err)) }

func codeText(c codes.Code) string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return codeNames[codes.Unknown]
}
