package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

var errWork = errors.New("the work went wrong")

func returning(err error) idemsvc.Handler {
	return func(context.Context, *idemsvc.Claim) error { return err }
}

// What a handler returns ends the claim, and says what the sender is told.
func TestAHandlersErrorDecides(t *testing.T) {
	cases := map[string]struct {
		returned error
		state    pb.EventState
		ack      bool
		least    time.Duration // of RetryAfter
		most     time.Duration
		code     string // as operators see it
	}{
		"success":              {nil, pb.EventState_EVENT_STATE_PROCESSED, true, 0, 0, ""},
		"plain":                {errWork, pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, time.Microsecond, 5 * time.Second, "failed"},
		"rejected":             {idemsvc.Reject(errWork), pb.EventState_EVENT_STATE_FAILED_TERMINAL, true, 0, 0, "rejected"},
		"with a code":          {idemsvc.Reject(idemsvc.WithCode("card_declined", errWork)), pb.EventState_EVENT_STATE_FAILED_TERMINAL, true, 0, 0, "card_declined"},
		"after a time":         {idemsvc.RetryAfter(time.Hour, errWork), pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, time.Hour, time.Hour, "failed"},
		"beyond all times":     {idemsvc.RetryAfter(1e6*time.Hour, errWork), pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, 720 * time.Hour, 720 * time.Hour, "failed"},
		"not yet":              {idemsvc.NotYet(errWork), pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, time.Microsecond, 5 * time.Second, "not_yet"},
		"not yet, after":       {idemsvc.NotYet(idemsvc.RetryAfter(time.Minute, errWork)), pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, time.Minute, time.Minute, "not_yet"},
		"wrapped":              {fmt.Errorf("outside: %w", idemsvc.Reject(errWork)), pb.EventState_EVENT_STATE_FAILED_TERMINAL, true, 0, 0, "rejected"},
		"joined":               {errors.Join(errors.New("first"), idemsvc.Reject(errWork)), pb.EventState_EVENT_STATE_FAILED_TERMINAL, true, 0, 0, "rejected"},
		"the outer one holds":  {idemsvc.NotYet(idemsvc.Reject(errWork)), pb.EventState_EVENT_STATE_FAILED_RETRYABLE, false, time.Microsecond, 5 * time.Second, "not_yet"},
		"given back":           {idemsvc.Release(errWork), pb.EventState_EVENT_STATE_RECEIVED, false, time.Second, time.Second, ""},
		"given back for a day": {idemsvc.RetryAfter(24*time.Hour, idemsvc.Release(errWork)), pb.EventState_EVENT_STATE_RECEIVED, false, 24 * time.Hour, 24 * time.Hour, ""},
	}
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		for name, c := range cases {
			a, err := client.Process(t.Context(), event(name), returning(c.returned))
			if c.returned == nil && err != nil || c.returned != nil && !errors.Is(err, errWork) {
				t.Errorf("%s: the error is %v", name, err)
			}
			if a.State != c.state || a.Acknowledge() != c.ack || !a.Handled || a.Outcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
				t.Errorf("%s: %+v", name, a)
			}
			if a.RetryAfter < c.least || a.RetryAfter > c.most {
				t.Errorf("%s: to be repeated after %v", name, a.RetryAfter)
			}
			if got := lastError(t, client, name); got.GetCode() != c.code || c.code != "" && !strings.Contains(got.GetMessage(), "the work went wrong") {
				t.Errorf("%s: the last error is %v", name, got)
			}
		}
	})
}

// consumer is what is stored about an event.
func consumer(t testing.TB, c *idemsvc.Client, id string) *pb.ConsumerView {
	t.Helper()
	r, err := c.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: idemtest.Namespace, Source: "stripe", EventId: id, IncludeResults: true})
	if err != nil || len(r.GetEvents()) != 1 || len(r.GetEvents()[0].GetConsumers()) != 1 {
		t.Fatalf("%v %v", r, err)
	}
	return r.GetEvents()[0].GetConsumers()[0]
}

func lastError(t testing.TB, c *idemsvc.Client, id string) *pb.ProcessingError {
	t.Helper()
	return consumer(t, c, id).GetLastError()
}

