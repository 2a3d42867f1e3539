package idemsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// Many callers use one session for hours, while its connection is asked to leave again
// and again.
func TestASessionServesManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, reach := piped(t, memory.New(memory.Options{}), func(c *server.Config) {
			c.MaxConnectionAge, c.MaxConnectionAgeGrace, c.HealthInterval = 10*time.Minute, 10*time.Minute, time.Minute
		})
		var dialed atomic.Int64
		c := dial(t, "passthrough:///session", reach, idemsvc.WithDialOptions(grpc.WithStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				if method == pb.IdempotencyService_Session_FullMethodName {
					dialed.Add(1)
				}
				return stream(ctx, desc, conn, method, opts...)
			})))
		s := c.Session(t.Context())
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for n := range 30 {
					time.Sleep(time.Duration(i+n) * 2 * time.Second)
					if err := sessionEvent(s, fmt.Sprintf("evt-%d-%d", i, n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
		if n := dialed.Load(); n < 2 || n > 6 { // in 15 to 22 minutes
			t.Errorf("it took %d streams", n)
		}
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
	})
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
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		conns = nil
	}
	c := dial(t, "passthrough:///"+r.addr, idemsvc.WithInsecure(), idemsvc.WithMaxRepeats(50), idemsvc.WithDialOptions(grpc.WithContextDialer(dialer)))
	s := c.Session(t.Context())
	var done atomic.Int64
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for n := range 40 {
				if err := sessionEvent(s, fmt.Sprintf("evt-%d-%d", i, n)); err != nil {
					t.Error(err)
					return
				}
				if done.Add(1)%100 == 0 { // the other callers are in the middle of theirs
					cut()
				}
			}
		})
	}
	callers.Wait()
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

// A client over a session does all that one over calls does.
func TestAClientOverASession(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client(idemsvc.WithSession())
		order := &idemsvc.Resource{Type: "order", Id: "7"}
		mail := doing{result: []byte("message-1")}
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, claim *idemsvc.Claim) error {
			time.Sleep(5 * time.Minute)
			if v, err := claim.CheckVersion(ctx, order, idemsvc.LatestWins(idemsvc.Sequence(1))); err != nil || !v.Apply() {
				t.Errorf("%v %v", v, err)
			}
			_, err := claim.SideEffect(ctx, "mail", mail.do)
			return err
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		if a, _ := client.Process(t.Context(), event("evt_2"), returning(errWork)); a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
			t.Errorf("%+v", a)
		}
		if a, _ := client.Process(t.Context(), event("evt_3"), returning(idemsvc.Release(errWork))); a.State != pb.EventState_EVENT_STATE_RECEIVED {
			t.Errorf("%+v", a)
		}
		if _, err := client.Claim(t.Context(), event("")); !errors.Is(err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
		_, err = client.Idempotency().ClaimEvent(t.Context(), &pb.ClaimEventRequest{Namespace: "test", Consumer: "c", Claimant: "evt_4", Event: event("evt_4")})
		if !errors.Is(err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
		stream, err := client.Idempotency().Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
		_, _ = stream.Recv()
	})
}

// A stream that gives no answer while the caller's time lasts is left for another one.
func TestAHangingStreamIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, reach := piped(t, memory.New(memory.Options{}))
		var streams atomic.Int64
		client := dial(t, "passthrough:///session", reach, idemsvc.WithSession(), idemsvc.WithDialOptions(grpc.WithChainStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				x, err := stream(ctx, desc, conn, method, opts...)
				if method == pb.IdempotencyService_Session_FullMethodName && streams.Add(1) == 1 {
					return deaf{x}, err
				}
				return x, err
			})))
		started := time.Now()
		claimed(t, client, "evt_1")
		took(t, started, 10*time.Second, 11*time.Second)
		if streams.Load() != 2 {
			t.Errorf("%d streams", streams.Load())
		}
	})
}

// deaf is a stream on which no answer arrives.
type deaf struct{ grpc.ClientStream }

func (d deaf) RecvMsg(any) error {
	<-d.Context().Done()
	return context.Cause(d.Context())
}

func sessionEvent(s *idemsvc.Session, id string) error {
	claim := &pb.ClaimEventRequest{Namespace: "dev", Consumer: "billing", Event: event(id), Claimant: idemsvc.NewClaimant()}
	r, err := s.Do(context.Background(), &idemsvc.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claim}})
	if err != nil {
		return err
	}
	token := r.GetClaimEvent().GetClaim().GetToken()
	if token == nil {
		return fmt.Errorf("claim answered %v", r.GetClaimEvent().GetOutcome())
	}
	complete := &pb.CompleteEventRequest{Token: token}
	_, err = s.Do(context.Background(), &idemsvc.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: complete}})
	return err
}
