package idemsvc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// What a worker does where nothing else is said.
const (
	defaultConcurrency = 10
	defaultPoll        = 20 * time.Second // how long one call waits for an event
	defaultDrain       = 30 * time.Second
	defaultProgress    = time.Minute
	maxAcquired        = 100

	firstWorkerPause = 100 * time.Millisecond
	maxWorkerPause   = 5 * time.Second
)

// WorkerOption configures a [Worker].
type WorkerOption func(*Worker)

// WorkerConcurrency bounds how many handlers run at the same time. Default: 10.
func WorkerConcurrency(n int) WorkerOption { return func(w *Worker) { w.slots = max(1, n) } }

// WorkerNamespace works in another namespace than the client's.
func WorkerNamespace(namespace string) WorkerOption {
	return func(w *Worker) { w.namespace = namespace }
}

// WorkerConsumer works for another consumer than the client's.
func WorkerConsumer(consumer string) WorkerOption { return func(w *Worker) { w.consumer = consumer } }

// WorkerLease asks for leases of the given length, 1 s to 12 h. Policy may cap it; claims are
// extended while their handlers run. Default: by policy.
func WorkerLease(d time.Duration) WorkerOption { return func(w *Worker) { w.lease = d } }

// WithoutPayloads acquires events without their payloads, for workers that need only the
// event's names, or keep payloads elsewhere.
func WithoutPayloads() WorkerOption { return func(w *Worker) { w.bare = true } }

// WorkerDrain is how long handlers may go on after the end of [Worker.Run]'s context, before
// theirs ends, too. Default: 30 s.
func WorkerDrain(d time.Duration) WorkerOption { return func(w *Worker) { w.drain = d } }

// WorkerProgress is how often the worker logs what it has done, if it did anything. Default:
// every minute; 0: never.
func WorkerProgress(d time.Duration) WorkerOption { return func(w *Worker) { w.progress = d } }

// WorkerAnswered has f called with what became of each event that was acquired, as
// [Claim.Process] returns it. It must be safe for concurrent use.
func WorkerAnswered(f func(*Claim, *Answer, error)) WorkerOption {
	return func(w *Worker) { w.answered = f }
}

// Worker acquires events of a consumer that are due and runs a handler for each.
type Worker struct {
	client    *Client
	handle    Handler
	namespace string
	consumer  string
	slots     int
	lease     time.Duration
	bare      bool
	drain     time.Duration
	progress  time.Duration
	answered  func(*Claim, *Answer, error)

	mu   sync.Mutex
	told tally
	done tally
}

// tally counts what became of events.
type tally struct{ acquired, completed, failed, released, lost int }

// Worker makes a worker for the client's namespace and consumer. Several, in any number of
// processes, share the work.
func (c *Client) Worker(handle Handler, opts ...WorkerOption) *Worker {
	w := &Worker{
		client: c, handle: handle, namespace: c.cfg.namespace, consumer: c.cfg.consumer, slots: defaultConcurrency,
		drain: defaultDrain, progress: defaultProgress,
	}
	for _, o := range opts {
		o(w)
	}
	return w
}

// Run works until the context ends. Then it acquires no more, lets running handlers go on for
// a while (see [WorkerDrain]), and returns nil when the last one has returned; a handler that
// returns an error because its context was ended then gives its event back.
//
// Each claim is kept alive while its handler runs and is ended by what that returns, as
// [Client.Process] does; see [Handler]. A handler that panics has failed, and ends the
// program as a panic does.
//
// Over a session ([WithSession]) events are pushed as slots become free, where the server can
// do that; else, and without one, the worker asks for them.
//
// When the service cannot be asked, the worker goes on trying. It returns an error only where
// trying again cannot help, such as a token that is not known.
func (w *Worker) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	free := make(chan struct{}, w.slots)
	for range w.slots {
		free <- struct{}{}
	}
	var running sync.WaitGroup
	ended := w.report(ctx)
	acquire := w.acquireUntil
	if w.client.session != nil {
		acquire = w.subscribeUntil
	}
	err := acquire(ctx, free, func(claims []*Claim) {
		for _, claim := range claims {
			running.Go(func() {
				defer func() { free <- struct{}{} }()
				w.process(work, claim)
			})
		}
	})
	drained := time.AfterFunc(w.drain, stop)
	running.Wait()
	drained.Stop()
	ended()
	return err
}

// acquireUntil acquires events for free slots until the context ends.
func (w *Worker) acquireUntil(ctx context.Context, free chan struct{}, begin func([]*Claim)) error {
	failures := 0
	for {
		n := takeSlots(ctx, free)
		if n == 0 {
			return nil
		}
		claims, err := w.acquire(ctx, n)
		for range n - len(claims) {
			free <- struct{}{}
		}
		begin(claims)
		switch {
		case err == nil:
			failures = 0
			continue
		case ctx.Err() != nil:
			continue // there are no more slots
		case final(err):
			return err
		}
		failures++
		w.failed(ctx, err, failures)
	}
}

// failed tells that events could not be acquired, and waits before the next try.
func (w *Worker) failed(ctx context.Context, err error, failures int) {
	w.client.cfg.log.LogAttrs(ctx, slog.LevelWarn, "events could not be acquired; the worker tries again", append(w.names(), slog.Any("error", err))...)
	pause(ctx, min(firstWorkerPause<<min(failures, 10), maxWorkerPause))
}

