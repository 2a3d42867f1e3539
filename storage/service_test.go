package storage_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gated holds batches until they are let through, and keeps what it saw.
type gated struct {
	storage.Backend
	gate chan struct{} // nil: open

	mu        sync.Mutex
	batches   [][]idem.Command
	contended int // how many more batches answer ErrContended
	arrived   chan int
}

func (g *gated) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	g.mu.Lock()
	g.batches = append(g.batches, batch)
	refuse := g.contended > 0
	if refuse {
		g.contended--
	}
	g.mu.Unlock()
	if g.arrived != nil {
		g.arrived <- len(batch)
	}
	if g.gate != nil {
		<-g.gate
	}
	if refuse {
		out := make([]storage.Result, len(batch))
		for i := range out {
			out[i].Err = storage.ErrContended
		}
		return out
	}
	return g.Backend.Apply(ctx, batch)
}

func open(t *testing.T, b storage.Backend, o storage.Options) *storage.Service {
	t.Helper()
	s := storage.New(b, o)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func key(event string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: "ns", Source: "src", EventID: event}, Consumer: "c"}
}

func claim(event, claimant string) *idem.Claim {
	return &idem.Claim{Key: key(event), Claimant: claimant, Nonce: idem.Digest("nonce", event, claimant)}
}

func tokenOf(t *testing.T, c *idem.Claim, r storage.Result) idem.Token {
	t.Helper()
	a := answer(t, r)
	if a.Outcome != idem.OutcomeClaimed {
		t.Fatalf("outcome %v, want CLAIMED", a.Outcome)
	}
	return idem.Token{Namespace: "ns", Consumer: "c", Event: c.Key.ID(), Fence: a.Event.Fence, Nonce: c.Nonce}
}

func answer(t *testing.T, r storage.Result) *idem.ClaimAnswer {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	a, ok := r.Answer.(*idem.ClaimAnswer)
	if !ok {
		t.Fatalf("the answer is %T", r.Answer)
	}
	return a
}

// await fails the test when a channel stays silent.
func await[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing came: %s", what)
		panic("unreachable")
	}
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	g := &gated{Backend: memory.New(memory.Options{}), gate: make(chan struct{}), arrived: make(chan int, 16)}
	s := open(t, g, storage.Options{MaxQueue: 2, Flushers: 1})
	results := make(chan storage.Result, 3)
	do := func(event string) { results <- s.Do(context.Background(), claim(event, "w")) }
	go do("a")
	await(t, g.arrived, "the first batch")
	go do("b")
	go do("c")
	for s.Stats().Queued < 2 {
		time.Sleep(time.Millisecond)
	}
	if r := s.Do(context.Background(), claim("d", "w")); !errors.Is(r.Err, storage.ErrOverloaded) {
		t.Errorf("at a full queue: %v, want %v", r.Err, storage.ErrOverloaded)
	}
	if got := s.Stats().Refused; got != 1 {
		t.Errorf("refused %d, want 1", got)
	}
	close(g.gate)
	for range 3 {
		if r := await(t, results, "a queued command's result"); r.Err != nil {
			t.Error(r.Err)
		}
	}
}

func TestIdleFlusherTakesAtOnceAndGathersWhileBusy(t *testing.T) {
	g := &gated{Backend: memory.New(memory.Options{}), gate: make(chan struct{}), arrived: make(chan int, 64)}
	s := open(t, g, storage.Options{Flushers: 1})
	var wg sync.WaitGroup
	wg.Go(func() { s.Do(context.Background(), claim("first", "w")) })
	if n := await(t, g.arrived, "the first batch"); n != 1 {
		t.Fatalf("first batch of %d, want 1", n)
	}
	for i := range 20 {
		wg.Go(func() { s.Do(context.Background(), claim(fmt.Sprint(i), "w")) })
	}
	for s.Stats().Queued < 20 {
		time.Sleep(time.Millisecond)
	}
	close(g.gate)
	if n := await(t, g.arrived, "the second batch"); n != 20 {
		t.Errorf("second batch of %d, want the 20 that had gathered", n)
	}
	wg.Wait()
}

