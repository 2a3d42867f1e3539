package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

var errDown = errors.New("the other side is down")

// doing is a side effect that returns what it is told to, and remembers its tries.
type doing struct {
	tries  []idemsvc.Try
	result []byte
	err    error
}

func (d *doing) do(_ context.Context, try idemsvc.Try) ([]byte, error) {
	d.tries = append(d.tries, try)
	return d.result, d.err
}

// What a side effect led to is kept, and given to every later attempt instead of doing it
// again.
func TestASideEffectHappensOnce(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		mail := doing{result: []byte("message-1")}
		attempts := 0
		handle := func(ctx context.Context, claim *idemsvc.Claim) error {
			for range 2 {
				got, err := claim.SideEffect(ctx, "mail", mail.do, idemsvc.WithTarget("smtp"), idemsvc.WithEffectType("text/plain"))
				if err != nil || string(got) != "message-1" {
					t.Errorf("%q %v", got, err)
				}
			}
			if attempts++; attempts == 1 {
				return idemsvc.RetryAfter(0, errWork)
			}
			return nil
		}
		if _, err := client.Process(t.Context(), event("evt_1"), handle); !errors.Is(err, errWork) {
			t.Fatal(err)
		}
		service.Advance(time.Second)
		if a, err := client.Process(t.Context(), event("evt_1"), handle); err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Fatalf("%+v %v", a, err)
		}
		if len(mail.tries) != 1 || mail.tries[0].Attempt != 1 || mail.tries[0].IdempotencyKey == "" {
			t.Errorf("%+v", mail.tries)
		}
	})
}

// What the function's error says decides what the effect is remembered as, and with that
// what the event becomes.
func TestAnEffectsErrorDecides(t *testing.T) {
	hold, retry := []idemsvc.EffectOption(nil), []idemsvc.EffectOption{idemsvc.RetryWhenUnknown()}
	cases := map[string]struct {
		err     error
		opts    []idemsvc.EffectOption
		effect  pb.EffectState
		event   pb.EventState
		unknown bool
	}{
		"unknown, held":       {errDown, hold, pb.EffectState_EFFECT_STATE_UNKNOWN, pb.EventState_EVENT_STATE_HELD, true},
		"unknown, to repeat":  {errDown, retry, pb.EffectState_EFFECT_STATE_UNKNOWN, pb.EventState_EVENT_STATE_FAILED_RETRYABLE, true},
		"surely not":          {idemsvc.NotDone(errDown), hold, pb.EffectState_EFFECT_STATE_NOT_DONE, pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false},
		"surely not, for now": {idemsvc.NotDone(idemsvc.RetryAfter(time.Hour, errDown)), hold, pb.EffectState_EFFECT_STATE_NOT_DONE, pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false},
		"surely not, ever":    {idemsvc.Reject(idemsvc.NotDone(errDown)), hold, pb.EffectState_EFFECT_STATE_NOT_DONE, pb.EventState_EVENT_STATE_FAILED_TERMINAL, false},
	}
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		for name, c := range cases {
			charge := doing{err: c.err}
			a, err := client.Process(t.Context(), event(name), func(ctx context.Context, claim *idemsvc.Claim) error {
				_, err := claim.SideEffect(ctx, "charge", charge.do, c.opts...)
				return fmt.Errorf("charging: %w", err)
			})
			if !errors.Is(err, errDown) || errors.Is(err, idemsvc.ErrEffectUnknown) != c.unknown || a.State != c.event {
				t.Errorf("%s: %+v %v", name, a, err)
			}
			if e := consumer(t, client, name).GetEffects(); len(e) != 1 || e[0].GetState() != c.effect || e[0].GetError().GetMessage() == "" {
				t.Errorf("%s: %v", name, e)
			}
		}
	})
}

