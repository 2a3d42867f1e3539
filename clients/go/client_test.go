package idemsvc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func TestAClaimLivesAndEnds(t *testing.T) {
	t.Parallel()
	c := dial(t, replicaOf(t, memory.New(memory.Options{})).addr)
	ctx := t.Context()
	first, err := c.Claim(ctx, event("evt_1"))
	if err != nil || first.Advice() != idemsvc.Process || first.Claim.GetAttempt() != 1 {
		t.Fatalf("%v %v", first, err)
	}
	if second, err := c.Claim(ctx, event("evt_1")); err != nil || second.Advice() != idemsvc.RepeatLater || second.Claim != nil || second.RetryAfter() <= 0 {
		t.Fatalf("%v %v", second, err)
	}
	if r, err := first.Claim.Extend(ctx, time.Minute); err != nil || r.GetLease().AsDuration() <= 0 {
		t.Fatalf("%v %v", r, err)
	}
	for range 2 { // safe to call again
		if _, err := first.Claim.Complete(ctx, idemsvc.WithResult([]byte("done"), "text/plain"), idemsvc.WithOutputs("invoice/1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Claim.Fail(ctx, idemsvc.Reject(errors.New("no"))); !errors.Is(err, idemsvc.ErrAlreadyEnded) {
		t.Errorf("%v", err)
	}
	dup, err := c.Claim(ctx, event("evt_1"))
	if err != nil || dup.Advice() != idemsvc.Acknowledge || string(dup.GetExisting().GetResult()) != "done" {
		t.Errorf("%v %v", dup, err)
	}
	failing, err := c.Claim(ctx, event("evt_2"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := failing.Claim.Fail(ctx, idemsvc.RetryAfter(time.Hour, errors.New("try later"))); err != nil || r.GetNextAttemptIn().AsDuration() < time.Minute {
		t.Errorf("%v %v", r, err)
	}
	released, err := c.Claim(ctx, event("evt_3"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := released.Claim.Release(ctx, "shutting down"); err != nil || r.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
		t.Errorf("%v %v", r, err)
	}
}

func TestErrorsTellTheirReason(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	change, token := withToken(t, auth.Consumer, "dev")
	r := replicaOf(t, store, change)
	c := dial(t, r.addr, idemsvc.WithToken(token))
	ctx := t.Context()

	answer, err := c.Claim(ctx, event("evt_lost"))
	if err != nil {
		t.Fatal(err)
	}
	key := idem.EventKey{EventRef: idem.EventRef{Namespace: "dev", Source: "stripe", EventID: "evt_lost"}, Consumer: "billing"}
	store.Expire(key.ID())
	check := &pb.CheckVersionRequest{
		Namespace: "dev", Consumer: "billing", Resource: &pb.Resource{Type: "order", Id: "7"}, Version: idemsvc.Sequence(1),
		Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, ClaimToken: answer.Claim.GetToken(),
	}
	if _, err := c.Idempotency().CheckVersion(ctx, check); !errors.Is(err, idemsvc.ErrClaimExpired) {
		t.Errorf("%v", err)
	}
	if _, err := c.Claim(ctx, event("evt_lost")); err != nil {
		t.Fatal(err)
	}
	_, err = answer.Claim.Complete(ctx)
	e, _ := errors.AsType[*idemsvc.Error](err)
	if !errors.Is(err, idemsvc.ErrClaimLost) || e == nil || e.Code != codes.FailedPrecondition || status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	if _, ok := idemsvc.Repeatable(err); ok {
		t.Error("a lost claim is not worth a repeat")
	}
	if _, err := c.Claim(ctx, event(strings.Repeat("x", 513))); !errors.Is(err, idemsvc.ErrInvalidArgument) || !strings.Contains(err.Error(), "event.event_id") {
		t.Errorf("%v", err)
	}
	if _, err := c.Claim(ctx, event("e"), idemsvc.ForNamespace("other")); !errors.Is(err, idemsvc.ErrUnknownNamespace) {
		t.Errorf("%v", err)
	}
	if _, err := c.Operations().GetEvent(ctx, &pb.GetEventRequest{Namespace: "dev", EventId: "e"}); !errors.Is(err, idemsvc.ErrPermissionDenied) {
		t.Errorf("%v", err)
	}
	if _, err := dial(t, r.addr).Claim(ctx, event("e")); !errors.Is(err, idemsvc.ErrUnauthenticated) {
		t.Errorf("%v", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	if _, err := c.Claim(short, event("e")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, idemsvc.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestEffectsHappenOnce(t *testing.T) {
	t.Parallel()
	c := dial(t, replicaOf(t, memory.New(memory.Options{})).addr)
	ctx := t.Context()
	answer, err := c.Claim(ctx, event("evt_1"))
	if err != nil {
		t.Fatal(err)
	}
	effect, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "mail", idemsvc.WithIntent([]byte("to a@b")), idemsvc.WithTarget("smtp"))
	if err != nil || !effect.Perform() {
		t.Fatalf("%v %v", effect, err)
	}
	if _, err := answer.Claim.Complete(ctx); !errors.Is(err, idemsvc.ErrOpenEffects) {
		t.Errorf("%v", err)
	}
	if again, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "mail"); err != nil || again.Perform() {
		t.Errorf("%v %v", again, err)
	}
	if _, err := effect.Done(ctx, []byte("msg-1"), "text/plain"); err != nil {
		t.Fatal(err)
	}
	if again, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "mail"); err != nil || !again.AlreadyDone() || string(again.GetResult()) != "msg-1" {
		t.Errorf("%v %v", again, err)
	}
	other, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "sms", idemsvc.RetryWhenUnknown(), idemsvc.WithEffectLease(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.NotDone(ctx, errors.New("refused")); err != nil {
		t.Error(err)
	}
	third, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "push", idemsvc.RetryWhenUnknown())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third.Unknown(ctx, errors.New("timeout")); err != nil {
		t.Error(err)
	}
	if r, err := answer.Claim.RecordEffect(ctx, idemsvc.ConsumerScope, "refund:1", []byte("re_1"), "", idemsvc.WithRequestHash([]byte("h"))); err != nil || r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_RECORDED {
		t.Errorf("%v %v", r, err)
	}
}

func TestVersionsAreOrdered(t *testing.T) {
	t.Parallel()
	c := dial(t, replicaOf(t, memory.New(memory.Options{})).addr)
	ctx := t.Context()
	order := &idemsvc.Resource{Type: "order", Id: "42"}
	newer := event("evt_2")
	newer.Resource = order
	answer, err := c.Claim(ctx, newer, idemsvc.WithOrdering(idemsvc.LatestWins(idemsvc.Sequence(2))))
	if err != nil || answer.Claim.GetLaneFence() == 0 {
		t.Fatalf("%v %v", answer, err)
	}
	if _, err := answer.Claim.Complete(ctx); err != nil {
		t.Fatal(err)
	}
	older := event("evt_1")
	older.Resource = order
	if stale, err := c.Claim(ctx, older, idemsvc.WithOrdering(idemsvc.LatestWins(idemsvc.Sequence(1)))); err != nil || stale.Advice() != idemsvc.Acknowledge {
		t.Errorf("%v %v", stale, err)
	}
	plain, err := c.Claim(ctx, event("evt_3"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := plain.Claim.CheckVersion(ctx, order, idemsvc.LatestWins(idemsvc.Sequence(3))); err != nil || r.GetDecision() != pb.VersionDecision_VERSION_DECISION_APPLY {
		t.Errorf("%v %v", r, err)
	}
	other := &idemsvc.Resource{Type: "order", Id: "43"}
	for _, want := range []pb.VersionDecision{pb.VersionDecision_VERSION_DECISION_APPLY, pb.VersionDecision_VERSION_DECISION_STALE} {
		v := idemsvc.Sequence(int64(8 - want))
		if r, err := c.CheckVersion(ctx, other, v, nil); err != nil || r.GetDecision() != want {
			t.Errorf("%v %v", r, err)
		}
	}
}
