package server

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/telemetry"
)

// anomalySpans is how many spans of anomalies are made in a second: whoever forges
// deliveries by the thousand must not fill the place where traces are kept.
const anomalySpans = 20

// observeUnary measures a call of the contract, and makes its span under the trace context
// that came with it. That context is kept even where nothing is traced here: the log names it.
//
// A stats handler could make the spans, too, but where most are not recorded it costs a tenth
// of the server's CPU: the transport tells it of each part of each call.
func (c *core) observeUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if foreign(info.FullMethod) {
		return next(ctx, req)
	}
	started := time.Now()
	method := strings.TrimPrefix(info.FullMethod, "/")
	ctx, span := c.startCall(withRemote(ctx, ""), method)
	resp, err := next(ctx, req)
	c.endCall(ctx, span, method, roadUnary, err, started)
	return resp, err
}

// startCall starts the span of a unary call, or of a session's command as that of the unary
// method that it stands for. A session has no span: it may live for days.
func (c *core) startCall(ctx context.Context, method string, more ...trace.SpanStartOption) (context.Context, trace.Span) {
	if c.tracer == nil {
		return ctx, nil
	}
	if c.choose != nil {
		var may bool
		if ctx, may = c.choose(ctx); !may {
			return ctx, nil
		}
	}
	opts := callOptions()[method]
	if len(more) > 0 {
		opts = slices.Concat(opts, more)
	}
	return c.tracer.Start(ctx, method, opts...)
}

// callOptions are what the spans of calls begin with. Most of these spans are not recorded,
// and making it anew for each would cost more than all the rest.
var callOptions = sync.OnceValue(func() map[string][]trace.SpanStartOption {
	m := map[string][]trace.SpanStartOption{noCommand: spanOptions(noCommand)}
	for method := range methodRoles() {
		method = strings.TrimPrefix(method, "/")
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

// endCall measures a call and ends its span, if it has one.
func (c *core) endCall(ctx context.Context, span trace.Span, method string, r road, err error, started time.Time) {
	took := time.Since(started)
	switch {
	case span != nil:
		if span.IsRecording() {
			span.SetAttributes(attribute.String("rpc.response.status_code", codeName(err)))
			switch codeOf(err) {
			case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
				span.SetStatus(otelcodes.Error, codeName(err))
			default:
			}
		}
		span.End()
	case c.tracer != nil: // it would have one if it were sampled
		ctx = context.Background()
	}
	c.meters.called(ctx, method, r, err, took)
}

// exemplarContext is the context to record a value under. To look for a sampled span in a
// call's own takes as long as all else, so where there is none it is not looked through.
func exemplarContext(ctx context.Context, span trace.Span) context.Context {
	if span.SpanContext().IsSampled() {
		return ctx
	}
	return context.Background()
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
// The answer is nil for a refusal.
func (c *core) told(ctx context.Context, span trace.Span, d *decision, a idem.Answer, started time.Time) {
	switch recorded := span.IsRecording(); {
	case !recorded && len(d.anomalies) == 0:
	case !recorded && !c.anomalies.Allow(time.Now()):
		c.meters.spanDropped()
	case !recorded:
		c.tell(ctx, "anomaly "+d.anomalies[0], d, a, started)
	case ctx.Value(itemKey{}) != nil:
		c.tell(ctx, d.call+" item", d, a, started)
	default:
		span.SetAttributes(d.attributes()...)
		for _, l := range linksOf(ctx, a) {
			span.AddLink(l)
		}
	}
}

// tell makes a span of a decision's own.
func (c *core) tell(ctx context.Context, name string, d *decision, a idem.Answer, started time.Time) {
	_, span := c.tracer.Start(ctx, name, trace.WithTimestamp(started), trace.WithAttributes(d.attributes()...), trace.WithLinks(linksOf(ctx, a)...))
	span.End()
}

// linksOf are the traces that a granted later attempt, or a caused event, goes on with: the
// first delivery's, the attempt's before, and the cause's.
func linksOf(ctx context.Context, answer idem.Answer) []trace.Link {
	a, ok := answer.(*idem.ClaimAnswer)
	if !ok || !a.Granted || a.Event == nil {
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
