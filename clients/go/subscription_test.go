package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// cutting is a client whose connections can be cut.
func cutting(t *testing.T, addr string, opts ...idemsvc.Option) (c *idemsvc.Client, cut func()) {
	t.Helper()
	var mu sync.Mutex
	var conns []net.Conn
	dialer := func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			conns = append(conns, conn)
		}
		return conn, err
	}
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		conns = nil
	}
	opts = append(opts, idemsvc.WithInsecure(), idemsvc.WithMaxRepeats(50), idemsvc.WithDialOptions(grpc.WithContextDialer(dialer)))
	return dial(t, "passthrough:///"+addr, opts...), cut
}

// Connections are cut while events are pushed: each is worked on once, and none has to wait for
// a lease's end.
func TestASubscriptionOutlivesItsStreams(t *testing.T) {
	t.Parallel()
	r := replicaOf(t, memory.New(memory.Options{}))
	client, cut := cutting(t, r.addr, idemsvc.WithSession())
	var seen book
	const slots, n = 4, 200
	var running atomic.Int64
	w := work(client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
		if running.Add(1) > slots {
			t.Errorf("more than %d handlers", slots)
		}
		defer running.Add(-1)
		if k := seen.note(claim.Event().GetEventId()); k > 1 {
			t.Errorf("%s was worked on %d times", claim.Event().GetEventId(), k)
		}
		return nil
	}, idemsvc.WorkerConcurrency(slots)))
	other := dial(t, r.addr)
	for i := range n {
		received(t, other, fmt.Sprint("evt_", i))
		if i%20 == 10 {
			cut()
		}
	}
	until(t, "all are worked on", func() bool { return seen.len() == n })
	w.end(t)
	for i := range n {
		if a, err := other.Claim(t.Context(), event(fmt.Sprint("evt_", i))); err != nil || a.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED {
			t.Errorf("evt_%d: %v %v", i, a.GetOutcome(), err)
		}
	}
}

// What arrived is not pushed again over the next stream, even while it is worked on.
func TestAHandlerGoesOnWhenItsStreamBreaks(t *testing.T) {
	t.Parallel()
	client, cut := cutting(t, replicaOf(t, memory.New(memory.Options{})).addr, idemsvc.WithSession())
	var seen book
	begun, end := make(chan struct{}, 8), make(chan struct{})
	w := work(client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
		seen.note(claim.Event().GetEventId())
		begun <- struct{}{}
		if claim.Event().GetEventId() == "long" {
			<-end
		}
		return nil
	}, idemsvc.WorkerConcurrency(3)))
	received(t, client, "long")
	<-begun
	for i := range 3 {
		cut()
		received(t, client, fmt.Sprint("short_", i))
		<-begun
	}
	close(end)
	until(t, "the long one is completed", func() bool {
		a, err := client.Claim(t.Context(), event("long"))
		return err == nil && a.GetOutcome() == pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED
	})
	w.end(t)
	if seen.note("long") != 2 || len(begun) != 0 {
		t.Error("something was worked on twice")
	}
}

// deafening is a stream on which only so many answers arrive.
type deafening struct {
	grpc.ClientStream
	left *atomic.Int64
}

func (d deafening) RecvMsg(m any) error {
	if d.left.Add(-1) < 0 {
		<-d.Context().Done()
		return context.Cause(d.Context())
	}
	return d.ClientStream.RecvMsg(m)
}

// deafStreams opens streams of which those up to a number become deaf after so many answers.
func deafStreams(streams, answers int64) idemsvc.Option {
	var opened atomic.Int64
	return idemsvc.WithDialOptions(grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			x, err := stream(ctx, desc, conn, method, opts...)
			if method != pb.IdempotencyService_Session_FullMethodName || opened.Add(1) > streams {
				return x, err
			}
			left := &atomic.Int64{}
			left.Store(answers)
			return deafening{x, left}, err
		}))
}

// A stream over which extensions are not answered any more is left, and the subscription moves
// with them: what was pushed over it in vain comes again, before its lease ends.
func TestASubscriptionLeavesAHangingStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, reach := piped(t, memory.New(memory.Options{}))
		client := dial(t, "passthrough:///session", reach, idemsvc.WithSession(), deafStreams(1, 1))
		other := dial(t, "passthrough:///session", reach)
		begun, end := make(chan string, 4), make(chan struct{})
		w := work(client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
			begun <- claim.Event().GetEventId()
			<-end
			return nil
		}))
		began := time.Now()
		received(t, other, "heard")
		<-begun
		received(t, other, "unheard")
		if id := <-begun; id != "unheard" {
			t.Errorf("%s", id)
		}
		took(t, began, 20*time.Second, 50*time.Second)
		close(end)
		w.end(t)
	})
}

// A worker ends although the server does not say that its subscription has.
func TestAWorkerEndsOverAHangingStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, reach := piped(t, memory.New(memory.Options{}))
		w := work(dial(t, "passthrough:///session", reach, idemsvc.WithSession(), deafStreams(100, 0)).Worker(returning(nil)))
		synctest.Wait()
		began := time.Now()
		w.end(t)
		took(t, began, 5*time.Second, 6*time.Second)
	})
}