// takeSlots waits for a free slot, and takes all that are free, up to what one call may ask
// for. It is 0 when the context has ended.
func takeSlots(ctx context.Context, free <-chan struct{}) int {
	select {
	case <-ctx.Done():
	case <-free:
	}
	if ctx.Err() != nil {
		return 0
	}
	for n := 1; ; n++ {
		if n == maxAcquired {
			return n
		}
		select {
		case <-free:
		default:
			return n
		}
	}
}

// acquire asks once. What is granted although the context has ended is worked on: the
// handlers' time is not over yet.
func (w *Worker) acquire(ctx context.Context, n int) ([]*Claim, error) {
	req := &pb.AcquireEventsRequest{
		Namespace: w.namespace, Consumer: w.consumer, Claimant: NewClaimant(), MaxEvents: int32(n), //nolint:gosec // at most 100
		Wait: durationpb.New(defaultPoll), WantPayload: !w.bare,
	}
	if w.lease > 0 {
		req.Lease = durationpb.New(w.lease)
	}
	asked := time.Now()
	resp, err := w.client.idem.AcquireEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	return w.claims(req, resp.GetEvents(), asked, time.Now()), nil
}

// claims are events that were acquired, to work with.
func (w *Worker) claims(req *pb.AcquireEventsRequest, events []*AcquiredEvent, asked, answered time.Time) []*Claim {
	claims := make([]*Claim, len(events))
	for i, e := range events {
		claims[i] = w.client.acquired(req, e, asked, answered)
	}
	w.count(func(t *tally) { t.acquired += len(claims) })
	return claims
}

// acquired is a claim to work with. How much of the call's time was waiting nobody knows: the
// lease is counted from the answer, less what an answer may take.
func (c *Client) acquired(req *pb.AcquireEventsRequest, e *pb.AcquiredEvent, asked, answered time.Time) *Claim {
	claim := &Claim{
		Claim: e.GetClaim(), client: c, namespace: req.GetNamespace(), consumer: req.GetConsumer(), event: e.GetEvent(),
		firstTrace: e.GetFirstDeliveryTrace(), causeTrace: e.GetCauseTrace(),
		acquired: e, claimant: req.GetClaimant(),
	}
	left := e.GetClaim().GetLease().AsDuration()
	from := answered.Add(-left / 4)
	if from.Before(asked) {
		from = asked
	}
	claim.lease.set(from, left)
	return claim
}

// process runs the handler for one event.
func (w *Worker) process(ctx context.Context, claim *Claim) {
	var a *Answer
	err := claim.fetchPayload(ctx)
	if err == nil {
		a, err = claim.Process(ctx, w.handle)
	} else {
		_, releaseErr := claim.Release(ctx, "its payload could not be loaded")
		a, err = later(err), errors.Join(err, releaseErr)
	}
	w.count(func(t *tally) {
		switch {
		case a.State == pb.EventState_EVENT_STATE_PROCESSED:
			t.completed++
		case a.State == pb.EventState_EVENT_STATE_RECEIVED:
			t.released++
		case errors.Is(err, ErrClaimLost):
			t.lost++
		default:
			t.failed++
		}
	})
	if w.answered != nil {
		w.answered(claim, a, err)
	}
}

// fetchPayload gets a payload for which the reply had no room: the claimant's own claim, once
// more and with it.
func (c *Claim) fetchPayload(ctx context.Context) error {
	if !c.GetPayloadOmitted() {
		return nil
	}
	resp, err := c.client.idem.ClaimEvent(ctx, &pb.ClaimEventRequest{
		Namespace: c.namespace, Consumer: c.consumer, Event: &Event{Source: c.event.GetSource(), EventId: c.event.GetEventId()},
		Claimant: c.claimant, WantPayload: true, AcceptReplay: true,
	})
	switch {
	case err != nil:
		return err
	case resp.GetClaim() == nil:
		return ErrClaimLost
	}
	c.Payload, c.PayloadGone, c.PayloadOmitted = resp.GetClaim().GetPayload(), resp.GetClaim().GetPayloadGone(), false
	return nil
}

// final reports whether asking again cannot help.
func final(err error) bool {
	if _, ok := Repeatable(err); ok {
		return false
	}
	for _, reason := range []error{ErrUnauthenticated, ErrPermissionDenied, ErrUnknownNamespace, ErrInvalidArgument, ErrUnimplemented} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

func (w *Worker) count(add func(*tally)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.done)
}

func (w *Worker) names() []slog.Attr {
	return []slog.Attr{slog.String("namespace", w.namespace), slog.String("consumer", w.consumer)}
}

// report logs now and then what was done; the function it returns does so for the last time.
func (w *Worker) report(ctx context.Context) (end func()) {
	if w.progress <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, w.progress) {
			w.tell(ctx)
		}
	}()
	return func() {
		cancel()
		<-done
		w.tell(context.WithoutCancel(ctx))
	}
}

// tell logs what was done since the last time, if anything was.
func (w *Worker) tell(ctx context.Context) {
	w.mu.Lock()
	now, before := w.done, w.told
	w.told = now
	w.mu.Unlock()
	if now == before {
		return
	}
	running := now.acquired - now.completed - now.failed - now.released - now.lost
	w.client.cfg.log.LogAttrs(ctx, slog.LevelInfo, "events worked on", append(w.names(),
		slog.Int("acquired", now.acquired-before.acquired), slog.Int("completed", now.completed-before.completed),
		slog.Int("failed", now.failed-before.failed), slog.Int("released", now.released-before.released),
		slog.Int("lost", now.lost-before.lost), slog.Int("running", running))...)
}
