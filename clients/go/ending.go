package idemsvc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// CompleteOption says more about a completion.
type CompleteOption func(*pb.CompleteEventRequest)

// WithResult stores what duplicates are answered with, at most 65536 bytes.
func WithResult(result []byte, contentType string) CompleteOption {
	return func(r *pb.CompleteEventRequest) { r.Result, r.ContentType = result, contentType }
}

// WithOutputs names business rows that were made: the event can be found by them.
func WithOutputs(names ...string) CompleteOption {
	return func(r *pb.CompleteEventRequest) { r.Outputs = append(r.Outputs, names...) }
}

// WithAppliedVersion names the version that was really applied, when it is not the
// event's.
func WithAppliedVersion(v *Version) CompleteOption {
	return func(r *pb.CompleteEventRequest) { r.AppliedVersion = v }
}

// AllowUnknownEffects completes although effects are open: they become unknown.
func AllowUnknownEffects() CompleteOption {
	return func(r *pb.CompleteEventRequest) { r.AllowUnknownEffects = true }
}

// AnsweredBefore tells what the provider was answered before the completion.
func AnsweredBefore(a *DeliveryAnswer) CompleteOption {
	return func(r *pb.CompleteEventRequest) { r.DeliveryAnswer = a }
}

// Complete ends the claim with success. It is durable when answered: then answer the
// provider 2xx.
func (c *Claim) Complete(ctx context.Context, opts ...CompleteOption) (*pb.CompleteEventResponse, error) {
	req := &pb.CompleteEventRequest{Token: c.GetToken()}
	for _, o := range opts {
		o(req)
	}
	return c.client.idem.CompleteEvent(ctx, req)
}

// FailOption says more about a failure.
type FailOption func(*pb.FailEventRequest)

// RetryIn asks for the next attempt after the given time, instead of the policy's.
func RetryIn(d time.Duration) FailOption {
	return func(r *pb.FailEventRequest) { r.RetryAfter = durationpb.New(d) }
}

// Fail ends the claim with a failure; see [Retryable], [Terminal] and [NotYet]. The
// response's state says what to answer the provider.
func (c *Claim) Fail(ctx context.Context, why *Failure, opts ...FailOption) (*pb.FailEventResponse, error) {
	req := &pb.FailEventRequest{Token: c.GetToken(), Error: why}
	for _, o := range opts {
		o(req)
	}
	return c.client.idem.FailEvent(ctx, req)
}

// Extend keeps the claim alive for at least d from now; 0 is the length it was granted
// with. Call it at a third of the lease.
func (c *Claim) Extend(ctx context.Context, d time.Duration) (*pb.ExtendClaimResponse, error) {
	req := &pb.ExtendClaimRequest{Token: c.GetToken()}
	if d > 0 {
		req.Lease = durationpb.New(d)
	}
	return c.client.idem.ExtendClaim(ctx, req)
}

// Release gives the event back undone, for example at shutdown.
func (c *Claim) Release(ctx context.Context, reason string) (*pb.ReleaseClaimResponse, error) {
	return c.client.idem.ReleaseClaim(ctx, &pb.ReleaseClaimRequest{Token: c.GetToken(), Reason: reason})
}

// CheckVersion asks whether a version is still news for a resource, and reserves the
// resource for this claim if it is.
func (c *Claim) CheckVersion(ctx context.Context, resource *Resource, order *Ordering) (*pb.CheckVersionResponse, error) {
	return c.client.idem.CheckVersion(ctx, &pb.CheckVersionRequest{
		Namespace: c.namespace, Consumer: c.consumer, Resource: resource, ClaimToken: c.GetToken(),
		Version: order.GetVersion(), Mode: order.GetMode(), Transition: order.GetTransition(),
	})
}

// CheckVersion compares and advances at once, without a claim: a crash right after the
// answer leaves a version that counts as applied but is not. The same event asking again
// gets the same answer; without one, every call is a question of its own.
func (c *Client) CheckVersion(ctx context.Context, resource *Resource, version *Version, event *EventRef) (*pb.CheckVersionResponse, error) {
	req := &pb.CheckVersionRequest{
		Namespace: c.cfg.namespace, Consumer: c.cfg.consumer, Resource: resource, Version: version,
		Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, EventRef: event,
	}
	if event == nil {
		req.RequestId = NewClaimant()
	}
	return c.idem.CheckVersion(ctx, req)
}
