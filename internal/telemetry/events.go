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
	consumers *names[ofConsumer]
	sources   *names[part[*sum]] // deliveries
	anomalies *Counter
}

// ofConsumer is what is counted of a consumer.
type ofConsumer struct {
	namespace, name                          string
	claims, attempts, ended, checks, effects part[*sum]
	processing                               *HistogramPart
}

// enumerated is more than any of the contract's enumerations has values.
const enumerated = 16

// NewEvents makes the instruments; nil without a provider.
func NewEvents(p metric.MeterProvider) (*Events, error) {
	if p == nil {
		return nil, nil
	}
	i := &Instruments{Meter: p.Meter(Scope)}
	deliveries, claims, attempts, ended := i.Counter(Deliveries), i.Counter(Claims), i.Counter(Attempts), i.Counter(Ended)
	checks, effects, processing := i.Counter(Checks), i.Counter(Effects), i.Histogram(Processing)
	return &Events{
		consumers: newNames(func(namespace, consumer string) *ofConsumer {
			under := func(c *Counter, n int) part[*sum] { return partOf(&c.series, namespace, consumer, n) }
			return &ofConsumer{
				namespace: namespace, name: consumer,
				claims: under(claims, enumerated), attempts: under(attempts, len(causeNames)), ended: under(ended, 2*enumerated),
				checks: under(checks, enumerated), effects: under(effects, enumerated), processing: processing.Part(namespace, consumer, 1),
			}
		}),
		sources: newNames(func(namespace, source string) *part[*sum] {
			p := partOf(&deliveries.series, namespace, source, enumerated*enumerated)
			return &p
		}),
		anomalies: i.Counter(Anomalies),
	}, i.Err
}

// Answered counts an answered command. The namespace and consumer are those that the
// command names, or its record.
func (e *Events) Answered(ctx context.Context, namespace, consumer string, cmd idem.Command, a idem.Answer) {
	if e == nil {
		return
	}
	of := e.consumers.of(namespace, consumer)
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		c, ok := cmd.(*idem.Claim)
		if !ok {
			return
		}
		of.claims.under(int(a.Outcome), a.Outcome.String(), "").n.Add(1)
		if _, brought := idem.ArrivalOf(c); brought && !a.Reentered {
			e.delivered(&c.Key.EventRef, c.Facts.Kind, a.Disposition())
		}
		if a.Granted {
			why := causeOf(c, a)
			of.attempts.under(int(why), causeNames[why], "").n.Add(1)
		}
	case *idem.ReceiveAnswer:
		if x, brought := idem.ArrivalOf(cmd); brought && !a.Repeated {
			e.delivered(&x.Key.EventRef, x.Facts.Kind, a.Disposition())
		}
	case *idem.EndAnswer:
		if a.Already {
			return
		}
		late := 0
		if a.Late {
			late = 1
		}
		of.ended.under(2*int(a.State)+late, a.State.String(), strconv.FormatBool(a.Late)).n.Add(1)
		if a.State == idem.Processed && a.Event != nil {
			of.processing.Record(ctx, max(a.Now.Sub(a.Event.CreatedAt), 0).Seconds(), 0, "", "")
		}
	case *idem.CheckAnswer:
		of.checks.under(int(a.Verdict), a.Verdict.String(), "").n.Add(1)
	case *idem.EffectAnswer:
		of.effects.under(int(a.Verdict), a.Verdict.String(), "").n.Add(1)
	}
}

// delivered counts a delivery.
func (e *Events) delivered(of *idem.EventRef, kind idem.DeliveryKind, became idem.Disposition) {
	e.sources.of(of.Namespace, of.Source).under(enumerated*int(kind)+int(became), kind.String(), became.String()).n.Add(1)
}

// cause is why an attempt was made.
type cause int

const (
	causeFirst cause = iota
	causeRedelivery
	causeRetry
	causeReclaim
	causeReplay
)

var causeNames = [...]string{"first", "redelivery", "retry", "reclaim", "replay"}

func causeOf(c *idem.Claim, a *idem.ClaimAnswer) cause {
	switch {
	case a.Event != nil && a.Event.IsReplay():
		return causeReplay
	case a.Fresh || a.Event == nil || a.Event.Total <= 1:
		return causeFirst
	case a.PreviousEnd == idem.EndExpired:
		return causeReclaim
	case c.Acquisition.IsZero() && c.Facts.Kind <= idem.ProviderReplay:
		return causeRedelivery
	default:
		return causeRetry
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
	of := e.consumers.of(namespace, consumer)
	e.anomalies.Add(1, of.namespace, of.name, kind)
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
