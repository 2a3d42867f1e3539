package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	// reportsPerMinute is how many forged requests of a source are told to the service, which
	// keeps no more of them either. Anybody can send them.
	reportsPerMinute = 20
	reportTimeout    = 5 * time.Second
	// unverifiedID stands for the ID of a forged request. Its own is not to be believed.
	unverifiedID = "unverified"
)

// limiter lets some pass each minute and counts the rest.
type limiter struct {
	mu     sync.Mutex
	minute time.Time
	passed int
	rest   int
}

// pass reports whether one more may pass, and how many of the last minute did not.
func (l *limiter) pass(now time.Time) (ok bool, before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.minute) >= time.Minute {
		before = l.rest
		l.minute, l.passed, l.rest = now, 0, 0
	}
	if l.passed >= reportsPerMinute {
		l.rest++
		return false, before
	}
	l.passed++
	return true, before
}

// report tells the service of a forged request, without its body, beside the answer: the
// sender is owed nothing.
func (h *Handler) report(d *arrival) {
	ok, before := h.forged.pass(d.began)
	if before > 0 {
		h.cfg.log.Warn("more forged requests came than were told to the service", slog.Int("untold", before))
	}
	if !ok || h.base.Err() != nil {
		return
	}
	event := &idemsvc.Event{Source: h.provider.Source(), EventId: unverifiedID}
	delivery := &idemsvc.Delivery{
		RequestId: d.id, Signature: pb.SignatureStatus_SIGNATURE_STATUS_FAILED, ReceivedAt: timestamp(d.request.ReceivedAt),
	}
	h.running.Go(func() {
		ctx, cancel := context.WithTimeout(h.base, reportTimeout)
		defer cancel()
		if err := h.reportForged(ctx, event, delivery); err != nil {
			h.cfg.log.LogAttrs(ctx, slog.LevelWarn, "a forged request was not told to the service", slog.String("request_id", d.id), slog.Any("error", err))
		}
	})
}

// reportForged makes the call. Its answer is known.
func (h *Handler) reportForged(ctx context.Context, event *idemsvc.Event, d *idemsvc.Delivery) error {
	if h.cfg.receiving {
		return h.reportForgedReceipt(ctx, event, d)
	}
	_, err := h.client.Claim(ctx, event, append([]idemsvc.ClaimOption{idemsvc.WithDelivery(d)}, h.cfg.claim...)...)
	return err
}
