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

// CompleteWith adds to what the completion will say. It is for handlers, which do not
// complete themselves: return nil afterwards.
func (c *Claim) CompleteWith(opts ...CompleteOption) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish = append(c.finish, opts...)
}

func (c *Claim) completion(opts []CompleteOption) *pb.CompleteEventRequest {
	req := &pb.CompleteEventRequest{Token: c.GetToken()}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.finish {
		o(req)
	}
	for _, o := range opts {
		o(req)
	}
	return req
}

// Complete ends the claim with success. It is durable when answered: then answer the
// provider 2xx.
func (c *Claim) Complete(ctx context.Context, opts ...CompleteOption) (*pb.CompleteEventResponse, error) {
	req := c.completion(opts)
	resp, err := c.client.idem.CompleteEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	c.ended.Store(c.completed(req, resp))
	return resp, nil
}

// Fail ends the claim with a failure: retryable, unless the error says otherwise with
// [Reject], [NotYet] or [RetryAfter]. The response's state says what to answer the
// provider.
func (c *Claim) Fail(ctx context.Context, why error) (*pb.FailEventResponse, error) {
	m := meaning(why)
	return c.fail(ctx, &m)
}

func (c *Claim) fail(ctx context.Context, m *failure) (*pb.FailEventResponse, error) {
	if m.err == nil {
		m.err = &failure{}
	}
	req := m.request(c.client.cfg.text)
	req.Token = c.GetToken()
	resp, err := c.client.idem.FailEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	c.ended.Store(c.failed(resp))
	return resp, nil
}

// Extend keeps the claim alive for at least d from now; 0 is the length it was granted
// with. Call it at a third of the lease; [Client.Process] does.
func (c *Claim) Extend(ctx context.Context, d time.Duration) (*pb.ExtendClaimResponse, error) {
	req := &pb.ExtendClaimRequest{Token: c.GetToken()}
	if d > 0 {
		req.Lease = durationpb.New(d)
	}
	asked := time.Now()
	resp, err := c.client.idem.ExtendClaim(ctx, req)
	if err != nil {
		return nil, err
	}
	c.lease.set(asked, resp.GetLease().AsDuration())
	return resp, nil
}

// Release gives the event back undone, for example at shutdown. The reason is for
// operators.
func (c *Claim) Release(ctx context.Context, reason string) (*pb.ReleaseClaimResponse, error) {
	resp, err := c.client.idem.ReleaseClaim(ctx, &pb.ReleaseClaimRequest{Token: c.GetToken(), Reason: storable(reason, maxReason)})
	if err != nil {
		return nil, err
	}
	c.ended.Store(c.released(resp))
	return resp, nil
}
