package server

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// answerTime is what a waiting claim's answer needs before the caller's deadline.
const answerTime = 250 * time.Millisecond

// idempotency serves the consumers. Its requests are validated before they arrive.
type idempotency struct {
	pb.UnimplementedIdempotencyServiceServer
	*core
	sessions sessionLimits
	drain    *drain
}

// ClaimEvent implements the contract's method.
func (s *idempotency) ClaimEvent(ctx context.Context, req *pb.ClaimEventRequest) (*pb.ClaimEventResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys, err := s.tokens.load(ctx) // first: a grant that cannot be told helps nobody
	if err != nil {
		return nil, err
	}
	cmd := s.claimCommand(ctx, req, incomingOf(ctx))
	s.correlate(ctx, cmd)
	a, err := s.claim(ctx, cmd, boundedWait(ctx, req.GetWait().AsDuration()))
	if err != nil {
		return nil, err
	}
	resp := claimResponse(a, keys)
	if req.GetWantPayload() {
		return resp, s.addPayload(ctx, resp.GetClaim(), cmd.Key.EventRef)
	}
	return resp, nil
}

// boundedWait is the wait that leaves time for an answer before the deadline.
func boundedWait(ctx context.Context, wait time.Duration) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return wait
	}
	left := time.Until(end)
	return max(0, min(wait, left-min(left/4, answerTime)))
}

// addPayload loads what a claim is for. When that fails the claim stands, and the
// claimant's repeat gets both.
func (s *idempotency) addPayload(ctx context.Context, c *pb.Claim, ref idem.EventRef) error {
	if c == nil {
		return nil
	}
	payload, ok, err := s.store.Payload(ctx, ref)
	c.Payload, c.PayloadGone = payload, !ok
	return err
}

// CompleteEvent implements the contract's method.
func (s *idempotency) CompleteEvent(ctx context.Context, req *pb.CompleteEventRequest) (*pb.CompleteEventResponse, error) {
	t, err := s.claimToken(ctx, req.GetToken(), "token")
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.EndAnswer](ctx, s.core, completeCommand(*t, req))
	if err != nil {
		return nil, err
	}
	return completeResponse(a), nil
}

// FailEvent implements the contract's method.
func (s *idempotency) FailEvent(ctx context.Context, req *pb.FailEventRequest) (*pb.FailEventResponse, error) {
	t, err := s.claimToken(ctx, req.GetToken(), "token")
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.EndAnswer](ctx, s.core, failCommand(*t, req, rand.Float64())) //nolint:gosec // jitter
	if err != nil {
		return nil, err
	}
	return failResponse(a), nil
}

// ExtendClaim implements the contract's method.
func (s *idempotency) ExtendClaim(ctx context.Context, req *pb.ExtendClaimRequest) (*pb.ExtendClaimResponse, error) {
	t, err := s.claimToken(ctx, req.GetToken(), "token")
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.ExtendAnswer](ctx, s.core, &idem.Extend{Token: *t, Lease: req.GetLease().AsDuration()})
	if err != nil {
		return nil, err
	}
	return extendResponse(a), nil
}

// ReleaseClaim implements the contract's method.
func (s *idempotency) ReleaseClaim(ctx context.Context, req *pb.ReleaseClaimRequest) (*pb.ReleaseClaimResponse, error) {
	t, err := s.claimToken(ctx, req.GetToken(), "token")
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.EndAnswer](ctx, s.core, &idem.Release{Token: *t, Why: req.GetReason()})
	if err != nil {
		return nil, err
	}
	return releaseResponse(a), nil
}

// CheckVersion implements the contract's method.
func (s *idempotency) CheckVersion(ctx context.Context, req *pb.CheckVersionRequest) (*pb.CheckVersionResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	t, err := s.checkToken(ctx, req)
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.CheckAnswer](ctx, s.core, checkCommand(t, req))
	if err != nil {
		return nil, fieldsAt(err, func(field string) string { return strings.TrimPrefix(strings.TrimPrefix(field, "ordering."), "event.") })
	}
	return checkResponse(a, t != nil), nil
}

// checkToken is the claim token of a version check, nil for none. It must be about what
// the request names.
func (s *idempotency) checkToken(ctx context.Context, req *pb.CheckVersionRequest) (*idem.Token, error) {
	if len(req.GetClaimToken()) == 0 {
		return nil, nil
	}
	t, err := s.claimToken(ctx, req.GetClaimToken(), "claim_token")
	switch {
	case err != nil:
		return nil, err
	case t.Namespace != req.GetNamespace():
		return nil, invalid("namespace", "value must be the claim token's")
	case t.Consumer != req.GetConsumer():
		return nil, invalid("consumer", "value must be the claim token's")
	}
	return t, nil
}