// A later try under RETRY is told that an earlier one may have happened, and gets the same
// key for the other side.
func TestALaterTryKnowsOfTheEarlierOne(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		charge := doing{err: errDown}
		handle := func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "charge", charge.do, idemsvc.RetryWhenUnknown(), idemsvc.WithIntent([]byte("charge 5")))
			return idemsvc.RetryAfter(0, err)
		}
		if _, err := client.Process(t.Context(), event("evt_1"), handle); err == nil {
			t.Fatal("no error")
		}
		charge.err = nil
		service.Advance(time.Second)
		_, _ = client.Process(t.Context(), event("evt_1"), handle)
		if len(charge.tries) != 2 || charge.tries[1].Attempt != 2 || string(charge.tries[1].EarlierIntent) != "charge 5" || charge.tries[0].IdempotencyKey != charge.tries[1].IdempotencyKey {
			t.Errorf("%+v", charge.tries)
		}
	})
}

// While another claim performs a business effect, its event is given back; a key that
// another request used rejects it.
func TestABusinessEffectIsOneForAllEvents(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		refund := doing{result: []byte("re_1")}
		refunding := func(request string) idemsvc.Handler {
			return func(ctx context.Context, claim *idemsvc.Claim) error {
				got, err := claim.BusinessEffect(ctx, "refund:order-7", []byte(request), refund.do)
				if err == nil && string(got) != "re_1" {
					t.Errorf("%q", got)
				}
				return err
			}
		}
		_, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.BusinessEffect(ctx, "refund:order-7", []byte("5 EUR"), func(ctx context.Context, try idemsvc.Try) ([]byte, error) {
				a, err := client.Process(ctx, event("evt_2"), refunding("5 EUR"))
				if !errors.Is(err, idemsvc.ErrEffectBusy) || a.State != pb.EventState_EVENT_STATE_RECEIVED || a.RetryAfter < time.Second {
					t.Errorf("%+v %v", a, err)
				}
				return refund.do(ctx, try)
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := client.Process(t.Context(), event("evt_2"), refunding("5 EUR")); err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		if a, err := client.Process(t.Context(), event("evt_3"), refunding("6 EUR")); !errors.Is(err, idemsvc.ErrEffectMismatch) || a.State != pb.EventState_EVENT_STATE_FAILED_TERMINAL {
			t.Errorf("%+v %v", a, err)
		}
		if len(refund.tries) != 1 {
			t.Errorf("%+v", refund.tries)
		}
		elsewhere := service.Client(idemsvc.WithConsumer("elsewhere"))
		_, err = elsewhere.Process(t.Context(), event("evt_4"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.BusinessEffect(ctx, "refund:order-7", []byte("6 EUR"), refund.do, idemsvc.WithinConsumer())
			return err
		})
		if err != nil || len(refund.tries) != 2 {
			t.Errorf("%v %+v", err, refund.tries)
		}
	})
}

// O-08: what nobody knows the outcome of is not done again, however often it comes.
func TestAnUnknownEffectIsNotRepeated(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		withdrawal := doing{err: errDown}
		handle := func(ctx context.Context, claim *idemsvc.Claim) error {
			_, err := claim.SideEffect(ctx, "withdrawal", withdrawal.do)
			if len(claim.GetEffects()) == 0 {
				return idemsvc.Release(nil) // the process was stopped
			}
			return err
		}
		for i, state := range []pb.EventState{pb.EventState_EVENT_STATE_RECEIVED, pb.EventState_EVENT_STATE_HELD, pb.EventState_EVENT_STATE_HELD} {
			if a, err := client.Process(t.Context(), event("evt_1"), handle); a.State != state {
				t.Errorf("%d: %+v %v", i, a, err)
			}
		}
		if len(withdrawal.tries) != 1 {
			t.Errorf("%+v", withdrawal.tries)
		}
	})
}

// A handler that says nothing of an effect whose outcome is unknown has not finished.
func TestAnOpenEffectIsNotOverlooked(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		charge := doing{err: errDown}
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, _ = claim.SideEffect(ctx, "charge", charge.do)
			return nil
		})
		if !errors.Is(err, idemsvc.ErrOpenEffects) || a.State != pb.EventState_EVENT_STATE_HELD {
			t.Errorf("%+v %v", a, err)
		}
		a, err = client.Process(t.Context(), event("evt_2"), func(ctx context.Context, claim *idemsvc.Claim) error {
			_, _ = claim.SideEffect(ctx, "charge", charge.do)
			claim.CompleteWith(idemsvc.AllowUnknownEffects())
			return nil
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
	})
}

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
