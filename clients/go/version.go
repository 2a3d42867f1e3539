package idemsvc

import (
	"context"
	"errors"
	"fmt"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// VersionAnswer tells whether a version is still news: all of the contract's answer.
type VersionAnswer struct{ *pb.CheckVersionResponse }

// Apply reports whether to write the new state, guarded by GetLaneFence.
func (a *VersionAnswer) Apply() bool {
	return a.GetDecision() == pb.VersionDecision_VERSION_DECISION_APPLY
}

// Skip reports whether there is nothing to write: this event applied the version before,
// or a newer one is applied. The claim is completed all the same.
func (a *VersionAnswer) Skip() bool {
	d := a.GetDecision()
	return d == pb.VersionDecision_VERSION_DECISION_ALREADY_APPLIED || d == pb.VersionDecision_VERSION_DECISION_STALE
}

// Tied reports whether another event applied an equal version: neither is newer. Fetch
// the latest state from the provider and apply that (see [WithAppliedVersion]), or skip.
func (a *VersionAnswer) Tied() bool {
	return a.GetDecision() == pb.VersionDecision_VERSION_DECISION_TIED
}

// Err is what a handler returns when the answer is none of the others, nil otherwise.
// While the version before is missing, or the state machine does not allow the step, the
// event is not yet to be processed; wrap the error in [Reject] where no earlier event can
// come any more. While another claim holds the resource, the event is given back. A
// decision that this client does not know is one to repeat later.
func (a *VersionAnswer) Err() error {
	if a.Apply() || a.Skip() || a.Tied() {
		return nil
	}
	why := fmt.Errorf("%w: version answered %v", ErrNotNow, a.GetDecision())
	switch a.GetDecision() { // the others are above
	case pb.VersionDecision_VERSION_DECISION_GAP:
		return RetryAfter(a.GetRetryAfter().AsDuration(), NotYet(why))
	case pb.VersionDecision_VERSION_DECISION_ILLEGAL_TRANSITION:
		return NotYet(why)
	default:
		return RetryAfter(a.GetRetryAfter().AsDuration(), Release(why))
	}
}

// CheckVersion asks whether a version is still news for a resource, and reserves the
// resource for this claim if it is. The version counts as applied when the claim is
// completed.
func (c *Claim) CheckVersion(ctx context.Context, resource *Resource, order *Ordering) (*VersionAnswer, error) {
	var a *VersionAnswer
	err := c.revived(ctx, func() error {
		resp, err := c.client.idem.CheckVersion(ctx, &pb.CheckVersionRequest{
			Namespace: c.namespace, Consumer: c.consumer, Resource: resource, ClaimToken: c.GetToken(),
			Version: order.GetVersion(), Mode: order.GetMode(), Transition: order.GetTransition(),
		})
		a = &VersionAnswer{CheckVersionResponse: resp}
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// CheckVersion compares and advances at once, without a claim: a crash right after the
// answer leaves a version that counts as applied but is not. The same event asking again
// gets the same answer; without one, every call is a question of its own.
func (c *Client) CheckVersion(ctx context.Context, resource *Resource, version *Version, event *EventRef) (*VersionAnswer, error) {
	req := &pb.CheckVersionRequest{
		Namespace: c.cfg.namespace, Consumer: c.cfg.consumer, Resource: resource, Version: version,
		Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, EventRef: event,
	}
	if event == nil {
		req.RequestId = NewClaimant()
	}
	resp, err := c.idem.CheckVersion(ctx, req)
	if err != nil {
		return nil, err
	}
	return &VersionAnswer{CheckVersionResponse: resp}, nil
}

// revived makes a call that needs a live claim. One whose lease is over is extended
// first, which works as long as nobody else has taken the event.
func (c *Claim) revived(ctx context.Context, call func() error) error {
	err := call()
	if !errors.Is(err, ErrClaimExpired) {
		return err
	}
	if _, err := c.Extend(ctx, 0); err != nil {
		return err
	}
	return call()
}
