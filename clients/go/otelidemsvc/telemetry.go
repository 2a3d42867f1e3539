package otelidemsvc

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// scopeName names the instrumentation.
const scopeName = "github.com/idemsvc/idemsvc/clients/go/otelidemsvc"

// Option changes what [Telemetry] does.
type Option func(*telemetry)

type telemetry struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	tracer  trace.Tracer
}

// WithTracerProvider makes the spans. Default: OpenTelemetry's global one.
func WithTracerProvider(p trace.TracerProvider) Option { return func(t *telemetry) { t.tracers = p } }

// WithMeterProvider makes the metrics of calls. Default: OpenTelemetry's global one.
func WithMeterProvider(p metric.MeterProvider) Option { return func(t *telemetry) { t.meters = p } }

// w3c is the form in which the service reads trace context and baggage, whatever the
// program's own propagator is.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// Telemetry traces and measures calls, and traces handlers. Its handler middleware goes
// where the option stands among others of [idemsvc.WithMiddleware]: give it first.
func Telemetry(opts ...Option) idemsvc.Option {
	t := &telemetry{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, o := range opts {
		o(t)
	}
	t.tracer = t.tracers.Tracer(scopeName)
	calls := otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(t.tracers), otelgrpc.WithMeterProvider(t.meters), otelgrpc.WithPropagators(w3c))
	return idemsvc.Options(idemsvc.WithDialOptions(grpc.WithStatsHandler(calls)), idemsvc.WithTraceContext(traceparent), idemsvc.WithMiddleware(t.handler))
}

// traceparent is the context's trace context in the W3C's form.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
