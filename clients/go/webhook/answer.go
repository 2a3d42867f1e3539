package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// soon is when to come again where nobody says.
const soon = time.Second

// reply is what a provider is told.
type reply struct {
	status      int
	retryAfter  time.Duration
	body        []byte
	contentType string
	reason      string // for the log
	err         error
}

func (h *Handler) success() int { return h.provider.recipe.Answer.Success }

// replyTo is the answer to the events of a request: success if all of them are settled,
// new ones and duplicates alike.
func (h *Handler) replyTo(tasks []*task) reply {
	r := reply{status: h.success(), reason: "settled"}
	var errs []error
	stop := false
	for _, t := range tasks {
		errs = append(errs, t.err)
		switch {
		case t.settled():
			stop = stop || t.failed()
		case t.rejected():
			r.status, r.reason = http.StatusUnauthorized, "signature required"
		case errors.Is(t.err, errTooLarge):
			if r.status == h.success() {
				r.status, r.reason = http.StatusRequestEntityTooLarge, "too large"
			}
		case t.answer == nil && r.status != http.StatusUnauthorized: // refused for what it says
			r.status, r.reason = http.StatusUnprocessableEntity, "refused"
		}
	}
	r.err = errors.Join(errs...)
	for _, t := range tasks {
		if t.answer != nil && !t.settled() && !t.rejected() {
			again := max(t.answer.RetryAfter, soon)
			if r.status != http.StatusServiceUnavailable || again < r.retryAfter {
				r.retryAfter = again
			}
			r.status, r.reason = http.StatusServiceUnavailable, "not now"
		}
	}
	if r.status != h.success() {
		return r
	}
	if code := h.provider.recipe.Answer.Stop; stop && code != 0 {
		r.status, r.reason = code, "stopped"
	}
	if len(tasks) == 1 {
		r.body, r.contentType = tasks[0].answer.Result, tasks[0].answer.ContentType
	}
	return r
}

// rejected reports whether the service asks for a signature that was not checked.
func (t *task) rejected() bool {
	if t.receipt != nil {
		return slices.Contains(outcomes(t.receipt), pb.ReceiveOutcome_RECEIVE_OUTCOME_REJECTED_SIGNATURE)
	}
	return t.answer != nil && t.answer.Outcome() == pb.ClaimOutcome_CLAIM_OUTCOME_REJECTED_SIGNATURE
}

// failed reports whether a settled event failed for good. What was received is settled by
// that: whatever comes of it later, its duplicates are answered as it was.
func (t *task) failed() bool {
	if t.receipt != nil {
		return slices.Contains(outcomes(t.receipt), pb.ReceiveOutcome_RECEIVE_OUTCOME_PAYLOAD_MISMATCH)
	}
	a := t.answer
	return a.State == pb.EventState_EVENT_STATE_FAILED_TERMINAL || a.State == pb.EventState_EVENT_STATE_DEAD_LETTERED ||
		a.Outcome() == pb.ClaimOutcome_CLAIM_OUTCOME_PAYLOAD_MISMATCH
}

// wait is how long to stay away after an error.
func wait(err error) time.Duration {
	d, _ := idemsvc.Repeatable(err)
	return max(d, soon)
}

// answer tells the provider. What happened stays as it is if that fails: the provider's
// next try is a duplicate.
func (h *Handler) answer(w http.ResponseWriter, hr *http.Request, d *arrival, r reply) {
	if r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(max(r.retryAfter, soon).Seconds()))))
	}
	var unsent error
	if len(r.body) > 0 && r.status != http.StatusNoContent {
		w.Header().Set("X-Content-Type-Options", "nosniff") // some of it is an echo
		if r.contentType != "" {
			w.Header().Set("Content-Type", r.contentType)
		}
		w.WriteHeader(r.status)
		_, unsent = w.Write(r.body)
	} else {
		w.WriteHeader(r.status)
	}
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.Int("http_status", r.status), slog.String("reason", r.reason), slog.Float64("duration_ms", float64(time.Since(d.began).Microseconds())/1000),
	}
	if r.err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("error", r.err))
	}
	if gone := cmpErr(unsent, hr.Context().Err()); gone != nil {
		attrs = append(attrs, slog.Any("unsent", gone))
	}
	h.cfg.log.LogAttrs(context.WithoutCancel(hr.Context()), level, "answered", d.attrs(attrs...)...)
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// attrs names an arrival in a log.
func (d *arrival) attrs(more ...slog.Attr) []slog.Attr {
	out := []slog.Attr{slog.String("request_id", d.id)}
	d.mu.Lock()
	items := d.items
	d.mu.Unlock()
	switch {
	case len(items) == 1:
		out = append(out, slog.String("event_id", items[0].ID), slog.String("event_type", items[0].Type))
		if items[0].Attempt > 0 {
			out = append(out, slog.Int("delivery_attempt", items[0].Attempt))
		}
	case len(items) > 1:
		out = append(out, slog.Int("events", len(items)))
	}
	return append(out, more...)
}

// storable reports whether the contract takes a text as a header's value.
func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
