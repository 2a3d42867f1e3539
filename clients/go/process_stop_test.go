package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// A handler that does not return has failed, and the panic goes on.
func TestAPanicFailsTheAttemptAndGoesOn(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		func() {
			defer func() {
				if v := recover(); v != "no such customer" {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = client.Process(t.Context(), event("evt_1"), func(context.Context, *idemsvc.Claim) error { panic("no such customer") })
			t.Error("the panic is gone")
		}()
		if e := lastError(t, client, "evt_1"); e.GetCode() != "panic" || !strings.Contains(e.GetMessage(), "no such customer") {
			t.Errorf("%v", e)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = client.Process(t.Context(), event("evt_2"), func(context.Context, *idemsvc.Claim) error { runtime.Goexit(); return nil })
		}()
		<-done
		if v := consumer(t, client, "evt_2"); v.GetState() != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%v", v)
		}
	})
}

// The end of the caller's context: a cancelled handler gives the event back, one that was
// too slow has failed, and neither report depends on the context.
func TestTheCallersContextEnds(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		waiting := func(ctx context.Context, _ *idemsvc.Claim) error {
			<-ctx.Done()
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("shutting down")) })
		a, err := client.Process(ctx, event("evt_1"), waiting)
		if !errors.Is(err, context.Canceled) || a.State != pb.EventState_EVENT_STATE_RECEIVED || a.Acknowledge() {
			t.Errorf("%+v %v", a, err)
		}
		slow, cancelSlow := context.WithTimeout(t.Context(), time.Second)
		defer cancelSlow()
		a, err = client.Process(slow, event("evt_2"), waiting)
		if !errors.Is(err, context.DeadlineExceeded) || a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%+v %v", a, err)
		}
		if e := lastError(t, client, "evt_2"); e.GetCode() != "deadline_exceeded" {
			t.Errorf("%v", e)
		}
		said, cancelSaid := context.WithCancel(t.Context())
		a, _ = client.Process(said, event("evt_6"), func(ctx context.Context, _ *idemsvc.Claim) error {
			cancelSaid()
			return idemsvc.Reject(ctx.Err())
		})
		if a.State != pb.EventState_EVENT_STATE_FAILED_TERMINAL { // what the handler says holds
			t.Errorf("%+v", a)
		}
		finished, cancelFinished := context.WithCancel(t.Context())
		a, err = client.Process(finished, event("evt_3"), func(context.Context, *idemsvc.Claim) error { cancelFinished(); return nil })
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED { // the work was done
			t.Errorf("%+v %v", a, err)
		}
		inner := func(context.Context, *idemsvc.Claim) error { return context.DeadlineExceeded } // of a call it made
		if a, _ = client.Process(t.Context(), event("evt_4"), inner); a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%+v", a)
		}
		claim := claimed(t, client, "evt_5")
		over, cancelOver := context.WithCancel(t.Context())
		cancelOver()
		a, err = claim.Process(over, func(context.Context, *idemsvc.Claim) error { t.Error("it runs"); return nil })
		if !errors.Is(err, context.Canceled) || a.State != pb.EventState_EVENT_STATE_RECEIVED || a.Handled {
			t.Errorf("%+v %v", a, err)
		}
	})
}

func TestAClaimRunsOneHandler(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		claim := claimed(t, service.Client(), "evt_1")
		_, err := claim.Process(t.Context(), func(ctx context.Context, claim *idemsvc.Claim) error {
			if a, err := claim.Process(ctx, returning(nil)); err == nil || a.Acknowledge() {
				t.Errorf("a second one runs: %+v", a)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Middleware wraps every handler, the first one outermost.
func TestMiddlewareWrapsHandlers(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		var order []string
		named := func(name string) func(idemsvc.Handler) idemsvc.Handler {
			return func(next idemsvc.Handler) idemsvc.Handler {
				return func(ctx context.Context, claim *idemsvc.Claim) error {
					order = append(order, name)
					return next(ctx, claim)
				}
			}
		}
		client := service.Client(idemsvc.WithMiddleware(named("outer"), named("inner")))
		if _, err := client.Process(t.Context(), event("evt_1"), func(context.Context, *idemsvc.Claim) error {
			order = append(order, "handler")
			return nil
		}); err != nil || strings.Join(order, " ") != "outer inner handler" {
			t.Errorf("%v %v", order, err)
		}
	})
}
