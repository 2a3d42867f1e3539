package bench

import (
	"context"
	"crypto/rand"
	"fmt"

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

// claimOf asks for an event, ordered by a version of a resource of its own if wanted.
func claimOf(id string, ordered bool) *pb.ClaimEventRequest {
	r := &pb.ClaimEventRequest{
		Namespace: namespace, Consumer: consumer, Claimant: idemsvc.NewClaimant(), Event: &pb.Event{Source: source, EventId: id},
	}
	if ordered {
		r.Event.Resource = &pb.Resource{Type: "order", Id: id}
		r.Ordering = idemsvc.LatestWins(idemsvc.Sequence(1))
	}
	return r
}

func granted(r *pb.ClaimEventResponse) ([]byte, error) {
	if r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		return nil, fmt.Errorf("a fresh event was answered %v", r.GetOutcome())
	}
	return r.GetClaim().GetToken(), nil
}

// unaryEvent claims and completes one fresh event.
func unaryEvent(ctx context.Context, c *idemsvc.Client, id string, ordered bool) (int, error) {
	r, err := c.Idempotency().ClaimEvent(ctx, claimOf(id, ordered))
	if err != nil {
		return 0, err
	}
	token, err := granted(r)
	if err != nil {
		return 0, err
	}
	_, err = c.Idempotency().CompleteEvent(ctx, &pb.CompleteEventRequest{Token: token, Result: result})
	return 1, err
}

// unaryDuplicate asks for an event that is finished, and gets its result.
func unaryDuplicate(ctx context.Context, c *idemsvc.Client, id string) (int, error) {
	r, err := c.Idempotency().ClaimEvent(ctx, claimOf(id, false))
	if err == nil && (r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED || len(r.GetExisting().GetResult()) == 0) {
		err = fmt.Errorf("a duplicate was answered %v", r.GetOutcome())
	}
	return 1, err
}

// sessionEvent claims and completes one fresh event over a stream.
func sessionEvent(ctx context.Context, s *idemsvc.Session) (int, error) {
	r, err := s.Do(ctx, &pb.SessionRequest{Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf(freshID(), false)}})
	if err != nil {
		return 0, err
	}
	token, err := granted(r.GetClaimEvent())
	if err != nil {
		return 0, err
	}
	_, err = s.Do(ctx, &pb.SessionRequest{Command: &pb.SessionRequest_CompleteEvent{
		CompleteEvent: &pb.CompleteEventRequest{Token: token, Result: result},
	}})
	return 1, err
}

// batchEvents claims and completes many fresh events in two calls, and returns their IDs.
func batchEvents(ctx context.Context, c *idemsvc.Client) ([]string, error) {
	ids := make([]string, batchSize)
	claim := &pb.ClaimEventsRequest{Namespace: namespace, Consumer: consumer, Claimant: idemsvc.NewClaimant()}
	for i := range ids {
		ids[i] = freshID()
		claim.Items = append(claim.Items, &pb.ClaimItem{Event: &pb.Event{Source: source, EventId: ids[i]}})
	}
	claimed, err := c.Idempotency().ClaimEvents(ctx, claim)
	if err != nil {
		return nil, err
	}
	complete := &pb.CompleteEventsRequest{}
	for _, r := range claimed.GetResults() {
		token, err := granted(r.GetResponse())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, idemsvc.ItemErr(r.GetError()))
		}
		complete.Items = append(complete.Items, &pb.CompleteEventRequest{Token: token, Result: result})
	}
	done, err := c.Idempotency().CompleteEvents(ctx, complete)
	if err != nil {
		return nil, err
	}
	for _, r := range done.GetResults() {
		if r.GetError() != nil {
			return nil, idemsvc.ItemErr(r.GetError())
		}
	}
	return ids, nil
}