func TestCallerGoneBeforeTheBatchNeverHappens(t *testing.T) {
	mem := memory.New(memory.Options{})
	g := &gated{Backend: mem, gate: make(chan struct{}), arrived: make(chan int, 16)}
	s := open(t, g, storage.Options{Flushers: 1})
	go s.Do(context.Background(), claim("busy", "w"))
	await(t, g.arrived, "the first batch")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan storage.Result, 1)
	go func() { done <- s.Do(ctx, claim("gone", "w")) }()
	for s.Stats().Queued < 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if r := await(t, done, "the caller that left"); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("%v, want %v", r.Err, context.Canceled)
	}
	close(g.gate)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	found, err := mem.Events(context.Background(), "ns", "src", "gone")
	if err != nil || len(found.Views) != 0 {
		t.Errorf("found %v, %v: a command whose caller had left before its batch must not happen", found.Views, err)
	}
}

func TestUndeliveredGrantIsGivenBack(t *testing.T) {
	mem := memory.New(memory.Options{})
	g := &gated{Backend: mem, gate: make(chan struct{}), arrived: make(chan int, 16)}
	s := open(t, g, storage.Options{Flushers: 1})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan storage.Result, 1)
	go func() { done <- s.Do(ctx, claim("e", "w")) }()
	await(t, g.arrived, "the batch")
	cancel()
	await(t, done, "the caller that left")
	close(g.gate)
	if n := await(t, g.arrived, "the release"); n != 1 {
		t.Fatalf("batch of %d, want the release", n)
	}
	// The same claimant's repeat is welcome: its claim never was one.
	a := answer(t, s.Do(context.Background(), claim("e", "w")))
	if a.Outcome != idem.OutcomeClaimed || a.Event.Attempts != 1 {
		t.Errorf("outcome %v, attempt %d; want CLAIMED, attempt 1", a.Outcome, a.Event.Attempts)
	}
}

func TestContendedCommandIsTriedAloneAndDelaysNobody(t *testing.T) {
	g := &gated{Backend: memory.New(memory.Options{}), contended: 2}
	s := open(t, g, storage.Options{})
	if r := s.Do(context.Background(), claim("e", "w")); r.Err != nil {
		t.Error(r.Err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.batches) != 3 || len(g.batches[2]) != 1 {
		t.Errorf("%d batches, want the third to succeed alone", len(g.batches))
	}
}

func TestCloseFinishesWhatWasTakenAndRefusesTheRest(t *testing.T) {
	g := &gated{Backend: memory.New(memory.Options{}), gate: make(chan struct{}), arrived: make(chan int, 16)}
	s := storage.New(g, storage.Options{Flushers: 1})
	results := make(chan storage.Result, 2)
	go func() { results <- s.Do(context.Background(), claim("a", "w")) }()
	await(t, g.arrived, "the batch")
	go func() { results <- s.Do(context.Background(), claim("b", "w")) }()
	for s.Stats().Queued < 1 {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	gone, leave := context.WithCancel(context.Background())
	leave()
	for { // what is taken before Close has begun is left by its caller at once
		if r := s.Do(gone, claim("late", "w")); errors.Is(r.Err, storage.ErrClosed) {
			break
		}
	}
	close(g.gate)
	for range 2 {
		if r := await(t, results, "a taken command's result"); r.Err != nil {
			t.Error(r.Err)
		}
	}
	if err := await(t, closed, "Close"); err != nil {
		t.Error(err)
	}
}

func TestWaiterGetsTheResult(t *testing.T) {
	s := open(t, memory.New(memory.Options{}), storage.Options{WaitPoll: time.Hour}) // woken, not polled
	first := claim("e", "w1")
	tok := tokenOf(t, first, s.Do(context.Background(), first))
	const n = 10
	results := make(chan storage.Result, n)
	for i := range n {
		go func() { results <- s.Claim(context.Background(), claim("e", fmt.Sprint("waiter", i)), time.Minute) }()
	}
	for s.Stats().Waiting < n {
		time.Sleep(time.Millisecond)
	}
	if r := s.Do(context.Background(), &idem.Complete{Token: tok, Result: []byte("R")}); r.Err != nil {
		t.Fatal(r.Err)
	}
	for range n {
		a := answer(t, await(t, results, "a waiter"))
		if a.Outcome != idem.OutcomeAlreadyProcessed || string(a.Event.Result) != "R" {
			t.Errorf("outcome %v, result %q; want ALREADY_PROCESSED with R", a.Outcome, a.Event.Result)
		}
	}
}

func TestWaiterIsNeverGrantedWhatFailedMeanwhile(t *testing.T) {
	s := open(t, memory.New(memory.Options{}), storage.Options{WaitPoll: time.Hour})
	first := claim("e", "w1")
	tok := tokenOf(t, first, s.Do(context.Background(), first))
	result := make(chan storage.Result, 1)
	go func() { result <- s.Claim(context.Background(), claim("e", "w2"), time.Minute) }()
	for s.Stats().Waiting < 1 {
		time.Sleep(time.Millisecond)
	}
	r := s.Do(context.Background(), &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Retryable, Code: "X"}, RetryAfter: time.Microsecond})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if a := answer(t, await(t, result, "the waiter")); a.Outcome != idem.OutcomeRetryScheduled {
		t.Errorf("outcome %v, want RETRY_SCHEDULED", a.Outcome)
	}
}

