package webhook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// maxTelling is how many calls are made at once to tell the service of answers. What comes
// while so many are under way is not told.
const maxTelling = 64

// teller tells the service what providers were answered, beside the requests: an answer
// neither waits for it nor fails with it.
type teller struct {
	namespace, consumer string // of the handler's claims or receipts; empty: the client's
	free                chan struct{}
	lost                limiter     // of the log
	unknown             atomic.Bool // the service does not take answers
}

func (c *config) newTeller() *teller {
	asked := &pb.ClaimEventRequest{}
	for _, o := range c.claim {
		o(asked)
	}
	received := &pb.ReceiveEventRequest{}
	for _, o := range c.receive {
		o(received)
	}
	t := &teller{namespace: asked.GetNamespace(), consumer: asked.GetConsumer(), free: make(chan struct{}, maxTelling)}
	if c.receiving {
		t.namespace = received.GetNamespace()
		for _, name := range received.GetConsumers()[:min(1, len(received.GetConsumers()))] {
			t.consumer = name // one stands for all
		}
	}
	return t
}

// untoldOf are the IDs of events that the service knows and whose completion did not carry
// the answer.
func untoldOf(tasks []*task, status int) (ids []string) {
	for _, t := range tasks {
		carried := t.settled() && t.carried.GetHttpStatus() == int32(status) //nolint:gosec // a status
		if !t.local && !carried && !t.rejected() && !errors.Is(t.err, errTooLarge) {
			ids = append(ids, t.item.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// tell tells the service what was answered to a request about events.
func (h *Handler) tell(requestID string, ids []string, answer *idemsvc.DeliveryAnswer) {
	t := h.teller
	if len(ids) == 0 || t.unknown.Load() || h.base.Err() != nil {
		return
	}
	select {
	case t.free <- struct{}{}:
	default:
		h.notTold(requestID, errors.New("too many answers are being told"))
		return
	}
	h.running.Go(func() {
		defer func() { <-t.free }()
		ctx, cancel := context.WithTimeout(h.base, reportTimeout)
		defer cancel()
		for some := range slices.Chunk(ids, maxItems) {
			if err := h.client.RecordDeliveryAnswer(ctx, &pb.RecordDeliveryAnswerRequest{
				Namespace: t.namespace, Consumer: t.consumer, Source: h.provider.Source(), EventIds: some, RequestId: requestID, Answer: answer,
			}); err != nil {
				h.notTold(requestID, err)
				return
			}
		}
	})
}

// notTold logs what is missing in the service's records now, at most 20 times a minute.
func (h *Handler) notTold(requestID string, err error) {
	if e, ok := errors.AsType[*idemsvc.Error](err); ok && e.Code == codes.Unimplemented {
		h.teller.unknown.Store(true)
	}
	if ok, _ := h.teller.lost.pass(time.Now()); ok && h.base.Err() == nil {
		h.cfg.log.Warn("an answer was not told to the service, which does not show it then", slog.String("request_id", requestID), slog.Any("error", err))
	}
}

// toldNow is the answer with a status, given now.
func toldNow(status int) *idemsvc.DeliveryAnswer {
	return &idemsvc.DeliveryAnswer{HttpStatus: int32(status), At: timestamp(time.Now())} //nolint:gosec // a status
}
