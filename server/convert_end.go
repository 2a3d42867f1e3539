package server

import (
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// atOnce is a given delay of zero, where the rules take zero for the policy's.
const atOnce = time.Microsecond

func completeCommand(t idem.Token, req *pb.CompleteEventRequest) *idem.Complete {
	cmd := &idem.Complete{
		Token: t, Result: req.GetResult(), ContentType: req.GetContentType(), Outputs: req.GetOutputs(),
		AllowUnknown: req.GetAllowUnknownEffects(), Answered: toAnswered(req.GetDeliveryAnswer()),
	}
	if v := req.GetAppliedVersion(); v != nil {
		applied := toVersion(v)
		cmd.Applied = &applied
	}
	return cmd
}

func failCommand(t idem.Token, req *pb.FailEventRequest, draw float64) *idem.Fail {
	cmd := &idem.Fail{
		Token: t, Error: toFailure(req.GetError()), RetryAfter: req.GetRetryAfter().AsDuration(),
		Draw: draw, Answered: toAnswered(req.GetDeliveryAnswer()),
	}
	if req.GetRetryAfter() != nil && cmd.RetryAfter == 0 {
		cmd.RetryAfter = atOnce
	}
	return cmd
}

func completeResponse(a *idem.EndAnswer) *pb.CompleteEventResponse {
	return &pb.CompleteEventResponse{State: fromState(a.State), AlreadyCompleted: a.Already, Late: a.Late}
}

func failResponse(a *idem.EndAnswer) *pb.FailEventResponse {
	return &pb.FailEventResponse{
		State: fromState(a.State), Attempt: a.Number, MaxAttempts: a.Max,
		NextAttemptAt: instant(a.Due), NextAttemptIn: until(a.Due, a.Now), AlreadyFailed: a.Already, Late: a.Late,
	}
}

func extendResponse(a *idem.ExtendAnswer) *pb.ExtendClaimResponse {
	return &pb.ExtendClaimResponse{LeaseExpiresAt: instant(a.LeaseUntil), Rearmed: a.Rearmed, Lease: until(a.LeaseUntil, a.Now)}
}

func releaseResponse(a *idem.EndAnswer) *pb.ReleaseClaimResponse {
	r := &pb.ReleaseClaimResponse{State: fromState(a.State), Counted: a.Counted}
	if a.Due > a.Now {
		r.AvailableAt, r.AvailableIn = instant(a.Due), until(a.Due, a.Now)
	}
	return r
}
