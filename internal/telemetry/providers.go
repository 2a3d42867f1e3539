package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// ServiceName is the service.name of the resource, unless OTEL_SERVICE_NAME or
// OTEL_RESOURCE_ATTRIBUTES says otherwise.
const ServiceName = "idemsvc"

// translation makes Prometheus' names of ours.
var translation = otlptranslator.UnderscoreEscapingWithSuffixes

// Options say what is wanted beside what the environment asks for.
type Options struct {
	Getenv     func(string) string
	Version    string // service.version
	Instance   string // service.instance.id: different for each process
	Prometheus bool   // serve metrics to be read
}

// Providers make traces and metrics. A nil provider is off.
type Providers struct {
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
	// Choose reports whether the span of a call under a context may be recorded, and under which
	// context it is to be started then. Other spans are started whatever it says.
	Choose func(context.Context) (context.Context, bool)
	// Page serves the metrics in the formats of Prometheus and OpenMetrics; nil where that
	// is not wanted.
	Page http.Handler

	closers []func(context.Context) error
}

// New makes the providers. Nothing is connected to yet, and an endpoint that cannot be
// reached later stops nobody.
func New(ctx context.Context, o Options) (*Providers, error) {
	env, err := environmentOf(o.Getenv)
	s, serr := samplerOf(o.Getenv)
	if err := errors.Join(err, serr); err != nil {
		return nil, err
	}
	p := &Providers{}
	if !env.traces.on && !env.metrics.on && !o.Prometheus {
		return p, nil
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", ServiceName), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if env.traces.on {
		err = p.traces(ctx, env.traces, s, about)
	}
	if err == nil && (env.metrics.on || o.Prometheus) {
		err = p.metrics(ctx, env.metrics, o.Prometheus, about)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: %w", err), p.Close(ctx))
	}
	return p, nil
}

func (p *Providers) traces(ctx context.Context, s signal, keep sampler, about *resource.Resource) error {
	var e *otlptrace.Exporter
	var err error
	if s.web {
		e, err = otlptracehttp.New(ctx)
	} else {
		e, err = otlptracegrpc.New(ctx)
	}
	if err != nil {
		return err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithSampler(keep), sdktrace.WithResource(about))
	p.Tracer, p.Choose = tp, keep.choose
	p.closers = append(p.closers, tp.Shutdown)
	return nil
}

func (p *Providers) metrics(ctx context.Context, s signal, page bool, about *resource.Resource) error {
	opts := []sdkmetric.Option{sdkmetric.WithResource(about), sdkmetric.WithCardinalityLimit(MaxSeries)}
	if s.on {
		var e sdkmetric.Exporter
		var err error
		if s.web {
			e, err = otlpmetrichttp.New(ctx)
		} else {
			e, err = otlpmetricgrpc.New(ctx)
		}
		if err != nil {
			return err
		}
		opts = append(opts, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e)))
	}
	if page {
		registry := prometheus.NewRegistry()
		e, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithTranslationStrategy(translation), otelprom.WithoutScopeInfo())
		if err != nil {
			return err
		}
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		p.Page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4})
		opts = append(opts, sdkmetric.WithReader(e))
	}
	mp := sdkmetric.NewMeterProvider(opts...)
	p.Meter = mp
	p.closers = append(p.closers, mp.Shutdown)
	return nil
}

// Close sends what has gathered and ends the providers. It returns when that is done, or
// with the context.
func (p *Providers) Close(ctx context.Context) error {
	var faults []error
	for _, f := range p.closers {
		faults = append(faults, f(ctx))
	}
	p.closers = nil
	return errors.Join(faults...)
}
