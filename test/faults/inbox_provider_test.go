//go:build linux

package faults_test

import (
	"context"
	"crypto/rand"
	mrand "math/rand/v2"
	"sync"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// A provider sends a new event every inboxPace, each up to inboxCopies times, and no later
// than inboxSpread deliveries after its turn.
const (
	inboxPace   = 40 * time.Millisecond
	inboxCopies = 4
	inboxSpread = 40
)

// delivery is one arrival of an event, under its own request ID.
type delivery struct {
	event   int64
	request string
	kind    pb.DeliveryKind
}

// provider delivers events until each delivery is answered.
type provider struct {
	inboxPlan
	caller *caller
	rng    *mrand.Rand
	queue  []delivery // in the order of their sending

	mu      sync.Mutex
	events  int64 // that were made up
	sent    int   // deliveries that are not to be sent again
	firsts  map[int64]int
	answers map[string]int
	trouble []string
}

// run sends until the context ends, and then what is left, unless nobody cares any more.
func (p *provider) run(ctx context.Context, cares func() bool) {
	batches := make(chan []delivery)
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for b := range batches {
				p.send(b)
			}
		})
	}
	for ctx.Err() == nil {
		p.next()
		for len(p.queue) > inboxSpread {
			batches <- p.take()
		}
		sleepFor(ctx, inboxPace)
	}
	for len(p.queue) > 0 && cares() {
		batches <- p.take()
	}
	close(batches)
	senders.Wait()
}

// next makes up an event and puts its deliveries somewhere among those to be sent.
func (p *provider) next() {
	p.mu.Lock()
	event := p.events
	p.events++
	p.mu.Unlock()
	kind := pb.DeliveryKind_DELIVERY_KIND_PROVIDER_FIRST
	for range 1 + p.rng.IntN(inboxCopies) {
		at := max(0, len(p.queue)-p.rng.IntN(inboxSpread))
		p.queue = append(p.queue, delivery{})
		copy(p.queue[at+1:], p.queue[at:])
		p.queue[at] = delivery{event, rand.Text(), kind}
		kind = pb.DeliveryKind_DELIVERY_KIND_PROVIDER_RETRY
	}
}

// take is one delivery, or an array of some.
func (p *provider) take() []delivery {
	n := min(len(p.queue), 1+p.rng.IntN(5))
	b := p.queue[:n:n]
	p.queue = p.queue[n:]
	return b
}

// patience is how long a provider goes on with one delivery.
const patience = time.Minute

// send sends deliveries again until each is answered.
func (p *provider) send(b []delivery) {
	for end := time.Now().Add(patience); len(b) > 0; {
		var left []delivery
		for i, r := range p.sendOnce(b, time.Until(end)) {
			if r == nil {
				left = append(left, b[i])
				continue
			}
			p.answered(b[i], r)
		}
		if len(left) > 0 && time.Now().After(end) {
			p.mu.Lock()
			p.trouble = append(p.trouble, "a delivery was not answered for "+patience.String())
			p.mu.Unlock()
			return
		}
		b = left
	}
}

// sendOnce is each delivery's receipt; nil for one that is to come again.
func (p *provider) sendOnce(b []delivery, patience time.Duration) []*pb.Receipt {
	out := make([]*pb.Receipt, len(b))
	if len(b) == 1 {
		req := &pb.ReceiveEventRequest{Namespace: namespace, Consumers: []string{inboxConsumer}}
		item := p.sending(b[0])
		req.Event, req.Ordering, req.Delivery = item.GetEvent(), item.GetOrdering(), item.GetDelivery()
		resp, err := ask(p.caller, patience, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.ReceiveEventResponse, error) {
			return s.ReceiveEvent(ctx, req)
		})
		if err == nil {
			out[0] = resp.GetResults()[0].GetReceipt()
		}
		return out
	}
	req := &pb.ReceiveEventsRequest{Namespace: namespace, Consumers: []string{inboxConsumer}}
	for _, d := range b {
		req.Items = append(req.Items, p.sending(d))
	}
	resp, err := ask(p.caller, patience, func(ctx context.Context, s pb.IdempotencyServiceClient) (*pb.ReceiveEventsResponse, error) {
		return s.ReceiveEvents(ctx, req)
	})
	if err != nil {
		return out
	}
	for i, r := range resp.GetResults() {
		if one := r.GetResponse().GetResults(); len(one) == 1 {
			out[i] = one[0].GetReceipt()
		}
	}
	return out
}

func (p *provider) sending(d delivery) *pb.ReceiveItem {
	item := p.item(d.event)
	item.Delivery = &pb.Delivery{Kind: d.kind, RequestId: d.request}
	return item
}

// answered notes what became of a delivery.
func (p *provider) answered(d delivery, r *pb.Receipt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	switch o := r.GetOutcome(); {
	case r.GetAdvice() != pb.Advice_ADVICE_ACKNOWLEDGE:
		p.trouble = append(p.trouble, p.id(d.event)+": was not to be acknowledged: "+o.String())
	case o == pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED:
		p.firsts[d.event]++
		p.answers["received"]++
		if r.GetRepeated() {
			p.answers["received, at a repeat of the call"]++
		}
	case o == pb.ReceiveOutcome_RECEIVE_OUTCOME_DUPLICATE:
		p.answers["duplicate"]++
	default:
		p.trouble = append(p.trouble, p.id(d.event)+": "+o.String())
	}
}
