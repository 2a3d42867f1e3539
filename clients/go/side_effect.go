package idemsvc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Try is one permission to perform an operation.
type Try struct {
	// IdempotencyKey is the same for every try of this operation: send it to the other side
	// as its idempotency key. Printable ASCII, at most 64 bytes.
	IdempotencyKey string
	// Attempt is 1 for the first try. With a later one an earlier try may have taken place:
	// look before you act where you can.
	Attempt int
	// EarlierIntent is what the earlier try had said it would do; see [WithIntent].
	EarlierIntent []byte
}

// EffectFunc performs an operation that must not happen twice, and returns what came of
// it, at most 65536 bytes, for whoever asks again.
//
// Its context ends with the effect's lease: after that somebody else may be sent to
// perform it. An error means that nobody knows whether the operation took place, unless
// it or one that it wraps is of [NotDone].
type EffectFunc func(ctx context.Context, try Try) (result []byte, err error)

// What keeps a side effect from having a result.
var (
	// ErrEffectUnknown: nobody knows whether it took place. Unless it was begun with
	// [RetryWhenUnknown] a person decides. A handler that returns it leaves the event held.
	ErrEffectUnknown = errors.New("idemsvc: nobody knows whether the side effect took place")
	// ErrEffectBusy: another try is under way, or its target is given a rest. A handler that
	// returns it gives the event back.
	ErrEffectBusy = errors.New("idemsvc: the side effect may not be performed now")
	// ErrEffectMismatch: the key was used for another request, so it is not specific enough.
	// A handler that returns it rejects the event.
	ErrEffectMismatch = errors.New("idemsvc: the side effect's key was used for another request")
	// ErrResultGone: it took place, but what came of it is not kept any more.
	ErrResultGone = errors.New("idemsvc: the side effect took place, its result is not kept any more")
)

// errEffectLease is the cause of the end of an operation's context.
var errEffectLease = fmt.Errorf("%w: its lease is over", ErrEffectUnknown)

// SideEffect performs an operation once for this event and consumer, whatever crashes:
// fn runs if the service gives permission, and what came of it is returned now and to
// every later attempt. Return its errors from the handler, unless you know better.
//
// The operation is begun and reported durably. It can still happen twice when the process
// dies between doing it and saying so and the effect was begun with [RetryWhenUnknown];
// the other side's idempotency key closes that gap.
func (c *Claim) SideEffect(ctx context.Context, key string, fn EffectFunc, opts ...EffectOption) ([]byte, error) {
	return c.perform(ctx, EventScope, key, fn, opts)
}

// BusinessEffect performs an operation once in the whole namespace, whichever events and
// consumers ask for it, such as "refund:re_1". request is what will be asked of the other
// side, the same bytes for the same operation; only its hash is sent. Another request under
// the same key is [ErrEffectMismatch].
func (c *Claim) BusinessEffect(ctx context.Context, key string, request []byte, fn EffectFunc, opts ...EffectOption) ([]byte, error) {
	hash := sha256.Sum256(request)
	return c.perform(ctx, NamespaceScope, key, fn, append([]EffectOption{WithRequestHash(hash[:])}, opts...))
}

func (c *Claim) perform(ctx context.Context, scope pb.EffectScope, key string, fn EffectFunc, opts []EffectOption) ([]byte, error) {
	o := effectOptionsOf(opts)
	if o.scope == ConsumerScope && scope == NamespaceScope {
		scope = ConsumerScope
	}
	asked := time.Now()
	e, err := c.BeginEffect(ctx, scope, key, opts...)
	if err != nil {
		return nil, fmt.Errorf("side effect %q: %w", key, err)
	}
	p := performance{claim: c, effect: e, contentType: o.contentType}
	result, err := p.outcome(ctx, asked, fn)
	if err != nil {
		return nil, fmt.Errorf("side effect %q: %w", key, err)
	}
	return result, nil
}

// performance is one try of an operation.
type performance struct {
	claim       *Claim
	effect      *Effect
	contentType string
}

