package inbox

import (
	"context"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Work does what an event asks for, through the transaction and through nothing else: what it
// does elsewhere is not taken back when the transaction is. It must not end the transaction.
// Its result is stored with the marker. An error rolls everything back.
//
// Other transactions that want to process the same event wait for this one to end, so it
// should be short.
type Work[Tx any] func(ctx context.Context, tx Tx) (Result, error)

// Done is what became of an event.
type Done struct {
	// Found is set when it was processed before: the work did not run.
	Found bool
	// Result is what the work left, now or earlier.
	Result Result
}

// Do runs the work under a claim, in a transaction with the marker, or finds the marker and
// does not run it. Either way the event's work is committed when it returns without an error,
// and the claim will be completed with the result: return nil from the handler, or call
// [idemsvc.Claim.Complete].
//
// [ErrFenced]: a newer claim of the event has begun, and nothing was committed. Any other
// error is the work's or the database's, and leaves nothing behind either, unless the commit
// itself broke off: then the next attempt finds out.
//
// A replay runs the work once more, and replaces the result. What [idemsvc.Claim.CompleteWith]
// is given beside the result is not kept with the marker: an attempt that only finds it cannot
// say it again.
func (b *Inbox[Tx]) Do(ctx context.Context, claim *idemsvc.Claim, work Work[Tx]) (Done, error) {
	e, err := b.claimed(claim)
	if err != nil {
		return Done{}, err
	}
	if err := b.Fence(ctx, claim); err != nil {
		return Done{}, err
	}
	done, err := b.once(ctx, e, work)
	if err != nil {
		return Done{}, err
	}
	claim.CompleteWith(done.Result.complete())
	return done, nil
}

// once commits work and marker together, unless the marker is there.
func (b *Inbox[Tx]) once(ctx context.Context, e entry, work Work[Tx]) (done Done, err error) {
	err = b.inTx(ctx, func(tx Tx) error {
		m, err := b.mark(ctx, tx, e)
		if err != nil {
			return err
		}
		if m.Found {
			done = Done{Found: true, Result: m.Result}
			return b.owe(ctx, tx, e)
		}
		if done.Result, err = work(ctx, tx); err != nil {
			return err
		}
		return m.Store(ctx, done.Result)
	})
	if err != nil {
		return Done{}, err
	}
	return done, nil
}
