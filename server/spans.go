package server

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/telemetry"
)

// anomalySpans is how many spans of anomalies are made in a second: whoever forges
// deliveries by the thousand must not fill the place where traces are kept.
const anomalySpans = 20

// calls makes the span of each call of the contract, under the trace context that came with
// it. A session has none: it may live for days, and its commands have spans of their own.
// What a call took is measured with the sessions' commands, by [meters.called].
func calls(tracers trace.TracerProvider) stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(tracers), otelgrpc.WithMeterProvider(noop.NewMeterProvider()), otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool {
			return !foreign(i.FullMethodName) && i.FullMethodName != pb.IdempotencyService_Session_FullMethodName
		}),
	)
}

// observeUnary measures a call. A caller's trace context is kept even where nothing is
// traced here: the log names it.
func (c *core) observeUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if foreign(info.FullMethod) {
		return next(ctx, req)
	}
	started := time.Now()
	if c.tracer == nil {
		ctx = withRemote(ctx, "")
	}
	resp, err := next(ctx, req)
	c.meters.called(ctx, strings.TrimPrefix(info.FullMethod, "/"), roadUnary, err, time.Since(started))
	return resp, err
}

// startCommand starts the span of a session's command, as that of the unary method that it
// stands for.
func (c *core) startCommand(ctx context.Context, method string, more ...trace.SpanStartOption) (context.Context, trace.Span) {
	if c.tracer == nil {
		return ctx, nil
	}
	return c.tracer.Start(ctx, method, slices.Concat(commandOptions()[method], more)...)
}

// commandOptions are what the spans of commands begin with. Most of these spans are not
// recorded, and making it anew for each would cost more than all the rest.
var commandOptions = sync.OnceValue(func() map[string][]trace.SpanStartOption {
	m := map[string][]trace.SpanStartOption{noCommand: spanOptions(noCommand)}
	for _, method := range commandMethods() {
		m[method] = spanOptions(method)
	}
	return m
})

func spanOptions(method string) []trace.SpanStartOption {
	return []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", method)),
	}
}

// endCommand ends the span of a command, if it has one.
func endCommand(span trace.Span, err error) {
	if span == nil {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String("rpc.response.status_code", codeName(err)))
		switch codeOf(err) {
		case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
			span.SetStatus(otelcodes.Error, codeName(err))
		default:
		}
	}
	span.End()
}

// withRemote puts the caller's trace context into the context: the one given, else that of
// the metadata.
func withRemote(ctx context.Context, traceparent string) context.Context {
	carrier := propagation.MapCarrier{}
	if traceparent != "" {
		carrier["traceparent"] = traceparent
	} else {
		v := metadata.ValueFromIncomingContext(ctx, "traceparent")
		if len(v) == 0 {
			return ctx
		}
		carrier["traceparent"] = v[0]
		if s := metadata.ValueFromIncomingContext(ctx, "tracestate"); len(s) > 0 {
			carrier["tracestate"] = strings.Join(s, ",")
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

// commandParent is the context of a session's command: its span belongs to the trace of
// whoever asks for it. The stream's own trace is no parent, since all commands of a long
// life would be in that one; a command without a trace begins its own, linked to it.
func commandParent(ctx context.Context, traceparent string) (context.Context, []trace.SpanStartOption) {
	if traceparent != "" {
		if with := withRemote(ctx, traceparent); trace.SpanContextFromContext(with).IsValid() {
			return context.WithValue(with, traceParentKey{}, traceparent), nil
		}
	}
	stream := trace.SpanContextFromContext(withRemote(ctx, ""))
	if !stream.IsValid() {
		return ctx, nil
	}
	return ctx, []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: stream})}
}

// traceParentKey holds the trace context of a session's command.
type traceParentKey struct{}

// itemKey marks the context of a call whose items each have a span of their own.
type itemKey struct{}

// inItems says that what is decided under the context is an item of the call.
func inItems(ctx context.Context) context.Context { return context.WithValue(ctx, itemKey{}, true) }

// told puts a decision on the call's span, or on one of its own below it for an item. What
// must not be missed gets a span even where the call is not recorded: the sampler keeps it.
func (c *core) told(ctx context.Context, d *decision, started time.Time) {
	span := trace.SpanFromContext(ctx)
	switch {
	case !span.IsRecording():
		if len(d.anomalies) > 0 {
			c.anomalySpan(ctx, d, started)
		}
	case ctx.Value(itemKey{}) != nil:
		_, item := c.tracer.Start(ctx, d.call+" item", trace.WithTimestamp(started), trace.WithAttributes(d.attributes()...), trace.WithLinks(d.links...))
		item.End()
	default:
		span.SetAttributes(d.attributes()...)
		for _, l := range d.links {
			span.AddLink(l)
		}
	}
}

func (c *core) anomalySpan(ctx context.Context, d *decision, started time.Time) {
	if !c.anomalies.Allow(time.Now()) {
		c.meters.spanDropped(ctx)
		return
	}
	_, span := c.tracer.Start(ctx, "anomaly "+d.anomalies[0], trace.WithTimestamp(started), trace.WithAttributes(d.attributes()...), trace.WithLinks(d.links...))
	span.End()
}

// linksOf are the traces that a granted later attempt, or a caused event, goes on with: the
// first delivery's, the attempt's before, and the cause's.
func linksOf(ctx context.Context, a *idem.ClaimAnswer) []trace.Link {
	if !a.Granted || a.Event == nil {
		return nil
	}
	here := trace.SpanContextFromContext(ctx).TraceID()
	var links []trace.Link
	add := func(traceparent, what string) {
		sc := parseTrace(traceparent)
		if !sc.IsValid() || sc.TraceID() == here {
			return
		}
		for _, l := range links {
			if l.SpanContext.SpanID() == sc.SpanID() {
				return
			}
		}
		links = append(links, trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{attrLink.String(what)}})
	}
	add(a.Event.Facts.TraceParent, "first_delivery")
	add(a.PreviousTrace, "previous_attempt")
	add(a.Event.Facts.CauseTrace, "cause")
	return links
}

func parseTrace(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent}))
}

// anomaliesOfError are the findings in a refusal by the rules.
func anomaliesOfError(err *idem.Error) []string {
	switch err.Code {
	case idem.CodeClaimLost:
		return []string{telemetry.AnomalyClaimLost}
	case idem.CodeEffectLost:
		return []string{telemetry.AnomalyLateEffect}
	default:
		return nil
	}
}
