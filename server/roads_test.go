package server

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// badText is valid in Go's messages and is replaced by bytes that are not UTF-8 on the
// wire.
const badText = "@@BAD@@"

// spoilingCodec sends texts that no honest client can send.
type spoilingCodec struct{ encoding.CodecV2 }

func (c spoilingCodec) Marshal(v any) (mem.BufferSlice, error) {
	data, err := c.CodecV2.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw := bytes.ReplaceAll(data.Materialize(), []byte(badText), []byte("a\xc3\x28\xffbcd"))
	return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
}

var spoiling = grpc.ForceCodecV2(spoilingCodec{encoding.GetCodecV2("proto")})

// session sends one command over a session of its own and returns the answer.
func (f *fixture) session(ctx context.Context, t *testing.T, caller string, req *pb.SessionRequest) *pb.SessionResponse {
	t.Helper()
	stream, err := f.client(t, caller).Session(ctx, spoiling)
	if err != nil {
		t.Fatal(err)
	}
	req.Correlation = 7
	if err := stream.Send(req); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if resp.GetCorrelation() != 7 {
		t.Errorf("correlation %d", resp.GetCorrelation())
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("a second answer")
	}
	return resp
}

// A claim that breaks the contract is told the same over all roads.
func TestThreeRoadsRefuseAlikeClaims(t *testing.T) {
	t.Parallel()
	f := start(t)
	long := strings.Repeat("x", 513)
	cases := map[string]struct {
		change func(*pb.Event, *pb.ClaimEventRequest)
		want   told
	}{
		"no event ID":        {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.EventId = "" }, told{3, "INVALID_ARGUMENT", "event.event_id"}},
		"blank event ID":     {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.EventId = " \t" }, told{3, "INVALID_ARGUMENT", "event.event_id"}},
		"long event ID":      {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.EventId = long }, told{3, "INVALID_ARGUMENT", "event.event_id"}},
		"NUL in the ID":      {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.EventId = "a\x00b" }, told{3, "INVALID_ARGUMENT", "event.event_id"}},
		"no UTF-8":           {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.EventId = badText }, told{3, "INVALID_ARGUMENT", "event.event_id"}},
		"no UTF-8 below":     {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.Resource = &pb.Resource{Type: "t", Id: badText} }, told{3, "INVALID_ARGUMENT", "event.resource.id"}},
		"large payload":      {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.Body = &pb.Event_Payload{Payload: make([]byte, 1<<20+1)} }, told{3, "INVALID_ARGUMENT", "event.payload"}},
		"other payload hash": {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.Body = &pb.Event_Payload{}; e.PayloadHash = []byte{1} }, told{3, "INVALID_ARGUMENT", "event.payload_hash"}},
		"time out of range":  {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.OccurredAt = &timestamppb.Timestamp{Seconds: 1 << 34} }, told{3, "INVALID_ARGUMENT", "event.occurred_at"}},
		"unknown enum":       {func(e *pb.Event, _ *pb.ClaimEventRequest) { e.KeyQuality = 99 }, told{3, "INVALID_ARGUMENT", "event.key_quality"}},
		"no resource":        {func(_ *pb.Event, r *pb.ClaimEventRequest) { r.Ordering = &pb.Ordering{Version: sequence(1), Mode: 1} }, told{3, "INVALID_ARGUMENT", "event.resource"}},
		"instants in order": {func(e *pb.Event, r *pb.ClaimEventRequest) {
			e.Resource = &pb.Resource{Type: "t", Id: "1"}
			r.Ordering = &pb.Ordering{Version: &pb.Version{Value: &pb.Version_Instant{Instant: timestamppb.Now()}}, Mode: 2}
		}, told{3, "INVALID_ARGUMENT", "ordering.mode"}},
		"bad instant": {func(e *pb.Event, r *pb.ClaimEventRequest) {
			e.Resource = &pb.Resource{Type: "t", Id: "1"}
			r.Ordering = &pb.Ordering{Version: &pb.Version{Value: &pb.Version_Instant{Instant: &timestamppb.Timestamp{Nanos: -1}}}, Mode: 1}
		}, told{3, "INVALID_ARGUMENT", "ordering.version.instant"}},
		"unknown machine": {func(e *pb.Event, r *pb.ClaimEventRequest) {
			e.Resource = &pb.Resource{Type: "t", Id: "1"}
			r.Ordering = &pb.Ordering{Version: sequence(1), Mode: 1, Transition: &pb.Transition{Machine: "?", ToState: "x"}}
		}, told{3, "UNKNOWN_MACHINE", "ordering.transition.machine"}},
		"many headers": {func(_ *pb.Event, r *pb.ClaimEventRequest) { r.Delivery = &pb.Delivery{Headers: make([]*pb.Header, 65)} }, told{3, "INVALID_ARGUMENT", "delivery.headers"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := claimOf("evt_1")
			c.change(req.GetEvent(), req)
			for i := range req.GetDelivery().GetHeaders() {
				req.Delivery.Headers[i] = &pb.Header{Name: "n"}
			}
			_, err := f.client(t, "consumer").ClaimEvent(t.Context(), req, spoiling)
			if got := toldBy(t, err); got != c.want {
				t.Errorf("unary: %+v", got)
			}
			if retryOf(err) != 0 {
				t.Error("told to repeat what cannot succeed")
			}
			batch := &pb.ClaimEventsRequest{Namespace: req.GetNamespace(), Consumer: req.GetConsumer(), Claimant: req.GetClaimant(), Items: []*pb.ClaimItem{
				{Event: &pb.Event{Source: "s", EventId: name}},
				{Event: req.GetEvent(), Ordering: req.GetOrdering(), Delivery: req.GetDelivery()},
			}}
			got, err := f.client(t, "consumer").ClaimEvents(t.Context(), batch, spoiling)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			want.field = "items[1]." + want.field
			if x := itemTold(got.GetResults()[1].GetError()); x != want {
				t.Errorf("batch: %+v", x)
			}
			if got.GetResults()[0].GetResponse().GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
				t.Errorf("the good item failed: %v", got.GetResults()[0])
			}
			s := f.session(t.Context(), t, "consumer", &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: req}})
			if x := itemTold(s.GetError()); x != c.want {
				t.Errorf("session: %+v", x)
			}
			batch.Claimant += "again"
			s = f.session(t.Context(), t, "consumer", &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvents{ClaimEvents: batch}})
			if x := itemTold(s.GetClaimEvents().GetResults()[1].GetError()); x != want {
				t.Errorf("batch in a session: %+v", x)
			}
		})
	}
}