// Only what was settled may be acknowledged: everything else comes with an error, so that
// a caller who looks at nothing else does not lose the event.
func TestWhatIsNotSettledIsAnError(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		running := claimed(t, client, "evt_1")
		never := func(context.Context, *idemsvc.Claim) error { t.Error("it runs"); return nil }
		a, err := client.Process(t.Context(), event("evt_1"), never)
		if !errors.Is(err, idemsvc.ErrNotNow) || a.Acknowledge() || a.RetryAfter <= 0 || a.Outcome() != pb.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS {
			t.Errorf("%+v %v", a, err)
		}
		if _, err := running.Complete(t.Context(), idemsvc.WithResult([]byte("42"), "text/plain")); err != nil {
			t.Fatal(err)
		}
		a, err = client.Process(t.Context(), event("evt_1"), never)
		if err != nil || !a.Acknowledge() || a.Handled || string(a.Result) != "42" || a.ContentType != "text/plain" || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		service.Close()
		a, err = client.Process(t.Context(), event("evt_2"), never)
		if err == nil || a.Acknowledge() || a.RetryAfter <= 0 || a.Claimed != nil || a.Outcome() != 0 {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// An advice that this client does not know runs no handler and settles nothing.
func TestAnUnknownAdviceRunsNothing(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client(idemsvc.WithDialOptions(grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				err := invoke(ctx, method, req, reply, conn, opts...)
				switch r := reply.(type) {
				case *pb.ClaimEventResponse:
					if r.GetClaim().GetAttempt() == 1 {
						r.Advice = 99
					}
				case *pb.FailEventResponse:
					r.State = 99
				}
				return err
			})))
		a, err := client.Process(t.Context(), event("evt_1"), func(context.Context, *idemsvc.Claim) error { t.Error("it runs"); return nil })
		if !errors.Is(err, idemsvc.ErrNotNow) || a.Advice != idemsvc.RepeatLater || a.RetryAfter <= 0 || a.Handled {
			t.Errorf("%+v %v", a, err)
		}
		service.Advance(2 * time.Minute)
		a, err = client.Process(t.Context(), event("evt_1"), returning(errWork))
		if !errors.Is(err, errWork) || a.Advice != idemsvc.RepeatLater || !a.Handled {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// What a handler adds to the completion is what duplicates get.
func TestAHandlerSaysWhatTheCompletionStores(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		a, err := client.Process(t.Context(), event("evt_1"), func(_ context.Context, claim *idemsvc.Claim) error {
			claim.CompleteWith(idemsvc.WithResult([]byte("invoice/42"), "text/plain"))
			claim.CompleteWith(idemsvc.WithOutputs("invoice/42"))
			return nil
		})
		if err != nil || string(a.Result) != "invoice/42" {
			t.Errorf("%+v %v", a, err)
		}
		if v := consumer(t, client, "evt_1"); string(v.GetResult()) != "invoice/42" || len(v.GetOutputs()) != 1 {
			t.Errorf("%v", v)
		}
	})
}

// A handler may end its claim itself; what it returns changes nothing then.
func TestAHandlerMayEndItsClaim(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			if _, err := claim.Complete(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Minute) // nothing is extended any more
			return errWork
		})
		if !errors.Is(err, errWork) || a.State != pb.EventState_EVENT_STATE_PROCESSED || !a.Acknowledge() {
			t.Errorf("%+v %v", a, err)
		}
		if f.count("FailEvent") != 0 || f.count("ExtendClaim") > 1 {
			t.Errorf("%v", f.calls)
		}
		claim := claimed(t, client, "evt_2")
		if _, err := claim.Release(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		if a, err := claim.Process(t.Context(), returning(nil)); !errors.Is(err, idemsvc.ErrAlreadyEnded) || a.Acknowledge() {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// A completion that the service refuses for what it says (O-33) is not repeated for ever,
// and its work is not repeated either.
func TestARefusedCompletionIsARejection(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		a, err := client.Process(t.Context(), event("evt_1"), func(_ context.Context, claim *idemsvc.Claim) error {
			claim.CompleteWith(idemsvc.WithResult(make([]byte, 65537), ""))
			return nil
		})
		if !errors.Is(err, idemsvc.ErrInvalidArgument) || a.State != pb.EventState_EVENT_STATE_FAILED_TERMINAL || !a.Acknowledge() {
			t.Errorf("%+v %v", a, err)
		}
		if e := lastError(t, client, "evt_1"); e.GetCode() != "completion_refused" || !strings.Contains(e.GetMessage(), "65536") {
			t.Errorf("%v", e)
		}
	})
}

// Whatever an error says, it can be stored (O-29, O-30): a report that was refused would
// leave the event running until its lease ends.
func TestEveryErrorCanBeStored(t *testing.T) {
	texts := map[string]string{
		"NUL": "a\x00b", "no UTF-8": "a\xff\xfeb", "cut": strings.Repeat("é", 5000), "cut at odd bytes": "a" + strings.Repeat("é", 5000),
		"much": strings.Repeat("x", 20<<20), "nothing": "", "invalid at the cut": strings.Repeat("\xff", 9000),
	}
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		for name, text := range texts {
			if a, err := client.Process(t.Context(), event("failing "+name), returning(idemsvc.WithCode(text, errors.New(text)))); a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
				t.Errorf("%s: %+v %.100v", name, a, err)
			}
			if a, err := client.Process(t.Context(), event("released "+name), returning(idemsvc.Release(errors.New(text)))); a.State != pb.EventState_EVENT_STATE_RECEIVED {
				t.Errorf("%s: %+v %.100v", name, a, err)
			}
		}
	})
}

// The text of an error can be changed on its way out.
func TestSecretsCanBeTakenOut(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client(idemsvc.WithErrorText(func(err error) string { return strings.ReplaceAll(err.Error(), "hunter2", "***") }))
		_, err := client.Process(t.Context(), event("evt_1"), returning(idemsvc.Reject(errors.New("password=hunter2"))))
		if !strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the caller is told %v", err)
		}
		if e := lastError(t, client, "evt_1"); e.GetMessage() != "password=***" {
			t.Errorf("%v", e)
		}
	})
}
