package server

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

const maxWait = 60 * time.Second

// checkMeaning refuses what each field allows and the fields together do not, and the
// durations of the claim path.
func checkMeaning(msg proto.Message) *refusal {
	switch m := msg.(type) {
	case *pb.ClaimEventRequest:
		return first(checkLease(m.GetLease()), checkWait(m.GetWait()), checkEvent(m.GetEvent()), checkOrdering(m.GetOrdering(), m.GetEvent()))
	case *pb.ClaimEventsRequest:
		return checkLease(m.GetLease())
	case *pb.ClaimItem:
		return first(checkEvent(m.GetEvent()), checkOrdering(m.GetOrdering(), m.GetEvent()))
	case *pb.ReceiveEventRequest:
		return first(checkEvent(m.GetEvent()), checkOrdering(m.GetOrdering(), m.GetEvent()))
	case *pb.ReceiveEventsRequest:
		return checkReceipts(m)
	case *pb.ReceiveItem:
		return first(checkEvent(m.GetEvent()), checkOrdering(m.GetOrdering(), m.GetEvent()))
	case *pb.AcquireEventsRequest:
		return first(checkLease(m.GetLease()), checkWait(m.GetWait()))
	case *pb.SubscribeRequest:
		return checkLease(m.GetLease())
	case *pb.CheckVersionRequest:
		return checkVersionCall(m)
	case *pb.RecordSideEffectRequest:
		return checkEffectCall(m)
	case *pb.ListEventsRequest:
		return checkFilter(m.GetNamespace(), m.GetFilter())
	case *pb.ReplayEventsRequest:
		return checkReplay(m)
	case *pb.ResolveSideEffectRequest:
		return checkResolveEffect(m)
	default:
		return nil
	}
}

func first(rs ...*refusal) *refusal {
	for _, r := range rs {
		if r != nil {
			return r
		}
	}
	return nil
}

func checkLease(d *durationpb.Duration) *refusal {
	if d != nil && (d.AsDuration() < idem.MinLease || d.AsDuration() > idem.MaxLeaseCeiling) {
		return invalid("lease", "value must be between 1 s and 12 h")
	}
	return nil
}

func checkWait(d *durationpb.Duration) *refusal {
	if d.AsDuration() < 0 || d.AsDuration() > maxWait {
		return invalid("wait", "value must be between 0 and 60 s")
	}
	return nil
}

func checkEvent(e *pb.Event) *refusal {
	if _, ok := e.GetBody().(*pb.Event_Payload); ok && len(e.GetPayloadHash()) > 0 {
		if sum := sha256.Sum256(e.GetPayload()); !bytes.Equal(sum[:], e.GetPayloadHash()) {
			return invalid("event.payload_hash", "value must be the SHA-256 of event.payload")
		}
	}
	return nil
}

func checkOrdering(o *pb.Ordering, e *pb.Event) *refusal {
	if o == nil {
		return nil
	}
	if e.GetResource() == nil {
		return invalid("event.resource", "value is required with ordering")
	}
	if o.GetMode() == pb.OrderingMode_ORDERING_MODE_SIGNAL {
		if o.GetTransition() != nil {
			return invalid("ordering.transition", "value must be absent with SIGNAL, which carries no state")
		}
		return nil
	}
	if o.GetVersion() == nil {
		return invalid("ordering.version", "value is required")
	}
	return checkMode(o.GetMode(), o.GetVersion(), "ordering.mode")
}

func checkMode(mode pb.OrderingMode, v *pb.Version, field string) *refusal {
	if _, moment := v.GetValue().(*pb.Version_Instant); moment && mode == pb.OrderingMode_ORDERING_MODE_SEQUENTIAL {
		return invalid(field, "SEQUENTIAL needs a sequence, not an instant")
	}
	return nil
}

func checkVersionCall(m *pb.CheckVersionRequest) *refusal {
	if r := checkMode(m.GetMode(), m.GetVersion(), "mode"); r != nil {
		return r
	}
	if len(m.GetClaimToken()) == 0 && m.GetEventRef() == nil && m.GetRequestId() == "" {
		return invalid("request_id", "without claim_token, event_ref or request_id is required")
	}
	return nil
}

func checkEffectCall(m *pb.RecordSideEffectRequest) *refusal {
	switch p := m.GetPhase().(type) {
	case *pb.RecordSideEffectRequest_Begin:
		return checkScope(m, p.Begin.GetScope(), p.Begin.GetRequestHash(), "begin.request_hash")
	case *pb.RecordSideEffectRequest_Record:
		return checkScope(m, p.Record.GetScope(), p.Record.GetRequestHash(), "record.request_hash")
	default:
		return nil
	}
}

func checkReplay(m *pb.ReplayEventsRequest) *refusal {
	f, filtered := m.GetSelection().(*pb.ReplayEventsRequest_Filter)
	switch {
	case m.GetToConsumer() != "" && strings.TrimSpace(m.GetToConsumer()) == "":
		return invalid("to_consumer", "value must not be only white space")
	case m.GetToConsumer() != "" && m.GetIncludeProcessed():
		return invalid("include_processed", "value is only for replays by the consumers themselves, without to_consumer")
	case !filtered && len(m.GetPageToken()) > 0:
		return invalid("page_token", "value is only for a filter")
	case filtered && m.GetToConsumer() == "": // a backfill's window depends on the database's clock
		return checkFilter(m.GetNamespace(), f.Filter)
	default:
		return nil
	}
}

func checkScope(m *pb.RecordSideEffectRequest, scope pb.EffectScope, hash []byte, field string) *refusal {
	const reason = pb.ErrorReason_ERROR_REASON_EFFECT_SCOPE_INVALID
	switch {
	case m.GetSubject() == nil:
		return invalid("claim_token", "claim_token or owner is required")
	case scope == pb.EffectScope_EFFECT_SCOPE_EVENT && m.GetOwner() != nil && m.GetOwner().GetEventRef() == nil:
		return refused(reason, "owner.event_ref", "value is required in EVENT scope")
	case scope != pb.EffectScope_EFFECT_SCOPE_EVENT && len(hash) == 0:
		return refused(reason, field, "value is required in CONSUMER and NAMESPACE scope")
	}
	return nil
}
