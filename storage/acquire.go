package storage

import (
	"context"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// AcquireQuery asks for events of a consumer to work on.
type AcquireQuery struct {
	Group
	Claimant string // names this execution: a repeat gets the claims that it has
	Holder   string
	Lease    time.Duration // 0: by policy
	Max      int           // claims at most
	Bytes    int           // of payloads and what comes with them; the first event is granted whatever its size
	Wait     time.Duration // for the first
	Nonce    func() idem.ID
}

// Acquired is an event that was granted: the claim that was made for it, and its answer.
type Acquired struct {
	Claim  *idem.Claim
	Result Result
}

// What an event's reply may hold beside its payload: names, headers, errors; and the side
// effects of earlier attempts.
const (
	eventBytes   = 48 << 10
	effectsBytes = idem.MaxEffectBytes + idem.MaxEffects*1024
)

// sizeOf is what an acquired event takes of a reply at most.
func sizeOf(e *idem.Event) int {
	n := int(e.Facts.PayloadSize) + eventBytes
	for _, h := range e.Facts.Headers {
		n += len(h.Name) + len(h.Value) + 8
	}
	if e.Effects > 0 {
		n += effectsBytes
	}
	return n
}

// identity names the acquisition among all.
func (q *AcquireQuery) identity() idem.ID {
	return idem.Digest("acquisition", q.Namespace, q.Consumer, q.Claimant)
}

// claim is the claim of an event as it is stored.
func (q *AcquireQuery) claim(id idem.ID, e *idem.Event) *idem.Claim {
	c := &idem.Claim{
		Key: e.Key, Facts: e.Facts, Claimant: q.Claimant, Holder: q.Holder, Nonce: q.Nonce(), Lease: q.Lease,
		Ordering: e.Ordering, AcceptReplay: true, Acquisition: id,
	}
	c.Facts.Kind = idem.ConsumerRequeue // our own schedule: the backoff holds
	return c
}

// Acquire grants events of a consumer that are due, at most one of those about a resource,
// and waits for the first if there is none. It returns as soon as it has one, and nothing
// when there was none in time. Waiting holds no connection, and all waiters of a service
// share one question to the backend. The same call again gets the claims that it has.
func (s *Service) Acquire(ctx context.Context, q AcquireQuery) ([]Acquired, error) {
	a := &acquirer{q: q, id: q.identity(), done: make(chan struct{})}
	if err := s.inbox.join(a); err != nil {
		return nil, err
	}
	timer := time.NewTimer(max(q.Wait, 0))
	defer timer.Stop()
	over := timer.C
	for {
		select {
		case <-a.done:
			return a.out, a.err
		case <-over:
			if s.inbox.leave(a, false) {
				return nil, nil
			}
			over = nil // it is being granted something
		case <-ctx.Done():
			if s.inbox.leave(a, true) {
				return nil, ctx.Err()
			}
			<-a.done
			return a.out, a.err
		}
	}
}

// acquirer is a call that waits for events.
type acquirer struct {
	q    AcquireQuery
	id   idem.ID
	done chan struct{} // closed when out or err is set

	// Guarded by the inbox.
	state  uint8
	asked  bool // for whether it is a repeat
	sought bool // the round that is under way was planned with it
	served bool // it was looked for at least once
	late   bool // its time is over: what it is being granted is the last chance

	out []Acquired
	err error
}

// The states of an acquirer.
const (
	acquirerWaits   uint8 = iota
	acquirerGranted       // claims are on their way
	acquirerGone          // nobody waits for the answer
	acquirerDone
)
