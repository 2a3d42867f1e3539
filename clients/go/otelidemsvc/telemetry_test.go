package otelidemsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/otelidemsvc"
)

// traced is a client whose spans are kept.
func traced(service *idemtest.Server) (*idemsvc.Client, *tracetest.SpanRecorder, trace.Tracer) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	return service.Client(otelidemsvc.Telemetry(otelidemsvc.WithTracerProvider(provider))), spans, provider.Tracer("test")
}

// handlers are the spans of handlers, in the order of their ends.
func handlers(spans *tracetest.SpanRecorder) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, s := range spans.Ended() {
		if s.SpanKind() == trace.SpanKindConsumer {
			out = append(out, s)
		}
	}
	return out
}

func storyEvent() *idemsvc.Event {
	return &idemsvc.Event{Source: "shop", EventId: "order-7", CorrelationId: "cart 3", Causation: idemsvc.CausedBy("shop", "cart-3-paid")}
}

// A handler runs in a span of the caller's trace, which says what it works on, and what it
// sends on carries the story.
func TestAHandlerRunsInASpan(t *testing.T) {
	t.Parallel()
	client, spans, tracer := traced(idemtest.New(t))
	ctx, outer := tracer.Start(t.Context(), "POST /hooks")
	_, err := client.Process(ctx, storyEvent(), func(ctx context.Context, _ *idemsvc.Claim) error {
		sent := propagation.MapCarrier{}
		propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}).Inject(ctx, sent)
		if !strings.Contains(sent["traceparent"], outer.SpanContext().TraceID().String()) {
			t.Errorf("%v", sent)
		}
		for _, member := range []string{"idemsvc.correlation_id=cart%203", "idemsvc.causation=shop/order-7"} {
			if !strings.Contains(sent["baggage"], member) {
				t.Errorf("%s is not in %v", member, sent)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	outer.End()
	ran := handlers(spans)
	if len(ran) != 1 || ran[0].Name() != "process shop" || ran[0].Parent().SpanID() != outer.SpanContext().SpanID() || ran[0].Status().Code != codes.Unset {
		t.Fatalf("%v", ran)
	}
	if len(ran[0].Links()) != 0 { // the first delivery is this trace
		t.Errorf("%v", ran[0].Links())
	}
	got := map[attribute.Key]string{}
	for _, a := range ran[0].Attributes() {
		got[a.Key] = a.Value.String()
	}
	for key, want := range map[attribute.Key]string{
		"idemsvc.event_ref": "shop/order-7", "idemsvc.consumer": "test", "idemsvc.attempt": "1", "idemsvc.correlation_id": "cart 3",
		"idemsvc.causation": "shop/cart-3-paid", "messaging.message.id": "order-7", "messaging.message.conversation_id": "cart 3",
	} {
		if got[key] != want {
			t.Errorf("%s is %q", key, got[key])
		}
	}
	calls := 0
	for _, s := range spans.Ended() {
		if s.SpanKind() == trace.SpanKindClient && s.SpanContext().TraceID() == outer.SpanContext().TraceID() {
			calls++
		}
	}
	if calls < 2 { // the claim and the completion
		t.Errorf("%d calls are in the trace", calls)
	}
}

// A later attempt is the root of a trace of its own, linked to the delivery that it runs in,
// the first delivery and the attempt before.
func TestLaterAttemptsAreLinkedRoots(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t)
	client, spans, tracer := traced(service)
	var deliveries []trace.TraceID
	for i := range 3 {
		ctx, delivery := tracer.Start(t.Context(), "delivery")
		deliveries = append(deliveries, delivery.SpanContext().TraceID())
		_, err := client.Process(ctx, storyEvent(), func(context.Context, *idemsvc.Claim) error {
			if i < 2 {
				return idemsvc.RetryAfter(time.Second, errors.New("not yet"))
			}
			return nil
		})
		if (err == nil) != (i == 2) {
			t.Fatal(err)
		}
		delivery.End()
		service.Advance(2 * time.Second)
	}
	ran := handlers(spans)
	if len(ran) != 3 || ran[0].Status().Code != codes.Error || len(ran[0].Events()) != 1 {
		t.Fatalf("%v", ran)
	}
	if ran[0].SpanContext().TraceID() != deliveries[0] || len(ran[0].Links()) != 0 {
		t.Errorf("the first attempt: %v", ran[0])
	}
	for i, want := range []map[string]trace.TraceID{
		1: {"delivery": deliveries[1], "first_delivery": deliveries[0]}, // the attempt before is the first delivery's
		2: {"delivery": deliveries[2], "first_delivery": deliveries[0], "previous_attempt": deliveries[1]},
	} {
		if i == 0 {
			continue
		}
		got := map[string]trace.TraceID{}
		for _, l := range ran[i].Links() {
			got[l.Attributes[0].Value.AsString()] = l.SpanContext.TraceID()
		}
		if ran[i].Parent().IsValid() || ran[i].SpanContext().TraceID() == deliveries[i] || !maps.Equal(got, want) {
			t.Errorf("attempt %d under %v has the links %v, want %v", i+1, ran[i].Parent(), got, want)
		}
	}
}

// A command of a session belongs to the trace of whoever asks, not to the stream's.
func TestASessionCarriesTraces(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t)
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	client := service.Client(otelidemsvc.Telemetry(otelidemsvc.WithTracerProvider(provider)), idemsvc.WithSession())
	for _, id := range []string{"a", "b"} {
		ctx, delivery := provider.Tracer("test").Start(t.Context(), "delivery")
		answer, err := client.Claim(ctx, &idemsvc.Event{Source: "shop", EventId: id})
		if err != nil {
			t.Fatal(err)
		}
		want := delivery.SpanContext()
		if first, _ := answer.Claim.Traces(); first != "00-"+want.TraceID().String()+"-"+want.SpanID().String()+"-01" {
			t.Errorf("%s: %s", id, first)
		}
	}
}

