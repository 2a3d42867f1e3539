package server

import (
	"context"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// Names of the attributes of spans. They are part of the contract.
const (
	attrEventRef       = attribute.Key("idemsvc.event_ref")
	attrConsumer       = attribute.Key("idemsvc.consumer")
	attrAttempt        = attribute.Key("idemsvc.attempt")
	attrOutcome        = attribute.Key("idemsvc.outcome")
	attrLink           = attribute.Key("idemsvc.link") // on links: what they lead to
	attrCorrelation    = attribute.Key("idemsvc.correlation_id")
	attrCausation      = attribute.Key("idemsvc.causation")
	attrMessageID      = attribute.Key("messaging.message.id")
	attrConversationID = attribute.Key("messaging.message.conversation_id")
)

// Names of members of the baggage that stand in for what a request does not say.
const (
	baggageCorrelation = "idemsvc.correlation_id"
	baggageCausation   = "idemsvc.causation"
)

// Names of the fields of a log line. They are part of the contract.
const (
	logNamespace   = "namespace"
	logConsumer    = "consumer"
	logSource      = "source"
	logEventID     = "event_id"
	logEventType   = "event_type"
	logResource    = "resource"
	logRequestID   = "request_id"
	logDelivery    = "delivery_attempt"
	logAttempt     = "attempt"
	logState       = "state"
	logOutcome     = "outcome"
	logCorrelation = "correlation_id"
	logCausation   = "causation"
	logTraceID     = "trace_id"
	logTxID        = "db_txid"
	logDuration    = "duration_ms"
	logReason      = "error_reason"
)

// incoming is what a caller's context says beside the request.
type incoming struct {
	traceParent string
	correlation string
	causation   string
}

var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// incomingOf reads the caller's W3C trace context and baggage. It reads the metadata
// itself, so that what is stored does not depend on whether tracing is switched on.
func incomingOf(ctx context.Context) incoming {
	carrier := propagation.MapCarrier{}
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		if v := metadata.ValueFromIncomingContext(ctx, key); len(v) > 0 {
			carrier[key] = strings.Join(v, ",")
		}
	}
	if own, ok := ctx.Value(traceParentKey{}).(string); ok {
		carrier["traceparent"] = own
	}
	if len(carrier) == 0 {
		return incoming{}
	}
	c := w3c.Extract(context.Background(), carrier)
	in := incoming{}
	if sc := trace.SpanContextFromContext(c); sc.IsValid() {
		in.traceParent = "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
	}
	b := baggage.FromContext(c)
	in.correlation = storable(b.Member(baggageCorrelation).Value())
	in.causation = storable(b.Member(baggageCausation).Value())
	return in
}

// storable is the text, or nothing where the contract would refuse it in a request.
func storable(s string) string {
	if len(s) > maxTokenPart || !utf8.ValidString(s) || strings.ContainsRune(s, 0) || strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}
