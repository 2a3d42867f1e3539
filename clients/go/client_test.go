package idemsvc_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// Whoever imports the client pulls in neither a database driver nor the server.
func TestTheClientStandsAlone(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/idemsvc/idemsvc/"
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		own, ours := strings.CutPrefix(dep, module)
		switch {
		case ours && !strings.HasPrefix(own, "api/") && own != "clients/go":
			t.Errorf("depends on %s", dep)
		case strings.HasPrefix(dep, "github.com/jackc/"), dep == "database/sql", strings.Contains(dep, "opentelemetry"):
			t.Errorf("depends on %s", dep)
		}
	}
}

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
	if _, err := first.Claim.Fail(ctx, idemsvc.Terminal("no", "")); !errors.Is(err, idemsvc.ErrAlreadyEnded) {
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
	if r, err := failing.Claim.Fail(ctx, idemsvc.Retryable("slow", "try later"), idemsvc.RetryIn(time.Hour)); err != nil || r.GetNextAttemptIn().AsDuration() < time.Minute {
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
	if _, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "mail"); !errors.Is(err, idemsvc.ErrClaimExpired) {
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
	if _, ok := idemsvc.RetryAfter(err); ok {
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
	if _, err := other.NotDone(ctx, idemsvc.Retryable("refused", "")); err != nil {
		t.Error(err)
	}
	third, err := answer.Claim.BeginEffect(ctx, idemsvc.EventScope, "push", idemsvc.RetryWhenUnknown())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := third.Unknown(ctx, idemsvc.Retryable("timeout", "")); err != nil {
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

// busy refuses the first commands as an overloaded server does.
type busy struct {
	storage.Backend
	refusals atomic.Int64
}

func (b *busy) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	if b.refusals.Add(-1) < 0 {
		return b.Backend.Apply(ctx, batch)
	}
	out := make([]storage.Result, len(batch))
	for i := range out {
		out[i].Err = storage.ErrOverloaded
	}
	return out
}

func TestOverloadIsRepeatedAfterTheTimeAskedFor(t *testing.T) {
	t.Parallel()
	b := &busy{Backend: memory.New(memory.Options{})}
	c := dial(t, replicaOf(t, b).addr)
	b.refusals.Store(2)
	started := time.Now()
	if answer, err := c.Claim(t.Context(), event("evt_1")); err != nil || answer.Claim == nil {
		t.Fatalf("%v %v", answer, err)
	}
	if took := time.Since(started); took < 400*time.Millisecond { // twice 200 ms
		t.Errorf("repeated after %v", took)
	}
	b.refusals.Store(1 << 40)
	never := dial(t, replicaOf(t, b).addr, idemsvc.WithMaxRepeats(0))
	_, err := never.Claim(t.Context(), event("evt_2"))
	if wait, ok := idemsvc.RetryAfter(err); !ok || wait != 200*time.Millisecond || !errors.Is(err, idemsvc.ErrOverloaded) {
		t.Errorf("%v", err)
	}
}
