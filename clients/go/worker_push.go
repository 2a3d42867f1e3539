package idemsvc

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// subscribeUntil has events pushed for free slots until the context ends: each is credit for
// one. A server that does not know how to is asked for events instead.
func (w *Worker) subscribeUntil(ctx context.Context, free chan struct{}, begin func([]*Claim)) error {
	req := &pb.SubscribeRequest{Namespace: w.namespace, Consumer: w.consumer, WantPayload: !w.bare}
	if w.lease > 0 {
		req.Lease = durationpb.New(w.lease)
	}
	p := w.client.session.Subscribe(req)
	subscribed, end := context.WithCancel(ctx)
	defer end()
	given := make(chan struct{})
	go func() {
		defer close(given)
		for n := takeSlots(subscribed, free); n > 0; n = takeSlots(subscribed, free) {
			p.AddCredit(n)
		}
		p.Close()
	}()
	// What is on its way when the context ends is worked on, but not waited for without end.
	waits, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { pause(waits, closeTimeout); stop() })()
	for failures := 0; ; {
		b, err := p.Next(waits)
		switch {
		case err == nil:
			failures = 0
			begin(w.pushed(b))
			continue
		case errors.Is(err, io.EOF), ctx.Err() != nil && waits.Err() != nil:
			return nil
		case errors.Is(err, ErrUnimplemented):
			end()
			<-given
			for range p.unused() {
				free <- struct{}{}
			}
			return w.acquireUntil(ctx, free, begin)
		case final(err):
			return err
		}
		failures++
		w.failed(ctx, err, failures)
	}
}

// pushed are the claims of a batch. Its leases run since before it arrived.
func (w *Worker) pushed(b *Batch) []*Claim {
	req := &pb.AcquireEventsRequest{Namespace: w.namespace, Consumer: w.consumer, Claimant: b.GetClaimant()}
	return w.claims(req, b.GetEvents(), time.Time{}, b.arrived)
}
