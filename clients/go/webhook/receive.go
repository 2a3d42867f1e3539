package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// receiveConcurrency is how many receipts of one request are stored at once where nothing
// else is said. Those that the service is asked for together share its commits.
const receiveConcurrency = 16

// NewReceiver makes a handler that does no work: it keeps each event for later with
// [idemsvc.Client.Receive], and answers the provider's success code once that is durable, to
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
	asked := &pb.ReceiveEventRequest{}
	for _, o := range c.receive {
		o(asked)
	}
	if asked.GetOrdering() != nil || asked.GetDelivery() != nil {
		errs = append(errs, errors.New("ordering and delivery are taken from the request: leave ReceiveOrdered and ReceiveDelivery out"))
	}
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

// store keeps events for later work. Those about one resource are stored in their order,
// and those about none; the others at the same time. An error says that the service gave no
// answer about some.
func (h *Handler) store(ctx context.Context, tasks []*task) error {
	s := &storing{h: h}
	free := make(chan struct{}, h.cfg.concurrency)
	var running sync.WaitGroup
	for _, lane := range lanes(tasks) {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			for _, t := range lane {
				s.one(ctx, t)
			}
		})
	}
	running.Wait()
	return s.lost
}

// lanes are tasks by their resource, in their order.
func lanes(tasks []*task) [][]*task {
	type resource struct{ kind, id string }
	at := map[resource]int{}
	var out [][]*task
	for _, t := range tasks {
		r := resource{t.item.Resource.GetType(), t.item.Resource.GetId()}
		i, ok := at[r]
		if !ok {
			i = len(out)
			at[r], out = i, append(out, nil)
		}
		out[i] = append(out[i], t)
	}
	return out
}

// storing is one round of receipts. Once the service was away it is not asked any more, so
// that a request costs one wait and not one for each of its events.
type storing struct {
	h    *Handler
	mu   sync.Mutex
	lost error
}

func (s *storing) one(ctx context.Context, t *task) {
	s.mu.Lock()
	t.err = s.lost
	s.mu.Unlock()
	switch {
	case t.err != nil:
		return
	case !s.h.keeps(t.item):
		t.err = errTooLarge
		return
	}
	if s.h.receipt(ctx, t); t.answer != nil || !away(t.err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = t.err
}

// receipt asks the service to keep one event.
func (h *Handler) receipt(ctx context.Context, t *task) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.claimTime)
	defer cancel()
	opts := append([]idemsvc.ReceiveOption{idemsvc.ReceiveDelivery(t.delivery)}, h.cfg.receive...)
	if h.cfg.ordering && t.item.Version != nil {
		opts = append(opts, idemsvc.ReceiveOrdered(idemsvc.LatestWins(t.item.Version)))
	}
	a, err := h.client.Receive(ctx, t.event, opts...)
	if err != nil {
		t.err = err
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
	t.receipt, t.answer = a, &idemsvc.Answer{Advice: a.Advice(), RetryAfter: a.RetryAfter()}
	if !a.Acknowledge() {
		t.err = fmt.Errorf("%w: %v", idemsvc.ErrNotNow, outcomes(a))
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
