package idemsvc

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Trail ties events together: what is caused while one event is handled belongs to its
// story and names it as the cause.
//
// A handler's context carries the trail of its event, and [Client.Claim] reads it from
// there. For events that leave by another road (a message, a request to another service),
// send CorrelationID and the two parts of the cause along, and put them into [Event] where
// they arrive; see [CausedBy].
type Trail struct {
	Namespace     string // it holds inside this namespace only
	CorrelationID string // groups the events of one story
	Source        string // of the event that is being handled
	EventID       string // of the event that is being handled
}

type trailKey struct{}

// WithTrail puts a trail into a context, for work that goes on outside a handler.
func WithTrail(ctx context.Context, t Trail) context.Context {
	return context.WithValue(ctx, trailKey{}, t)
}

// TrailOf is the context's trail. ok is false where there is none.
func TrailOf(ctx context.Context) (t Trail, ok bool) {
	t, ok = ctx.Value(trailKey{}).(Trail)
	return t, ok
}

// CausedBy names an event of the same namespace as the cause.
func CausedBy(source, eventID string) *Causation {
	return &Causation{Cause: &pb.Causation_EventRef{EventRef: &EventRef{Source: source, EventId: eventID}}}
}

// trail is the trail of what a claim's handler causes.
func (c *Claim) trail() Trail {
	t := Trail{Namespace: c.namespace, CorrelationID: c.GetCorrelationId(), Source: c.event.GetSource(), EventID: c.event.GetEventId()}
	if t.CorrelationID == "" {
		t.CorrelationID = c.event.GetCorrelationId()
	}
	return t
}

// trailed is the event with what it does not say itself taken from the context's trail.
// Nothing is carried into another namespace, and no event is its own cause.
func trailed(ctx context.Context, namespace string, e *Event) *Event {
	t, ok := TrailOf(ctx)
	if !ok || e == nil || t.Namespace != namespace || (t.Source == e.GetSource() && t.EventID == e.GetEventId()) {
		return e
	}
	if e.GetCorrelationId() != "" && e.GetCausation() != nil {
		return e
	}
	e = proto.CloneOf(e) // the caller's own stays as it is
	if e.GetCorrelationId() == "" {
		e.CorrelationId = t.CorrelationID
	}
	if e.GetCausation() == nil && t.EventID != "" {
		e.Causation = CausedBy(t.Source, t.EventID)
	}
	return e
}
