package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/storage"
)

// undeliveredTimeout bounds giving back a grant whose caller has gone.
const undeliveredTimeout = 5 * time.Second

// core is what the handlers share.
type core struct {
	store  *storage.Service
	tokens *tokens
	nonces *nonces
	valid  *validator
	access *access
	log    *slog.Logger
	meters *meters
	tracer trace.Tracer // nil: nothing is traced
	choose func(context.Context) (context.Context, bool)

	anomalies *telemetry.Budget // of spans
}

// decide carries out a command.
func decide[A idem.Answer](ctx context.Context, c *core, cmd idem.Command) (A, error) {
	started := time.Now()
	return decided[A](ctx, c, cmd, c.store.Do(ctx, cmd), started)
}

// decided takes the result of a command and reports the decision.
func decided[A idem.Answer](ctx context.Context, c *core, cmd idem.Command, res storage.Result, started time.Time) (A, error) {
	var none A
	if res.Err != nil {
		c.reportRefusal(ctx, cmd, res.Err, started)
		return none, res.Err
	}
	a, ok := res.Answer.(A)
	if !ok {
		return none, fmt.Errorf("the answer to %T is %T", cmd, res.Answer)
	}
	c.report(ctx, cmd, a, res.TxID, started)
	return a, nil
}

// claim carries out a claim. A grant whose caller has gone meanwhile is given back, so
// that nobody waits for a lease that no one works under.
func (c *core) claim(ctx context.Context, cmd *idem.Claim, wait time.Duration) (*idem.ClaimAnswer, error) {
	started := time.Now()
	a, err := decided[*idem.ClaimAnswer](ctx, c, cmd, c.store.Claim(ctx, cmd, wait), started)
	if err == nil && a.Granted && ctx.Err() != nil {
		c.undelivered(ctx, a.Event)
		return nil, ctx.Err()
	}
	return a, err
}

func (c *core) undelivered(ctx context.Context, e *idem.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undeliveredTimeout)
	defer cancel()
	c.unsent(ctx, claimToken(e))
}

// unsent gives back a grant whose answer never left the server.
func (c *core) unsent(ctx context.Context, t idem.Token) {
	if res := c.store.Do(ctx, &idem.Release{Token: t, Undelivered: true}); res.Err != nil {
		c.log.WarnContext(ctx, "grant of a caller that has gone not given back, its lease will end it", "error", res.Err)
	}
}

// claimToken reads a claim's token and refuses one that is not the caller's.
func (c *core) claimToken(ctx context.Context, text []byte, field string) (*idem.Token, error) {
	keys, err := c.tokens.load(ctx)
	if err != nil {
		return nil, err
	}
	t, ok := keys.openClaim(text)
	if !ok || enter(ctx, t.Namespace, field) != nil {
		return nil, errToken(field)
	}
	return &t, nil
}

// effectToken reads an effect's token and refuses one that is not the caller's.
func (c *core) effectToken(ctx context.Context, text []byte, field string) (idem.EffectToken, error) {
	keys, err := c.tokens.load(ctx)
	if err != nil {
		return idem.EffectToken{}, err
	}
	t, ok := keys.openEffect(text)
	if !ok || enter(ctx, t.Namespace, field) != nil {
		return idem.EffectToken{}, errToken(field)
	}
	return t, nil
}
