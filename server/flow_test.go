package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func TestAnEventIsProcessedOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	req := claimOf("evt_1")
	req.Event.Body = &pb.Event_Payload{Payload: []byte(`{"n":1}`)}
	req.Event.Type = "invoice.paid"
	req.WantPayload = true
	req.Delivery = &pb.Delivery{RequestId: "req-1", Headers: []*pb.Header{
		{Name: "Content-Type", Value: "a/b"}, {Name: "Stripe-Signature", Value: "s"}, {Name: "X-API-Key", Value: "k"}, {Name: "COOKIE", Value: "c"},
	}}
	first, err := c.ClaimEvent(t.Context(), req)
	if err != nil || first.GetAdvice() != pb.Advice_ADVICE_PROCESS || string(first.GetClaim().GetPayload()) != `{"n":1}` {
		t.Fatalf("%v %v", first, err)
	}
	if first.GetClaim().GetCorrelationId() != "evt_1" || len(first.GetClaim().GetPayloadHash()) != 32 {
		t.Errorf("correlation %q, hash %x", first.GetClaim().GetCorrelationId(), first.GetClaim().GetPayloadHash())
	}
	again, err := c.ClaimEvent(t.Context(), req)
	if err != nil || !again.GetClaim().GetRepeated() || string(again.GetClaim().GetToken()) != string(first.GetClaim().GetToken()) {
		t.Fatalf("the claimant's repeat: %v %v", again, err)
	}
	busy, err := c.ClaimEvent(t.Context(), claimOf("evt_1"))
	if err != nil || busy.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS || busy.GetRetryAfter().AsDuration() != maxRepeat {
		t.Fatalf("%v %v", busy, err)
	}
	done := &pb.CompleteEventRequest{Token: first.GetClaim().GetToken(), Result: []byte("ok"), Outputs: []string{"invoice/42"}}
	for _, already := range []bool{false, true} {
		r, err := c.CompleteEvent(t.Context(), done)
		if err != nil || r.GetState() != pb.EventState_EVENT_STATE_PROCESSED || r.GetAlreadyCompleted() != already {
			t.Fatalf("%v %v", r, err)
		}
	}
	dup, err := c.ClaimEvent(t.Context(), claimOf("evt_1"))
	if err != nil || dup.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE || string(dup.GetExisting().GetResult()) != "ok" {
		t.Fatalf("%v %v", dup, err)
	}
	view, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{
		Namespace: shop, Source: "stripe", EventId: "evt_1", IncludePayload: true, IncludeResults: true,
	})
	if err != nil || len(view.GetEvents()) != 1 {
		t.Fatalf("%v %v", view, err)
	}
	e := view.GetEvents()[0]
	if string(e.GetEvent().GetPayload()) != `{"n":1}` || string(e.GetConsumers()[0].GetResult()) != "ok" || len(e.GetConsumers()[0].GetAttempts()) != 1 {
		t.Errorf("%v", e)
	}
	if h := e.GetDeliveries()[0].GetDelivery().GetHeaders(); len(h) != 1 || h[0].GetName() != "Content-Type" {
		t.Errorf("headers %v", h)
	}
	for _, want := range []string{`"msg":"ClaimEvent"`, `"namespace":"shop-live"`, `"consumer":"billing"`, `"source":"stripe"`, `"event_id":"evt_1"`,
		`"event_type":"invoice.paid"`, `"request_id":"req-1"`, `"outcome":"CLAIMED"`, `"attempt":1`, `"state":"PROCESSING"`, `"correlation_id":"evt_1"`, `"db_txid":4711`,
		`"duration_ms":`} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(f.log.String(), `"n":1`) || strings.Contains(f.log.String(), "idk_") {
		t.Error("the log holds a payload or a token")
	}
}

func TestAClaimIsKeptFailedAndGivenBack(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	claim := f.claimed(t, "evt_1")
	ext, err := c.ExtendClaim(t.Context(), &pb.ExtendClaimRequest{Token: claim.GetToken(), Lease: durationpb.New(time.Hour)})
	if err != nil || ext.GetLease().AsDuration() != time.Hour {
		t.Fatalf("%v %v", ext, err)
	}
	rel, err := c.ReleaseClaim(t.Context(), &pb.ReleaseClaimRequest{Token: claim.GetToken(), Reason: "shutting down"})
	if err != nil || rel.GetState() != pb.EventState_EVENT_STATE_RECEIVED || rel.GetCounted() {
		t.Fatalf("%v %v", rel, err)
	}
	if again, err := c.ReleaseClaim(t.Context(), &pb.ReleaseClaimRequest{Token: claim.GetToken()}); err != nil || again.GetCounted() {
		t.Fatalf("the repeat differs: %v %v", again, err)
	}
	claim = f.claimed(t, "evt_1")
	fail := &pb.FailEventRequest{Token: claim.GetToken(), Error: &pb.ProcessingError{Code: "boom", Kind: pb.FailureKind_FAILURE_KIND_RETRYABLE}}
	first, err := c.FailEvent(t.Context(), fail)
	if err != nil || first.GetState() != pb.EventState_EVENT_STATE_FAILED_RETRYABLE || first.GetAttempt() != claim.GetAttempt() {
		t.Fatalf("%v %v", first, err)
	}
	second, err := c.FailEvent(t.Context(), fail)
	if err != nil || !second.GetAlreadyFailed() || !second.GetNextAttemptAt().AsTime().Equal(first.GetNextAttemptAt().AsTime()) || second.GetAttempt() != first.GetAttempt() {
		t.Fatalf("%v %v", second, err)
	}
}

func TestASideEffectIsPerformedOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	claim := f.claimed(t, "evt_1")
	begin := &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: claim.GetToken()},
		Phase:   &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "mail", BeginId: "b1"}},
	}
	p, err := c.RecordSideEffect(t.Context(), begin)
	if err != nil || p.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_PERFORM || p.GetDownstreamIdempotencyKey() == "" {
		t.Fatalf("%v %v", p, err)
	}
	_, err = c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken()})
	if got := toldBy(t, err); got.reason != "OPEN_EFFECTS" {
		t.Fatalf("%v", got)
	}
	done := &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{Done: &pb.EffectDone{EffectToken: p.GetEffectToken(), Result: []byte("m_1")}}}
	if r, err := c.RecordSideEffect(t.Context(), done); err != nil || r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_DONE {
		t.Fatalf("%v %v", r, err)
	}
	// Outside a claim the same effect is found through its owner.
	begin.Subject = &pb.RecordSideEffectRequest_Owner{Owner: &pb.EffectOwner{
		Namespace: shop, Consumer: "billing", EventRef: &pb.EventRef{Source: "stripe", EventId: "evt_1"},
	}}
	begin.GetBegin().BeginId = "b2"
	if r, err := c.RecordSideEffect(t.Context(), begin); err != nil || r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_ALREADY_DONE || string(r.GetResult()) != "m_1" {
		t.Fatalf("%v %v", r, err)
	}
	record := &pb.RecordSideEffectRequest{
		Subject: begin.GetSubject(), Phase: &pb.RecordSideEffectRequest_Record{Record: &pb.EffectRecord{
			Scope: pb.EffectScope_EFFECT_SCOPE_NAMESPACE, Key: "refund:1", RequestHash: []byte{1}, Result: []byte("r")}},
	}
	if r, err := c.RecordSideEffect(t.Context(), record); err != nil || r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_RECORDED {
		t.Fatalf("%v %v", r, err)
	}
}

func sequence(n int64) *pb.Version { return &pb.Version{Value: &pb.Version_Sequence{Sequence: n}} }

func checkOf(v *pb.Version, request string) *pb.CheckVersionRequest {
	return &pb.CheckVersionRequest{
		Namespace: shop, Consumer: "billing", Resource: &pb.Resource{Type: "order", Id: "42"}, Version: v,
		Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, RequestId: request,
	}
}

func TestVersionsAreChecked(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	claim := f.claimed(t, "evt_1")
	req := checkOf(sequence(7), "")
	req.ClaimToken = claim.GetToken()
	r, err := c.CheckVersion(t.Context(), req)
	if err != nil || r.GetDecision() != pb.VersionDecision_VERSION_DECISION_APPLY || r.GetLaneFence() == 0 {
		t.Fatalf("%v %v", r, err)
	}
	if r, err := c.CheckVersion(t.Context(), checkOf(sequence(8), "r")); err != nil || r.GetDecision() != pb.VersionDecision_VERSION_DECISION_BUSY || r.GetBlockedBy().GetEvent().GetEventId() != "evt_1" {
		t.Fatalf("%v %v", r, err)
	}
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken()}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.CheckVersion(t.Context(), checkOf(sequence(6), "r")); err != nil || r.GetDecision() != pb.VersionDecision_VERSION_DECISION_STALE || r.GetCurrentVersion().GetSequence() != 7 {
		t.Fatalf("%v %v", r, err)
	}
}

func TestServerInfo(t *testing.T) {
	t.Parallel()
	f := start(t)
	r, err := f.ops(t, "consumer").GetServerInfo(t.Context(), &pb.GetServerInfoRequest{})
	if err != nil || r.GetVersion() != "1.2.3" || r.GetStorage() != "memory" || r.GetLimits().GetMaxRetryAfter().AsDuration() != 30*24*time.Hour {
		t.Fatalf("%v %v", r, err)
	}
}
