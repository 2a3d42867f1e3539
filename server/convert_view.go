package server

import (
	"cmp"
	"slices"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// ownerCharacters is how much of a claimant is shown beside the token's name.
const ownerCharacters = 8

func owner(holder, claimant string) string { return holder + " " + cutText(claimant, ownerCharacters) }

// consumerView is the processing by one consumer, without attempts, effects and result.
func consumerView(v *storage.View) *pb.ConsumerView {
	e := v.Event
	c := &pb.ConsumerView{
		Consumer: e.Key.Consumer, State: fromState(e.State), Reason: e.Reason.String(), HeldReason: heldReason(e),
		AttemptsTotal: e.Total, Round: e.Round, RoundAttempts: e.Attempts, LastError: fromFailure(e.Error),
		ResultSize: int64(len(e.Result)), ResultContentType: e.ContentType, Outputs: e.Outputs, Waiting: waitingView(v),
		FirstSeenAt: instant(e.CreatedAt), StaleClaim: pb.StaleClaim(e.Stale), ReplayInProgress: e.Replay, RowVersion: e.Version,
		Replays: e.Replays, ReplayFailed: e.ReplayFailed, CarriedBy: fromKey(v.LaneOwners[e.CarriedBy]),
	}
	switch {
	case e.State == idem.Processing:
		c.Claim = &pb.CurrentClaimView{
			Owner: owner(e.Holder, e.Claimant), Fence: e.Fence, LaneFence: laneFence(v), GrantedAt: instant(e.GrantedAt),
			LeaseExpiresAt: instant(e.LeaseUntil), Reentries: e.Reentries, Attempt: e.Total,
		}
	case e.State.Finished():
		c.SettledAt = instant(e.EndedAt)
	default:
		c.NextAttemptAt = instant(e.DueAt)
	}
	if e.Replay {
		c.SettledAs = fromState(e.SettledAs)
	}
	if e.Ordering != nil {
		c.Version = fromVersion(&e.Ordering.Version)
	}
	for _, r := range v.Resources {
		c.Resources = append(c.Resources, resourceView(r, v.LaneOwners))
	}
	return c
}

// laneFence is the fence of the lane that the event's claim holds by its ordering.
func laneFence(v *storage.View) int64 {
	for _, r := range v.Resources {
		if r.Owned && r.Owner == v.Event.ID() && v.Event.Ordering != nil && r.Key == v.Event.Ordering.Resource {
			return r.LaneFence
		}
	}
	return 0
}

func waitingView(v *storage.View) *pb.WaitingView {
	kind := waitingFor(v.Event, v.Now)
	if kind == pb.WaitingFor_WAITING_FOR_UNSPECIFIED {
		return nil
	}
	w := &pb.WaitingView{WaitingFor: kind, WaitingSince: instant(v.Event.WaitingSince)}
	b := &pb.Blocker{Event: fromKey(v.LaneOwners[v.Event.Waiting.Event])}
	if kind == pb.WaitingFor_WAITING_FOR_PREDECESSOR {
		b.ExpectedVersion = fromVersion(&v.Event.Waiting.Expected)
	}
	if b.GetEvent() != nil || b.GetExpectedVersion() != nil {
		w.BlockedBy = b
	}
	return w
}

func resourceView(r *idem.Resource, names map[idem.ID]idem.EventKey) *pb.ResourceView {
	x := &pb.ResourceView{
		Resource: &pb.Resource{Type: r.Key.Type, Id: r.Key.Name}, Mode: pb.OrderingMode(r.Mode), CurrentState: r.State,
		LaneFence: r.LaneFence, Fingerprint: r.Print,
	}
	if r.Applied {
		current := r.Current()
		x.AppliedVersion, x.AppliedBy = fromVersion(&current), fromKey(names[r.AppliedBy])
	}
	if r.Owned {
		x.LaneOwner = fromKey(names[r.Owner])
	}
	return x
}

var attemptEnds = map[idem.EndKind]pb.AttemptEnd{
	idem.EndCompleted:   pb.AttemptEnd_ATTEMPT_END_COMPLETED,
	idem.EndFailed:      pb.AttemptEnd_ATTEMPT_END_FAILED_RETRYABLE,
	idem.EndRejected:    pb.AttemptEnd_ATTEMPT_END_FAILED_TERMINAL,
	idem.EndNotYet:      pb.AttemptEnd_ATTEMPT_END_FAILED_RETRYABLE,
	idem.EndReleased:    pb.AttemptEnd_ATTEMPT_END_RELEASED,
	idem.EndUndelivered: pb.AttemptEnd_ATTEMPT_END_UNDELIVERED,
	idem.EndExpired:     pb.AttemptEnd_ATTEMPT_END_LEASE_EXPIRED,
	idem.EndResolved:    pb.AttemptEnd_ATTEMPT_END_RESOLVED,
}

// attemptViews are the attempts, oldest first; the last one is the record's own.
func attemptViews(v *storage.View) []*pb.AttemptView {
	var out []*pb.AttemptView
	for i := range v.Attempts {
		out = append(out, attemptView(&v.Attempts[i]))
	}
	e := v.Event
	if e.Total == 0 {
		return out
	}
	last := attemptView(&idem.Attempt{
		Fence: e.Fence, Round: e.GrantRound, Number: e.Total, Claimant: e.Claimant, Holder: e.Holder, GrantedAt: e.GrantedAt, EndedAt: e.EndedAt,
		End: e.End, AttemptHash: e.AttemptHash, Error: e.Error, EndLate: e.EndLate, EndFree: e.EndFree, EndWhy: e.EndWhy, Replay: e.GrantReplay,
		Late: e.LateReports, Result: e.Result, Trace: e.GrantTrace(),
	})
	last.LaneFence = laneFence(v)
	return append(out, last)
}

func attemptView(a *idem.Attempt) *pb.AttemptView {
	x := &pb.AttemptView{
		Attempt: a.Number, Round: a.Round, Fence: a.Fence, StartedAt: instant(a.GrantedAt), EndedAt: instant(a.EndedAt), End: attemptEnds[a.End],
		Trace: a.Trace, Owner: owner(a.Holder, a.Claimant), IsReplay: a.Replay, Late: a.EndLate, Counted: !a.EndFree, PayloadHash: a.AttemptHash,
	}
	switch a.End {
	case idem.EndCompleted:
		x.ResultSize = int64(len(a.Result))
	case idem.EndReleased:
		x.ReleaseReason = a.EndWhy
	default:
		x.Error = fromFailure(a.Error)
	}
	for i := range a.Late {
		x.LateReports = append(x.LateReports, fromLate(&a.Late[i]))
	}
	return x
}

// deliveryViews are the arrivals, oldest first. Claims of several consumers with one
// request_id are one arrival.
func deliveryViews(views []storage.View, rejected bool) []*pb.DeliveryView {
	var out []*pb.DeliveryView
	byRequest := map[string]*pb.DeliveryView{}
	answers := answersOf(views)
	add := func(consumer string, d *pb.DeliveryView) {
		if d.GetDisposition() == pb.Disposition_DISPOSITION_REJECTED_SIGNATURE && !rejected {
			return
		}
		id := d.GetDelivery().GetRequestId()
		if known := byRequest[id]; id != "" && known != nil {
			if !slices.Contains(known.GetConsumers(), consumer) {
				known.Consumers = append(known.Consumers, consumer)
			}
			return
		}
		d.Consumers = []string{consumer}
		if told := answers[id]; told != nil {
			d.Answer = told
		}
		byRequest[id] = d
		out = append(out, d)
	}
	for i := range views {
		e := views[i].Event
		add(e.Key.Consumer, firstDelivery(e))
		for j := range views[i].Deliveries {
			if !views[i].Deliveries[j].IsAnswer() {
				add(e.Key.Consumer, deliveryView(&views[i].Deliveries[j]))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *pb.DeliveryView) int {
		return cmp.Compare(a.GetRecordedAt().AsTime().UnixMicro(), b.GetRecordedAt().AsTime().UnixMicro())
	})
	return out
}

// answersOf are the answers that were recorded for themselves, by the arrival's request ID.
func answersOf(views []storage.View) map[string]*pb.DeliveryAnswer {
	out := map[string]*pb.DeliveryAnswer{}
	for i := range views {
		for j := range views[i].Deliveries {
			if d := &views[i].Deliveries[j]; d.IsAnswer() && out[d.RequestID] == nil {
				out[d.RequestID] = fromAnswered(d.Answered)
			}
		}
	}
	return out
}

// firstDelivery is the arrival that made the record. Its outcome is not kept.
func firstDelivery(e *idem.Event) *pb.DeliveryView {
	f := &e.Facts
	return &pb.DeliveryView{
		Delivery:    toDelivery(f.RequestID, f.Kind, f.Attempt, f.Signature, f.ReceivedAt, f.Headers),
		Disposition: firstDisposition(e), RecordedAt: instant(e.CreatedAt), PayloadHash: f.PayloadHash, Trace: f.TraceParent,
		Answer: fromAnswered(e.Answered),
	}
}

func firstDisposition(e *idem.Event) pb.Disposition {
	switch {
	case e.State == idem.IgnoredSelf:
		return pb.Disposition_DISPOSITION_IGNORED_SELF_ORIGINATED
	case e.State == idem.IgnoredStale && e.Fence == 0:
		return pb.Disposition_DISPOSITION_IGNORED_STALE
	default:
		return pb.Disposition_DISPOSITION_ACCEPTED
	}
}

func fromAnswered(a idem.DeliveryAnswer) *pb.DeliveryAnswer {
	if a.HTTPStatus == 0 {
		return nil
	}
	return &pb.DeliveryAnswer{HttpStatus: a.HTTPStatus, At: fromNanos(a.At)}
}

func deliveryView(d *storage.Delivery) *pb.DeliveryView {
	x := &pb.DeliveryView{
		Delivery:    toDelivery(d.RequestID, d.Kind, d.Attempt, d.Signature, d.ReceivedAt, d.Headers),
		Disposition: pb.Disposition(d.Disposition), RecordedAt: instant(d.RecordedAt), PayloadHash: d.PayloadHash, Trace: d.TraceParent,
		Outcome: pb.ClaimOutcome(d.Outcome),
	}
	for _, a := range d.Anomalies {
		x.Anomalies = append(x.Anomalies, pb.Anomaly(a))
	}
	return x
}

func toDelivery(
	requestID string, kind idem.DeliveryKind, attempt int32, signature idem.Signature, receivedAt int64, headers []idem.Header,
) *pb.Delivery {
	d := &pb.Delivery{
		RequestId: requestID, Kind: pb.DeliveryKind(kind), Attempt: attempt, Signature: pb.SignatureStatus(signature), ReceivedAt: fromNanos(receivedAt),
	}
	for _, h := range headers {
		d.Headers = append(d.Headers, &pb.Header{Name: h.Name, Value: h.Value})
	}
	return d
}