// A completion that breaks the contract is told the same over all roads, and leaves the
// claim alive.
func TestThreeRoadsRefuseAlikeCompletions(t *testing.T) {
	t.Parallel()
	f := start(t)
	claim := f.claimed(t, "evt_1")
	gone := f.claimed(t, "evt_2")
	if _, err := f.client(t, "consumer").ReleaseClaim(t.Context(), &pb.ReleaseClaimRequest{Token: gone.GetToken()}); err != nil {
		t.Fatal(err)
	}
	lost := f.claimed(t, "evt_3").GetToken()
	f.clock.Advance(2 * time.Minute)
	f.claimed(t, "evt_3")
	f.stillMine(t, claim.GetToken())
	forged := bytes.Clone(claim.GetToken())
	forged[len(forged)-1] ^= 1
	mine := claim.GetToken()
	cases := map[string]struct {
		req  *pb.CompleteEventRequest
		want told
	}{
		"no token":       {&pb.CompleteEventRequest{}, told{3, "INVALID_ARGUMENT", "token"}},
		"forged":         {&pb.CompleteEventRequest{Token: forged}, told{3, "INVALID_TOKEN", "token"}},
		"guessed":        {&pb.CompleteEventRequest{Token: []byte("1")}, told{3, "INVALID_TOKEN", "token"}},
		"lost":           {&pb.CompleteEventRequest{Token: lost}, told{9, "CLAIM_LOST", ""}},
		"ended":          {&pb.CompleteEventRequest{Token: gone.GetToken()}, told{9, "ALREADY_ENDED", ""}},
		"large result":   {&pb.CompleteEventRequest{Token: mine, Result: make([]byte, 65537)}, told{3, "INVALID_ARGUMENT", "result"}},
		"blank output":   {&pb.CompleteEventRequest{Token: mine, Outputs: []string{"a", " "}}, told{3, "INVALID_ARGUMENT", "outputs[1]"}},
		"output no text": {&pb.CompleteEventRequest{Token: mine, Outputs: []string{"a", badText}}, told{3, "INVALID_ARGUMENT", "outputs[1]"}},
		"NUL":            {&pb.CompleteEventRequest{Token: mine, ContentType: "a\x00"}, told{3, "INVALID_ARGUMENT", "content_type"}},
		"bad status":     {&pb.CompleteEventRequest{Token: mine, DeliveryAnswer: &pb.DeliveryAnswer{HttpStatus: 99}}, told{3, "INVALID_ARGUMENT", "delivery_answer.http_status"}},
		"no lane":        {&pb.CompleteEventRequest{Token: mine, AppliedVersion: sequence(1)}, told{3, "INVALID_ARGUMENT", "applied_version"}},
		"no version":     {&pb.CompleteEventRequest{Token: mine, AppliedVersion: &pb.Version{}}, told{3, "INVALID_ARGUMENT", "applied_version.value"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.client(t, "consumer").CompleteEvent(t.Context(), c.req, spoiling)
			if got := toldBy(t, err); got != c.want {
				t.Errorf("unary: %+v", got)
			}
			got, err := f.client(t, "consumer").CompleteEvents(t.Context(), &pb.CompleteEventsRequest{Items: []*pb.CompleteEventRequest{c.req}}, spoiling)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want.field != "" {
				want.field = "items[0]." + want.field
			}
			if x := itemTold(got.GetResults()[0].GetError()); x != want {
				t.Errorf("batch: %+v", x)
			}
			s := f.session(t.Context(), t, "consumer", &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: c.req}})
			if x := itemTold(s.GetError()); x != c.want {
				t.Errorf("session: %+v", x)
			}
			f.stillMine(t, mine)
		})
	}
}