// Replicas over one database are restarted one after the other: what one of them has granted and
// not told is told by the other, or is due at once. No lease has to end for that.
func TestASubscriptionOutlivesReplicas(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	const n = 90
	var seen book
	w := work(f.client(idemsvc.WithSession()).Worker(func(_ context.Context, claim *idemsvc.Claim) error {
		if k := seen.note(claim.Event().GetEventId()); k > 1 {
			t.Errorf("%s was worked on %d times", claim.Event().GetEventId(), k)
		}
		return nil
	}, idemsvc.WorkerConcurrency(3)))
	client := f.client()
	for i := range n {
		received(t, client, fmt.Sprint("evt_", i))
		if i%30 == 15 {
			name := fleetNames[i/30%2]
			f.stop(t.Context(), name)
			f.start(name)
		}
	}
	until(t, "all are worked on", func() bool { return seen.len() == n })
	w.end(t)
}

// A worker over a session goes on for hours while its connections grow old: what is received is
// worked on within a moment, the poll of an idle server included.
func TestASubscriptionMovesWithItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, reach := piped(t, memory.New(memory.Options{}), func(c *server.Config) {
			c.MaxConnectionAge, c.MaxConnectionAgeGrace, c.HealthInterval = 10*time.Minute, 10*time.Minute, time.Minute
		})
		client := dial(t, "passthrough:///session", reach, idemsvc.WithSession())
		done := make(chan string)
		w := work(client.Worker(func(_ context.Context, claim *idemsvc.Claim) error {
			done <- claim.Event().GetEventId()
			return nil
		}))
		for i := range 60 {
			time.Sleep(97 * time.Second)
			began := time.Now()
			received(t, client, fmt.Sprint("evt_", i))
			if id := <-done; id != fmt.Sprint("evt_", i) {
				t.Errorf("%s, want evt_%d", id, i)
			}
			took(t, began, 0, 2*time.Second)
		}
		w.end(t)
	})
}

// Credit is what the caller says, Close gives what is on its way.
func TestASubscriptionOfItsOwn(t *testing.T) {
	t.Parallel()
	client := dial(t, replicaOf(t, memory.New(memory.Options{})).addr)
	s := client.Session(t.Context())
	p := s.Subscribe(&idemsvc.SubscribeRequest{Namespace: "dev", Consumer: "billing", WantPayload: true})
	for i := range 5 {
		received(t, client, fmt.Sprint("evt_", i))
	}
	tokens := map[string]bool{}
	next := func(want int) {
		t.Helper()
		for got := 0; got < want; {
			b, err := p.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got += len(b.GetEvents()); got > want {
				t.Errorf("%d events for a credit of %d", got, want)
			}
			for _, e := range b.GetEvents() {
				tokens[string(e.GetClaim().GetToken())] = true
			}
		}
	}
	p.AddCredit(2)
	next(2)
	p.AddCredit(1)
	p.AddCredit(2)
	next(3)
	if len(tokens) != 5 {
		t.Errorf("%d claims", len(tokens))
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Next(short); !errors.Is(err, idemsvc.ErrCancelled) {
		t.Errorf("a context that is over: %v", err)
	}
	p.AddCredit(5000) // the server takes a thousand of it
	received(t, client, "evt_5")
	next(1)
	p.Close()
	if _, err := p.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("closed: %v", err)
	}
	received(t, client, "evt_6")
	if a, err := client.Claim(t.Context(), event("evt_6")); err != nil || a.Claim == nil {
		t.Errorf("after the end: %v %v", a, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for name, req := range map[string]*idemsvc.SubscribeRequest{
		"consumer": {Namespace: "dev", Credit: 1}, "namespace": {Namespace: "elsewhere", Consumer: "billing", Credit: 1},
	} {
		s := client.Session(t.Context())
		var e *idemsvc.Error
		if _, err := s.Subscribe(req).Next(t.Context()); !errors.As(err, &e) || e.Field != name {
			t.Errorf("%s: %v", name, err)
		}
		_ = s.Close()
	}
}

// aged is a stream to a server that knows of no subscriptions.
type aged struct{ grpc.ClientStream }

func (a aged) SendMsg(m any) error {
	if r, ok := m.(*pb.SessionRequest); ok && (r.GetSubscribe() != nil || r.GetAddCredit() != nil || r.GetUnsubscribe() != nil) {
		r = proto.CloneOf(r)
		r.Command = nil
		m = r
	}
	return a.ClientStream.SendMsg(m)
}

// Of a server that cannot push, a worker asks for events.
func TestAWorkerAsksWhereTheServerCannotPush(t *testing.T) {
	t.Parallel()
	r := replicaOf(t, memory.New(memory.Options{}))
	client := dial(t, r.addr, idemsvc.WithSession(), idemsvc.WithDialOptions(grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			x, err := stream(ctx, desc, conn, method, opts...)
			return aged{x}, err
		})))
	var seen book
	meet := make(chan struct{})
	w := work(client.Worker(func(ctx context.Context, claim *idemsvc.Claim) error {
		select { // with the other one: no slot is lost with the subscription
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return ctx.Err()
		}
		seen.note(claim.Event().GetEventId())
		return nil
	}, idemsvc.WorkerConcurrency(2)))
	received(t, client, "evt_0")
	received(t, client, "evt_1")
	until(t, "both are worked on", func() bool { return seen.len() == 2 })
	w.end(t)
}
