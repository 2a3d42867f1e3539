package idemsvc

import (
	"context"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// ReceiveOption says more about one receipt.
type ReceiveOption func(*pb.ReceiveEventRequest)

// ReceiveFor names the consumers that are to work on the event, instead of the client's: 1 to
// 32, each independently of the others.
func ReceiveFor(consumers ...string) ReceiveOption {
	return func(r *pb.ReceiveEventRequest) { r.Consumers = consumers }
}

// ReceiveIn receives in another namespace than the client's.
func ReceiveIn(namespace string) ReceiveOption {
	return func(r *pb.ReceiveEventRequest) { r.Namespace = namespace }
}

// ReceiveDelivery describes the arrival. Its request ID makes the call safe to repeat by
// others than this client, which makes one up where there is none.
func ReceiveDelivery(d *Delivery) ReceiveOption {
	return func(r *pb.ReceiveEventRequest) { r.Delivery = d }
}

// ReceiveOrdered orders events about the event's resource, which is then required.
func ReceiveOrdered(o *Ordering) ReceiveOption {
	return func(r *pb.ReceiveEventRequest) { r.Ordering = o }
}

// ReceiveHoldWhenStale leaves the event to a person when its worker vanishes without a word.
func ReceiveHoldWhenStale() ReceiveOption {
	return func(r *pb.ReceiveEventRequest) { r.StaleClaim = pb.StaleClaim_STALE_CLAIM_HOLD }
}

// Receive keeps an event for later work: record, payload and headers are durable when it
// returns. A [Worker] works on it. Act on the answer's advice: only [Acknowledge] means that
// the provider may be told 2xx.
//
// Correlation and cause that the event does not name are those of the context; see [Trail].
func (c *Client) Receive(ctx context.Context, event *Event, opts ...ReceiveOption) (*ReceiveAnswer, error) {
	req := &pb.ReceiveEventRequest{Namespace: c.cfg.namespace, Event: event}
	if c.cfg.consumer != "" {
		req.Consumers = []string{c.cfg.consumer}
	}
	for _, o := range opts {
		o(req)
	}
	req.Event = trailed(ctx, req.GetNamespace(), req.GetEvent())
	req.Delivery = identified(req.GetDelivery(), NewClaimant())
	resp, err := c.idem.ReceiveEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	return &ReceiveAnswer{resp}, nil
}

// ReceiveAnswer is the answer to a receipt.
type ReceiveAnswer struct{ *pb.ReceiveEventResponse }

// Advice is what to tell the provider: [Acknowledge] if every consumer's receipt is settled,
// else [RepeatLater].
func (a *ReceiveAnswer) Advice() Advice {
	if a.GetAdvice() == Acknowledge {
		return Acknowledge
	}
	return RepeatLater
}

// Acknowledge reports whether the provider may be told that the delivery is settled.
func (a *ReceiveAnswer) Acknowledge() bool { return a.Advice() == Acknowledge }

// RetryAfter is how long the provider should wait at least, with [RepeatLater].
func (a *ReceiveAnswer) RetryAfter() time.Duration { return a.GetRetryAfter().AsDuration() }
