package linear

import (
	"context"
	"errors"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// acquiredMost is how many events are acquired at once.
const acquiredMost = 2

// acquire asks a replica for whatever is due, as a worker does, and repeats it as one that heard no answer.
func (c *client) acquire(ctx context.Context) {
	q := storage.AcquireQuery{
		Group: storage.Group{Namespace: c.d.ns, Consumer: "worker"}, Claimant: c.name("worker"), Holder: "host",
		Max: 1 + c.rng.IntN(acquiredMost), Bytes: 1 << 20, Wait: time.Duration(c.rng.IntN(4)) * time.Millisecond,
	}
	for range 4 {
		var nonces []idem.ID
		for range 64 { // more than it can try in its time
			nonces = append(nonces, c.nonce())
		}
		got, err := c.acquired(ctx, q, nonces)
		unheard := err != nil && !errors.Is(err, storage.ErrClosed)
		if again := unheard && !c.one(4) || len(got) > 0 && c.one(2); !again {
			return
		}
	}
}

// acquired writes down what an acquisition was granted, and what it may have tried beside:
// of that nobody is told, and it may leave notes on the records, or a grant whose answer was
// lost.
func (c *client) acquired(ctx context.Context, q storage.AcquireQuery, nonces []idem.ID) (got []storage.Acquired, err error) {
	d := c.d
	rep := d.replicas[c.rng.IntN(len(d.replicas))]
	drawn := &draws{left: nonces}
	q.Nonce = drawn.next
	about := make([]*idem.Claim, d.theme.events)
	broken := func() (n int64) {
		for i := range about {
			about[i] = &idem.Claim{Key: d.key(i)}
			if d.theme.ordered {
				about[i].Ordering = d.ordering(int64(i) + 1)
			}
			n += rep.Broken(about[i])
		}
		return n
	}
	if c.one(20) { // its caller leaves early
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(c.rng.IntN(6000))*time.Microsecond)
		defer stop()
	}
	before := broken()
	call := Call{Client: c.id, InvokedAt: idem.InstantOf(time.Now()), Invoked: time.Since(d.began)}
	got, err = rep.Acquire(ctx, q)
	call.Returned, call.ReturnedAt = time.Since(d.began), idem.InstantOf(time.Now())
	call.Disturbed = broken() != before
	if err == nil {
		d.acquisition(&call, q.Claimant, got)
	}
	for _, g := range got {
		drawn.given(g.Claim.Nonce)
		call.Command, call.Answer = g.Claim, g.Result.Answer
		d.note(&call)
	}
	call.Answer, call.Disturbed, call.Vain = nil, false, true
	for _, nonce := range drawn.rest(err != nil) {
		for i := range about {
			call.Command = &idem.Claim{
				Key: about[i].Key, Ordering: about[i].Ordering, Claimant: q.Claimant, Holder: q.Holder, Nonce: nonce, AcceptReplay: true,
				Acquisition: c.acquisition(q.Claimant),
			}
			d.note(&call)
		}
	}
	return got, err
}

// tried is a command as it was tried: what an acquisition tries is as it is stored.
func (s *state) tried(c *Call, cmd idem.Command) idem.Command {
	claim, ok := cmd.(*idem.Claim)
	if e := s.events[cmd.Subject()]; ok && c.Vain && e != nil {
		own := *claim
		own.Facts, own.Ordering = e.Facts, e.Ordering
		own.Facts.Kind = idem.ConsumerRequeue
		return &own
	}
	return cmd
}
