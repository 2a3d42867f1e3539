package bench

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	source    = "bench"
	batchSize = 100
)

// result is what completions store.
var result = []byte("invoice/0123456789")

// freshID is an event ID as providers give them: random.
func freshID() string { return "evt_" + rand.Text() }

// claimOf asks for an event.
func claimOf(id string) *pb.ClaimEventRequest {
	return &pb.ClaimEventRequest{
		Namespace: namespace, Consumer: consumer, Claimant: idemsvc.NewClaimant(), Event: &pb.Event{Source: source, EventId: id},
	}
}

// granted is the claim, which a fresh event's must be.
func granted(r *pb.ClaimEventResponse, err error) (*pb.Claim, error) {
	if err == nil && r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		err = fmt.Errorf("a fresh event was answered %v", r.GetOutcome())
	}
	return r.GetClaim(), err
}

func completionOf(c *pb.Claim) *pb.CompleteEventRequest {
	return &pb.CompleteEventRequest{Token: c.GetToken(), Result: result}
}

// single does one event, with something between its claim and its completion.
func single(ctx context.Context, v *service, caller int, req *pb.ClaimEventRequest, between func(*pb.Claim) error) (int, error) {
	calls := v.client(caller).Idempotency()
	claim, err := granted(calls.ClaimEvent(ctx, req))
	if err != nil {
		return 0, err
	}
	if err := between(claim); err != nil {
		return 0, err
	}
	_, err = calls.CompleteEvent(ctx, completionOf(claim))
	return 1, err
}

func nothing(*pb.Claim) error { return nil }

func unaryEvent(ctx context.Context, v *service, caller int) (int, error) {
	return single(ctx, v, caller, claimOf(freshID()), nothing)
}

// orderedEvent is ordered by the version of a resource of its own.
func orderedEvent(ctx context.Context, v *service, caller int) (int, error) {
	req := claimOf(freshID())
	req.Event.Resource = &pb.Resource{Type: "order", Id: req.GetEvent().GetEventId()}
	req.Ordering = idemsvc.LatestWins(idemsvc.Sequence(1))
	return single(ctx, v, caller, req, nothing)
}

func effectEvent(ctx context.Context, v *service, caller int) (int, error) {
	return effectOf(ctx, v, caller, freshID())
}

// effectOf does an event with one side effect, whose key is the event's ID.
func effectOf(ctx context.Context, v *service, caller int, id string) (int, error) {
	calls := v.client(caller).Idempotency()
	return single(ctx, v, caller, claimOf(id), func(claim *pb.Claim) error {
		begun, err := calls.RecordSideEffect(ctx, &pb.RecordSideEffectRequest{
			Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: claim.GetToken()},
			Phase: &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{
				Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: id, BeginId: idemsvc.NewClaimant(), Target: "mail", OnUnknown: pb.OnUnknown_ON_UNKNOWN_RETRY,
			}},
		})
		if err != nil {
			return err
		}
		if begun.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_PERFORM {
			return fmt.Errorf("a fresh side effect was answered %v", begun.GetOutcome())
		}
		_, err = calls.RecordSideEffect(ctx, &pb.RecordSideEffectRequest{
			Phase: &pb.RecordSideEffectRequest_Done{Done: &pb.EffectDone{EffectToken: begun.GetEffectToken(), Result: result}},
		})
		return err
	})
}

// guardedEvent does the consumer's own work under the claim.
func guardedEvent(ctx context.Context, v *service, caller int, own *pgxpool.Pool) (int, error) {
	return single(ctx, v, caller, claimOf(freshID()), func(*pb.Claim) error {
		_, err := businessEvent(ctx, own)
		return err
	})
}

// sessionEvent does one event over a stream.
func sessionEvent(ctx context.Context, v *service, caller int) (int, error) {
	s := v.session(caller)
	r, err := s.Do(ctx, &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf(freshID())}})
	claim, err := granted(r.GetClaimEvent(), err)
	if err != nil {
		return 0, err
	}
	_, err = s.Do(ctx, &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{CompleteEvent: completionOf(claim)}})
	return 1, err
}

// repeated is an error unless a duplicate was answered with the stored result.
func repeated(r *pb.ClaimEventResponse, err error) (int, error) {
	if err == nil && (r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED || len(r.GetExisting().GetResult()) == 0) {
		err = fmt.Errorf("a duplicate was answered %v", r.GetOutcome())
	}
	return 1, err
}

func unaryDuplicate(ctx context.Context, v *service, caller int, id string) (int, error) {
	return repeated(v.client(caller).Idempotency().ClaimEvent(ctx, claimOf(id)))
}

func sessionDuplicate(ctx context.Context, v *service, caller int, id string) (int, error) {
	r, err := v.session(caller).Do(ctx, &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf(id)}})
	return repeated(r.GetClaimEvent(), err)
}

// claimLong claims a fresh event and keeps it.
func claimLong(ctx context.Context, v *service, caller int) (int, error) {
	req := claimOf(freshID())
	req.Lease = durationpb.New(longLease)
	_, err := granted(v.client(caller).Idempotency().ClaimEvent(ctx, req))
	return 1, err
}

// freshBatch asks for fresh events.
func freshBatch(n int) *pb.ClaimEventsRequest {
	req := &pb.ClaimEventsRequest{Namespace: namespace, Consumer: consumer, Claimant: idemsvc.NewClaimant()}
	for range n {
		req.Items = append(req.Items, &pb.ClaimItem{Event: &pb.Event{Source: source, EventId: freshID()}})
	}
	return req
}

func batchEvent(ctx context.Context, v *service, caller int) (int, error) {
	return many(ctx, v, caller, freshBatch(batchSize))
}

func orderedBatchEvent(ctx context.Context, v *service, caller int) (int, error) {
	req := freshBatch(batchSize)
	for _, item := range req.GetItems() {
		item.Event.Resource = &pb.Resource{Type: "order", Id: item.GetEvent().GetEventId()}
		item.Ordering = idemsvc.LatestWins(idemsvc.Sequence(1))
	}
	return many(ctx, v, caller, req)
}

// many claims and completes many fresh events in two calls.
func many(ctx context.Context, v *service, caller int, req *pb.ClaimEventsRequest) (int, error) {
	claims, err := claimAll(ctx, v, caller, req)
	if err != nil {
		return 0, err
	}
	complete := &pb.CompleteEventsRequest{}
	for _, c := range claims {
		complete.Items = append(complete.Items, completionOf(c))
	}
	done, err := v.client(caller).Idempotency().CompleteEvents(ctx, complete)
	if err != nil {
		return 0, err
	}
	for _, r := range done.GetResults() {
		if r.GetError() != nil {
			return 0, idemsvc.ItemErr(r.GetError())
		}
	}
	return len(claims), nil
}

func claimAll(ctx context.Context, v *service, caller int, req *pb.ClaimEventsRequest) ([]*pb.Claim, error) {
	claimed, err := v.client(caller).Idempotency().ClaimEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	claims := make([]*pb.Claim, 0, len(claimed.GetResults()))
	for _, r := range claimed.GetResults() {
		if r.GetError() != nil {
			return nil, idemsvc.ItemErr(r.GetError())
		}
		c, err := granted(r.GetResponse(), nil)
		if err != nil {
			return nil, err
		}
		claims = append(claims, c)
	}
	return claims, nil
}
