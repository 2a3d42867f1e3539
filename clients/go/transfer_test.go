package idemsvc_test

import (
	"bytes"
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

// A claim goes on in another process, with all that its handler needs.
func TestAClaimGoesOnElsewhere(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		here, there := service.Client(), service.Client(idemsvc.WithConsumer("not asked"))
		e := event("evt_1")
		e.CorrelationId, e.Type = "story-1", "invoice.paid"
		e.Body = &pb.Event_Payload{Payload: []byte("the payload")}
		a, err := here.Claim(t.Context(), e, idemsvc.WantPayload())
		if err != nil || string(a.Claim.GetPayload()) != "the payload" {
			t.Fatalf("%v %v", a, err)
		}
		job, err := a.Claim.Serialize()
		if err != nil || bytes.Contains(job, []byte("payload\":")) {
			t.Fatalf("%s %v", job, err)
		}
		if string(a.Claim.GetPayload()) != "the payload" || a.Claim.Event().GetPayload() == nil {
			t.Error("the claim itself was changed")
		}
		time.Sleep(5 * time.Minute) // in the queue: the lease is over, and nobody took the event
		claim, err := there.Resume(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if claim.Consumer() != "test" || claim.Namespace() != "test" || claim.GetFence() != a.Claim.GetFence() || claim.Event().GetType() != "invoice.paid" {
			t.Errorf("%v", claim)
		}
		answer, err := claim.Process(t.Context(), func(ctx context.Context, _ *idemsvc.Claim) error {
			if trail, _ := idemsvc.TrailOf(ctx); trail.CorrelationID != "story-1" {
				t.Errorf("%+v", trail)
			}
			time.Sleep(5 * time.Minute) // it is kept here, too
			return ctx.Err()
		})
		if err != nil || answer.State != pb.EventState_EVENT_STATE_PROCESSED || answer.Claimed != nil {
			t.Errorf("%+v %v", answer, err)
		}
		if _, err := there.Resume(t.Context(), job); !errors.Is(err, idemsvc.ErrAlreadyEnded) { // the queue hands it out again
			t.Errorf("%v", err)
		}
	})
}

// What cannot be gone on with is refused.
func TestWhatCannotBeResumed(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		job, err := claimed(t, client, "evt_1").Serialize()
		if err != nil {
			t.Fatal(err)
		}
		service.Advance(2 * time.Minute)
		claimed(t, client, "evt_1")
		if _, err := client.Resume(t.Context(), job); !errors.Is(err, idemsvc.ErrClaimLost) {
			t.Errorf("%v", err)
		}
		for text, want := range map[string]string{
			"":                                   "not a serialized claim",
			"{}":                                 "format 0",
			`{"format":2}`:                       "format 2 is not known here",
			`{"format":1,"event":{},"claim":{}}`: "no token",
			`{"format":1,"event":[],"claim":{}}`: "not a serialized claim",
			`{"format":1,"event":{},"claim":{"token":"AAAA"}}`: "INVALID_TOKEN",
		} {
			if _, err := client.Resume(t.Context(), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", text, err)
			}
		}
		later := bytes.ReplaceAll(job, []byte(`{"`), []byte(`{"something_new":1,"`))
		if _, err := client.Resume(t.Context(), later); !errors.Is(err, idemsvc.ErrClaimLost) {
			t.Errorf("a later client's addition: %v", err)
		}
	})
}

// Neither a print nor a log shows the token.
func TestAClaimKeepsItsTokenToItself(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		answer, err := service.Client().Claim(t.Context(), event("evt_1"))
		if err != nil {
			t.Fatal(err)
		}
		claim := answer.Claim
		effect, err := claim.BeginEffect(t.Context(), idemsvc.EventScope, "mail")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{fmt.Sprint(claim), fmt.Sprint(answer), fmt.Sprint(effect), fmt.Sprintf("%+v", answer)} {
			if strings.Contains(s, "token") || len(s) > 160 {
				t.Error(s)
			}
		}
		if s := claim.String(); !strings.HasPrefix(s, "claim on stripe/evt_1 for test, attempt 1, fence ") {
			t.Errorf("%s", s)
		}
		if v := claim.LogValue().String(); strings.Contains(v, "token") || !strings.Contains(v, "event_id=evt_1") {
			t.Errorf("%s", v)
		}
	})
}