// Calls that no batch carries are told the same over the other two roads.
func TestTwoRoadsRefuseAlike(t *testing.T) {
	t.Parallel()
	f := start(t)
	token := f.claimed(t, "evt_1").GetToken()
	expired := f.claimed(t, "evt_2").GetToken()
	f.clock.Advance(2 * time.Minute)
	f.stillMine(t, token)
	lease := func(d time.Duration) *pb.ClaimEventRequest {
		r := claimOf("evt_9")
		r.Lease = durationpb.New(d)
		return r
	}
	owner := &pb.RecordSideEffectRequest_Owner{Owner: &pb.EffectOwner{Namespace: shop, Consumer: "billing"}}
	begin := func(scope pb.EffectScope) *pb.RecordSideEffectRequest_Begin {
		return &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{Scope: scope, Key: "k", BeginId: "b"}}
	}
	underExpired := checkOf(sequence(1), "")
	underExpired.ClaimToken = expired
	otherConsumer := checkOf(sequence(1), "")
	otherConsumer.ClaimToken, otherConsumer.Consumer = token, "other"
	strange := claimOf("evt_9")
	strange.Namespace = "nobody"
	cases := map[string]struct {
		req  proto.Message
		want told
	}{
		"short lease":       {lease(time.Second - 1), told{3, "INVALID_ARGUMENT", "lease"}},
		"long lease":        {lease(12*time.Hour + 1), told{3, "INVALID_ARGUMENT", "lease"}},
		"negative lease":    {lease(-time.Second), told{3, "INVALID_ARGUMENT", "lease"}},
		"long extension":    {&pb.ExtendClaimRequest{Token: token, Lease: durationpb.New(13 * time.Hour)}, told{3, "INVALID_ARGUMENT", "lease"}},
		"absurd extension":  {&pb.ExtendClaimRequest{Token: token, Lease: &durationpb.Duration{Seconds: 5, Nanos: -5}}, told{3, "INVALID_ARGUMENT", "lease"}},
		"no error":          {&pb.FailEventRequest{Token: token}, told{3, "INVALID_ARGUMENT", "error"}},
		"no failure kind":   {&pb.FailEventRequest{Token: token, Error: &pb.ProcessingError{Code: "c"}}, told{3, "INVALID_ARGUMENT", "error.kind"}},
		"NUL in a message":  {&pb.FailEventRequest{Token: token, Error: &pb.ProcessingError{Code: "c", Kind: 1, Message: "\x00"}}, told{3, "INVALID_ARGUMENT", "error.message"}},
		"long retry":        {&pb.FailEventRequest{Token: token, Error: &pb.ProcessingError{Code: "c", Kind: 1}, RetryAfter: durationpb.New(31 * 24 * time.Hour)}, told{3, "INVALID_ARGUMENT", "retry_after"}},
		"nameless check":    {checkOf(sequence(1), ""), told{3, "INVALID_ARGUMENT", "request_id"}},
		"expired claim":     {underExpired, told{9, "CLAIM_EXPIRED", ""}},
		"other's token":     {otherConsumer, told{3, "INVALID_ARGUMENT", "consumer"}},
		"unknown namespace": {strange, told{7, "UNKNOWN_NAMESPACE", "namespace"}},
		"no phase":          {&pb.RecordSideEffectRequest{Subject: owner}, told{3, "INVALID_ARGUMENT", "phase"}},
		"no subject":        {&pb.RecordSideEffectRequest{Phase: begin(1)}, told{3, "INVALID_ARGUMENT", "claim_token"}},
		"no event":          {&pb.RecordSideEffectRequest{Subject: owner, Phase: begin(1)}, told{3, "EFFECT_SCOPE_INVALID", "owner.event_ref"}},
		"no hash":           {&pb.RecordSideEffectRequest{Subject: owner, Phase: begin(3)}, told{3, "EFFECT_SCOPE_INVALID", "begin.request_hash"}},
		"no scope":          {&pb.RecordSideEffectRequest{Subject: owner, Phase: begin(0)}, told{3, "INVALID_ARGUMENT", "begin.scope"}},
		"bad effect token":  {&pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{Done: &pb.EffectDone{EffectToken: token}}}, told{3, "INVALID_TOKEN", "done.effect_token"}},
		"too many items":    {&pb.CompleteEventsRequest{Items: make([]*pb.CompleteEventRequest, 1001)}, told{3, "INVALID_ARGUMENT", "items"}},
		"no items":          {&pb.CompleteEventsRequest{}, told{3, "INVALID_ARGUMENT", "items"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m, ok := c.req.(*pb.CompleteEventsRequest); ok {
				for i := range m.GetItems() {
					m.Items[i] = &pb.CompleteEventRequest{}
				}
			}
			if got := toldBy(t, f.unary(t, c.req)); got != c.want {
				t.Errorf("unary: %+v", got)
			}
			s := f.session(t.Context(), t, "consumer", framed(c.req))
			if x := itemTold(s.GetError()); x != c.want {
				t.Errorf("session: %+v", x)
			}
			f.stillMine(t, token)
		})
	}
}

