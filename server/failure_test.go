package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
)

func testIdentity() *auth.Identity { return auth.NewIdentity("test", auth.Admin, shop) }

// Each fault of storage reaches callers over each road with its reason, and with how
// long to wait; the cause reaches the log alone.
func TestFaultsOfStorageAreTold(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]told{
		storage.ErrUnavailable: {codes.Unavailable, "UNAVAILABLE", ""}, storage.ErrFull: {codes.Unavailable, "STORAGE_FULL", ""},
		storage.ErrOverloaded: {codes.ResourceExhausted, "OVERLOADED", ""},
		storage.ErrClosed:     {codes.Unavailable, "UNAVAILABLE", ""}, storage.ErrSchema: {codes.Unavailable, "SCHEMA_OUTDATED", ""},
		errTest: {codes.Internal, "INTERNAL", ""},
	} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.claimed(t, "warm")
			f.backend.fail(fmt.Errorf("%w: %w", err, errTest))
			_, unary := f.client(t, "consumer").ClaimEvent(t.Context(), claimOf("e"))
			if got := toldBy(t, unary); got != want {
				t.Errorf("unary: %+v", got)
			}
			if (retryOf(unary) > 0) == (want.reason == "INTERNAL") {
				t.Errorf("RetryInfo %s", retryOf(unary))
			}
			batch, berr := f.client(t, "consumer").ClaimEvents(t.Context(), &pb.ClaimEventsRequest{
				Namespace: shop, Consumer: "billing", Claimant: "c", Items: []*pb.ClaimItem{{Event: &pb.Event{Source: "s", EventId: "e"}}},
			})
			if berr != nil {
				t.Fatal(berr)
			}
			item := batch.GetResults()[0].GetError()
			session := f.session(t.Context(), t, "consumer", framed(claimOf("e"))).GetError()
			for road, e := range map[string]*pb.ItemError{"batch": item, "session": session} {
				if got := itemTold(e); got != want || (e.GetRetryAfter() == nil) != (want.reason == "INTERNAL") {
					t.Errorf("%s: %+v", road, got)
				}
				if strings.Contains(e.GetMessage(), "hunter2") {
					t.Errorf("%s tells the cause", road)
				}
			}
			if strings.Contains(unary.Error(), "hunter2") {
				t.Error("unary tells the cause")
			}
			if !strings.Contains(f.log.String(), "hunter2") || !strings.Contains(f.log.String(), `"error_reason":"`+want.reason+`"`) {
				t.Error("the log lacks the cause or the reason")
			}
		})
	}
}

func TestADeadlineIsTold(t *testing.T) {
	t.Parallel()
	inner := start(t)
	g := &gate{Backend: inner.backend, entered: make(chan struct{}, 8), open: make(chan struct{})}
	f := start(t, gated(g))
	req := framed(claimOf("e"))
	req.Timeout = durationpb.New(time.Millisecond)
	got := f.session(t.Context(), t, "consumer", req).GetError()
	if itemTold(got) != (told{codes.DeadlineExceeded, "DEADLINE_EXCEEDED", ""}) || got.GetRetryAfter() == nil {
		t.Errorf("%+v", got)
	}
	close(g.open)
}

