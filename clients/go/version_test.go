package idemsvc_test

import (
	"context"
	"errors"
	"testing"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
)

// What a version's answer says to do, and what becomes of an event whose handler returns
// its error.
func TestAVersionsAnswerDecides(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		ask := func(id string, resource string, order *idemsvc.Ordering) (v *idemsvc.VersionAnswer, a *idemsvc.Answer, err error) {
			a, err = client.Process(t.Context(), event(id), func(ctx context.Context, claim *idemsvc.Claim) error {
				var err error
				if v, err = claim.CheckVersion(ctx, &idemsvc.Resource{Type: "order", Id: resource}, order); err != nil {
					return err
				}
				return v.Err()
			})
			return v, a, err
		}
		moving := func(v int64, to string) *idemsvc.Ordering {
			o := idemsvc.LatestWins(idemsvc.Sequence(v))
			o.Transition = &pb.Transition{Machine: "order", ToState: to}
			return o
		}
		latest := func(v int64) *idemsvc.Ordering { return idemsvc.LatestWins(idemsvc.Sequence(v)) }
		holder := claimed(t, client, "holder")
		if v, err := holder.CheckVersion(t.Context(), &idemsvc.Resource{Type: "order", Id: "held"}, latest(1)); err != nil || !v.Apply() {
			t.Fatalf("%v %v", v, err)
		}
		for _, c := range []struct {
			id, resource string
			order        *idemsvc.Ordering
			decision     pb.VersionDecision
			does         string
			state        pb.EventState
		}{
			{"newer", "latest", latest(2), pb.VersionDecision_VERSION_DECISION_APPLY, "apply", pb.EventState_EVENT_STATE_PROCESSED},
			{"older", "latest", latest(1), pb.VersionDecision_VERSION_DECISION_STALE, "skip", pb.EventState_EVENT_STATE_PROCESSED},
			{"equal", "latest", latest(2), pb.VersionDecision_VERSION_DECISION_TIED, "tied", pb.EventState_EVENT_STATE_PROCESSED},
			{"busy", "held", latest(2), pb.VersionDecision_VERSION_DECISION_BUSY, "later", pb.EventState_EVENT_STATE_RECEIVED},
			{"first", "steps", idemsvc.Sequential(idemsvc.Sequence(1)), pb.VersionDecision_VERSION_DECISION_APPLY, "apply", pb.EventState_EVENT_STATE_PROCESSED},
			{"third", "steps", idemsvc.Sequential(idemsvc.Sequence(3)), pb.VersionDecision_VERSION_DECISION_GAP, "later", pb.EventState_EVENT_STATE_FAILED_RETRYABLE},
			{"shipped", "machine", moving(1, "shipped"), pb.VersionDecision_VERSION_DECISION_ILLEGAL_TRANSITION, "later", pb.EventState_EVENT_STATE_FAILED_RETRYABLE},
		} {
			v, a, err := ask(c.id, c.resource, c.order)
			does := map[bool]string{v.Apply(): "apply", v.Skip(): "skip", v.Tied(): "tied", v.Err() != nil: "later"}[true]
			if v.GetDecision() != c.decision || does != c.does || a.State != c.state || errors.Is(err, idemsvc.ErrNotNow) != (c.does == "later") {
				t.Errorf("%s: %v %s %+v %v", c.id, v, does, a, err)
			}
			if c.does == "later" && a.RetryAfter <= 0 {
				t.Errorf("%s: %+v", c.id, a)
			}
		}
		if v := consumer(t, client, "third"); v.GetRoundAttempts() != 0 { // NOT_YET uses up none
			t.Errorf("%v", v)
		}
		unknown := &idemsvc.VersionAnswer{CheckVersionResponse: &pb.CheckVersionResponse{Decision: 99}}
		if unknown.Apply() || unknown.Skip() || unknown.Tied() || !errors.Is(unknown.Err(), idemsvc.ErrNotNow) {
			t.Errorf("%v", unknown.Err())
		}
	}, idemtest.WithPolicy(func(p *idem.Policy) {
		p.Machines = map[string]idem.Machine{"order": {Initial: "new", Edges: map[string][]string{"new": {"paid"}}}}
	}))
}

// What a later service may say is repeated later, never taken for a grant or a success.
func TestWhatIsNotKnownIsRepeatedLater(t *testing.T) {
	t.Parallel()
	for _, r := range []*pb.ClaimEventResponse{
		{}, {Advice: 99}, {Advice: 99, Outcome: pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED}, {Advice: idemsvc.Process},
	} {
		if a := (&idemsvc.ClaimAnswer{ClaimEventResponse: r}); a.Advice() != idemsvc.RepeatLater {
			t.Errorf("%v", a)
		}
	}
	known := &idemsvc.ClaimAnswer{ClaimEventResponse: &pb.ClaimEventResponse{Advice: idemsvc.Acknowledge, Outcome: 99}}
	if known.Advice() != idemsvc.Acknowledge {
		t.Error("an unknown outcome hides a known advice")
	}
	effect := &idemsvc.Effect{RecordSideEffectResponse: &pb.RecordSideEffectResponse{Outcome: 99, EffectToken: []byte("x")}}
	if effect.Perform() || effect.AlreadyDone() {
		t.Errorf("%v", effect)
	}
}
