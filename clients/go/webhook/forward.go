package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	forwardBatch = 64   // requests at once
	maxPostponed = 4096 // requests that wait for their next try; above that no new one begins
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 3 * time.Second
)

// openSpool begins to forward what is in the spool.
func (h *Handler) openSpool() error {
	s, err := openSpool(*h.cfg.spool, h.cfg.log)
	if err != nil {
		return fmt.Errorf("webhook: %s: %w", h.provider.Name(), err)
	}
	h.spool = s
	h.running.Go(func() { h.forward(h.base) })
	return nil
}

// keep puts a request into the spool, and answers it.
func (h *Handler) keep(d *arrival, why error) reply {
	b, err := d.record(h.success())
	if err == nil {
		err = h.spool.append(b)
	}
	if err != nil {
		return reply{status: http.StatusServiceUnavailable, retryAfter: soon, reason: "not spooled", err: err}
	}
	return reply{status: h.success(), reason: "spooled", err: why}
}

// forward handles what is in the spool: first tries in order, and each request again
// until it is settled, since its provider will not send it again.
func (h *Handler) forward(ctx context.Context) {
	var postponed []*spooled
	for ctx.Err() == nil {
		var batch []*spooled
		batch, postponed = due(postponed, time.Now(), forwardBatch)
		if len(postponed) < maxPostponed {
			batch = append(batch, h.spool.take(forwardBatch-len(batch))...)
		}
		if len(batch) == 0 {
			h.idle(ctx, postponed)
			continue
		}
		postponed = append(postponed, h.forwardAll(ctx, batch)...)
	}
}

// due are the requests whose time has come, at most n, and the others.
func due(all []*spooled, now time.Time, n int) (ready, rest []*spooled) {
	for _, r := range all {
		if len(ready) < n && !r.due.After(now) {
			ready = append(ready, r)
		} else {
			rest = append(rest, r)
		}
	}
	return ready, rest
}

// idle waits until there is something to do.
func (h *Handler) idle(ctx context.Context, postponed []*spooled) {
	var next <-chan time.Time
	for i, r := range postponed {
		if i == 0 || r.due.Before(postponed[0].due) {
			postponed[0], postponed[i] = postponed[i], postponed[0]
		}
	}
	if len(postponed) > 0 {
		t := time.NewTimer(time.Until(postponed[0].due))
		defer t.Stop()
		next = t.C
	}
	select {
	case <-ctx.Done():
	case <-h.spool.ready:
	case <-next:
	}
}

// forwarded is a request of the spool with its events.
type forwarded struct {
	*spooled
	id     string
	tasks  []*task
	answer *idemsvc.DeliveryAnswer // given when it was spooled
	err    error                   // it can never be handled
}

// forwardAll handles requests until the service has answered for all of them, and
// returns those that are to be tried again.
func (h *Handler) forwardAll(ctx context.Context, batch []*spooled) (again []*spooled) {
	requests := make([]*forwarded, 0, len(batch))
	for _, r := range batch {
		requests = append(requests, h.restore(r))
	}
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		var tasks []*task
		for _, r := range requests {
			for _, t := range r.tasks {
				if t.answer == nil || untold(t) {
					t.answer, t.receipt, t.err = nil, nil, nil
					tasks = append(tasks, t)
				}
			}
		}
		err := h.settle(ctx, tasks)
		lost := unasked(tasks, err)
		if lost == nil {
			break
		}
		h.cfg.log.LogAttrs(ctx, slog.LevelWarn, "the service is away: the spool waits", slog.Any("error", lost))
		if !pause(ctx, backoff+rand.N(backoff)) { //nolint:gosec // jitter
			return nil // all of it is still in the spool
		}
	}
	for _, r := range requests {
		if h.conclude(ctx, r) {
			again = append(again, r.spooled)
		}
	}
	return again
}

// restore reads a request, and the events in it.
func (h *Handler) restore(r *spooled) *forwarded {
	f := &forwarded{spooled: r}
	var head *spoolHead
	var d *arrival
	payload, err := h.spool.read(r)
	if err == nil {
		d, head, err = restored(payload)
	}
	if err == nil {
		f.id = d.id
		d.items, err = h.provider.extract(d.request)
	}
	if err != nil {
		f.err = err
		return f
	}
	f.answer = &idemsvc.DeliveryAnswer{HttpStatus: int32(head.Status), At: timestamp(head.AnsweredAt)} //nolint:gosec // a status
	f.tasks = h.tasks(d, &progress{already: f.answer})
	if r.again { // our own schedule, which waits for the backoff
		for _, t := range f.tasks {
			t.delivery.Kind = pb.DeliveryKind_DELIVERY_KIND_CONSUMER_REQUEUE
		}
	}
	return f
}

// conclude forgets a request that is settled, and reports whether to try it again.
func (h *Handler) conclude(ctx context.Context, f *forwarded) bool {
	if !f.again {
		h.spool.tried()
	}
	wait := time.Duration(0)
	for _, t := range f.tasks {
		switch {
		case t.settled():
		case t.answer == nil:
			f.err = fmt.Errorf("the service refuses it: %w", t.err)
		case t.rejected():
			f.err = t.err
		default:
			wait = max(wait, t.answer.RetryAfter, soon)
		}
	}
	switch {
	case wait > 0:
		f.due, f.again = time.Now().Add(wait), true
		return true
	case f.err != nil:
		if err := h.spool.refuse(f.spooled, f.id); err != nil {
			h.cfg.log.LogAttrs(ctx, slog.LevelError, "a request that cannot be handled cannot be put aside either", slog.Any("error", err))
			f.due, f.again = time.Now().Add(maxBackoff), true
			return true
		}
		h.cfg.log.LogAttrs(ctx, slog.LevelError, "a request of the spool cannot be handled and was put aside",
			slog.String("request_id", f.id), slog.String("file", f.id+refusedSuffix), slog.Any("error", f.err))
	default:
		h.spool.settle(f.spooled)
		h.tell(f.id, untoldOf(f.tasks, int(f.answer.GetHttpStatus())), f.answer)
		h.cfg.log.LogAttrs(ctx, slog.LevelInfo, "forwarded", slog.String("request_id", f.id), slog.Int("events", len(f.tasks)))
	}
	return false
}

// pause waits, and is false when the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Spooled is how many requests are in the spool: kept, and not yet settled with the service.
func (h *Handler) Spooled() int {
	if h.spool == nil {
		return 0
	}
	return h.spool.unsettled()
}
