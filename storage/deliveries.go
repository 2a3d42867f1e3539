package storage

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Records of deliveries that decide nothing are written behind the answer: gathered for
// at most deliveryPause, bounded, and lost only with the process. A first delivery is
// never among them: it is part of the record that its claim makes.
const (
	deliveryPause = 500 * time.Millisecond
	deliveryRoom  = 8192
	deliveryBatch = 500
)

// DeliveryOf is the record of the delivery that a claim brought. The same call again
// gives the same identity.
func DeliveryOf(c *idem.Claim, a *idem.ClaimAnswer) Delivery {
	identity := idem.Digest("claimant", c.Claimant)
	if c.Facts.RequestID != "" {
		identity = idem.Digest("request", c.Facts.RequestID)
	}
	return Delivery{
		Event: c.Key.ID(), Key: c.Key, Identity: identity, RequestID: c.Facts.RequestID, Kind: c.Facts.Kind, Attempt: c.Facts.Attempt,
		Signature: c.Facts.Signature, Headers: c.Facts.Headers, ReceivedAt: c.Facts.ReceivedAt, PayloadHash: c.Facts.PayloadHash,
		TraceParent: c.Facts.TraceParent, Disposition: a.Disposition(), Outcome: a.Outcome, Anomalies: a.Anomalies,
	}
}

// deliveryOfReceipt is the record of the delivery that a receipt brought. One without a
// request ID is an arrival of its own.
func deliveryOfReceipt(c *idem.Receive, a *idem.ReceiveAnswer) Delivery {
	identity := idem.Digest("request", c.Facts.RequestID)
	if c.Facts.RequestID == "" {
		identity = idem.Digest("receipt", rand.Text())
	}
	return Delivery{
		Event: c.Key.ID(), Key: c.Key, Identity: identity, RequestID: c.Facts.RequestID, Kind: c.Facts.Kind, Attempt: c.Facts.Attempt,
		Signature: c.Facts.Signature, Headers: c.Facts.Headers, ReceivedAt: c.Facts.ReceivedAt, PayloadHash: c.Facts.PayloadHash,
		TraceParent: c.Facts.TraceParent, Disposition: a.Disposition(), Anomalies: a.Anomalies,
	}
}

// answerOf is the record of what a provider was told about a delivery.
func answerOf(key idem.EventKey, requestID string, a idem.DeliveryAnswer) Delivery {
	return Delivery{Event: key.ID(), Key: key, Identity: idem.Digest("answer", requestID), RequestID: requestID, Answered: a}
}

type deliveries struct {
	backend Backend
	log     *slog.Logger
	dropped atomic.Uint64

	mu      sync.Mutex
	pending []Delivery
	running bool
	closed  bool
	stop    chan struct{}
	wg      sync.WaitGroup
}

func newDeliveries(b Backend, log *slog.Logger) *deliveries {
	return &deliveries{backend: b, log: log, stop: make(chan struct{})}
}

// record takes a claim's delivery, unless it was part of a transition or is a repeat of
// the call that has been recorded.
func (d *deliveries) record(c *idem.Claim, a *idem.ClaimAnswer) {
	if a.Fresh || a.Granted || a.Reentered {
		return
	}
	if e := a.Event; e != nil && e.Facts.RequestID != "" && e.Facts.RequestID == c.Facts.RequestID {
		return // the same arrival, claimed again
	}
	d.add(DeliveryOf(c, a))
}

func (d *deliveries) add(x Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.pending) >= deliveryRoom {
		d.dropped.Add(1)
		return
	}
	d.pending = append(d.pending, x)
	if !d.running {
		d.running = true
		d.wg.Go(d.run)
	}
}

// run writes what has gathered after each pause, and ends when nothing is left.
func (d *deliveries) run() {
	for {
		timer := time.NewTimer(deliveryPause)
		select {
		case <-timer.C:
		case <-d.stop:
			timer.Stop()
		}
		for {
			batch, last := d.take()
			if len(batch) > 0 {
				d.write(batch)
			}
			if last {
				return
			}
			if len(batch) < deliveryBatch {
				break
			}
		}
	}
}

// take is the next batch; last tells the writer to end.
func (d *deliveries) take() (batch []Delivery, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.pending), deliveryBatch)
	batch, d.pending = d.pending[:n:n], d.pending[n:]
	if n == 0 {
		d.running, d.pending = false, nil
		return nil, true
	}
	return batch, false
}

func (d *deliveries) write(batch []Delivery) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := d.backend.RecordDeliveries(ctx, batch); err != nil {
		d.dropped.Add(uint64(len(batch)))
		d.log.Warn("records of duplicate deliveries and of answers were lost", "count", len(batch), "error", err)
	}
}

func (d *deliveries) close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.wg.Wait()
}
