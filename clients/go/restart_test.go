package idemsvc_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// Two replicas of one store are restarted in turn under load: no caller sees an error,
// neither of unary calls nor of a session.
func TestARollingRestartGoesUnseen(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	quick := func(c *server.Config) { c.DrainTimeout = 2 * time.Second; c.DrainDelay = 50 * time.Millisecond }
	replicas := []*replica{replicaOf(t, store, quick), replicaOf(t, store, quick)}
	rb := manual.NewBuilderWithScheme("two")
	rb.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: replicas[0].addr}, {Addr: replicas[1].addr}}})
	c := dial(t, "two:///idemsvc", idemsvc.WithInsecure(), idemsvc.WithDialOptions(grpc.WithResolvers(rb)))
	session := c.Session(t.Context())

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var done atomic.Int64
	for i := range 8 {
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("evt-%d-%d", i, n)
				var err error
				if i%2 == 0 {
					err = unaryEvent(c, id)
				} else {
					err = sessionEvent(session, id)
				}
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				done.Add(1)
			}
		})
	}
	for i := range replicas {
		time.Sleep(200 * time.Millisecond)
		replicas[i].stop()
		time.Sleep(100 * time.Millisecond)
		r, err := startReplica(replicas[i].addr, store, quick)
		if err != nil {
			t.Error(err)
			break
		}
		t.Cleanup(r.stop)
		time.Sleep(time.Second) // so that the client has found it
	}
	stop()
	load.Wait()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if done.Load() < 100 {
		t.Errorf("only %d events", done.Load())
	}
}

func unaryEvent(c *idemsvc.Client, id string) error {
	answer, err := c.Claim(context.Background(), event(id))
	if err != nil {
		return err
	}
	if answer.Claim == nil {
		return fmt.Errorf("claim answered %v", answer.GetOutcome())
	}
	_, err = answer.Claim.Complete(context.Background())
	return err
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
