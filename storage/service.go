package storage

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Options tune a [Service]. The zero value takes the defaults.
type Options struct {
	MaxQueue  int           // commands waiting before new ones are refused; default 8192
	MaxBatch  int           // commands of one batch; default 512
	Flushers  int           // batches in flight; default 2
	Threshold int           // commands waiting before a further flusher helps; default 256: on few cores fuller batches beat more of them
	WaitPoll  time.Duration // how often waiting claims look at their events; default 100 ms
	Logger    *slog.Logger
	Observer  Observer // default: nobody is told
}

// Observer is told about batches while they are carried out. It must not block.
type Observer interface {
	// Begin is told of a batch that is about to be applied: the contexts of the calls that
	// ride in it, and how long the oldest of them has waited. The batch is applied under
	// the context that it returns, which must be one without an end; ended is told the results.
	Begin(calls []context.Context, waited time.Duration) (ctx context.Context, ended func([]Result))
}

func (o *Options) defaults() {
	if o.MaxQueue <= 0 {
		o.MaxQueue = 8192
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 512
	}
	if o.Flushers <= 0 {
		o.Flushers = 2
	}
	if o.Threshold <= 0 {
		o.Threshold = 256
	}
	if o.WaitPoll <= 0 {
		o.WaitPoll = 100 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Service is what the transport calls: it gathers commands of many callers into
// batches, hands each its result, and refuses early when too many wait.
type Service struct {
	Reader
	backend Backend
	opts    Options

	mu       sync.Mutex
	queue    []*call
	flushing int  // flushers at work
	closed   bool // no new commands
	wg       sync.WaitGroup

	waits      *waits
	inbox      *inbox
	deliveries *deliveries

	batches, commands, refused atomic.Uint64
}

// Stats is a snapshot of a service's work.
type Stats struct {
	Queued            int    // commands waiting now
	Batches           uint64 // batches applied
	Commands          uint64 // commands in them
	Refused           uint64 // commands refused at a full queue
	Waiting           int    // claims waiting for another claim to end
	Acquiring         int    // calls waiting for events that are due
	DeliveriesDropped uint64 // records of duplicates that found no room
}

// New starts a service over a backend. Close ends it.
func New(b Backend, o Options) *Service {
	o.defaults()
	s := &Service{Reader: b, backend: b, opts: o}
	s.waits = newWaits(s)
	s.inbox = newInbox(s)
	s.deliveries = newDeliveries(b, o.Logger)
	return s
}

// Do carries out one command. The context's end frees the caller at once: a command
// that had not entered a batch by then never happens; one that had still happens, and a
// grant that nobody is there to take is given back.
func (s *Service) Do(ctx context.Context, c idem.Command) Result {
	k := &call{ctx: ctx, cmd: c, done: make(chan Result, 1)}
	if err := s.submit(k); err != nil {
		return Result{Err: err}
	}
	return s.await(ctx, k)
}

// together carries out the commands at the given places and fills in their results. All
// of them are queued, or none.
func (s *Service) together(ctx context.Context, cs []idem.Command, places []int, out []Result) {
	calls := make([]*call, len(places))
	for i, p := range places {
		calls[i] = &call{ctx: ctx, cmd: cs[p], done: make(chan Result, 1)}
	}
	if err := s.submit(calls...); err != nil {
		for _, p := range places {
			out[p].Err = err
		}
		return
	}
	for i, p := range places {
		out[p] = s.await(ctx, calls[i])
	}
}

// Secret is the key under which tokens are sealed.
func (s *Service) Secret(ctx context.Context) ([]byte, error) { return s.backend.Secret(ctx) }

// Stats is a snapshot of the service's work.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	queued := len(s.queue)
	s.mu.Unlock()
	return Stats{
		Queued: queued, Batches: s.batches.Load(), Commands: s.commands.Load(), Refused: s.refused.Load(),
		Waiting: s.waits.len(), Acquiring: s.inbox.len(), DeliveriesDropped: s.deliveries.dropped.Load(),
	}
}

// Close stops taking commands, finishes those that were taken, and resolves every
// caller. It returns when all is done, or with the context's error when that ends first.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.waits.close()
	s.inbox.close()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		s.deliveries.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call is a command on its way, and who waits for it.
type call struct {
	ctx   context.Context // for the observer alone, who links what rode together
	since time.Time       // when it was queued; zero where nobody asks
	cmd   idem.Command
	done  chan Result // buffered: the answer never waits for the caller
	state atomic.Int32
}

// The states of a call.
const (
	callQueued   = iota // nobody has looked at it
	callTaken           // in a batch: it happens
	callAnswered        // its result is in the channel
	callLeft            // its caller has gone
)

func (s *Service) submit(calls ...*call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case len(s.queue)+len(calls) > s.opts.MaxQueue:
		s.refused.Add(uint64(len(calls)))
		return ErrOverloaded
	}
	for _, k := range calls {
		if c, ok := k.cmd.(*idem.Claim); ok && c.ArrivedAt == 0 {
			c.ArrivedAt = s.backend.Clock()
		}
	}
	s.enqueue(calls...)
	return nil
}

// enqueue appends calls and sees to it that somebody flushes. An idle flusher starts at
// once: no delay is added to gather more. The caller holds the lock.
func (s *Service) enqueue(calls ...*call) {
	if s.opts.Observer != nil {
		now := time.Now()
		for _, k := range calls {
			k.since = now
		}
	}
	s.queue = append(s.queue, calls...)
	if s.flushing == 0 || (s.flushing < s.opts.Flushers && len(s.queue) >= s.opts.Threshold) {
		s.flushing++
		s.wg.Go(s.flush)
	}
}

