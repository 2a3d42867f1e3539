package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func TestASessionServesManyCallers(t *testing.T) {
	t.Parallel()
	c := dial(t, replicaOf(t, memory.New(memory.Options{}), func(c *server.Config) {
		c.MaxConnectionAge, c.MaxConnectionAgeGrace = 200*time.Millisecond, 10*time.Second // asked to leave now and then
	}).addr)
	s := c.Session(t.Context())
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for n := range 40 {
				if err := sessionEvent(s, fmt.Sprintf("evt-%d-%d", i, n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	bad := &idemsvc.SessionRequest{Command: &pb.SessionRequest_ExtendClaim{ExtendClaim: &pb.ExtendClaimRequest{Token: []byte("x")}}}
	if _, err := s.Do(t.Context(), bad); !errors.Is(err, idemsvc.ErrInvalidToken) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := sessionEvent(s, "late"); !errors.Is(err, idemsvc.ErrCancelled) {
		t.Errorf("%v", err)
	}
}

// Connections are cut in the middle of everything: all commands are answered, each event
// is claimed once.
func TestABrokenStreamLosesNoAnswer(t *testing.T) {
	t.Parallel()
	r := replicaOf(t, memory.New(memory.Options{}))
	var mu sync.Mutex
	var conns []net.Conn
	dialer := func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
		}
		return conn, err
	}
	c := dial(t, "passthrough:///"+r.addr, idemsvc.WithInsecure(), idemsvc.WithMaxRepeats(50), idemsvc.WithDialOptions(
		grpc.WithContextDialer(dialer),
	))
	s := c.Session(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	var cutting, callers sync.WaitGroup
	cutting.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(300 * time.Millisecond)
			mu.Lock()
			for _, conn := range conns {
				_ = conn.Close()
			}
			conns = nil
			mu.Unlock()
		}
	})
	for i := range 16 {
		callers.Go(func() {
			for n := range 100 {
				time.Sleep(5 * time.Millisecond)
				if err := sessionEvent(s, fmt.Sprintf("evt-%d-%d", i, n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	stop()
	cutting.Wait()
	_ = s.Close()
}

// A caller whose time is over leaves at once, and the session goes on.
func TestACallerMayLeaveASession(t *testing.T) {
	t.Parallel()
	c := dial(t, replicaOf(t, memory.New(memory.Options{})).addr)
	s := c.Session(t.Context())
	if err := sessionEvent(s, "evt-1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Do(ctx, &idemsvc.SessionRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := sessionEvent(s, "evt-2"); err != nil {
		t.Error(err)
	}
	_ = s.Close()
}
