package server

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// Enumerations of idem are numbered as in the contract, so that most of them are
// converted by their number. A test holds the two together.

func instant(i idem.Instant) *timestamppb.Timestamp {
	if i == 0 {
		return nil
	}
	return timestamppb.New(i.Time())
}

// nanosOf is a validated time in nanoseconds since 1970, 0 for none.
func nanosOf(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return 0
	}
	return t.AsTime().UnixNano()
}

func fromNanos(ns int64) *timestamppb.Timestamp {
	if ns == 0 {
		return nil
	}
	return timestamppb.New(time.Unix(0, ns))
}

// until is the time left, nil when it is over or there is no end.
func until(end, now idem.Instant) *durationpb.Duration {
	if end <= now {
		return nil
	}
	return durationpb.New(end.Sub(now))
}

func toVersion(v *pb.Version) idem.Version {
	if v == nil { // a signal's
		return idem.Version{}
	}
	if m, ok := v.GetValue().(*pb.Version_Instant); ok {
		return idem.Version{Kind: idem.Moment, Epoch: v.GetEpoch(), Value: nanosOf(m.Instant)}
	}
	return idem.Version{Kind: idem.Sequence, Epoch: v.GetEpoch(), Value: v.GetSequence()}
}

func fromVersion(v *idem.Version) *pb.Version {
	switch {
	case v == nil || v.Kind == idem.NoVersion:
		return nil
	case v.Kind == idem.Moment:
		return &pb.Version{Epoch: v.Epoch, Value: &pb.Version_Instant{Instant: timestamppb.New(time.Unix(0, v.Value))}}
	default:
		return &pb.Version{Epoch: v.Epoch, Value: &pb.Version_Sequence{Sequence: v.Value}}
	}
}

func toOrdering(namespace, consumer string, r *pb.Resource, v *pb.Version, mode pb.OrderingMode, t *pb.Transition) idem.Ordering {
	o := idem.Ordering{
		Resource: idem.ResourceKey{Namespace: namespace, Consumer: consumer, Type: r.GetType(), Name: r.GetId()},
		Version:  toVersion(v), Mode: idem.Mode(mode), //nolint:gosec // validated
	}
	if t != nil {
		o.Transition = &idem.Transition{Machine: t.GetMachine(), To: t.GetToState()}
	}
	return o
}

func fromKey(k idem.EventKey) *pb.EventKey {
	if k == (idem.EventKey{}) {
		return nil
	}
	return &pb.EventKey{Consumer: k.Consumer, Source: k.Source, EventId: k.EventID}
}

func fromState(s idem.State) pb.EventState { return pb.EventState(s) }

var heldReasons = map[idem.Reason]pb.HeldReason{
	idem.LeaseExpired:    pb.HeldReason_HELD_REASON_LEASE_EXPIRED,
	idem.UnknownEffect:   pb.HeldReason_HELD_REASON_EFFECT_UNKNOWN,
	idem.TiedVersion:     pb.HeldReason_HELD_REASON_TIED,
	idem.DeadPredecessor: pb.HeldReason_HELD_REASON_DEAD_PREDECESSOR,
	idem.SkippedGap:      pb.HeldReason_HELD_REASON_SKIPPED_GAP,
	idem.GapTimeout:      pb.HeldReason_HELD_REASON_GAP_TIMEOUT,
}

func heldReason(e *idem.Event) pb.HeldReason {
	if e.State != idem.Held {
		return pb.HeldReason_HELD_REASON_UNSPECIFIED
	}
	return heldReasons[e.Reason]
}

func waitingFor(e *idem.Event, now idem.Instant) pb.WaitingFor {
	switch {
	case e.State != idem.Received:
		return pb.WaitingFor_WAITING_FOR_UNSPECIFIED
	case e.Waiting.Kind != idem.NotWaiting:
		return pb.WaitingFor(e.Waiting.Kind)
	case e.End == idem.EndReleased && e.DueAt > now:
		return pb.WaitingFor_WAITING_FOR_RELEASE_DELAY
	default:
		return pb.WaitingFor_WAITING_FOR_UNSPECIFIED
	}
}

func toAnswered(a *pb.DeliveryAnswer) idem.DeliveryAnswer {
	return idem.DeliveryAnswer{HTTPStatus: a.GetHttpStatus(), At: nanosOf(a.GetAt())}
}
