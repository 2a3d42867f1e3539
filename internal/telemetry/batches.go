package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Scope names the service's instrumentation.
const Scope = "github.com/idemsvc/idemsvc"

// maxBatchLinks bounds the links of a batch's span, as OpenTelemetry's default limit does.
const maxBatchLinks = 128

// Batches observes the storage's batches. It implements [storage.Observer].
type Batches struct {
	tracer           trace.Tracer
	size, took, wait *Histogram
	failures         *Counter
}

// NewBatches is an observer for what is switched on; nil for nothing.
func NewBatches(p *Providers) (storage.Observer, error) {
	if p.Tracer == nil && p.Meter == nil {
		return nil, nil
	}
	b := &Batches{}
	if p.Tracer != nil {
		b.tracer = p.Tracer.Tracer(Scope)
	}
	if p.Meter == nil {
		return b, nil
	}
	i := &Instruments{Meter: p.Meter.Meter(Scope)}
	b.size, b.took, b.wait, b.failures = i.Histogram(BatchSize), i.Histogram(BatchTime), i.Histogram(QueueWait), i.Counter(StorageFailures)
	return b, i.Err
}

// Begin implements [storage.Observer].
func (b *Batches) Begin(calls []context.Context, waited time.Duration) (context.Context, func([]storage.Result)) {
	started := time.Now()
	ctx := context.Background()
	b.size.Record(ctx, float64(len(calls)))
	b.wait.Record(ctx, waited.Seconds())
	ctx, span := b.span(ctx, calls)
	return ctx, func(results []storage.Result) {
		b.took.Record(ctx, time.Since(started).Seconds())
		failed := ""
		for i := range results {
			if class := Class(results[i].Err); class != "" {
				b.failures.Add(1, class)
				failed = class
			}
		}
		if span == nil {
			return
		}
		if failed != "" {
			span.SetStatus(codes.Error, failed)
		}
		span.End()
	}
}

// span is the span of a batch in which recorded calls ride, nil for no such. It belongs to
// none of them more than to the others: so it is the root of a trace of its own, and calls
// and batch are linked to each other.
func (b *Batches) span(ctx context.Context, calls []context.Context) (context.Context, trace.Span) {
	if b.tracer == nil {
		return ctx, nil
	}
	var links []trace.Link
	var riders []trace.Span
	for _, call := range calls {
		s := trace.SpanFromContext(call)
		if s.IsRecording() && s.SpanContext().IsSampled() && len(links) < maxBatchLinks {
			links = append(links, trace.Link{SpanContext: s.SpanContext()})
			riders = append(riders, s)
		}
	}
	if len(links) == 0 {
		return ctx, nil
	}
	ctx, span := b.tracer.Start(ctx, "idemsvc.batch", trace.WithLinks(links...), trace.WithAttributes(AttrBatch.Int(len(calls))))
	for _, r := range riders {
		r.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, span
}

// Class is the class of a failure of the storage; empty for none and for a refusal by the
// rules.
func Class(err error) string {
	if err == nil {
		return ""
	}
	if _, refused := errors.AsType[*idem.Error](err); refused {
		return ""
	}
	for _, c := range []struct {
		err  error
		name string
	}{
		{storage.ErrFull, "full"}, {storage.ErrContended, "contended"}, {storage.ErrRestored, "restored"}, {storage.ErrSchema, "schema"},
		{context.Canceled, "canceled"}, {storage.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return "other"
}
