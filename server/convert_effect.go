package server

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// effectSubject is on whose behalf an effect is begun or recorded.
type effectSubject struct {
	token     *idem.Token // nil without a claim
	namespace string
	consumer  string
	event     idem.ID
}

func ownerSubject(o *pb.EffectOwner) effectSubject {
	s := effectSubject{namespace: o.GetNamespace(), consumer: o.GetConsumer()}
	if o.GetEventRef() != nil {
		s.event = eventKey(o.GetNamespace(), o.GetConsumer(), o.GetEventRef()).ID()
	}
	return s
}

func tokenSubject(t *idem.Token) effectSubject {
	return effectSubject{token: t, namespace: t.Namespace, consumer: t.Consumer, event: t.Event}
}

func (s effectSubject) key(scope pb.EffectScope, key string) idem.EffectKey {
	return idem.EffectKey{Scope: idem.Scope(scope), Namespace: s.namespace, Consumer: s.consumer, Event: s.event, Key: key}.Scoped() //nolint:gosec // validated
}

func beginCommand(s effectSubject, b *pb.EffectBegin, nonce idem.ID) *idem.BeginEffect {
	return &idem.BeginEffect{
		Token: s.token, Key: s.key(b.GetScope(), b.GetKey()), BeginID: b.GetBeginId(), RequestHash: b.GetRequestHash(),
		Intent: b.GetIntent(), Target: b.GetTarget(), OnUnknown: idem.OnUnknown(b.GetOnUnknown()), //nolint:gosec // validated
		Lease: b.GetLease().AsDuration(), Nonce: nonce,
	}
}

func recordCommand(s effectSubject, r *pb.EffectRecord) *idem.RecordEffect {
	return &idem.RecordEffect{
		Token: s.token, Key: s.key(r.GetScope(), r.GetKey()), RequestHash: r.GetRequestHash(), Result: r.GetResult(),
		ContentType: r.GetContentType(), Target: r.GetTarget(),
	}
}

// report is the part of the three reports that they have in common.
type report struct {
	token []byte
	field string // where the token stands
	cmd   *idem.ReportEffect
}

// reportOf is the report in a request, nil for the other phases.
func reportOf(req *pb.RecordSideEffectRequest) *report {
	switch p := req.GetPhase().(type) {
	case *pb.RecordSideEffectRequest_Done:
		return &report{p.Done.GetEffectToken(), "done.effect_token", &idem.ReportEffect{
			State: idem.EffectDone, Result: p.Done.GetResult(), ContentType: p.Done.GetContentType(),
		}}
	case *pb.RecordSideEffectRequest_NotDone:
		return &report{p.NotDone.GetEffectToken(), "not_done.effect_token", &idem.ReportEffect{
			State: idem.EffectNotDone, Error: toFailure(p.NotDone.GetError()),
		}}
	case *pb.RecordSideEffectRequest_Unknown:
		return &report{p.Unknown.GetEffectToken(), "unknown.effect_token", &idem.ReportEffect{
			State: idem.EffectUnknown, Error: toFailure(p.Unknown.GetError()),
		}}
	default:
		return nil
	}
}

func effectResponse(a *idem.EffectAnswer, keys *tokenKeys) *pb.RecordSideEffectResponse {
	r := &pb.RecordSideEffectResponse{Outcome: pb.EffectOutcome(a.Verdict), Conflict: a.Conflict, Attempt: a.Attempt}
	f := a.Effect
	if f == nil {
		return r
	}
	r.Generation = f.Generation
	if r.Attempt == 0 {
		r.Attempt = tries(f)
	}
	switch a.Verdict {
	case idem.EffectPerform:
		r.EffectToken, r.DownstreamIdempotencyKey, r.EarlierIntent = keys.sealEffect(a.Token), f.DownstreamKey(), a.Earlier
		r.LeaseExpiresAt, r.Lease = instant(f.LeaseUntil), until(f.LeaseUntil, a.Now)
	case idem.EffectInProgress:
		r.EarlierIntent, r.LeaseExpiresAt = f.Intent, instant(f.LeaseUntil)
		r.RetryAfter = durationpb.New(orDefault(a.RetryIn))
	case idem.EffectCircuitOpen:
		r.RetryAfter = durationpb.New(orDefault(a.RetryIn))
	case idem.EffectOutcomeOpen:
		r.EarlierIntent = f.Intent
	case idem.EffectAlreadyDone, idem.EffectReportedDone, idem.EffectRecorded:
		r.Result, r.ContentType = f.Result, f.ContentType
	case idem.EffectMismatch, idem.EffectReportedNot:
	}
	return r
}

func orDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultRepeat
	}
	return min(d, maxRepeat)
}

func tries(f *idem.Effect) int32 { return int32(len(f.Tries)) } //nolint:gosec // at most idem.MaxTries

// fromEffect is what is known of an effect at the moment of the answer.
func fromEffect(f *idem.Effect, now idem.Instant) *pb.SideEffect {
	x := &pb.SideEffect{
		Scope: pb.EffectScope(f.Key.Scope), Key: f.Key.Key, State: pb.EffectState(f.State), Result: f.Result,
		ContentType: f.ContentType, Attempt: tries(f), Generation: f.Generation, DownstreamIdempotencyKey: f.DownstreamKey(),
		RequestHash: f.RequestHash, Intent: f.Intent, Target: f.Target, OnUnknown: pb.OnUnknown(f.OnUnknown),
		Error: fromFailure(f.Error), Conflict: len(f.Conflicts) > 0, Fence: f.Fence,
	}
	switch f.State {
	case idem.EffectBegun:
		x.BegunAt, x.LeaseExpiresAt = instant(f.Since), instant(f.LeaseUntil)
		if f.LeaseUntil <= now {
			x.State = pb.EffectState_EFFECT_STATE_UNKNOWN
		}
	case idem.EffectDone, idem.EffectNotDone:
		x.SettledAt = instant(f.Since)
	case idem.EffectAbsent, idem.EffectUnknown:
	}
	return x
}