// outcome acts on the answer to the begin. One that this client does not know is no
// permission.
func (p *performance) outcome(ctx context.Context, asked time.Time, fn EffectFunc) ([]byte, error) {
	e := p.effect
	switch {
	case e.Perform():
		return p.run(ctx, asked, fn)
	case e.AlreadyDone():
		return stored(e)
	}
	switch e.GetOutcome() { // the others are no permission
	case pb.EffectOutcome_EFFECT_OUTCOME_OUTCOME_UNKNOWN:
		return nil, WithCode("effect_unknown", ErrEffectUnknown)
	case pb.EffectOutcome_EFFECT_OUTCOME_REQUEST_MISMATCH:
		return nil, Reject(WithCode("effect_mismatch", ErrEffectMismatch))
	default:
		return nil, RetryAfter(e.GetRetryAfter().AsDuration(), Release(fmt.Errorf("%w: %v", ErrEffectBusy, e.GetOutcome())))
	}
}

// stored is the result of an operation that took place before.
func stored(e *Effect) ([]byte, error) {
	if e.GetResultGone() {
		return nil, ErrResultGone
	}
	return e.GetResult(), nil
}

// run performs the operation and reports what came of it. The report is sent also when
// the caller's context is over: facts must not get lost.
func (p *performance) run(ctx context.Context, asked time.Time, fn EffectFunc) ([]byte, error) {
	if ctx.Err() != nil {
		return p.notDone(ctx, context.Cause(ctx))
	}
	work, cancel := context.WithDeadlineCause(ctx, asked.Add(p.effect.GetLease().AsDuration()), errEffectLease)
	defer cancel()
	returned := false
	defer func() {
		if !returned { // it panicked, or ended its goroutine
			_, _ = p.unknown(ctx, errors.New("the side effect's function did not return"))
		}
	}()
	result, err := fn(work, Try{
		IdempotencyKey: p.effect.GetDownstreamIdempotencyKey(), Attempt: int(p.effect.GetAttempt()), EarlierIntent: p.effect.GetEarlierIntent(),
	})
	returned = true
	m := meaning(err)
	switch {
	case err == nil:
		return p.done(ctx, result)
	case m.notDone:
		return p.notDone(ctx, err)
	default:
		return p.unknown(ctx, err)
	}
}

// done reports success. The first report of all tries stands, and its result counts.
func (p *performance) done(ctx context.Context, result []byte) ([]byte, error) {
	r, err := p.report(ctx, func(ctx context.Context) (*Effect, error) { return p.effect.Done(ctx, result, p.contentType) })
	switch {
	case refused(err): // that it took place is not to be lost for its result's sake
		if _, again := p.report(ctx, func(ctx context.Context) (*Effect, error) { return p.effect.Done(ctx, nil, "") }); again != nil {
			return nil, again
		}
		return nil, Reject(WithCode("effect_result_refused", err))
	case err != nil:
		return nil, err
	case r.AlreadyDone():
		return stored(r)
	default:
		return result, nil
	}
}

// notDone reports that nothing happened. If an earlier try turns out to have succeeded,
// that is the outcome.
func (p *performance) notDone(ctx context.Context, why error) ([]byte, error) {
	r, err := p.report(ctx, func(ctx context.Context) (*Effect, error) { return p.effect.NotDone(ctx, why) })
	switch {
	case errors.Is(err, ErrEffectLost): // a newer try exists
		return nil, Release(fmt.Errorf("%w: %w", ErrEffectBusy, why))
	case err != nil:
		return nil, errors.Join(why, err)
	case r.AlreadyDone():
		return stored(r)
	case r.GetOutcome() == pb.EffectOutcome_EFFECT_OUTCOME_OUTCOME_UNKNOWN: // because of an earlier try
		return nil, fmt.Errorf("%w: %w", ErrEffectUnknown, why)
	default:
		return nil, why
	}
}

// unknown reports that nobody knows what happened.
func (p *performance) unknown(ctx context.Context, why error) ([]byte, error) {
	r, err := p.report(ctx, func(ctx context.Context) (*Effect, error) { return p.effect.Unknown(ctx, why) })
	if err == nil && r.AlreadyDone() {
		return stored(r)
	}
	return nil, fmt.Errorf("%w: %w", ErrEffectUnknown, errors.Join(why, err))
}

// report sends a report. One that does not get through is sent again before the claim
// ends.
func (p *performance) report(ctx context.Context, send func(context.Context) (*Effect, error)) (*Effect, error) {
	end, cancel := p.claim.client.ending(ctx, p.claim.client.cfg.end)
	defer cancel()
	r, err := send(end)
	if _, again := Repeatable(err); again || errors.Is(err, context.DeadlineExceeded) {
		p.claim.mu.Lock()
		defer p.claim.mu.Unlock()
		p.claim.unheard = append(p.claim.unheard, func(ctx context.Context) error {
			_, err := send(ctx)
			return err
		})
	}
	return r, err
}
