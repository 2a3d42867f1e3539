package otelidemsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// linked fails unless the span has one link, to the trace.
func linked(t *testing.T, s sdktrace.ReadOnlySpan, to trace.TraceID) {
	t.Helper()
	if l := s.Links(); len(l) != 1 || l[0].SpanContext.TraceID() != to {
		t.Errorf("%v", l)
	}
}

// A later attempt is linked to the event's first delivery.
func TestAttemptsAreLinkedToTheFirstDelivery(t *testing.T) {
	t.Parallel()
	service := idemtest.New(t)
	client, spans, tracer := traced(service)
	ctx, first := tracer.Start(t.Context(), "first delivery")
	_, err := client.Process(ctx, storyEvent(), func(context.Context, *idemsvc.Claim) error {
		return idemsvc.RetryAfter(time.Second, errors.New("not yet"))
	})
	if err == nil {
		t.Fatal("no error")
	}
	service.Advance(2 * time.Second)
	ctx, second := tracer.Start(t.Context(), "second delivery")
	if _, err = client.Process(ctx, storyEvent(), func(context.Context, *idemsvc.Claim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	ran := handlers(spans)
	if len(ran) != 2 || ran[0].Status().Code != codes.Error || len(ran[0].Events()) != 1 {
		t.Fatalf("%v", ran)
	}
	linked(t, ran[1], first.SpanContext().TraceID())
	if ran[1].SpanContext().TraceID() != second.SpanContext().TraceID() {
		t.Error("the second attempt is in another trace")
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