// unary sends a request by its own method.
func (f *fixture) unary(t *testing.T, req proto.Message) error {
	t.Helper()
	name := strings.TrimSuffix(string(req.ProtoReflect().Descriptor().Name()), "Request")
	return f.conn(t, "consumer").Invoke(t.Context(), "/idemsvc.v1.IdempotencyService/"+name, req, &pb.CompleteEventResponse{}, spoiling)
}

// framed is a request as a session's command.
func framed(req proto.Message) *pb.SessionRequest {
	s := &pb.SessionRequest{}
	fields := s.ProtoReflect().Descriptor().Oneofs().ByName("command").Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message().FullName() == req.ProtoReflect().Descriptor().FullName() {
			s.ProtoReflect().Set(fields.Get(i), protoreflect.ValueOfMessage(req.ProtoReflect()))
		}
	}
	return s
}

func TestASessionGoesOnAfterBadFrames(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		req  *pb.SessionRequest
		want told
	}{
		"no command":   {&pb.SessionRequest{Correlation: 1}, told{codes.Unimplemented, "UNIMPLEMENTED", ""}},
		"no number":    {&pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("e")}}, told{3, "INVALID_ARGUMENT", "correlation"}},
		"no time":      {&pb.SessionRequest{Correlation: 1, Timeout: &durationpb.Duration{}, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("e")}}, told{3, "INVALID_ARGUMENT", "timeout"}},
		"far too much": {&pb.SessionRequest{Correlation: 1, Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: &pb.CompleteEventRequest{Token: make([]byte, MaxMessageBytes)}}}, told{3, "TOO_LARGE", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream, err := f.client(t, "consumer").Session(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := stream.Send(c.req); err != nil {
					t.Fatal(err)
				}
				resp, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if x := itemTold(resp.GetError()); x != c.want || resp.GetCorrelation() != c.req.GetCorrelation() {
					t.Errorf("%+v", x)
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); err == nil {
				t.Error("a third answer")
			}
		})
	}
}
