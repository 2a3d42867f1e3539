package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// NewReceiver makes a handler that does no work: it keeps each event for later with
// [idemsvc.Client.ReceiveAll], and answers the provider's success code once that is durable, to
// new events and duplicates alike. An [idemsvc.Worker] of each consumer works on them. Name
// the consumers by [WithReceiveOptions] with [idemsvc.ReceiveFor]; else it is the client's.
//
// An event of more than 1 MiB cannot be kept and is answered 413; see [WithoutPayload].
// Everything else is as with [New]: signatures, forged requests, [Spool].
func NewReceiver(client *idemsvc.Client, p *Provider, opts ...Option) (*Handler, error) {
	return newHandler(client, p, nil, opts)
}

// WithReceiveOptions applies to every receipt of a handler made by [NewReceiver], such as
// [idemsvc.ReceiveFor] or [idemsvc.ReceiveIn].
func WithReceiveOptions(opts ...idemsvc.ReceiveOption) Option {
	return func(c *config) { c.receive = append(c.receive, opts...) }
}

// checkReceipts refuses what does not go with the work of the handler.
func (c *config) checkReceipts() error {
	if !c.receiving {
		if len(c.receive) > 0 {
			return errors.New("nothing is received, because there is a function that does the work: leave WithReceiveOptions out, or use NewReceiver")
		}
		return nil
	}
	var errs []error
	if len(c.claim) > 0 {
		errs = append(errs, errors.New("a receiver claims nothing: leave WithClaimOptions out"))
	}
	if c.concurrency != 0 {
		errs = append(errs, errors.New("a receiver does no work: leave WithConcurrency out"))
	}
	asked := &pb.ReceiveEventRequest{}
	for _, o := range c.receive {
		o(asked)
	}
	if asked.GetOrdering() != nil || asked.GetDelivery() != nil {
		errs = append(errs, errors.New("ordering and delivery are taken from the request: leave ReceiveOrdered and ReceiveDelivery out"))
	}
	c.consumers = len(asked.GetConsumers())
	seen := map[string]bool{}
	for _, name := range asked.GetConsumers() {
		switch {
		case !fits(name):
			errs = append(errs, fmt.Errorf("the consumer %q must be 1 to %d bytes of text", name, maxPart))
		case seen[name]:
			errs = append(errs, fmt.Errorf("the consumer %q is named twice", name))
		}
		seen[name] = true
	}
	if n := len(asked.GetConsumers()); n > maxConsumers {
		errs = append(errs, fmt.Errorf("there are %d consumers, and a receipt is for %d at most", n, maxConsumers))
	}
	return errors.Join(errs...)
}

// maxConsumers is what the contract takes for one receipt.
const maxConsumers = 32

// errTooLarge is why an event cannot be kept.
var errTooLarge = fmt.Errorf("the event is larger than %d bytes, which is the most that the service keeps", maxPayload)

// tooLarge reports whether a receiver could not keep any event of a request: neither the
// service nor a spool helps then.
func (h *Handler) tooLarge(items []*Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, h.keeps)
}

// keeps reports whether a receiver can keep an event.
func (h *Handler) keeps(i *Item) bool { return h.cfg.noPayload || len(i.Body) <= maxPayload }

// store keeps events for later work, as many in one call as it takes. Those about one
// resource are stored in their order, one after the other. Once the service was away it is
// not asked any more, so that a request costs one wait. An error says that the service gave
// no answer about some.
func (h *Handler) store(ctx context.Context, tasks []*task) error {
	pending := make([]*task, 0, len(tasks))
	for _, t := range tasks {
		if !h.keeps(t.item) {
			t.err = errTooLarge
			continue
		}
		pending = append(pending, t)
	}
	most := maxItems / max(1, h.cfg.consumers)
	for len(pending) > 0 {
		now, later := batch(pending, most, placesOfReceipt)
		if err := h.receipts(ctx, now); err != nil {
			for _, t := range later {
				t.err = err
			}
			return err
		}
		pending = later
	}
	return nil
}

// placesOfReceipt keeps events of one ID, and those about one resource, apart: what one call
// stores it stores in any order.
func placesOfReceipt(t *task) []place {
	out := placesOfClaim(t)
	if r := t.item.Resource; r != nil {
		out = append(out, place{kind: r.GetType(), resource: r.GetId()})
	}
	return out
}

// receipts asks the service to keep the events of one batch. The error says that it gave no
// answer about some of them.
func (h *Handler) receipts(ctx context.Context, tasks []*task) error {
	items := make([]*idemsvc.ReceiveItem, len(tasks))
	for i, t := range tasks {
		items[i] = &idemsvc.ReceiveItem{Event: t.event, Delivery: t.delivery}
		if h.ordered(t) {
			items[i].Ordering = idemsvc.LatestWins(t.item.Version)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.claimTime)
	defer cancel()
	answers, err := h.client.ReceiveAll(ctx, items, h.cfg.receive...)
	if err != nil {
		for _, t := range tasks {
			t.err = err
		}
		if !away(err) {
			err = nil // all of it is refused for what it says
		}
		return err
	}
	var lost error
	for i, t := range tasks {
		if t.received(answers[i]); lost == nil && t.answer == nil && away(t.err) {
			lost = t.err
		}
	}
	return lost
}

// received takes the answer for one event.
func (t *task) received(a idemsvc.BatchReceipt) {
	if t.err = a.Err; t.err != nil {
		return
	}
	for _, r := range a.GetResults() {
		if err := idemsvc.ItemErr(r.GetError()); err != nil && (t.err == nil || away(err)) {
			t.err = err // what may succeed later comes first: the others have theirs again then
		}
	}
	if t.err != nil {
		return
	}
	t.receipt, t.answer = a.ReceiveAnswer, &idemsvc.Answer{Advice: a.Advice(), RetryAfter: a.RetryAfter()}
	if !a.Acknowledge() {
		t.err = fmt.Errorf("%w: %v", idemsvc.ErrNotNow, outcomes(a.ReceiveAnswer))
	}
}

// outcomes are those of all consumers.
func outcomes(a *idemsvc.ReceiveAnswer) (out []pb.ReceiveOutcome) {
	for _, r := range a.GetResults() {
		out = append(out, r.GetReceipt().GetOutcome())
	}
	return out
}

// reportForgedReceipt tells the service of a forged request in the name of one consumer, so
// that it is counted once.
func (h *Handler) reportForgedReceipt(ctx context.Context, event *idemsvc.Event, d *idemsvc.Delivery) error {
	opts := append([]idemsvc.ReceiveOption{idemsvc.ReceiveDelivery(d)}, h.cfg.receive...)
	_, err := h.client.Receive(ctx, event, append(opts, func(r *pb.ReceiveEventRequest) {
		r.Consumers = r.Consumers[:min(len(r.Consumers), 1)]
	})...)
	return err
}
