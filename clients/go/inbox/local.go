package inbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Alone runs the work once, by the marker alone, whatever the inbox's option says: the service
// is not asked. [Inbox.Report] tells it afterwards. The options are those of a claim; of them
// the delivery is kept for the report, and the rest means nothing here.
//
// The answer says what to tell the sender, as [idemsvc.Client.Process]'s does: after an error
// always to repeat, since nothing remembers a failure here.
func (b *Inbox[Tx]) Alone(ctx context.Context, event *idemsvc.Event, work Work[Tx], opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
	e, err := b.local(ctx, event, opts...)
	if err != nil {
		return later(err), err
	}
	done, err := b.once(ctx, e, work)
	if err != nil {
		return later(err), err
	}
	return &idemsvc.Answer{
		Advice: idemsvc.Acknowledge, Handled: !done.Found, State: pb.EventState_EVENT_STATE_PROCESSED,
		Result: done.Result.Body, ContentType: done.Result.ContentType,
	}, nil
}

var errOrdered = errors.New("inbox: the event is ordered, and only the service can order: use Enforce")

// local is an attempt without a claim, with what the service is to be told of it.
func (b *Inbox[Tx]) local(ctx context.Context, event *idemsvc.Event, opts ...idemsvc.ClaimOption) (entry, error) {
	said := b.request(event, opts)
	if said.GetOrdering() != nil {
		return entry{}, errOrdered
	}
	e := entry{key: key{namespace: b.namespace, source: event.GetSource(), eventID: event.GetEventId(), consumer: b.consumer}}
	if err := e.check(); err != nil {
		return entry{}, err
	}
	var err error
	e.report, err = proto.Marshal(&pb.ClaimItem{Event: told(ctx, b.namespace, event), Delivery: said.GetDelivery()})
	if err != nil {
		return entry{}, fmt.Errorf("inbox: the event cannot be told to the service: %w", err)
	}
	return e, nil
}

// request is what the options of a claim say.
func (b *Inbox[Tx]) request(event *idemsvc.Event, opts []idemsvc.ClaimOption) *pb.ClaimEventRequest {
	req := &pb.ClaimEventRequest{Namespace: b.namespace, Consumer: b.consumer, Event: event}
	for _, o := range opts {
		o(req)
	}
	return req
}

// told is the event as the service will hear of it: with its payload's hash instead of the
// payload, and with what a claim would have taken from the context.
func told(ctx context.Context, namespace string, event *idemsvc.Event) *idemsvc.Event {
	e := proto.CloneOf(event)
	if body, ok := e.GetBody().(*pb.Event_Payload); ok {
		if len(e.GetPayloadHash()) == 0 {
			sum := sha256.Sum256(body.Payload)
			e.PayloadHash = sum[:]
		}
		e.Body = nil
	}
	t, ok := idemsvc.TrailOf(ctx)
	if !ok || t.Namespace != namespace || (t.Source == e.GetSource() && t.EventID == e.GetEventId()) {
		return e
	}
	if e.GetCorrelationId() == "" {
		e.CorrelationId = t.CorrelationID
	}
	if e.GetCausation() == nil && t.EventID != "" {
		e.Causation = idemsvc.CausedBy(t.Source, t.EventID)
	}
	return e
}

// owe notes that the service is to be told of a marker that was found while it was away: it
// may have been set under a claim whose completion did not get through.
func (b *Inbox[Tx]) owe(ctx context.Context, tx Tx, e entry) error {
	if e.report == nil {
		return nil
	}
	_, err := b.db.Exec(ctx, tx, `UPDATE `+b.table+` SET report = $2::bytea WHERE id = $1::bytea AND report IS NULL`, e.id(), e.report)
	if err != nil {
		return fmt.Errorf("inbox: note that %s/%s is to be reported: %w", e.source, e.eventID, err)
	}
	return nil
}

// later is the answer after an error.
func later(err error) *idemsvc.Answer {
	wait, _ := idemsvc.Repeatable(err)
	return &idemsvc.Answer{Advice: idemsvc.RepeatLater, RetryAfter: max(wait, soon)}
}
