package storage_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// counting counts the questions that a backend is asked.
type counting struct {
	storage.Backend
	deaf bool // it cannot listen

	mu    sync.Mutex
	takes []storage.TakeQuery
	rests []storage.Rest
	fails error
}

func (c *counting) Take(ctx context.Context, q storage.TakeQuery) (storage.Taken, error) {
	c.mu.Lock()
	c.takes = append(c.takes, q)
	err := c.fails
	c.mu.Unlock()
	if err != nil {
		return storage.Taken{}, err
	}
	return c.Backend.Take(ctx, q)
}

func (c *counting) Rest(ctx context.Context, list []storage.Rest) error {
	c.mu.Lock()
	c.rests = append(c.rests, list...)
	c.mu.Unlock()
	return c.Backend.Rest(ctx, list)
}

func (c *counting) Listen(ctx context.Context, f func(func(storage.Group) bool)) {
	if !c.deaf {
		c.Backend.Listen(ctx, f)
	}
}

func (c *counting) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.takes)
}

func receipt(event string) *idem.Receive {
	return &idem.Receive{Key: key(event), Facts: idem.Facts{RequestID: "req-" + event}}
}

func asking(claimant string, most int, wait time.Duration) storage.AcquireQuery {
	return storage.AcquireQuery{
		Group: storage.Group{Namespace: "ns", Consumer: "c"}, Claimant: claimant, Max: most, Bytes: 1 << 20, Wait: wait,
		Nonce: func() idem.ID { return nonce() },
	}
}

func acquire(t *testing.T, s *storage.Service, q storage.AcquireQuery) []storage.Acquired {
	t.Helper()
	got, err := s.Acquire(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func names(list []storage.Acquired) string {
	out := ""
	for _, a := range list {
		out += a.Claim.Key.EventID + " "
	}
	return out
}

func receive(t *testing.T, s *storage.Service, c *idem.Receive) {
	t.Helper()
	if r := s.Do(t.Context(), c); r.Err != nil {
		t.Fatal(r.Err)
	}
}

func ended(t *testing.T, s *storage.Service, c idem.Command) {
	t.Helper()
	if r := s.Do(t.Context(), c); r.Err != nil {
		t.Fatal(r.Err)
	}
}

func tokenFor(a storage.Acquired) idem.Token {
	e := a.Result.Answer.(*idem.ClaimAnswer).Event //nolint:errcheck,forcetypeassert // acquired
	return idem.Token{Namespace: "ns", Consumer: "c", Event: e.ID(), Fence: e.Fence, Nonce: e.Nonce}
}

func TestAcquireGrantsWhatIsDue(t *testing.T) {
	t.Parallel()
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	for i := range 3 {
		receive(t, s, receipt(fmt.Sprint("e", i)))
	}
	if got := names(acquire(t, s, asking("w1", 2, 0))); got != "e0 e1 " {
		t.Errorf("the first two: %q", got)
	}
	if got := names(acquire(t, s, asking("w2", 2, 0))); got != "e2 " {
		t.Errorf("the rest: %q", got)
	}
	if got := acquire(t, s, asking("w3", 2, 0)); len(got) != 0 {
		t.Errorf("and no more: %q", names(got))
	}
}

func TestAcquireWaitsForAReceipt(t *testing.T) {
	t.Parallel()
	c := &counting{Backend: memory.New(memory.Options{}), deaf: true}
	s := open(t, c, storage.Options{})
	got := make(chan []storage.Acquired, 1)
	go func() {
		out, _ := s.Acquire(context.Background(), asking("w1", 10, time.Minute))
		got <- out
	}()
	until(t, func() bool { return c.asked() > 0 })
	began := time.Now()
	receive(t, s, receipt("e1"))
	if out := <-got; names(out) != "e1 " {
		t.Errorf("got %q", names(out))
	}
	if d := time.Since(began); d > 900*time.Millisecond {
		t.Errorf("it took %v: it was found by the poll", d)
	}
}

// The same call again gets the claims that it has, with the same tokens.
func TestAcquireIsSafeToRepeat(t *testing.T) {
	t.Parallel()
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	for i := range 4 {
		receive(t, s, receipt(fmt.Sprint("e", i)))
	}
	first := acquire(t, s, asking("w1", 2, 0))
	again := acquire(t, s, asking("w1", 2, 0))
	if names(first) != names(again) || tokenFor(first[0]) != tokenFor(again[0]) || tokenFor(first[1]) != tokenFor(again[1]) {
		t.Errorf("%q, again %q", names(first), names(again))
	}
	if a := again[0].Result.Answer.(*idem.ClaimAnswer); a.Event.Total != 1 || !a.Reentered { //nolint:errcheck,forcetypeassert // acquired
		t.Errorf("the repeat counted: %+v", a)
	}
}

func TestAcquireGivesBackWhatNobodyTakes(t *testing.T) {
	t.Parallel()
	g := &gated{Backend: memory.New(memory.Options{}), gate: make(chan struct{}), arrived: make(chan int)}
	s := open(t, g, storage.Options{})
	go s.Do(context.Background(), receipt("e1"))
	<-g.arrived
	g.gate <- struct{}{}
	ctx, leave := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := s.Acquire(ctx, asking("w1", 1, time.Minute))
		failed <- err
	}()
	<-g.arrived // the claim is on its way
	leave()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g.gate <- struct{}{}
	<-g.arrived // it is given back
	g.gate <- struct{}{}
	go func() {
		<-g.arrived
		g.gate <- struct{}{}
	}()
	got := acquire(t, s, asking("w2", 1, time.Minute))
	if names(got) != "e1 " || got[0].Result.Answer.(*idem.ClaimAnswer).Event.Attempts != 1 { //nolint:errcheck,forcetypeassert // acquired
		t.Errorf("%q", names(got))
	}
}

// What is granted while the service closes, to one who has left, is given back before it has
// closed, too.
func TestAcquireGivesBackWhileItCloses(t *testing.T) {
	t.Parallel()
	for range 30 { // who is the first to see that all is answered is chance
		g := &gated{Backend: memory.New(memory.Options{}), gate: make(chan struct{}), arrived: make(chan int, 16)}
		s := storage.New(g, storage.Options{})
		go s.Do(context.Background(), receipt("e1"))
		await(t, g.arrived, "the receipt")
		g.gate <- struct{}{}
		ctx, leave := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.Acquire(ctx, asking("w1", 1, time.Minute))
			failed <- err
		}()
		await(t, g.arrived, "the claim")
		leave()
		if err := await(t, failed, "the acquirer's error"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close(context.Background()) }()
		for !errors.Is(s.Do(ctx, claim("late", "w")).Err, storage.ErrClosed) { // not yet
			runtime.Gosched()
		}
		close(g.gate)
		if err := await(t, closed, "Close"); err != nil {
			t.Error(err)
		}
		id := key("e1").ID()
		v, err := g.Records(t.Context(), []idem.ID{id})
		if err != nil || v[id].Event == nil || v[id].Event.State != idem.Received {
			t.Fatalf("%+v, %v; want it received, for anybody", v[id].Event, err)
		}
	}
}

