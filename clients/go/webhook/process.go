package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// What one batch may hold.
const (
	maxItems   = 1000
	maxPayload = 1 << 20 // bytes of one event; more is told by its hash
	maxBatch   = 3 << 20 // bytes of all, below the contract's 4 MiB
	maxHeaders = 64      // of a delivery
	maxHeader  = 4096    // bytes of one value
)

// always are the headers that are kept of every delivery, beside those that its recipe
// reads.
var always = []string{"User-Agent", "Content-Type"}

// task is one event on its way through a handler.
type task struct {
	item     *Item
	event    *idemsvc.Event
	delivery *idemsvc.Delivery
	size     int
	progress *progress

	ran    bool            // the handler was given its claim
	worked bool            // and has done its work
	first  bool            // by a claim whose delivery made the event's record
	local  bool            // it was decided without the service
	answer *idemsvc.Answer // nil until there is one
	err    error

	carried *idemsvc.DeliveryAnswer // what its completion told of the provider's answer

	receipt *idemsvc.ReceiveAnswer // nil unless it is kept for later work
}

// settled reports whether nothing is left to do for the event.
func (t *task) settled() bool { return t.answer != nil && t.answer.Acknowledge() }

// tasks are the events of a request.
func (h *Handler) tasks(d *arrival, p *progress) []*task {
	shared := &idemsvc.Delivery{
		RequestId: d.id, Signature: h.verdict(d), ReceivedAt: timestamp(d.request.ReceivedAt),
		RespondBy: timestamp(d.request.ReceivedAt.Add(h.cfg.patience)), Headers: h.notedHeaders(d.request),
	}
	p.left = len(d.items)
	room := maxBatch
	out := make([]*task, 0, len(d.items))
	for _, item := range d.items {
		keep := !h.cfg.noPayload && len(item.Body) <= maxPayload && (h.cfg.receiving || len(item.Body) <= room)
		if keep {
			room -= len(item.Body)
		}
		delivery := proto.CloneOf(shared)
		delivery.Kind, delivery.Attempt = item.kind(), int32(item.Attempt) //nolint:gosec // bounded when read
		t := &task{item: item, event: item.event(h.provider.Source(), keep), delivery: delivery, progress: p}
		t.size = proto.Size(t.event) + proto.Size(delivery)
		out = append(out, t)
	}
	return out
}

func (h *Handler) verdict(d *arrival) pb.SignatureStatus {
	tolerance := time.Duration(h.provider.recipe.Authenticity.Tolerance) * time.Second
	if h.cfg.tolerance != nil {
		tolerance = *h.cfg.tolerance
	}
	return h.provider.signature(d.signedAt, d.request.ReceivedAt, tolerance)
}

// notedHeaders are the headers that the recipe reads, and who sent them.
func (h *Handler) notedHeaders(r *Request) []*pb.Header {
	var out []*pb.Header
	for _, name := range slices.Concat(always, h.provider.headers) {
		v := r.Header.Get(name)
		if v == "" || len(v) > maxHeader || !fits(name) || secretive(name) || !storable(v) || len(out) == maxHeaders {
			continue
		}
		if !slices.ContainsFunc(out, func(x *pb.Header) bool { return x.GetName() == name }) {
			out = append(out, &pb.Header{Name: name, Value: v})
		}
	}
	return out
}

