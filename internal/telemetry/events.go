package telemetry

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/metric"

	"github.com/idemsvc/idemsvc/idem"
)

// The kinds of anomalies.
const (
	AnomalyClaimLost   = "claim_lost"
	AnomalyLate        = "late_completion"
	AnomalyLateEffect  = "late_effect"
	AnomalyConflict    = "effect_conflict"
	AnomalyMismatch    = "payload_mismatch"
	AnomalyLateProof   = "verified_late"
	AnomalyPostRestore = "post_restore"
	AnomalyRejected    = "rejected_signature"
	AnomalyDeadLetter  = "dead_letter"
	AnomalyHeld        = "held"
	AnomalyLoop        = "loop_blocked"
)

// Events counts what becomes of events. A nil one counts nothing.
type Events struct {
	consumers, sources Names

	deliveries, claims, attempts, ended, anomalies, effects, checks *Counter
	processing                                                      *Histogram
}

// NewEvents makes the instruments; nil without a provider.
func NewEvents(p metric.MeterProvider) (*Events, error) {
	if p == nil {
		return nil, nil
	}
	i := &Instruments{Meter: p.Meter(Scope)}
	e := &Events{
		deliveries: i.Counter(Deliveries), claims: i.Counter(Claims), attempts: i.Counter(Attempts), ended: i.Counter(Ended),
		anomalies: i.Counter(Anomalies), effects: i.Counter(Effects), checks: i.Counter(Checks), processing: i.Histogram(Processing),
	}
	return e, i.Err
}

// Answered counts an answered command. The namespace and consumer are those that the
// command names, or its record.
func (e *Events) Answered(ctx context.Context, namespace, consumer string, cmd idem.Command, a idem.Answer) {
	if e == nil {
		return
	}
	namespace, consumer = e.consumers.Of(namespace, consumer)
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		c, ok := cmd.(*idem.Claim)
		if !ok {
			return
		}
		e.claims.Add(1, namespace, consumer, a.Outcome.String())
		if _, brought := idem.ArrivalOf(c); brought && !a.Reentered {
			ns, source := e.sources.Of(c.Key.Namespace, c.Key.Source)
			e.deliveries.Add(1, ns, source, c.Facts.Kind.String(), a.Disposition().String())
		}
		if a.Granted {
			e.attempts.Add(1, namespace, consumer, cause(c, a))
		}
	case *idem.ReceiveAnswer:
		if x, brought := idem.ArrivalOf(cmd); brought && !a.Repeated {
			ns, source := e.sources.Of(x.Key.Namespace, x.Key.Source)
			e.deliveries.Add(1, ns, source, x.Facts.Kind.String(), a.Disposition().String())
		}
	case *idem.EndAnswer:
		if a.Already {
			return
		}
		e.ended.Add(1, namespace, consumer, a.State.String(), strconv.FormatBool(a.Late))
		if a.State == idem.Processed && a.Event != nil {
			e.processing.Record(ctx, max(a.Now.Sub(a.Event.CreatedAt), 0).Seconds(), namespace, consumer)
		}
	case *idem.CheckAnswer:
		e.checks.Add(1, namespace, consumer, a.Verdict.String())
	case *idem.EffectAnswer:
		e.effects.Add(1, namespace, consumer, a.Verdict.String())
	}
}

// cause is why an attempt was made.
func cause(c *idem.Claim, a *idem.ClaimAnswer) string {
	switch {
	case a.Event != nil && a.Event.IsReplay():
		return "replay"
	case a.Fresh || a.Event == nil || a.Event.Total <= 1:
		return "first"
	case a.PreviousEnd == idem.EndExpired:
		return "reclaim"
	case c.Acquisition.IsZero() && c.Facts.Kind <= idem.ProviderReplay:
		return "redelivery"
	default:
		return "retry"
	}
}

// Settled counts a claim whose lease's end was written down by the sweeper.
func (e *Events) Settled(a *idem.EndAnswer) {
	if e == nil || a.Event == nil {
		return
	}
	k := a.Event.Key
	e.Answered(context.Background(), k.Namespace, k.Consumer, &idem.Settle{}, a)
	for _, kind := range AnomaliesOf(a) {
		e.Anomaly(k.Namespace, k.Consumer, kind)
	}
}

// Anomaly counts a finding.
func (e *Events) Anomaly(namespace, consumer, kind string) {
	if e == nil {
		return
	}
	namespace, consumer = e.consumers.Of(namespace, consumer)
	e.anomalies.Add(1, namespace, consumer, kind)
}

// AnomaliesOf are the findings in an answer; nil for nearly all.
func AnomaliesOf(a idem.Answer) []string {
	var kinds []string
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		switch a.Outcome {
		case idem.OutcomeRejected:
			kinds = append(kinds, AnomalyRejected)
		case idem.OutcomeLoopBlocked:
			kinds = append(kinds, AnomalyLoop)
		default:
		}
		kinds = append(kinds, ofDelivery(a.Anomalies)...)
	case *idem.ReceiveAnswer:
		if a.Outcome == idem.ReceiveRejected {
			kinds = append(kinds, AnomalyRejected)
		}
		kinds = append(kinds, ofDelivery(a.Anomalies)...)
	case *idem.EndAnswer:
		if a.Already {
			return nil
		}
		if a.Late {
			kinds = append(kinds, AnomalyLate)
		}
		switch a.State {
		case idem.DeadLettered:
			kinds = append(kinds, AnomalyDeadLetter)
		case idem.Held:
			kinds = append(kinds, AnomalyHeld)
		default:
		}
	case *idem.EffectAnswer:
		if a.Conflict {
			kinds = append(kinds, AnomalyConflict)
		}
		if a.Late {
			kinds = append(kinds, AnomalyLateEffect)
		}
	}
	return kinds
}

func ofDelivery(list []idem.Anomaly) (kinds []string) {
	for _, x := range list {
		switch x {
		case idem.AnomalyMismatch:
			kinds = append(kinds, AnomalyMismatch)
		case idem.AnomalyLate:
			kinds = append(kinds, AnomalyLateProof)
		case idem.AnomalyRestored:
			kinds = append(kinds, AnomalyPostRestore)
		case idem.AnomalyUnchanged:
		}
	}
	return kinds
}