// The refusals of the rules that the tables of the roads do not reach.
func TestRulesAreTold(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	if _, err := c.CheckVersion(t.Context(), checkOf(sequence(1), "r")); err != nil {
		t.Fatal(err)
	}
	moment := checkOf(&pb.Version{Value: &pb.Version_Instant{Instant: timestamppb.New(time.Unix(0, 1))}}, "r")
	_, err := c.CheckVersion(t.Context(), moment)
	if got := toldBy(t, err); got != (told{codes.FailedPrecondition, "VERSION_KIND_MISMATCH", "version"}) {
		t.Errorf("%+v", got)
	}
	sequential := checkOf(sequence(2), "r")
	sequential.Mode = pb.OrderingMode_ORDERING_MODE_SEQUENTIAL
	_, err = c.CheckVersion(t.Context(), sequential)
	if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "mode"}) {
		t.Errorf("%+v", got)
	}
	effect := func(key, id string) *pb.RecordSideEffectRequest {
		return &pb.RecordSideEffectRequest{
			Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: f.claimed(t, fmt.Sprint(claimants.Add(1))).GetToken()},
			Phase: &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{
				Scope: pb.EffectScope_EFFECT_SCOPE_CONSUMER, Key: key, BeginId: id, RequestHash: []byte{1},
			}},
		}
	}
	first, err := c.RecordSideEffect(t.Context(), effect("k", "b1"))
	if err != nil {
		t.Fatal(err)
	}
	notDone := &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_NotDone{NotDone: &pb.EffectNotDone{
		EffectToken: first.GetEffectToken(), Error: &pb.ProcessingError{Code: "c", Kind: 1},
	}}}
	if _, err := c.RecordSideEffect(t.Context(), notDone); err != nil {
		t.Fatal(err)
	}
	_, err = c.RecordSideEffect(t.Context(), effect("k", "b1"))
	if got := toldBy(t, err); got != (told{codes.FailedPrecondition, "EFFECT_LOST", "begin.begin_id"}) {
		t.Errorf("%+v", got)
	}
	many := effect("many", "b")
	for i := range idem.MaxEffects + 1 {
		many.GetBegin().Scope, many.GetBegin().Key = pb.EffectScope_EFFECT_SCOPE_EVENT, fmt.Sprint(i)
		_, err = c.RecordSideEffect(t.Context(), many)
	}
	if got := toldBy(t, err); got != (told{codes.FailedPrecondition, "EFFECT_LIMIT", "begin.key"}) {
		t.Errorf("%+v", got)
	}
}

func TestPanicsEndOneCall(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.Store = storage.New(panicking{}, storage.Options{}) })
	if _, err := f.ops(t, "consumer").GetServerInfo(t.Context(), &pb.GetServerInfoRequest{}); toldBy(t, err) != (told{codes.Internal, "INTERNAL", ""}) {
		t.Errorf("%v", err)
	}
	if got := itemTold(f.session(t.Context(), t, "consumer", framed(claimOf("e"))).GetError()); got.reason != "INTERNAL" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(f.log.String(), "panicking") || !strings.Contains(f.log.String(), `"stack"`) {
		t.Error("the log lacks the stack")
	}
}

// panicking is a backend with a fault of its own in each method that the test reaches.
type panicking struct{ storage.Backend }

func (panicking) Secret(context.Context) ([]byte, error) { panic("boom") }

func (panicking) Info(ctx context.Context) (storage.Info, error) {
	if identityOf(ctx) == nil {
		return storage.Info{}, storage.ErrUnavailable // the health check
	}
	panic("boom")
}

func TestSpansMetricsAndBaggage(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	reader := sdkmetric.NewManualReader()
	f := start(t, func(c *Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent,
		"baggage", "idemsvc.correlation_id=story-1,idemsvc.causation=cron")
	r, err := f.client(t, "consumer").ClaimEvent(ctx, claimOf("evt"))
	if err != nil || r.GetClaim().GetCorrelationId() != "story-1" || r.GetFirstDeliveryTrace() != parent {
		t.Fatalf("%v %v", r, err)
	}
	want := map[string]string{
		"idemsvc.event_ref": "stripe/evt", "idemsvc.consumer": "billing", "idemsvc.attempt": "1", "idemsvc.outcome": "CLAIMED",
		"idemsvc.correlation_id": "story-1", "idemsvc.causation": "cron", "messaging.message.id": "evt",
		"messaging.message.conversation_id": "story-1",
	}
	f.session(t.Context(), t, "consumer", framed(claimOf("evt2")))
	f.srv.Stop(t.Context())
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			names[m.Name] = true
		}
	}
	for _, s := range spans.Ended() {
		names[s.Name()] = true
		if s.Name() != "idemsvc.v1.IdempotencyService/ClaimEvent" {
			continue
		}
		for _, a := range s.Attributes() {
			if w, ok := want[string(a.Key)]; ok && a.Value.String() == w {
				delete(want, string(a.Key))
			}
		}
	}
	if len(want) > 0 || !names["idemsvc.claims"] || !names["idemsvc.queue.length"] {
		t.Errorf("missing %v in %v", want, names)
	}
}

func TestMarksCannotBeForgedIntoAnything(t *testing.T) {
	t.Parallel()
	f := start(t)
	req := claimOf("evt")
	setMarks(req, []mark{{kind: markText, path: "\xff\x00"}, {kind: 'x'}, {kind: 'm'}})
	_, err := f.client(t, "consumer").ClaimEvent(t.Context(), req)
	if toldBy(t, err).reason != "INVALID_ARGUMENT" {
		t.Errorf("%v", err)
	}
}
