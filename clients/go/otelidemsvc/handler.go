package otelidemsvc

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Names of attributes and of members of the baggage. They are part of the contract.
const (
	attrEventRef       = attribute.Key("idemsvc.event_ref")
	attrConsumer       = attribute.Key("idemsvc.consumer")
	attrAttempt        = attribute.Key("idemsvc.attempt")
	attrCorrelation    = attribute.Key("idemsvc.correlation_id")
	attrCausation      = attribute.Key("idemsvc.causation")
	attrLink           = attribute.Key("idemsvc.link") // on links: what they lead to
	attrMessageID      = attribute.Key("messaging.message.id")
	attrConversationID = attribute.Key("messaging.message.conversation_id")

	baggageCorrelation = "idemsvc.correlation_id"
	baggageCausation   = "idemsvc.causation"
)

// handler runs the next one in a span.
func (t *telemetry) handler(next idemsvc.Handler) idemsvc.Handler {
	return func(ctx context.Context, claim *idemsvc.Claim) error {
		opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes(ctx, claim)...)}
		later := claim.GetAttempt() > 1 || claim.GetIsReplay()
		if later {
			opts = append(opts, trace.WithNewRoot())
		}
		ctx, span := t.tracer.Start(withBaggage(ctx), "process "+claim.Event().GetSource(), append(opts, trace.WithLinks(links(ctx, claim, later)...))...)
		defer span.End()
		returned := false
		defer func() {
			if !returned {
				span.SetStatus(codes.Error, "the handler did not return")
			}
		}()
		err := next(ctx, claim)
		returned = true
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, "")
		}
		return err
	}
}

// withBaggage adds what other services need to go on with the event's story. What does
// not fit into baggage stays out.
func withBaggage(ctx context.Context) context.Context {
	trail, _ := idemsvc.TrailOf(ctx)
	b := baggage.FromContext(ctx)
	for _, m := range []struct{ key, value string }{
		{baggageCorrelation, trail.CorrelationID},
		{baggageCausation, trail.Source + "/" + trail.EventID},
	} {
		member, err := baggage.NewMemberRaw(m.key, m.value)
		if err != nil || m.value == "" {
			continue
		}
		if with, err := b.SetMember(member); err == nil {
			b = with
		}
	}
	return baggage.ContextWithBaggage(ctx, b)
}

// links lead to the spans that the attempt goes on with: for a later one, which is the root
// of a trace of its own, whoever runs it now, then the first delivery, the attempt before, and
// the cause. A span of the own trace needs none.
func links(ctx context.Context, claim *idemsvc.Claim, later bool) []trace.Link {
	var out []trace.Link
	here := trace.SpanContextFromContext(ctx)
	seen := map[trace.SpanID]bool{}
	add := func(sc trace.SpanContext, what string) {
		if sc.IsValid() && !seen[sc.SpanID()] && (later || sc.TraceID() != here.TraceID()) {
			seen[sc.SpanID()] = true
			out = append(out, trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{attrLink.String(what)}})
		}
	}
	first, cause := claim.Traces()
	if later {
		add(here, "delivery")
	}
	add(remote(first), "first_delivery")
	add(remote(claim.PreviousTrace()), "previous_attempt")
	add(remote(cause), "cause")
	return out
}

func remote(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent}))
}

func attributes(ctx context.Context, claim *idemsvc.Claim) []attribute.KeyValue {
	trail, _ := idemsvc.TrailOf(ctx)
	out := []attribute.KeyValue{
		attrEventRef.String(trail.Source + "/" + trail.EventID), attrMessageID.String(trail.EventID),
		attrConsumer.String(claim.Consumer()), attrAttempt.Int64(int64(claim.GetAttempt())),
	}
	if trail.CorrelationID != "" {
		out = append(out, attrCorrelation.String(trail.CorrelationID), attrConversationID.String(trail.CorrelationID))
	}
	if cause := claim.Event().GetCausation(); cause.GetEventRef() != nil {
		out = append(out, attrCausation.String(cause.GetEventRef().GetSource()+"/"+cause.GetEventRef().GetEventId()))
	} else if cause.GetText() != "" {
		out = append(out, attrCausation.String(cause.GetText()))
	}
	return out
}
