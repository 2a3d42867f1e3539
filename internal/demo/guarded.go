package demo

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	// lease is short, so that what a killed consumer leaves is taken up soon. The client
	// extends it while the work goes on.
	lease = 3 * time.Second
	// coalesce is how long a duplicate waits for the one that works, to be answered with
	// its result.
	coalesce = 300 * time.Millisecond
	// atOnce is how many deliveries a consumer works on. The others wait, before they claim
	// anything: what runs gets done in time.
	atOnce = 8
	// handlerTimeout bounds the work on one delivery.
	handlerTimeout = 10 * time.Second
)

// guarded is the handler that asks idemsvc. It answers when it is done.
type guarded struct {
	shop   *shop
	client *idemsvc.Client
	log    *slog.Logger
	turns  chan struct{} // one for each delivery that is worked on
}

// ServeHTTP takes a delivery.
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := readRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
	case <-r.Context().Done():
		return // the provider has hung up, and comes again
	}
	// From here on a provider that hangs up does not stop the work.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), handlerTimeout)
	defer cancel()
	hash := sha256.Sum256(d.body)
	answer, err := g.client.Process(ctx,
		&idemsvc.Event{Source: d.source, EventId: d.id, Type: d.kind, Resource: d.about(), PayloadHash: hash[:]},
		func(ctx context.Context, claim *idemsvc.Claim) error { return g.work(ctx, claim, d) },
		idemsvc.WithDelivery(&idemsvc.Delivery{Attempt: d.attempt}),
		idemsvc.WithLease(lease), idemsvc.WithWait(coalesce))
	if err != nil && !errors.Is(err, idemsvc.ErrNotNow) && !errors.Is(err, idemsvc.ErrEffectBusy) {
		g.log.ErrorContext(ctx, "an attempt failed", "event", d.id, "error", err)
	}
	if answer.Acknowledge() {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(answer.RetryAfter.Seconds()))))
	w.WriteHeader(http.StatusServiceUnavailable)
}

func (d *request) about() *idemsvc.Resource {
	return &idemsvc.Resource{Type: d.source, Id: d.resource}
}

// work does the same business as the naive handler, under a claim. What each earlier
// attempt has done is not done again.
func (g *guarded) work(ctx context.Context, claim *idemsvc.Claim, d *request) error {
	check, err := claim.CheckVersion(ctx, d.about(), idemsvc.LatestWins(idemsvc.Sequence(d.version)))
	if err != nil {
		return err
	}
	if err := check.Err(); err != nil { // another event about the resource is at work
		return err
	}
	if err := g.shop.lookUp(ctx, d); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, g.shop.db, func(tx pgx.Tx) error {
		return writeOnce(ctx, tx, d, check)
	})
	if err != nil {
		return err
	}
	if err := once(ctx, claim, d, "email", g.shop.email); err != nil {
		return err
	}
	if d.version == 1 {
		return once(ctx, claim, d, "charge", g.shop.charge)
	}
	return nil
}

const (
	// The marker tells a later attempt that the row is there, although the one that wrote
	// it died before it could say so.
	mark = `INSERT INTO inbox (source, event) VALUES ($1, $2)
		ON CONFLICT (source, event) DO UPDATE SET met = inbox.met + 1 RETURNING met`
	// The fence keeps out an owner that is late: the resource was given on meanwhile.
	setNewState = `INSERT INTO resources (source, resource, version, state, lane_fence) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (source, resource) DO UPDATE
		SET version = excluded.version, state = excluded.state, lane_fence = excluded.lane_fence
		WHERE resources.lane_fence < excluded.lane_fence`
)

// writeOnce writes the event's row unless an earlier attempt has, and the resource's
// state if it is news.
func writeOnce(ctx context.Context, tx pgx.Tx, d *request, check *idemsvc.VersionAnswer) error {
	var met int64
	if err := tx.QueryRow(ctx, mark, d.source, d.id).Scan(&met); err != nil {
		return err
	}
	if met == 0 {
		if err := book(ctx, tx, d); err != nil {
			return err
		}
	}
	if !check.Apply() {
		return nil
	}
	_, err := tx.Exec(ctx, setNewState, d.source, d.resource, d.version, d.kind, check.GetLaneFence())
	return err
}

// once performs a side effect unless it has taken place. The other side keeps the
// idempotency key, so a try whose outcome nobody knows may be repeated.
func once(ctx context.Context, claim *idemsvc.Claim, d *request, what string, perform func(context.Context, *request, string) error) error {
	_, err := claim.SideEffect(ctx, what, func(ctx context.Context, try idemsvc.Try) ([]byte, error) {
		return nil, perform(ctx, d, try.IdempotencyKey)
	}, idemsvc.RetryWhenUnknown(), idemsvc.WithEffectLease(lease))
	return err
}
