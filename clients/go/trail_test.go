package idemsvc_test

import (
	"context"
	"testing"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
)

// told is the event as the service keeps it.
func told(t testing.TB, c *idemsvc.Client, namespace, id string) *pb.Event {
	t.Helper()
	r, err := c.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: namespace, EventId: id})
	if err != nil || len(r.GetEvents()) != 1 {
		t.Fatalf("%v %v", r, err)
	}
	return r.GetEvents()[0].GetEvent()
}

// What is claimed inside a handler belongs to the story of its event and names it as the
// cause, unless the event says otherwise; nothing passes into another namespace.
func TestEventsOfAHandlerFollowItsTrail(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		first := event("evt_1")
		first.CorrelationId = "story-1"
		mine := &idemsvc.Event{Source: "shop", EventId: "own", CorrelationId: "mine", Causation: idemsvc.CausedBy("cron", "nightly")}
		bare := &idemsvc.Event{Source: "shop", EventId: "bare"}
		_, err := client.Process(t.Context(), first, func(ctx context.Context, claim *idemsvc.Claim) error {
			trail, ok := idemsvc.TrailOf(ctx)
			if want := (idemsvc.Trail{Namespace: "test", CorrelationID: "story-1", Source: "stripe", EventID: "evt_1"}); !ok || trail != want {
				t.Errorf("%+v", trail)
			}
			for _, e := range []*idemsvc.Event{bare, mine} {
				if _, err := client.Process(ctx, e, returning(nil)); err != nil {
					t.Error(err)
				}
			}
			if _, err := client.ClaimAll(ctx, []*idemsvc.ClaimItem{{Event: &idemsvc.Event{Source: "shop", EventId: "item"}}}); err != nil {
				t.Error(err)
			}
			if _, err := client.Claim(ctx, &idemsvc.Event{Source: "shop", EventId: "far"}, idemsvc.ForNamespace("other")); err != nil {
				t.Error(err)
			}
			_, err := client.Claim(ctx, first, idemsvc.ForConsumer("another"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if bare.GetCorrelationId() != "" {
			t.Error("the caller's event was changed")
		}
		for id, want := range map[string]string{"bare": "story-1 stripe/evt_1", "own": "mine cron/nightly", "item": "story-1 stripe/evt_1", "evt_1": "story-1 /"} {
			e := told(t, client, "test", id)
			cause := e.GetCausation().GetEventRef()
			if got := e.GetCorrelationId() + " " + cause.GetSource() + "/" + cause.GetEventId(); got != want {
				t.Errorf("%s: %s", id, got)
			}
		}
		if e := told(t, client, "other", "far"); e.GetCorrelationId() != "far" || e.GetCausation() != nil {
			t.Errorf("%v", e)
		}
	}, idemtest.WithNamespaces("test", "other"))
}
