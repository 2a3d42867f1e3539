package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// logFields are the names of a line about a decision, beside level and msg. They are part
// of the contract, as are those of docs/telemetry.md.
var logFields = []string{
	logNamespace, logConsumer, logSource, logEventID, logEventType, logResource, logRequestID, logDelivery, logAttempt, logState,
	logOutcome, logCorrelation, logCausation, logTraceID, logTxID, logDuration, logReason,
}

// observed is a server whose spans and metrics are kept.
func observed(t *testing.T) (*fixture, *tracetest.SpanRecorder, *sdkmetric.ManualReader) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	reader := sdkmetric.NewManualReader()
	f := start(t, func(c *Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	})
	return f, spans, reader
}

// Nothing that a caller must not read elsewhere reaches logs, spans or metrics: no payload,
// result, intent, error text, header, token.
func TestNoSecretIsSeenFromOutside(t *testing.T) {
	t.Parallel()
	f, spans, reader := observed(t)
	c := f.client(t, "consumer")
	const secret = "hush-4242"
	req := claimOf("evt")
	req.Event.Body = &pb.Event_Payload{Payload: []byte(secret)}
	req.Delivery = &pb.Delivery{RequestId: "r", Headers: []*pb.Header{{Name: "x-hub", Value: secret}, {Name: "authorization", Value: secret}}}
	claim, err := c.ClaimEvent(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := c.RecordSideEffect(t.Context(), &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: claim.GetClaim().GetToken()},
		Phase: &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{
			Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "mail", BeginId: "b", Intent: []byte(secret),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RecordSideEffect(t.Context(), &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{Done: &pb.EffectDone{
		EffectToken: begun.GetEffectToken(), Result: []byte(secret),
	}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.FailEvent(t.Context(), &pb.FailEventRequest{Token: claim.GetClaim().GetToken(), Error: &pb.ProcessingError{
		Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE, Code: "X", Message: secret,
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: []byte(secret), Result: []byte(secret)}); err == nil {
		t.Fatal("a token was made up")
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{"log": f.log.String(), "metrics": fmt.Sprintf("%+v", metrics)}
	for _, s := range spans.Ended() {
		seen["spans"] += fmt.Sprintf("%s %v %v %v\n", s.Name(), s.Attributes(), s.Events(), s.Status())
	}
	for where, text := range seen {
		if text == "" || strings.Contains(text, secret) || strings.Contains(text, f.tokens["consumer"]) || strings.Contains(text, string(claim.GetClaim().GetToken())) {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// A line in the log has the names that the contract knows, and the documentation has them
// all.
func TestLogFieldsAreTheContracts(t *testing.T) {
	t.Parallel()
	f, _, _ := observed(t)
	c := f.client(t, "consumer")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	req := claimOf("evt")
	req.Event.Type, req.Event.Resource, req.Event.CorrelationId = "invoice.paid", &pb.Resource{Type: "order", Id: "42"}, "story"
	req.Event.Causation = &pb.Causation{Cause: &pb.Causation_Text{Text: "cron"}}
	req.Delivery = &pb.Delivery{RequestId: "r", Attempt: 3}
	r, err := c.ClaimEvent(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CompleteEvent(ctx, &pb.CompleteEventRequest{Token: []byte("x")}); err == nil {
		t.Fatal("a token was made up")
	}
	if _, err := c.CompleteEvent(ctx, &pb.CompleteEventRequest{Token: r.GetClaim().GetToken()}); err != nil {
		t.Fatal(err)
	}
	known, came := map[string]bool{"time": true, "level": true, "msg": true, "field": true}, map[string]bool{}
	for _, name := range logFields {
		known[name] = true
	}
	lines := bufio.NewScanner(strings.NewReader(f.log.String()))
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if _, decision := line[logDuration]; !decision {
			continue
		}
		for name := range line {
			if came[name] = true; !known[name] {
				t.Errorf("%s is no name of the contract", name)
			}
		}
	}
	page, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logFields {
		if !came[name] {
			t.Errorf("%s is in no line", name)
		}
		if !regexp.MustCompile("(?m)^\\| `" + name + "` \\|").Match(page) {
			t.Errorf("%s is not in docs/telemetry.md", name)
		}
	}
}

// A later attempt's call leads to the first delivery and to the attempt before.
func TestACallThatGetsALaterAttemptIsLinked(t *testing.T) {
	t.Parallel()
	f, spans, _ := observed(t)
	c := f.client(t, "consumer")
	var got *pb.ClaimEventResponse
	for i := 1; i <= 3; i++ {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", fmt.Sprintf("00-%032d-%016d-01", i, i))
		var err error
		if got, err = c.ClaimEvent(ctx, claimOf("evt")); err != nil || got.GetClaim().GetAttempt() != int32(i) {
			t.Fatalf("%v %v", got, err)
		}
		if _, err := c.FailEvent(ctx, &pb.FailEventRequest{Token: got.GetClaim().GetToken(), Error: &pb.ProcessingError{Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE, Code: "X"}}); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(2e9)
	}
	if got.GetPreviousAttemptTrace() != fmt.Sprintf("00-%032d-%016d-01", 2, 2) {
		t.Errorf("%q", got.GetPreviousAttemptTrace())
	}
	found, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "evt"})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range found.GetEvents()[0].GetConsumers()[0].GetAttempts() {
		if want := fmt.Sprintf("00-%032d-%016d-01", i+1, i+1); a.GetTrace() != want {
			t.Errorf("attempt %d has the trace %q", i+1, a.GetTrace())
		}
	}
	for _, s := range spans.Ended() {
		if s.Name() != "idemsvc.v1.IdempotencyService/ClaimEvent" || s.SpanContext().TraceID().String() != fmt.Sprintf("%032d", 3) {
			continue
		}
		var links []string
		for _, l := range s.Links() {
			links = append(links, l.Attributes[0].Value.AsString()+" "+strings.TrimLeft(l.SpanContext.TraceID().String(), "0"))
		}
		if fmt.Sprint(links) != "[first_delivery 1 previous_attempt 2]" {
			t.Errorf("%v", links)
		}
		return
	}
	t.Error("no span of the third claim")
}

// The names of methods that nobody serves come from callers, and neither fill the memory of
// whoever keeps metrics nor the log.
func TestUnknownMethodsShareOneLabel(t *testing.T) {
	t.Parallel()
	f, _, reader := observed(t)
	conn := f.conn(t, "consumer")
	for _, method := range []string{"/idemsvc.v1.IdempotencyService/Guess", "/guess.Guess/Guess"} {
		if err := conn.Invoke(t.Context(), method, claimOf("evt"), &pb.ClaimEventResponse{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	if seen := fmt.Sprintf("%+v", metrics); strings.Contains(seen, "Guess") || !strings.Contains(seen, callOther) {
		t.Errorf("metrics: %s", seen)
	}
	if strings.Contains(f.log.String(), "Guess") {
		t.Errorf("log: %s", f.log)
	}
}
