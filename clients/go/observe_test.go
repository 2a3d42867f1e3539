package idemsvc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// Old code runs whatever the service says, and the two are compared.
func TestObservationNeverRefuses(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		var log bytes.Buffer
		client := service.Client(idemsvc.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ran := 0
		old := func(processed bool, err error) func(context.Context) (bool, error) {
			return func(context.Context) (bool, error) { ran++; return processed, err }
		}
		watch := func(id string, run func(context.Context) (bool, error), want idemsvc.Observations) {
			t.Helper()
			before := ran
			err := client.Observe(t.Context(), event(id), run)
			if err != nil && !errors.Is(err, errWork) || ran != before+1 {
				t.Errorf("%v, it ran %d times", err, ran-before)
			}
			if got := client.Observations(); got != want {
				t.Errorf("%s: %+v", id, got)
			}
		}
		watch("evt_1", old(true, nil), idemsvc.Observations{Agreed: 1})
		watch("evt_1", old(false, nil), idemsvc.Observations{Agreed: 2})
		watch("evt_1", old(true, nil), idemsvc.Observations{Agreed: 2, Extra: 1})
		watch("before the first week", old(false, nil), idemsvc.Observations{Agreed: 2, Extra: 1, Missed: 1})
		watch("before the first week", old(false, nil), idemsvc.Observations{Agreed: 3, Extra: 1, Missed: 1})
		watch("failing", old(false, errWork), idemsvc.Observations{Agreed: 4, Extra: 1, Missed: 1})
		if v := consumer(t, client, "failing"); v.GetState() != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%v", v)
		}
		claimed(t, client, "running")
		watch("running", old(true, nil), idemsvc.Observations{Agreed: 4, Extra: 2, Missed: 1})
		watch("running", old(false, nil), idemsvc.Observations{Agreed: 5, Extra: 2, Missed: 1})
		for _, want := range []string{"event_id=evt_1 outcome=CLAIM_OUTCOME_ALREADY_PROCESSED", "outcome=CLAIM_OUTCOME_CLAIMED", "outcome=CLAIM_OUTCOME_IN_PROGRESS"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s is not in the log\n%s", want, log.String())
			}
		}
	})
}

// The service costs old code a second before it and one after it at most, and neither its
// absence nor a lost claim or a cancelled context keeps old code from running to its end.
func TestObservationNeverDisturbs(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		f.set("ClaimEvent", hanging)
		started, ran := time.Now(), 0
		old := func(context.Context) (bool, error) { ran++; return true, nil }
		if err := client.Observe(t.Context(), event("evt_1"), old); err != nil || ran != 1 || client.Observations() != (idemsvc.Observations{Unanswered: 1}) {
			t.Errorf("%v %d %+v", err, ran, client.Observations())
		}
		took(t, started, 500*time.Millisecond, time.Second)
		f.set("ClaimEvent", "")
		f.set("CompleteEvent", hanging)
		started = time.Now()
		if err := client.Observe(t.Context(), event("evt_1"), old); err != nil || ran != 2 || client.Observations() != (idemsvc.Observations{Agreed: 1, Unanswered: 1, Unrecorded: 1}) {
			t.Errorf("%v %d %+v", err, ran, client.Observations())
		}
		took(t, started, 500*time.Millisecond, time.Second)
		f.set("CompleteEvent", "")

		over, cancel := context.WithCancel(t.Context())
		cancel()
		err := client.Observe(over, event("evt_2"), func(ctx context.Context) (bool, error) {
			if ran++; ctx.Err() == nil {
				t.Error("the context is another one")
			}
			return true, nil
		})
		if err != nil || ran != 3 {
			t.Errorf("%v %d", err, ran)
		}
		err = client.Observe(t.Context(), event("evt_3"), func(ctx context.Context) (bool, error) {
			service.Advance(2 * time.Minute)
			claimed(t, client, "evt_3")
			time.Sleep(5 * time.Minute)
			return true, ctx.Err()
		})
		if err != nil {
			t.Errorf("a lost claim stopped old code: %v", err)
		}
		if o := client.Observations(); o != (idemsvc.Observations{Agreed: 3, Unanswered: 1, Unrecorded: 2}) {
			t.Errorf("%+v", o)
		}
	})
}