// However many wait, an idle service asks once a second.
func TestIdleAcquirersShareOneQuestionASecond(t *testing.T) {
	t.Parallel()
	c := &counting{Backend: memory.New(memory.Options{})}
	s := open(t, c, storage.Options{})
	var wg sync.WaitGroup
	began := time.Now()
	for i := range 200 {
		wg.Go(func() {
			for n := range 3 {
				if got, err := s.Acquire(context.Background(), asking(fmt.Sprint("w", i, "-", n), 10, time.Second)); err != nil || len(got) > 0 {
					t.Errorf("%q, %v", names(got), err)
				}
			}
		})
	}
	wg.Wait()
	if most := int(time.Since(began)/time.Second) + 4; c.asked() > most {
		t.Errorf("%d questions in %v", c.asked(), time.Since(began))
	}
}

// Of the events about one resource one is granted at a time, under LATEST_WINS the newest
// first; the older ones end as superseded, all of them.
func TestAcquireOrdersByResource(t *testing.T) {
	t.Parallel()
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	const n = 100
	for i := range n {
		c := receipt(fmt.Sprint("e", i))
		c.Ordering = orderedBy("r1", int64(i))
		receive(t, s, c)
	}
	got := acquire(t, s, asking("w1", 10, 0))
	if want := fmt.Sprint("e", n-1, " "); names(got) != want {
		t.Fatalf("%q, want %q", names(got), want)
	}
	if more := acquire(t, s, asking("w2", 10, 0)); len(more) > 0 {
		t.Fatalf("beside it: %q", names(more))
	}
	ended(t, s, &idem.Complete{Token: tokenFor(got[0])})
	if more := acquire(t, s, asking("w3", 10, 3*time.Second)); len(more) > 0 {
		t.Fatalf("after it: %q", names(more))
	}
	left, err := s.List(t.Context(), storage.ListQuery{Namespace: "ns", States: []idem.State{idem.Received, idem.Processing, idem.FailedRetryable}, Limit: n})
	if err != nil || len(left.Views) != 0 {
		t.Errorf("%d are left, %v", len(left.Views), err)
	}
}

func TestAcquireTellsWhenTheBackendIsAway(t *testing.T) {
	t.Parallel()
	c := &counting{Backend: memory.New(memory.Options{}), fails: storage.ErrUnavailable}
	s := open(t, c, storage.Options{})
	if _, err := s.Acquire(t.Context(), asking("w1", 1, time.Minute)); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
}

func TestAcquireFitsTheReply(t *testing.T) {
	t.Parallel()
	s := open(t, memory.New(memory.Options{}), storage.Options{})
	for i := range 3 {
		c := receipt(fmt.Sprint("e", i))
		c.Facts.PayloadSize = 1 << 20
		receive(t, s, c)
	}
	q := asking("w1", 10, 0)
	q.Bytes = 2<<20 + 200<<10
	if got := names(acquire(t, s, q)); got != "e0 e1 " {
		t.Errorf("%q", got)
	}
	q = asking("w2", 10, time.Second)
	q.Bytes = 100 // the first is granted whatever its size
	if got := names(acquire(t, s, q)); got != "e2 " {
		t.Errorf("%q", got)
	}
}

func TestClosingEndsTheWait(t *testing.T) {
	t.Parallel()
	s := storage.New(memory.New(memory.Options{}), storage.Options{})
	got := make(chan error, 1)
	go func() {
		out, err := s.Acquire(context.Background(), asking("w1", 1, time.Hour))
		if len(out) > 0 {
			err = errors.New("granted " + names(out))
		}
		got <- err
	}()
	until(t, func() bool { return s.Stats().Acquiring == 1 })
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func nonce() (id idem.ID) {
	_, _ = rand.Read(id[:])
	return id
}

func orderedBy(resource string, version int64) *idem.Ordering {
	return &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: "ns", Consumer: "c", Type: "order", Name: resource},
		Version:  idem.Version{Kind: idem.Sequence, Value: version}, Mode: idem.LatestWins,
	}
}

func until(t *testing.T, met func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !met(); {
		if time.Now().After(end) {
			t.Fatal("not within 20 s")
		}
		time.Sleep(time.Millisecond)
	}
}
