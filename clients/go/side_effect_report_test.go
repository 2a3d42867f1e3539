package idemsvc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// P16: an operation that took place is reported whatever else happens: the caller goes
// away, the claim is lost, the service is away for a while, the result cannot be stored.
func TestAFactIsNotLost(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client, other := service.Client(f.option()), service.Client()
		done := func(name string, result string) {
			t.Helper()
			e := consumer(t, other, name).GetEffects()
			if len(e) != 1 || e[0].GetState() != pb.EffectState_EFFECT_STATE_DONE || string(e[0].GetResult()) != result {
				t.Errorf("%s: %v", name, e)
			}
		}
		during := func(name string, meanwhile func(), handled func([]byte, error) error) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := client.Process(ctx, event(name), func(ctx context.Context, claim *idemsvc.Claim) error {
				return handled(claim.SideEffect(ctx, "charge", func(context.Context, idemsvc.Try) ([]byte, error) {
					if meanwhile == nil {
						cancel()
					} else {
						meanwhile()
					}
					return []byte("ch_1"), nil
				}))
			})
			return err
		}
		plain := func(_ []byte, err error) error { return err }

		if err := during("cancelled", nil, plain); err != nil {
			t.Error(err)
		}
		done("cancelled", "ch_1")

		err := during("lost", func() {
			service.Advance(2 * time.Minute)
			claimed(t, other, "lost")
		}, plain)
		if !errors.Is(err, idemsvc.ErrClaimLost) {
			t.Error(err)
		}
		done("lost", "ch_1")

		err = during("away", func() { f.set("RecordSideEffect", lostCall) }, func(_ []byte, err error) error {
			if _, again := idemsvc.Repeatable(err); !again {
				t.Errorf("%v", err)
			}
			f.set("RecordSideEffect", "")
			return err
		})
		if err == nil {
			t.Error("the handler's error is gone")
		}
		done("away", "ch_1")
		f.set("RecordSideEffect", "")

		a, err := client.Process(t.Context(), event("large"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "charge", func(context.Context, idemsvc.Try) ([]byte, error) { return make([]byte, 65537), nil })
			return err
		})
		if !errors.Is(err, idemsvc.ErrInvalidArgument) || a.State != pb.EventState_EVENT_STATE_FAILED_TERMINAL {
			t.Errorf("%+v %v", a, err)
		}
		done("large", "")
	})
}

// Of all tries the first report of success stands, whatever a later try says.
func TestTheFirstReportStands(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		for name, later := range map[string]doing{
			"done again": {result: []byte("second")}, "not done": {err: idemsvc.NotDone(errDown)}, "unknown": {err: errDown},
		} {
			claim := claimed(t, client, name)
			first, err := claim.BeginEffect(t.Context(), idemsvc.EventScope, "charge", idemsvc.RetryWhenUnknown())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := first.Unknown(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			got, err := claim.SideEffect(t.Context(), "charge", func(ctx context.Context, try idemsvc.Try) ([]byte, error) {
				if _, err := first.Done(ctx, []byte("first"), ""); err != nil {
					t.Error(err)
				}
				return later.do(ctx, try)
			})
			if err != nil || string(got) != "first" || later.tries[0].Attempt != 2 {
				t.Errorf("%s: %q %v", name, got, err)
			}
		}
	})
}

// That a try did not take place says nothing of an earlier one.
func TestAnEarlierTryStaysUnknown(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		claim := claimed(t, service.Client(), "evt_1")
		if _, err := claim.BeginEffect(t.Context(), idemsvc.EventScope, "charge", idemsvc.RetryWhenUnknown(), idemsvc.WithEffectLease(time.Second)); err != nil {
			t.Fatal(err)
		}
		service.Advance(2 * time.Second)
		charge := doing{err: idemsvc.NotDone(errDown)}
		if _, err := claim.SideEffect(t.Context(), "charge", charge.do); !errors.Is(err, idemsvc.ErrEffectUnknown) || !errors.Is(err, errDown) {
			t.Errorf("%v", err)
		}
	})
}

// A function that panics leaves an unknown outcome, and one that was never called none.
func TestAnEffectThatDoesNotReturn(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
				_, err := claim.SideEffect(ctx, "charge", func(context.Context, idemsvc.Try) ([]byte, error) { panic("oops") })
				return err
			})
		}()
		if v := consumer(t, client, "evt_1"); v.GetState() != pb.EventState_EVENT_STATE_HELD || v.GetEffects()[0].GetState() != pb.EffectState_EFFECT_STATE_UNKNOWN {
			t.Errorf("%v", v)
		}
	})
}

// The function's context ends with the effect's lease: then somebody else may do it.
func TestAnEffectsTimeIsItsLease(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		started := time.Now()
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "charge", func(ctx context.Context, _ idemsvc.Try) ([]byte, error) {
				<-ctx.Done()
				took(t, started, 9*time.Second, 10*time.Second)
				return nil, context.Cause(ctx)
			}, idemsvc.WithEffectLease(10*time.Second))
			return err
		})
		if !errors.Is(err, idemsvc.ErrEffectUnknown) || a.State != pb.EventState_EVENT_STATE_HELD {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// A claim whose lease is over is extended by itself where a call needs it live.
func TestAnExpiredClaimIsRevived(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		claim := claimed(t, service.Client(), "evt_1")
		service.Advance(2 * time.Minute)
		mail := doing{result: []byte("message-1")}
		if got, err := claim.SideEffect(t.Context(), "mail", mail.do); err != nil || string(got) != "message-1" {
			t.Errorf("%q %v", got, err)
		}
		service.Advance(2 * time.Minute)
		order := &idemsvc.Resource{Type: "order", Id: "7"}
		if v, err := claim.CheckVersion(t.Context(), order, idemsvc.LatestWins(idemsvc.Sequence(1))); err != nil || !v.Apply() {
			t.Errorf("%v %v", v, err)
		}
		if _, err := claim.SideEffect(t.Context(), strings.Repeat("k", 513), mail.do); !errors.Is(err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
	})
}