// The correlation and the trace of a cause are found by its name.
func TestACauseIsFollowed(t *testing.T) {
	t.Parallel()
	client, spans, tracer := traced(idemtest.New(t))
	ctx, paid := tracer.Start(t.Context(), "delivery of the cause")
	if _, err := client.Claim(ctx, &idemsvc.Event{Source: "shop", EventId: "cart-3-paid", CorrelationId: "cart 3"}); err != nil {
		t.Fatal(err)
	}
	ctx, delivery := tracer.Start(t.Context(), "delivery")
	defer delivery.End()
	answer, err := client.Claim(ctx, &idemsvc.Event{Source: "shop", EventId: "order-7", Causation: idemsvc.CausedBy("shop", "cart-3-paid")})
	if err != nil || answer.GetClaim().GetCorrelationId() != "cart 3" {
		t.Fatalf("%v %v", answer, err)
	}
	if _, err := answer.Claim.Process(ctx, func(context.Context, *idemsvc.Claim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	linked(t, handlers(spans)[0], paid.SpanContext().TraceID())
}

// linked fails unless the span has one link, to the trace.
func linked(t *testing.T, s sdktrace.ReadOnlySpan, to trace.TraceID) {
	t.Helper()
	if l := s.Links(); len(l) != 1 || l[0].SpanContext.TraceID() != to {
		t.Errorf("%v", l)
	}
}

// An event is linked to the delivery of what caused it.
func TestAnEventIsLinkedToItsCause(t *testing.T) {
	t.Parallel()
	client, spans, _ := traced(idemtest.New(t))
	answer, err := client.Claim(t.Context(), storyEvent())
	if err != nil {
		t.Fatal(err)
	}
	serialized, err := answer.Claim.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	const cause = "0af7651916cd43dd8448eb211c80319c"
	form := map[string]any{}
	if err := json.Unmarshal(serialized, &form); err != nil {
		t.Fatal(err)
	}
	form["first_delivery_trace"], form["cause_trace"] = "no trace", "00-"+cause+"-b7ad6b7169203331-01"
	if serialized, err = json.Marshal(form); err != nil {
		t.Fatal(err)
	}
	claim, err := client.Resume(t.Context(), serialized)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim.Process(t.Context(), func(context.Context, *idemsvc.Claim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want, err := trace.TraceIDFromHex(cause)
	if err != nil {
		t.Fatal(err)
	}
	linked(t, handlers(spans)[0], want)
}

// A story that came by baggage alone is kept with the event.
func TestAStoryArrivesByBaggage(t *testing.T) {
	t.Parallel()
	client, _, _ := traced(idemtest.New(t))
	received, err := baggage.Parse("idemsvc.correlation_id=cart%203,idemsvc.causation=shop/order-7")
	if err != nil {
		t.Fatal(err)
	}
	ctx := baggage.ContextWithBaggage(t.Context(), received)
	if _, err := client.Claim(ctx, &idemsvc.Event{Source: "billing", EventId: "invoice-9"}); err != nil {
		t.Fatal(err)
	}
	r, err := client.Operations().GetEvent(ctx, &pb.GetEventRequest{Namespace: idemtest.Namespace, EventId: "invoice-9"})
	if err != nil {
		t.Fatal(err)
	}
	e := r.GetEvents()[0].GetEvent()
	if e.GetCorrelationId() != "cart 3" || e.GetCausation().GetText() != "shop/order-7" {
		t.Errorf("%v", e)
	}
}

// A panic ends the span and goes on.
func TestAPanicEndsTheSpan(t *testing.T) {
	t.Parallel()
	client, spans, _ := traced(idemtest.New(t))
	defer func() {
		if v := recover(); v != "oops" {
			t.Errorf("recovered %v", v)
		}
		if ran := handlers(spans); len(ran) != 1 || ran[0].Status().Code != codes.Error {
			t.Errorf("%v", ran)
		}
	}()
	_, _ = client.Process(t.Context(), storyEvent(), func(context.Context, *idemsvc.Claim) error { panic("oops") })
}

func ExampleTelemetry() {
	service := idemtest.Start()
	defer service.Close()
	client := service.Client(otelidemsvc.Telemetry())

	_, err := client.Process(context.Background(), storyEvent(), func(ctx context.Context, _ *idemsvc.Claim) error {
		// Requests made with this context carry the trace and the story.
		fmt.Println(baggage.FromContext(ctx).Member("idemsvc.correlation_id").Value())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: cart 3
}