// secretive reports whether a header of that name may hold what nobody else should read.
// The service drops these, too.
func secretive(name string) bool {
	name = strings.ToLower(name)
	if name == "authorization" || name == "proxy-authorization" || name == "cookie" || name == "set-cookie" {
		return true
	}
	return slices.ContainsFunc([]string{"signature", "token", "secret", "api-key", "apikey"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// progress tells the last event of a request to complete what the provider will be
// answered. Those before it cannot know: their answer is told afterwards.
type progress struct {
	mu      sync.Mutex
	left    int
	failed  bool
	success int
	already *idemsvc.DeliveryAnswer // what it was answered before
}

func (p *progress) answer() *idemsvc.DeliveryAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.already != nil:
		return p.already
	case p.left == 1 && !p.failed:
		return toldNow(p.success)
	case p.left == 1:
		return toldNow(http.StatusServiceUnavailable)
	default:
		return nil
	}
}

// complete puts the answer into the completion. The service shows it with the event's first
// delivery, so that of a later one is told beside it.
func (t *task) complete(r *pb.CompleteEventRequest) {
	if t.first {
		t.carried = t.progress.answer()
		r.DeliveryAnswer = t.carried
	}
}

func (p *progress) ended(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
	p.failed = p.failed || !t.settled()
}

// process claims the events in one batch, handles those that are granted, and ends their
// claims. The second of two events with one ID, and one that waits for another event of
// the request, have their turn in a further batch. An error says that the service gave no
// answer; the tasks say how far it got.
func (h *Handler) process(ctx context.Context, tasks []*task) error {
	for pending := tasks; len(pending) > 0; {
		now, later := batch(pending, maxItems, placesOfClaim)
		blocked, err := h.round(ctx, now)
		if err != nil {
			return err
		}
		if len(blocked) == len(now) { // nothing moved: whoever holds the lane is elsewhere
			for _, t := range blocked {
				t.progress.ended(t)
			}
			blocked = nil
		}
		pending = slices.Concat(blocked, later)
	}
	return nil
}

// place is what only one event of a call may have: an ID, or a resource.
type place struct{ event, kind, resource string }

func placesOfClaim(t *task) []place { return []place{{event: t.item.ID}} }

// batch is what goes into one call, at most so many events. One whose place is taken waits
// for a later call, and what shares a place with it behind it.
func batch(pending []*task, most int, places func(*task) []place) (now, later []*task) {
	taken := make(map[place]bool, len(pending))
	size := 0
	for i, t := range pending {
		if len(now) == most || len(now) > 0 && size+t.size > maxBatch+maxBatch/4 {
			return now, append(later, pending[i:]...)
		}
		mine := places(t)
		waits := slices.ContainsFunc(mine, func(p place) bool { return taken[p] })
		for _, p := range mine {
			taken[p] = true
		}
		if waits {
			later = append(later, t)
			continue
		}
		size += t.size
		now = append(now, t)
	}
	return now, later
}

// round handles one batch and returns the events that another event of it blocked.
func (h *Handler) round(ctx context.Context, tasks []*task) (blocked []*task, err error) {
	answers, err := h.claim(ctx, tasks)
	if err != nil {
		return nil, err
	}
	free := make(chan struct{}, h.cfg.concurrency)
	var running sync.WaitGroup
	for i, a := range answers {
		t := tasks[i]
		switch {
		case a.Err != nil:
			t.err = a.Err
			t.progress.ended(t)
		case a.Advice() == idemsvc.Process:
			free <- struct{}{}
			running.Go(func() {
				defer func() { <-free }()
				h.run(ctx, t, a.ClaimAnswer)
			})
		default:
			t.answer, t.err = a.Answer()
			if b := a.GetBlockedBy(); b != nil && b.ItemIndex != nil && !t.settled() {
				blocked = append(blocked, t)
				continue
			}
			t.progress.ended(t)
		}
	}
	running.Wait()
	return blocked, nil
}

// claim asks for all events of a batch at once.
func (h *Handler) claim(ctx context.Context, tasks []*task) ([]idemsvc.BatchAnswer, error) {
	items := make([]*idemsvc.ClaimItem, len(tasks))
	for i, t := range tasks {
		items[i] = &idemsvc.ClaimItem{Event: t.event, Delivery: t.delivery}
		if h.ordered(t) {
			items[i].Ordering = idemsvc.LatestWins(t.item.Version)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.claimTime)
	defer cancel()
	if err := h.unfinished.finish(ctx, tasks); err != nil {
		return nil, err
	}
	return h.client.ClaimAll(ctx, items, h.cfg.claim...)
}

// run handles one event under its claim.
func (h *Handler) run(ctx context.Context, t *task, claimed *idemsvc.ClaimAnswer) {
	defer t.progress.ended(t)
	defer h.recovered(ctx, t) // of a panic, or the end of the goroutine, the client has told the service
	t.broken()
	t.ran = true
	t.first = claimed.GetDisposition() == pb.Disposition_DISPOSITION_ACCEPTED
	claimed.Claim.CompleteWith(t.complete)
	answer, err := claimed.Claim.Process(ctx, func(ctx context.Context, c *idemsvc.Claim) error {
		err := h.handle(ctx, c, t.item)
		t.worked = err == nil
		return err
	})
	answer.Claimed = claimed
	t.answer, t.err = answer, err
	if t.worked && untold(t) {
		h.unfinished.add(t.item.ID, claimed.Claim)
	}
}

// broken is the answer where a function does not come back.
func (t *task) broken() {
	t.answer, t.err = &idemsvc.Answer{Advice: idemsvc.RepeatLater, RetryAfter: soon}, errors.New("the handler ended its goroutine")
}

// recovered ends a panic of the handler. Defer it.
func (h *Handler) recovered(ctx context.Context, t *task) {
	if v := recover(); v != nil {
		t.err = fmt.Errorf("the handler panicked: %v", v)
		h.cfg.log.LogAttrs(ctx, slog.LevelError, "the handler panicked",
			slog.String("event_id", t.item.ID), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	}
}

// unasked is why the service could not be asked about some event, or told of it; nil if
// it could.
func unasked(tasks []*task, err error) error {
	if err != nil && away(err) {
		return err
	}
	for _, t := range tasks {
		if untold(t) {
			return t.err
		}
	}
	return nil
}

// untold reports whether the service knows nothing of how an event's turn ended. A
// handler's own error can be one of the service, too: then the event's state is known.
func untold(t *task) bool {
	return t.err != nil && away(t.err) && (t.answer == nil || !t.settled() && t.answer.State == 0)
}

// away reports whether an error says that the service gave no verdict. What it refuses for
// what it says would be refused for ever.
func away(err error) bool {
	for _, verdict := range []error{idemsvc.ErrClaimLost, idemsvc.ErrAlreadyEnded, idemsvc.ErrVersionKindMismatch, idemsvc.ErrUnknownMachine} {
		if errors.Is(err, verdict) {
			return false
		}
	}
	e, ok := errors.AsType[*idemsvc.Error](err)
	return ok && e.Code != codes.InvalidArgument && !errors.Is(e, idemsvc.ErrTooLarge)
}
