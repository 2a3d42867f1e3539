package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/logs"
	"github.com/idemsvc/idemsvc/internal/telemetry"
)

// decision is what is told about an answered command in the log and on its span.
type decision struct {
	call     string
	key      idem.EventKey // as far as it is known
	facts    *idem.Facts   // the record's, else the delivery's
	request  string        // the delivery's, else the first one's
	delivery int32         // the sender's count of it
	resource string
	attempt  int32
	state    idem.State
	outcome  string

	anomalies []string
}

// report tells about a decision: one line in the log, attributes on the span. No
// payload, result, token or error text is in either. txID is the database transaction that
// wrote it, 0 for none.
func (c *core) report(ctx context.Context, cmd idem.Command, a idem.Answer, txID int64, started time.Time) {
	told := c.log.Enabled(ctx, slog.LevelInfo)
	if !told && c.tracer == nil && c.meters == nil {
		return
	}
	span, d := trace.SpanFromContext(ctx), describe(cmd, a)
	c.meters.answered(exemplarContext(ctx, span), &d, cmd, a)
	if c.tracer != nil {
		c.told(ctx, span, &d, a, started)
	}
	if told {
		var room [18]slog.Attr
		logs.Write(ctx, c.log, slog.LevelInfo, d.call, d.fields(room[:0], span, txID, time.Since(started))...)
	}
}

// reportRefusal counts and traces what is wrong when the rules refuse a command. Its line
// in the log is that of the refused call.
func (c *core) reportRefusal(ctx context.Context, cmd idem.Command, err error, started time.Time) {
	refused, ok := errors.AsType[*idem.Error](err)
	if !ok || (c.tracer == nil && c.meters == nil) {
		return
	}
	kinds := anomaliesOfError(refused)
	if len(kinds) == 0 {
		return
	}
	d := describe(cmd, nil)
	d.outcome, d.anomalies = string(refused.Code), kinds
	if t := idem.TokenOf(cmd); t != nil {
		d.key.Namespace, d.key.Consumer = t.Namespace, t.Consumer
	}
	c.meters.found(&d)
	if c.tracer != nil {
		c.told(ctx, trace.SpanFromContext(ctx), &d, nil, started)
	}
}

// noFacts are those of what is about no delivery.
var noFacts idem.Facts

// describe gathers what a command and its answer tell.
func describe(cmd idem.Command, a idem.Answer) decision {
	d := decision{call: callName(cmd), facts: &noFacts, anomalies: telemetry.AnomaliesOf(a)}
	switch c := cmd.(type) {
	case *idem.Claim:
		d.key = c.Key
		d.says(&c.Facts)
	case *idem.Receive:
		d.key = c.Key
		d.says(&c.Facts)
	case *idem.Check:
		d.key.Namespace, d.key.Consumer = c.Ordering.Resource.Namespace, c.Ordering.Resource.Consumer
		d.resource = c.Ordering.Resource.Type + "/" + c.Ordering.Resource.Name
	case *idem.BeginEffect:
		d.key.Namespace, d.key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.RecordEffect:
		d.key.Namespace, d.key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.ResolveEffect:
		d.key.Namespace, d.key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.ReportEffect:
		d.key.Namespace = c.Token.Namespace
	}
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		d.outcome = a.Outcome.String()
		d.about(a.Event)
	case *idem.ReceiveAnswer:
		d.outcome = a.Outcome.String()
		d.about(a.Event)
	case *idem.EndAnswer:
		d.about(a.Event)
		d.outcome = a.State.String()
	case *idem.ExtendAnswer:
		d.about(a.Event)
		d.outcome = "EXTENDED"
	case *idem.CheckAnswer:
		d.outcome = a.Verdict.String()
	case *idem.EffectAnswer:
		d.outcome = a.Verdict.String()
		d.attempt = a.Attempt
	}
	return d
}

// says adds what a delivery tells.
func (d *decision) says(f *idem.Facts) { d.facts, d.request, d.delivery = f, f.RequestID, f.Attempt }

// about adds what a record tells. What this delivery said of itself stays; the correlation,
// as all else, is the first delivery's.
func (d *decision) about(e *idem.Event) {
	if e == nil {
		return
	}
	request, delivery := d.request, d.delivery
	d.says(&e.Facts)
	if request != "" || delivery != 0 {
		d.request, d.delivery = request, delivery
	}
	d.key, d.state, d.attempt = e.Key, e.State, e.Total
	if e.Facts.ResourceType != "" {
		d.resource = e.Facts.ResourceType + "/" + e.Facts.ResourceID
	}
}

func callName(cmd idem.Command) string {
	switch c := cmd.(type) {
	case *idem.Claim:
		if !c.Acquisition.IsZero() {
			return "AcquireEvents"
		}
		return "ClaimEvent"
	case *idem.Receive:
		if c.Backfill != nil {
			return "ReplayEvents"
		}
		return "ReceiveEvent"
	case *idem.Complete:
		return "CompleteEvent"
	case *idem.Fail:
		return "FailEvent"
	case *idem.Extend:
		return "ExtendClaim"
	case *idem.Release:
		return "ReleaseClaim"
	case *idem.Check:
		return "CheckVersion"
	case *idem.Resolve:
		return "ResolveEvent"
	case *idem.Replay:
		return "ReplayEvents"
	case *idem.ResolveEffect:
		return "ResolveSideEffect"
	default:
		return "RecordSideEffect"
	}
}

func causation(f *idem.Facts) string {
	if f.CauseEventID != "" {
		return f.CauseSource + "/" + f.CauseEventID
	}
	return f.CauseText
}

func (d *decision) fields(out []slog.Attr, span trace.Span, txID int64, took time.Duration) []slog.Attr {
	for _, f := range [...]struct{ name, value string }{
		{logNamespace, d.key.Namespace}, {logConsumer, d.key.Consumer}, {logSource, d.key.Source}, {logEventID, d.key.EventID},
		{logEventType, d.facts.Type}, {logResource, d.resource}, {logRequestID, d.request},
		{logOutcome, d.outcome}, {logCorrelation, d.facts.Correlation}, {logCausation, causation(d.facts)},
	} {
		if f.value != "" {
			out = append(out, slog.String(f.name, f.value))
		}
	}
	if d.delivery != 0 {
		out = append(out, slog.Int64(logDelivery, int64(d.delivery)))
	}
	if d.attempt != 0 {
		out = append(out, slog.Int64(logAttempt, int64(d.attempt)))
	}
	if d.state != idem.Absent {
		out = append(out, slog.String(logState, d.state.String()))
	}
	if sc := span.SpanContext(); sc.HasTraceID() {
		out = append(out, slog.String(logTraceID, sc.TraceID().String()))
	}
	if txID != 0 {
		out = append(out, slog.Int64(logTxID, txID))
	}
	return append(out, slog.Float64(logDuration, milliseconds(took)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (d *decision) attributes() []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, 8)
	add := func(k attribute.Key, v string) {
		if v != "" {
			out = append(out, k.String(v))
		}
	}
	if d.key.EventID != "" {
		add(attrEventRef, d.key.Source+"/"+d.key.EventID)
		add(attrMessageID, d.key.EventID)
	}
	add(attrConsumer, d.key.Consumer)
	add(attrOutcome, d.outcome)
	add(attrCorrelation, d.facts.Correlation)
	add(attrConversationID, d.facts.Correlation)
	add(attrCausation, causation(d.facts))
	add(telemetry.AttrAnomaly, strings.Join(d.anomalies, ","))
	if d.attempt != 0 {
		out = append(out, attrAttempt.Int64(int64(d.attempt)))
	}
	return out
}
