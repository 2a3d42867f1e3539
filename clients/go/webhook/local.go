package webhook

import (
	"context"
	"errors"
	"sync"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// LocalFunc does the work of one event once, without the service, and says what to tell the
// provider. The event and the options are those of the claim that was not answered: pass
// them on, so that the service can be told afterwards what was done.
type LocalFunc func(ctx context.Context, item *Item, event *idemsvc.Event, opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error)

// Local has a marker in the consumer's own database decide about events while the service
// is away, such as that of package inbox: the handler's function works by its Do, this one
// by its Alone with the same work, and its Report tells the service afterwards. A function
// that keeps no marker of what it has done, which the handler's finds, does it twice.
//
// What was claimed and failed is left to the provider's next try, and so are events that
// are ordered (see [WithOrdering]): only the service knows what is newer. These are answered
// 503. With a spool they would be done when their turn comes, but everything that arrives
// behind a spool waits for it; the two are not given together.
func Local(alone LocalFunc) Option { return func(c *config) { c.local = &alone } }

// checkLocal refuses what does not go with deciding alone.
func (c *config) checkLocal() error {
	switch {
	case c.local == nil:
		return nil
	case *c.local == nil:
		return errors.New("there is no function that works without the service: Local needs one")
	case c.receiving:
		return errors.New("a receiver does no work, and a marker says nothing of what is kept for later: leave Local out, or use Spool")
	case c.spool != nil:
		return errors.New("the service's absence is met by Local or by Spool: leave one of them out")
	}
	return nil
}

// alone has the events that the service gave no answer about decided without it. It returns
// how many were, and what is left of the error.
func (h *Handler) alone(ctx context.Context, tasks []*task, err error) (decided int, left error) {
	if h.cfg.local == nil {
		return 0, err
	}
	free := make(chan struct{}, h.cfg.concurrency)
	var running sync.WaitGroup
	for _, t := range tasks {
		why := t.err
		if t.answer == nil && t.err == nil {
			why = err // it was not asked about at all
		} else if !untold(t) {
			continue
		}
		if !idemsvc.Away(why) || h.ordered(t) || t.ran && !t.worked {
			if left == nil {
				left = why
			}
			continue
		}
		decided++
		t.local = true
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			h.decide(ctx, t)
		})
	}
	running.Wait()
	return decided, left
}

// decide has one event decided without the service.
func (h *Handler) decide(ctx context.Context, t *task) {
	defer h.recovered(ctx, t)
	t.broken()
	answer, err := (*h.cfg.local)(ctx, t.item, t.event, idemsvc.WithDelivery(t.delivery))
	if answer != nil {
		t.answer, t.err = answer, err
	} else if err != nil {
		t.err = err
	}
}

// ordered reports whether the service is asked to order an event.
func (h *Handler) ordered(t *task) bool { return h.cfg.ordering && t.item.Version != nil }
