package server

import (
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// checkCommand is the version check that a request asks for, under the token if there
// is one.
func checkCommand(t *idem.Token, req *pb.CheckVersionRequest) *idem.Check {
	cmd := &idem.Check{
		Token: t,
		Ordering: toOrdering(req.GetNamespace(), req.GetConsumer(), req.GetResource(), req.GetVersion(), req.GetMode(),
			req.GetTransition()),
	}
	switch ref := req.GetEventRef(); {
	case t != nil:
	case ref != nil:
		cmd.By, cmd.Event = eventKey(req.GetNamespace(), req.GetConsumer(), ref).ID(), true
	default:
		cmd.By = idem.Digest("request", req.GetNamespace(), req.GetConsumer(), req.GetRequestId())
	}
	return cmd
}

func eventKey(namespace, consumer string, ref *pb.EventRef) idem.EventKey {
	return idem.EventKey{
		EventRef: idem.EventRef{Namespace: namespace, Source: ref.GetSource(), EventID: ref.GetEventId()},
		Consumer: consumer,
	}
}

func checkResponse(a *idem.CheckAnswer, underClaim bool) *pb.CheckVersionResponse {
	r := &pb.CheckVersionResponse{
		Decision: pb.VersionDecision(a.Verdict), CurrentVersion: fromVersion(a.Current), CurrentState: a.State,
		ExpectedVersion: fromVersion(a.Expected),
	}
	switch a.Verdict {
	case idem.VerdictApply:
		if underClaim {
			r.LaneFence = a.LaneFence
		}
	case idem.VerdictBusy, idem.VerdictGap:
		r.RetryAfter = durationpb.New(defaultRepeat)
		if key := fromKey(a.Blocker); key != nil {
			r.BlockedBy = &pb.Blocker{Event: key, State: fromState(a.Known), ExpectedVersion: r.ExpectedVersion}
		}
	default:
	}
	return r
}
