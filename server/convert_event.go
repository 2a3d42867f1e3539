package server

import (
	"crypto/sha256"
	"math"
	"strings"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// toFacts is what a delivery says about its event.
func toFacts(e *pb.Event, d *pb.Delivery, in incoming) idem.Facts {
	f := idem.Facts{
		KeyQuality: uint8(e.GetKeyQuality()), Type: e.GetType(), //nolint:gosec // validated
		ResourceType: e.GetResource().GetType(), ResourceID: e.GetResource().GetId(),
		OccurredAt: nanosOf(e.GetOccurredAt()), Correlation: e.GetCorrelationId(), Origin: e.GetOrigin(),
		PayloadHash: e.GetPayloadHash(), PayloadRef: e.GetPayloadRef(), ContentType: e.GetContentType(), Fingerprint: e.GetFingerprint(),
		RequestID: d.GetRequestId(), Kind: idem.DeliveryKind(d.GetKind()), Attempt: d.GetAttempt(), //nolint:gosec // validated
		Signature: idem.Signature(d.GetSignature()), ReceivedAt: nanosOf(d.GetReceivedAt()), //nolint:gosec // validated
		Headers: toHeaders(d.GetHeaders()), TraceParent: in.traceParent,
	}
	if _, ok := e.GetBody().(*pb.Event_Payload); ok {
		sum := sha256.Sum256(e.GetPayload())
		f.PayloadHash = sum[:]
		f.PayloadSize = int32(min(len(e.GetPayload()), math.MaxInt32)) //nolint:gosec // bounded
	}
	addCause(&f, e.GetCausation(), in)
	if f.Correlation == "" {
		f.Correlation = in.correlation
	}
	return f
}

func addCause(f *idem.Facts, c *pb.Causation, in incoming) {
	switch cause := c.GetCause().(type) {
	case *pb.Causation_EventRef:
		f.CauseSource, f.CauseEventID = cause.EventRef.GetSource(), cause.EventRef.GetEventId()
	case *pb.Causation_Text:
		f.CauseText = cause.Text
	default:
		f.CauseText = in.causation
	}
}

// secretHeaders are dropped whole, secretWords wherever they stand in a name: what a
// caller's allow-list let through by mistake is not stored.
var (
	secretHeaders = map[string]bool{"authorization": true, "proxy-authorization": true, "cookie": true, "set-cookie": true}
	secretWords   = []string{"signature", "token", "secret", "api-key", "apikey"}
)

func toHeaders(hs []*pb.Header) []idem.Header {
	var out []idem.Header
	for _, h := range hs {
		if !secretHeader(h.GetName()) {
			out = append(out, idem.Header{Name: h.GetName(), Value: h.GetValue()})
		}
	}
	return out
}

func secretHeader(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	if secretHeaders[name] {
		return true
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// fromFacts is the event as its first delivery told it, without the payload.
func fromFacts(k idem.EventKey, f *idem.Facts) *pb.Event {
	e := &pb.Event{
		Source: k.Source, EventId: k.EventID, Type: f.Type, PayloadHash: f.PayloadHash, ContentType: f.ContentType,
		KeyQuality: pb.KeyQuality(f.KeyQuality), OccurredAt: fromNanos(f.OccurredAt), CorrelationId: f.Correlation,
		Origin: f.Origin, Fingerprint: f.Fingerprint, Causation: fromCause(f),
	}
	if f.ResourceType != "" || f.ResourceID != "" {
		e.Resource = &pb.Resource{Type: f.ResourceType, Id: f.ResourceID}
	}
	if f.PayloadRef != "" {
		e.Body = &pb.Event_PayloadRef{PayloadRef: f.PayloadRef}
	}
	return e
}

func fromCause(f *idem.Facts) *pb.Causation {
	switch {
	case f.CauseEventID != "":
		return &pb.Causation{Cause: &pb.Causation_EventRef{EventRef: &pb.EventRef{Source: f.CauseSource, EventId: f.CauseEventID}}}
	case f.CauseText != "":
		return &pb.Causation{Cause: &pb.Causation_Text{Text: f.CauseText}}
	default:
		return nil
	}
}