// flush applies batches until nothing waits.
func (s *Service) flush() {
	for {
		batch := s.take()
		if batch == nil {
			return
		}
		s.apply(batch)
	}
}

// take is the next batch, nil when this flusher is no longer needed.
func (s *Service) take() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n := min(len(s.queue), s.opts.MaxBatch)
		if n == 0 || (s.flushing > 1 && len(s.queue) < s.opts.Threshold) {
			s.flushing--
			return nil
		}
		batch := make([]*call, 0, n)
		for _, k := range s.queue[:n] {
			if k.state.CompareAndSwap(callQueued, callTaken) {
				batch = append(batch, k)
			}
		}
		s.queue = s.queue[n:]
		if len(s.queue) == 0 {
			s.queue = nil // lets go of the array
		}
		if len(batch) > 0 {
			return batch
		}
	}
}

func (s *Service) apply(batch []*call) {
	cmds := make([]idem.Command, len(batch))
	for i, k := range batch {
		cmds[i] = k.cmd
	}
	s.batches.Add(1)
	s.commands.Add(uint64(len(batch)))
	ctx, ended := s.observed(batch)
	results := s.backend.Apply(ctx, cmds)
	ended(results)
	for i, k := range batch {
		if errors.Is(results[i].Err, ErrContended) {
			s.wg.Go(func() { s.answer(k, s.alone(k.cmd)) })
			continue
		}
		s.answer(k, results[i])
	}
}

// observed tells the observer of a batch.
func (s *Service) observed(batch []*call) (ctx context.Context, ended func([]Result)) {
	if s.opts.Observer == nil {
		return context.Background(), func([]Result) {}
	}
	calls := make([]context.Context, len(batch))
	oldest := batch[0].since
	for i, k := range batch {
		calls[i] = k.ctx
		if k.since.Before(oldest) {
			oldest = k.since
		}
	}
	return s.opts.Observer.Begin(calls, time.Since(oldest))
}

// How long a command whose rows others hold is tried alone, beside the batches.
const (
	aloneTries = 12
	alonePause = 5 * time.Millisecond // doubled up to 32 times that
)

// alone tries a contended command by itself, so that it delays nobody.
func (s *Service) alone(c idem.Command) Result {
	var r Result
	for i := range aloneTries {
		time.Sleep(alonePause << min(i, 5))
		r = s.backend.Apply(context.Background(), []idem.Command{c})[0]
		if !errors.Is(r.Err, ErrContended) {
			break
		}
	}
	return r
}

// answer hands a result over, or gives a grant back that nobody takes.
func (s *Service) answer(k *call, r Result) {
	s.noted(k.cmd, r)
	if k.state.CompareAndSwap(callTaken, callAnswered) {
		k.done <- r
		return
	}
	s.undelivered(k.cmd, r)
}

// await waits for a call's result.
func (s *Service) await(ctx context.Context, k *call) Result {
	select {
	case r := <-k.done:
		return r
	case <-ctx.Done():
	}
	if k.state.CompareAndSwap(callQueued, callLeft) || k.state.CompareAndSwap(callTaken, callLeft) {
		return Result{Err: ctx.Err()}
	}
	return <-k.done // it was answered in the same moment
}

// undelivered releases a fresh grant whose caller has gone, unless the caller's repeat
// has taken it meanwhile.
func (s *Service) undelivered(c idem.Command, r Result) {
	claim, ok := c.(*idem.Claim)
	a, _ := r.Answer.(*idem.ClaimAnswer)
	if !ok || a == nil || !a.Granted {
		return
	}
	s.internal(&idem.Release{Undelivered: true, Token: idem.Token{
		Namespace: claim.Key.Namespace, Consumer: claim.Key.Consumer, Event: claim.Key.ID(), Fence: a.Event.Fence, Nonce: claim.Nonce,
	}})
}

// internal queues a command of the service's own, for which nobody waits. Its caller is one of
// the goroutines that Close waits for, and so is what carries it out.
func (s *Service) internal(c idem.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(&call{ctx: context.Background(), cmd: c, done: make(chan Result, 1)})
}

// RecordAnswer notes what the provider was told about a delivery of events. It is written
// behind, like the records of deliveries that decided nothing.
func (s *Service) RecordAnswer(keys []idem.EventKey, requestID string, a idem.DeliveryAnswer) {
	for _, k := range keys {
		s.deliveries.add(answerOf(k, requestID, a))
	}
}

// noted is told of every result: it wakes waiting claims and records the deliveries that
// decided nothing.
func (s *Service) noted(c idem.Command, r Result) {
	s.inbox.noted(r)
	switch c := c.(type) {
	case *idem.Claim:
		if a, ok := r.Answer.(*idem.ClaimAnswer); ok && !c.Waited && c.Acquisition.IsZero() {
			s.deliveries.record(c, a)
		}
	case *idem.Receive:
		if a, ok := r.Answer.(*idem.ReceiveAnswer); ok && !a.Fresh && !a.Repeated {
			s.deliveries.add(deliveryOfReceipt(c, a))
		}
	case *idem.Complete, *idem.Fail, *idem.Release, *idem.Resolve:
		if r.Err == nil {
			s.waits.wake(c.Subject())
		}
	}
}
