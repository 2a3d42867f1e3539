package storage

import (
	"context"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Claim carries out a claim and, while another claim of the event runs, waits up to
// the given time for it to end. Waiting holds no connection; all waiters of a service
// share one batch of questions. A waiter gets the stored result, or is told to come
// again after a failure; it never takes part in a race of retries. After a release or
// the end of a lease, waiters are decided anew, one at a time.
func (s *Service) Claim(ctx context.Context, c *idem.Claim, wait time.Duration) Result {
	r := s.Do(ctx, c)
	if wait <= 0 || !inProgress(r) {
		return r
	}
	again := *c
	again.Waited = true
	return s.waits.wait(ctx, &again, r, wait)
}

func inProgress(r Result) bool {
	a, ok := r.Answer.(*idem.ClaimAnswer)
	return ok && a.Outcome == idem.OutcomeInProgress
}

// waits holds the claims that wait for another claim of their event to end.
type waits struct {
	s    *Service
	kick chan struct{}

	mu      sync.Mutex
	byEvent map[idem.ID][]*waiter
	running bool
	closed  bool
}

type waiter struct {
	call  *call
	first Result // what it is told when its time is over
}

func newWaits(s *Service) *waits {
	return &waits{s: s, kick: make(chan struct{}, 1), byEvent: map[idem.ID][]*waiter{}}
}

// Recheck decides all waiting claims anew, and looks for what is due, without waiting for the
// next poll, as when the store's clock has been moved.
func (s *Service) Recheck() {
	s.waits.ring()
	s.inbox.heard(func(Group) bool { return true })
}

// ring has the waiters looked at at once.
func (w *waits) ring() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *waits) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, list := range w.byEvent {
		n += len(list)
	}
	return n
}

func (w *waits) wait(ctx context.Context, c *idem.Claim, first Result, d time.Duration) Result {
	x := &waiter{call: &call{cmd: c, done: make(chan Result, 1)}, first: first}
	x.call.state.Store(callTaken)
	if !w.join(x) {
		return first
	}
	defer w.leave(x)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r := <-x.call.done:
		return r
	case <-timer.C:
		if x.call.state.CompareAndSwap(callTaken, callLeft) {
			return first
		}
	case <-ctx.Done():
		if x.call.state.CompareAndSwap(callTaken, callLeft) {
			return Result{Err: ctx.Err()}
		}
	}
	return <-x.call.done
}

func (w *waits) join(x *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	id := x.call.cmd.Subject()
	w.byEvent[id] = append(w.byEvent[id], x)
	if !w.running {
		w.running = true
		w.s.wg.Go(w.run)
	}
	return true
}

func (w *waits) leave(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := x.call.cmd.Subject()
	list := w.byEvent[id]
	for i := range list {
		if list[i] == x {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(w.byEvent, id)
	} else {
		w.byEvent[id] = list
	}
}

// wake looks at the waiters at once: a claim of their event has ended here.
func (w *waits) wake(id idem.ID) {
	w.mu.Lock()
	_, waiting := w.byEvent[id]
	w.mu.Unlock()
	if waiting {
		w.ring()
	}
}

// run asks for all waiters, one for each event, until none is left.
func (w *waits) run() {
	ticker := time.NewTicker(w.s.opts.WaitPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.kick:
		}
		batch, stop := w.next()
		if stop {
			return
		}
		if w.ask(batch) {
			w.ring() // others of the same events are next
		}
	}
}

// next is one waiter for each event, up to a batch.
func (w *waits) next() (batch []*waiter, stop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byEvent) == 0 || w.closed {
		w.running = false
		for _, list := range w.byEvent {
			for _, x := range list {
				if x.call.state.CompareAndSwap(callTaken, callAnswered) {
					x.call.done <- x.first
				}
			}
		}
		return nil, true
	}
	for _, list := range w.byEvent {
		for _, x := range list {
			if x.call.state.Load() == callTaken {
				batch = append(batch, x)
				break
			}
		}
		if len(batch) == w.s.opts.MaxBatch {
			break
		}
	}
	return batch, false
}

// ask decides the waiters' claims anew and reports whether any got an answer.
func (w *waits) ask(batch []*waiter) bool {
	if len(batch) == 0 {
		return false
	}
	cmds := make([]idem.Command, len(batch))
	for i, x := range batch {
		cmds[i] = x.call.cmd
	}
	answered := false
	for i, r := range w.s.backend.Apply(context.Background(), cmds) {
		if r.Err == nil && inProgress(r) {
			batch[i].first = r
			continue
		}
		answered = true
		w.s.answer(batch[i].call, r)
	}
	return answered
}

func (w *waits) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.ring()
}
