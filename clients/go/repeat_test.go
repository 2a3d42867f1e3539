package idemsvc_test

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// P5: whichever answers are lost on the way, the repeat with the same identity gets them:
// nothing is claimed, performed or counted twice.
func TestLostAnswersAreFetched(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		lose := func() {
			for _, method := range []string{"ClaimEvent", "ExtendClaim", "CheckVersion", "RecordSideEffect", "CompleteEvent", "FailEvent", "ReleaseClaim", "ClaimEvents", "CompleteEvents"} {
				f.next(method, lostAnswer, 2)
			}
		}
		order := &idemsvc.Resource{Type: "order", Id: "7"}
		mail := doing{result: []byte("message-1")}
		lose()
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			if claim.GetAttempt() != 1 || !claim.GetRepeated() {
				t.Errorf("%v", claim)
			}
			if v, err := claim.CheckVersion(ctx, order, idemsvc.LatestWins(idemsvc.Sequence(1))); err != nil || !v.Apply() {
				t.Errorf("%v %v", v, err)
			}
			time.Sleep(time.Minute)
			lose()
			_, err := claim.SideEffect(ctx, "mail", mail.do)
			return err
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED || len(mail.tries) != 1 || mail.tries[0].Attempt != 1 {
			t.Errorf("%+v %v %+v", a, err, mail.tries)
		}
		lose()
		if a, err := client.Process(t.Context(), event("evt_2"), returning(errWork)); !errors.Is(err, errWork) || a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%+v %v", a, err)
		}
		lose()
		if a, err := client.Process(t.Context(), event("evt_3"), returning(idemsvc.Release(errWork))); a.State != pb.EventState_EVENT_STATE_RECEIVED {
			t.Errorf("%+v %v", a, err)
		}
		lose()
		answers, err := client.ClaimAll(t.Context(), []*idemsvc.ClaimItem{{Event: event("evt_4")}})
		if err != nil || answers[0].Claim.GetAttempt() != 1 {
			t.Fatalf("%v %v", answers, err)
		}
		if failed, err := client.CompleteAll(t.Context(), []*idemsvc.Claim{answers[0].Claim}); err != nil || failed[0] != nil {
			t.Errorf("%v %v", failed, err)
		}
		for _, id := range []string{"evt_1", "evt_2", "evt_4"} {
			if v := consumer(t, client, id); v.GetAttemptsTotal() != 1 {
				t.Errorf("%s: %v", id, v)
			}
		}
	})
}

// A replica that hangs costs one try, not the call; the caller's own deadline stands.
func TestAHangingReplicaIsLeft(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		f.next("ClaimEvent", hanging, 1)
		started := time.Now()
		claim := claimed(t, client, "evt_1")
		took(t, started, 10*time.Second, 11*time.Second)

		quick := service.Client(f.option(), idemsvc.WithTryTimeout(time.Second))
		f.next("ExtendClaim", hanging, 2)
		started = time.Now()
		if _, err := claim.Extend(t.Context(), 0); err != nil {
			t.Error(err)
		}
		took(t, started, 20*time.Second, 21*time.Second)

		f.set("ClaimEvent", hanging)
		started = time.Now()
		if _, err := quick.Claim(t.Context(), event("evt_2")); !errors.Is(err, idemsvc.ErrDeadlineExceeded) {
			t.Errorf("%v", err)
		}
		took(t, started, 15*time.Second, 30*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		started = time.Now()
		if _, err := quick.Claim(ctx, event("evt_2")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		took(t, started, 1400*time.Millisecond, 1600*time.Millisecond)

		f.set("ClaimEvent", "")
		waiting := service.Client(f.option(), idemsvc.WithTryTimeout(time.Second))
		started = time.Now()
		if a, err := waiting.Claim(t.Context(), event("evt_1"), idemsvc.WithWait(20*time.Second)); err != nil || a.Advice() != idemsvc.RepeatLater {
			t.Errorf("%v %v", a, err)
		}
		took(t, started, 19*time.Second, 21*time.Second) // a try may wait as long as it asks for
	})
}

// busy refuses the first commands, as an overloaded server does if nothing else is said.
type busy struct {
	storage.Backend
	refusals atomic.Int64
	with     error
}

func (b *busy) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	if b.refusals.Add(-1) < 0 {
		return b.Backend.Apply(ctx, batch)
	}
	out := make([]storage.Result, len(batch))
	for i := range out {
		out[i].Err = cmp.Or(b.with, storage.ErrOverloaded)
	}
	return out
}

func TestOverloadIsRepeatedAfterTheTimeAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &busy{Backend: memory.New(memory.Options{})}
		_, reach := piped(t, b)
		c := dial(t, "passthrough:///busy", reach)
		b.refusals.Store(2)
		started := time.Now()
		claimed(t, c, "evt_1")
		took(t, started, 400*time.Millisecond, 500*time.Millisecond) // twice 200 ms, and a little jitter

		b.refusals.Store(1 << 40)
		never := dial(t, "passthrough:///busy", reach, idemsvc.WithMaxRepeats(0))
		_, err := never.Claim(t.Context(), event("evt_2"))
		if wait, ok := idemsvc.Repeatable(err); !ok || wait != 200*time.Millisecond || !errors.Is(err, idemsvc.ErrOverloaded) {
			t.Errorf("%v", err)
		}
		started = time.Now()
		if _, err := c.Claim(t.Context(), event("evt_2")); !errors.Is(err, idemsvc.ErrOverloaded) {
			t.Errorf("%v", err)
		}
		took(t, started, 3*time.Second, 12*time.Second)
	})
}

// A fault of the service is met a few times before the caller is told.
func TestAFaultIsRepeatedAFewTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &busy{Backend: memory.New(memory.Options{}), with: errors.New("a fault")}
		_, reach := piped(t, b)
		c := dial(t, "passthrough:///busy", reach)
		b.refusals.Store(2)
		claimed(t, c, "evt_1")
		b.refusals.Store(3)
		if _, err := c.Claim(t.Context(), event("evt_2")); !errors.Is(err, idemsvc.ErrInternal) || b.refusals.Load() != 0 {
			t.Errorf("%v, %d refusals left", err, b.refusals.Load())
		}
	})
}
