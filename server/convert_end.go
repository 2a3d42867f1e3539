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

// endFacts are what an ending call is told beside the state: the same for its repeat as
// for itself.
type endFacts struct {
	attempt       int32
	late, counted bool
}

func endOf(a *idem.EndAnswer, t *idem.Token) endFacts {
	f := endFacts{attempt: a.Attempt, late: a.Late, counted: a.Counted}
	if e := a.Event; e != nil && e.Fence == t.Fence {
		f.attempt = e.Total
		if a.Already {
			f.late, f.counted = e.EndLate, !e.EndFree
		}
	}
	return f
}

func completeResponse(a *idem.EndAnswer, t *idem.Token) *pb.CompleteEventResponse {
	return &pb.CompleteEventResponse{State: fromState(a.State), AlreadyCompleted: a.Already, Late: endOf(a, t).late}
}

func failResponse(a *idem.EndAnswer, t *idem.Token) *pb.FailEventResponse {
	f := endOf(a, t)
	return &pb.FailEventResponse{
		State: fromState(a.State), Attempt: f.attempt, MaxAttempts: a.Max,
		NextAttemptAt: instant(a.Due), NextAttemptIn: until(a.Due, a.Now), AlreadyFailed: a.Already, Late: f.late,
	}
}

func extendResponse(a *idem.ExtendAnswer) *pb.ExtendClaimResponse {
	return &pb.ExtendClaimResponse{LeaseExpiresAt: instant(a.LeaseUntil), Rearmed: a.Rearmed, Lease: until(a.LeaseUntil, a.Now)}
}

func releaseResponse(a *idem.EndAnswer, t *idem.Token) *pb.ReleaseClaimResponse {
	r := &pb.ReleaseClaimResponse{State: fromState(a.State), Counted: endOf(a, t).counted}
	if a.Due > a.Now {
		r.AvailableAt, r.AvailableIn = instant(a.Due), until(a.Due, a.Now)
	}
	return r
}
