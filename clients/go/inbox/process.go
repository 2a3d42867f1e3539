package inbox

import (
	"context"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// soon is how long a sender should wait where nobody says.
const soon = time.Second

// Process processes an event once: it runs the work in a transaction with the marker, or
// finds out that this was done, or that it is not for now. Who decides is said by the inbox's
// [Option]; the call stays the same.
//
// The answer is never nil and says what to tell the sender. The error is nil only if the
// delivery may be acknowledged; see [idemsvc.Client.Process]. Without the service deciding an
// error of the work always means that the sender is to repeat: failures are not remembered,
// not even what [idemsvc.Reject] says.
//
// The options are those of a claim. Namespace and consumer are the inbox's. Work that needs
// the claim, for its effects, its payload or its lane, gets it by [Inbox.Do] inside a handler.
func (b *Inbox[Tx]) Process(ctx context.Context, event *idemsvc.Event, work Work[Tx], opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
	switch b.rung {
	case observed:
		return b.observe(ctx, event, work, opts)
	case enforced, enforcedOrLocal:
		return b.enforce(ctx, event, work, opts)
	default:
		return b.Alone(ctx, event, work, opts...)
	}
}

// mine are the options with the inbox's own names.
func (b *Inbox[Tx]) mine(opts []idemsvc.ClaimOption) []idemsvc.ClaimOption {
	return append(append([]idemsvc.ClaimOption{}, opts...), idemsvc.ForNamespace(b.namespace), idemsvc.ForConsumer(b.consumer))
}

// observe lets the service look on.
func (b *Inbox[Tx]) observe(ctx context.Context, event *idemsvc.Event, work Work[Tx], opts []idemsvc.ClaimOption) (answer *idemsvc.Answer, err error) {
	if b.request(event, opts).GetOrdering() != nil {
		return later(errOrdered), errOrdered
	}
	err = b.client.ObserveClaim(ctx, event, func(ctx context.Context, claimed *idemsvc.ClaimAnswer) (bool, error) {
		var err error
		answer, err = b.Alone(ctx, event, work, opts...)
		if err == nil && claimed != nil && claimed.Claim != nil {
			claimed.Claim.CompleteWith(idemsvc.WithResult(answer.Result, answer.ContentType))
		}
		return answer.Handled, err
	}, b.mine(opts)...)
	return answer, err
}

// enforce lets the service decide.
func (b *Inbox[Tx]) enforce(ctx context.Context, event *idemsvc.Event, work Work[Tx], opts []idemsvc.ClaimOption) (*idemsvc.Answer, error) {
	claimed, err := b.claim(ctx, event, opts)
	if err != nil {
		if b.mayDecide(ctx, event, opts, err) {
			return b.Alone(ctx, event, work, opts...)
		}
		return later(err), err
	}
	if claimed.Advice() != idemsvc.Process {
		return claimed.Answer()
	}
	committed := false
	answer, err := claimed.Claim.Process(ctx, func(ctx context.Context, claim *idemsvc.Claim) error {
		_, err := b.Do(ctx, claim, work)
		committed = err == nil
		return err
	})
	answer.Claimed = claimed
	if committed && answer.State == 0 && b.mayDecide(ctx, event, opts, err) { // the service could not be told
		told, err := b.Alone(ctx, event, work, opts...)
		told.Claimed, told.Handled = claimed, answer.Handled
		return told, err
	}
	return answer, err
}

// claim asks the service, for as long as it may take before it counts as away.
func (b *Inbox[Tx]) claim(ctx context.Context, event *idemsvc.Event, opts []idemsvc.ClaimOption) (*idemsvc.ClaimAnswer, error) {
	if b.rung == enforcedOrLocal {
		wait := b.request(event, opts).GetWait().AsDuration()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.after+wait)
		defer cancel()
	}
	return b.client.Claim(ctx, event, b.mine(opts)...)
}

// mayDecide reports whether the marker may decide by itself after an error of the service.
func (b *Inbox[Tx]) mayDecide(ctx context.Context, event *idemsvc.Event, opts []idemsvc.ClaimOption, err error) bool {
	return b.rung == enforcedOrLocal && ctx.Err() == nil && idemsvc.Away(err) && b.request(event, opts).GetOrdering() == nil
}
