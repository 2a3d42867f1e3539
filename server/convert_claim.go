package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// How long a caller waits before it repeats a claim, where nothing tells better.
const (
	defaultRepeat = time.Second
	maxRepeat     = 30 * time.Second // a running claim may end long before its lease
)

// claimCommand is the claim that a request asks for.
func (c *core) claimCommand(ctx context.Context, req *pb.ClaimEventRequest, in incoming) *idem.Claim {
	e := req.GetEvent()
	cmd := &idem.Claim{
		Key: idem.EventKey{
			EventRef: idem.EventRef{Namespace: req.GetNamespace(), Source: e.GetSource(), EventID: e.GetEventId()},
			Consumer: req.GetConsumer(),
		},
		Facts: toFacts(e, req.GetDelivery(), in), Claimant: req.GetClaimant(), Holder: identityOf(ctx).Name(), Nonce: c.nonces.next(),
		Lease: req.GetLease().AsDuration(), Stale: idem.StaleClaim(req.GetStaleClaim()), //nolint:gosec // validated
		AcceptReplay: req.GetAcceptReplay(), Payload: e.GetPayload(),
	}
	if o := req.GetOrdering(); o != nil {
		ordering := toOrdering(req.GetNamespace(), req.GetConsumer(), e.GetResource(), o.GetVersion(), o.GetMode(), o.GetTransition())
		cmd.Ordering = &ordering
	}
	return cmd
}

// claimResponse is the reply to a claim, still without the payload.
func claimResponse(a *idem.ClaimAnswer, keys *tokenKeys) *pb.ClaimEventResponse {
	r := &pb.ClaimEventResponse{
		Outcome: pb.ClaimOutcome(a.Outcome), Advice: pb.Advice(a.Advice), Disposition: pb.Disposition(a.Disposition()),
		BlockedBy: claimBlocker(a),
	}
	for _, x := range a.Anomalies {
		r.Anomalies = append(r.Anomalies, pb.Anomaly(x))
	}
	if a.Advice == idem.AdviceRepeatLater {
		r.RetryAfter = durationpb.New(repeatAfter(a))
	}
	switch {
	case a.Outcome == idem.OutcomeRejected:
		return r
	case a.Outcome == idem.OutcomeClaimed && a.Event != nil:
		r.Claim = fromClaim(a, keys)
	default:
		r.Existing = fromExisting(a)
	}
	if a.Event != nil {
		r.FirstDeliveryTrace, r.CauseTrace, r.PreviousAttemptTrace = a.Event.Facts.TraceParent, a.Event.Facts.CauseTrace, a.PreviousTrace
	}
	return r
}

func repeatAfter(a *idem.ClaimAnswer) time.Duration {
	switch {
	case a.RetryIn <= 0:
		return defaultRepeat
	case a.Outcome == idem.OutcomeInProgress:
		return min(a.RetryIn, maxRepeat)
	default:
		return a.RetryIn
	}
}

func claimToken(e *idem.Event) idem.Token {
	return idem.Token{Namespace: e.Key.Namespace, Consumer: e.Key.Consumer, Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce}
}

func fromClaim(a *idem.ClaimAnswer, keys *tokenKeys) *pb.Claim {
	e := a.Event
	c := &pb.Claim{
		Token: keys.sealClaim(claimToken(e)), Fence: e.Fence, LaneFence: a.LaneFence,
		Attempt: e.Total, MaxAttempts: a.Max, Round: e.Round, RoundAttempt: e.Attempts,
		LeaseExpiresAt: instant(e.LeaseUntil), Lease: until(e.LeaseUntil, a.Now),
		IsReplay: e.IsReplay(), Tied: e.Tied, PreviousError: fromFailure(a.Previous), Repeated: a.Reentered,
		PayloadHash: e.AttemptHash, ContentType: e.Facts.ContentType, PayloadRef: e.Facts.PayloadRef,
		CorrelationId: e.Facts.Correlation, StaleClaim: pb.StaleClaim(e.Stale),
	}
	for _, f := range a.Effects {
		c.Effects = append(c.Effects, fromEffect(f, a.Now))
	}
	for i := range a.Late {
		c.LateReports = append(c.LateReports, fromLate(&a.Late[i]))
	}
	return c
}

func fromLate(l *idem.LateReport) *pb.LateReport {
	r := &pb.LateReport{Fence: l.Fence, Attempt: l.Number}
	if l.Call == idem.EndCompleted {
		r.Report = &pb.LateReport_Completed{Completed: &pb.LateCompletion{
			Result: l.Result, ContentType: l.ContentType, ResultOmitted: l.Omitted, CompletionHash: l.Hash[:],
		}}
		return r
	}
	r.Report = &pb.LateReport_Failed{Failed: fromFailure(l.Error)}
	return r
}

func fromExisting(a *idem.ClaimAnswer) *pb.ExistingEvent {
	e := a.Event
	if e == nil || a.Gone {
		if a.Gone {
			return &pb.ExistingEvent{State: pb.EventState_EVENT_STATE_PROCESSED, ResultGone: true}
		}
		return nil
	}
	x := &pb.ExistingEvent{
		State: fromState(e.State), Result: e.Result, ResultContentType: e.ContentType, Outputs: e.Outputs,
		Error: fromFailure(e.Error), Attempts: e.Total, HeldReason: heldReason(e), Reason: e.Reason.String(),
		WaitingFor: waitingFor(e, a.Now), ReplayInProgress: a.Replaying,
	}
	if a.Replaying {
		x.State = fromState(e.SettledAs)
	}
	switch {
	case e.State == idem.Processing:
		x.OwnerSince, x.LeaseExpiresAt = instant(e.GrantedAt), instant(e.LeaseUntil)
	case e.State.Finished():
		x.SettledAt = instant(e.EndedAt)
	default:
		x.NextAttemptAt = instant(e.DueAt)
	}
	return x
}

// claimBlocker is what stands in the way of a claim, nil for nothing.
func claimBlocker(a *idem.ClaimAnswer) *pb.Blocker {
	b := &pb.Blocker{Event: fromKey(a.Blocker), ExpectedVersion: fromVersion(a.Expected), CurrentVersion: fromVersion(a.Current)}
	if b.Event == nil && b.ExpectedVersion == nil && b.CurrentVersion == nil {
		return nil
	}
	if a.Event != nil && a.Event.State == idem.Received {
		b.WaitingSince = instant(a.Event.WaitingSince)
	}
	return b
}
