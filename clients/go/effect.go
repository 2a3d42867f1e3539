package idemsvc

import (
	"context"
	"fmt"
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
	hash        []byte
	intent      []byte
	target      string
	contentType string
	scope       pb.EffectScope
	onUnknown   pb.OnUnknown
	lease       time.Duration
}

// WithRequestHash is the hash of what will be asked of the other side, at most 64 bytes.
// [Claim.BusinessEffect] makes it itself.
func WithRequestHash(hash []byte) EffectOption { return func(o *effectOptions) { o.hash = hash } }

// WithIntent tells later attempts what this one was about to do, in at most 4096 bytes. No
// secrets.
func WithIntent(intent []byte) EffectOption { return func(o *effectOptions) { o.intent = intent } }

// WithTarget names the other side, such as "stripe-api".
func WithTarget(target string) EffectOption { return func(o *effectOptions) { o.target = target } }

// WithEffectType is the media type of the result of [Claim.SideEffect] and
// [Claim.BusinessEffect].
func WithEffectType(contentType string) EffectOption {
	return func(o *effectOptions) { o.contentType = contentType }
}

// WithinConsumer makes the key of [Claim.BusinessEffect] unique inside the consumer
// instead of the namespace.
func WithinConsumer() EffectOption { return func(o *effectOptions) { o.scope = ConsumerScope } }

// RetryWhenUnknown lets a later attempt do it again under the same downstream key when
// nobody knows whether it took place. Without it a person decides. Use it where the other
// side recognises that key, or where twice is harmless.
func RetryWhenUnknown() EffectOption {
	return func(o *effectOptions) { o.onUnknown = pb.OnUnknown_ON_UNKNOWN_RETRY }
}

// WithEffectLease is how long the operation may take before its outcome counts as
// unknown. Default by policy: 60 s.
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

// String is the answer without the effect's token and result.
func (e *Effect) String() string {
	return fmt.Sprintf("%v, attempt %d", e.GetOutcome(), e.GetAttempt())
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
// random for this try. [Claim.SideEffect] does all the steps.
func (c *Claim) BeginEffect(ctx context.Context, scope pb.EffectScope, key string, opts ...EffectOption) (*Effect, error) {
	o := effectOptionsOf(opts)
	begin := &pb.EffectBegin{
		Scope: scope, Key: key, BeginId: NewClaimant(), RequestHash: o.hash, Intent: o.intent, Target: o.target, OnUnknown: o.onUnknown,
	}
	if o.lease > 0 {
		begin.Lease = durationpb.New(o.lease)
	}
	return c.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Begin{Begin: begin}})
}

// RecordEffect notes an operation that took place, in one step. The first value wins.
func (c *Claim) RecordEffect(ctx context.Context, scope pb.EffectScope, key string, result []byte, contentType string, opts ...EffectOption) (*Effect, error) {
	o := effectOptionsOf(opts)
	return c.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Record{Record: &pb.EffectRecord{
		Scope: scope, Key: key, Result: result, ContentType: contentType, RequestHash: o.hash, Target: o.target,
	}}})
}

// effect takes a step that needs the claim to live.
func (c *Claim) effect(ctx context.Context, req *pb.RecordSideEffectRequest) (e *Effect, err error) {
	req.Subject = &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: c.GetToken()}
	err = c.revived(ctx, func() error {
		e, err = c.client.effect(ctx, req)
		return err
	})
	return e, err
}

// Done reports that the operation took place. It is accepted from every try, also after
// the claim is lost.
func (e *Effect) Done(ctx context.Context, result []byte, contentType string) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{
		Done: &pb.EffectDone{EffectToken: e.GetEffectToken(), Result: result, ContentType: contentType},
	}})
}

// NotDone reports that the operation surely did not take place.
func (e *Effect) NotDone(ctx context.Context, why error) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_NotDone{
		NotDone: &pb.EffectNotDone{EffectToken: e.GetEffectToken(), Error: e.client.told(why)},
	}})
}

// Unknown reports that nobody knows whether the operation took place, such as after a
// time-out.
func (e *Effect) Unknown(ctx context.Context, why error) (*Effect, error) {
	return e.client.effect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Unknown{
		Unknown: &pb.EffectUnknown{EffectToken: e.GetEffectToken(), Error: e.client.told(why)},
	}})
}

// told is an error in the contract's words.
func (c *Client) told(err error) *pb.ProcessingError {
	if err == nil {
		err = &failure{}
	}
	m := meaning(err)
	return m.told(c.cfg.text)
}

func (c *Client) effect(ctx context.Context, req *pb.RecordSideEffectRequest) (*Effect, error) {
	resp, err := c.idem.RecordSideEffect(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Effect{RecordSideEffectResponse: resp, client: c}, nil
}
