package idemsvc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Where a side effect's key is unique. There is no default: each choice is wrong for
// somebody.
const (
	// EventScope: inside one event of one consumer.
	EventScope = pb.EffectScope_EFFECT_SCOPE_EVENT
	// ConsumerScope: inside one consumer, across events. Needs a request hash.
	ConsumerScope = pb.EffectScope_EFFECT_SCOPE_CONSUMER
	// NamespaceScope: inside the namespace. Needs a request hash.
	NamespaceScope = pb.EffectScope_EFFECT_SCOPE_NAMESPACE
)

// EffectOption says more about a side effect.
type EffectOption func(*effectOptions)

type effectOptions struct {
	hash      []byte
	intent    []byte
	target    string
	onUnknown pb.OnUnknown
	lease     time.Duration
}

// WithRequestHash is the hash of what will be asked of the other side, at most 64 bytes.
func WithRequestHash(hash []byte) EffectOption { return func(o *effectOptions) { o.hash = hash } }

// WithIntent tells later attempts what this one was about to do. No secrets.
func WithIntent(intent []byte) EffectOption { return func(o *effectOptions) { o.intent = intent } }

// WithTarget names the other side, such as "stripe-api".
func WithTarget(target string) EffectOption { return func(o *effectOptions) { o.target = target } }

// RetryWhenUnknown lets a later attempt do it again under the same downstream key when
// nobody knows whether it took place. Without it a person decides.
func RetryWhenUnknown() EffectOption {
	return func(o *effectOptions) { o.onUnknown = pb.OnUnknown_ON_UNKNOWN_RETRY }
}

// WithEffectLease is how long the operation may take before its outcome counts as
// unknown.
func WithEffectLease(d time.Duration) EffectOption { return func(o *effectOptions) { o.lease = d } }

func effectOptionsOf(opts []EffectOption) effectOptions {
	var o effectOptions
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Effect is one operation that must not happen twice: all of the contract's answer, and
// the reports about it.
type Effect struct {
	*pb.RecordSideEffectResponse
	client *Client
}

// Perform reports whether to perform the operation now, and then to report it. Any other
// outcome says not to; what this client does not know says so too.
func (e *Effect) Perform() bool {
	return e.GetOutcome() == pb.EffectOutcome_EFFECT_OUTCOME_PERFORM && len(e.GetEffectToken()) > 0
}

// AlreadyDone reports whether it took place before; GetResult is what came of it.
func (e *Effect) AlreadyDone() bool {
	return e.GetOutcome() == pb.EffectOutcome_EFFECT_OUTCOME_ALREADY_DONE
}

// BeginEffect asks for permission to perform an operation, under a begin ID made at
// random for this try.
func (c *Claim) BeginEffect(ctx context.Context, scope pb.EffectScope, key string, opts ...EffectOption) (*Effect, error) {
	o := effectOptionsOf(opts)
	begin := &pb.EffectBegin{
		Scope: scope, Key: key, BeginId: NewClaimant(), RequestHash: o.hash, Intent: o.intent, Target: o.target, OnUnknown: o.onUnknown,
	}
	if o.lease > 0 {
		begin.Lease = durationpb.New(o.lease)
	}
	return c.client.effect(ctx, &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: c.GetToken()},
		Phase:   &pb.RecordSideEffectRequest_Begin{Begin: begin},
	})
}

// RecordEffect notes an operation that took place, in one step. The first value wins.
func (c *Claim) RecordEffect(ctx context.Context, scope pb.EffectScope, key string, result []byte, contentType string, opts ...EffectOption) (*Effect, error) {
	o := effectOptionsOf(opts)
	return c.client.effect(ctx, &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: c.GetToken()},
		Phase: &pb.RecordSideEffectRequest_Record{Record: &pb.EffectRecord{
			Scope: scope, Key: key, Result: result, ContentType: contentType, RequestHash: o.hash, Target: o.target,
		}},
	})
}

// Done reports that the operation took place. It is accepted from every try, also after
// the claim is lost.
func (e *Effect) Done(ctx context.Context, result []byte, contentType string) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{
		Done: &pb.EffectDone{EffectToken: e.GetEffectToken(), Result: result, ContentType: contentType},
	}})
}

// NotDone reports that the operation surely did not take place.
func (e *Effect) NotDone(ctx context.Context, why *Failure) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_NotDone{
		NotDone: &pb.EffectNotDone{EffectToken: e.GetEffectToken(), Error: why},
	}})
}

// Unknown reports that nobody knows whether the operation took place, such as after a
// time-out.
func (e *Effect) Unknown(ctx context.Context, why *Failure) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Unknown{
		Unknown: &pb.EffectUnknown{EffectToken: e.GetEffectToken(), Error: why},
	}})
}

func (c *Client) effect(ctx context.Context, req *pb.RecordSideEffectRequest) (*Effect, error) {
	resp, err := c.idem.RecordSideEffect(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Effect{RecordSideEffectResponse: resp, client: c}, nil
}
