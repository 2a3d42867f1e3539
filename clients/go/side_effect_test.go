package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
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