func TestWaitersAfterAReleaseAreDecidedOneAtATime(t *testing.T) {
	s := open(t, memory.New(memory.Options{}), storage.Options{WaitPoll: 5 * time.Millisecond})
	first := claim("e", "w1")
	tok := tokenOf(t, first, s.Do(context.Background(), first))
	const n = 5
	type got struct {
		c *idem.Claim
		r storage.Result
	}
	results := make(chan got, n)
	for i := range n {
		go func() {
			c := claim("e", fmt.Sprint("waiter", i))
			results <- got{c, s.Claim(context.Background(), c, time.Minute)}
		}()
	}
	for s.Stats().Waiting < n {
		time.Sleep(time.Millisecond)
	}
	if r := s.Do(context.Background(), &idem.Release{Token: tok}); r.Err != nil {
		t.Fatal(r.Err)
	}
	winner := await(t, results, "the one that is granted")
	tok = tokenOf(t, winner.c, winner.r)
	if r := s.Do(context.Background(), &idem.Complete{Token: tok, Result: []byte("R")}); r.Err != nil {
		t.Fatal(r.Err)
	}
	for range n - 1 {
		if a := answer(t, await(t, results, "another waiter").r); a.Outcome != idem.OutcomeAlreadyProcessed {
			t.Errorf("outcome %v, want ALREADY_PROCESSED", a.Outcome)
		}
	}
}

func TestWaitEndsWithItsTime(t *testing.T) {
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	s.Do(context.Background(), claim("e", "w1"))
	a := answer(t, s.Claim(context.Background(), claim("e", "w2"), 20*time.Millisecond))
	if a.Outcome != idem.OutcomeInProgress {
		t.Errorf("outcome %v, want IN_PROGRESS", a.Outcome)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if r := s.Claim(ctx, claim("e", "w3"), time.Minute); !errors.Is(r.Err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", r.Err, context.DeadlineExceeded)
	}
	if n := s.Stats().Waiting; n != 0 {
		t.Errorf("%d waiters left", n)
	}
}

func TestBatchDecidesRivalsInOrder(t *testing.T) {
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	var cs []idem.Command
	for _, v := range []int64{3, 1, 2} {
		c := claim(fmt.Sprint("v", v), fmt.Sprint("w", v))
		c.Ordering = &idem.Ordering{
			Resource: idem.ResourceKey{Namespace: "ns", Consumer: "c", Type: "order", Name: "1"},
			Version:  idem.Version{Kind: idem.Sequence, Value: v}, Mode: idem.LatestWins,
		}
		cs = append(cs, c)
	}
	cs = append(cs, claim("same", "first"), claim("same", "second"))
	want := []idem.Outcome{idem.OutcomeResourceBusy, idem.OutcomeClaimed, idem.OutcomeResourceBusy, idem.OutcomeClaimed, idem.OutcomeInProgress}
	for i, r := range s.DoAll(context.Background(), cs) {
		if a := answer(t, r); a.Outcome != want[i] {
			t.Errorf("item %d: %v, want %v", i, a.Outcome, want[i])
		}
	}
}

func TestDuplicateDeliveriesAreRecordedBehindTheAnswer(t *testing.T) {
	mem := memory.New(memory.Options{})
	s := storage.New(mem, storage.Options{})
	first := claim("e", "w1")
	tok := tokenOf(t, first, s.Do(context.Background(), first))
	s.Do(context.Background(), &idem.Complete{Token: tok})
	for range 3 { // one call, repeated: one delivery
		dup := claim("e", "w2")
		dup.Facts.RequestID = "second"
		s.Do(context.Background(), dup)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	found, err := mem.Events(context.Background(), "ns", "src", "e")
	if err != nil || len(found.Views) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	ds := found.Views[0].Deliveries
	if len(ds) != 1 || ds[0].RequestID != "second" || ds[0].Disposition != idem.DispositionDuplicate {
		t.Errorf("deliveries %+v, want one IGNORED_DUPLICATE", ds)
	}
}
