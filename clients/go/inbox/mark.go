package inbox

import (
	"context"
	"fmt"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// ErrFenced refuses the work of a claim after a newer claim of the event has begun: nothing
// was committed. It is an [idemsvc.ErrClaimLost], too, so that a handler may return it as it is.
var ErrFenced = fmt.Errorf("inbox: fenced, a newer claim of the event has begun: %w", idemsvc.ErrClaimLost)

// entry is one attempt at an event, as the marker sees it.
type entry struct {
	key
	fence  int64 // 0: no claim
	round  int64
	replay bool
	report []byte // for the service, afterwards; nil: it knows
}

// Mark is the marker of an event inside a transaction. It is of use until that ends.
type Mark struct {
	// Found is set when the event was processed before: then do not work, and roll back or
	// commit as you like.
	Found bool
	// Result is what was stored, if it was found.
	Result Result

	store func(context.Context, Result) error
}

// Store keeps the result with the marker that was set. Without it there is none.
func (m *Mark) Store(ctx context.Context, r Result) error {
	if m.store == nil {
		return fmt.Errorf("inbox: the result of an event that was processed before is not changed")
	}
	return m.store(ctx, r)
}

// Mark sets the marker for the claim in a transaction of the caller's, before the work: they
// are committed together or not at all. It waits for another transaction that has set the
// marker to end, as long as the context allows, and then finds what that left. [ErrFenced]
// means that a newer claim has begun: roll back.
//
// For a claim that is not the event's first attempt call [Inbox.Fence] before the transaction
// begins; [Inbox.Do] does. The transaction may be of any isolation level; above READ COMMITTED
// the loser of a race gets PostgreSQL's serialization failure (40001) instead of waiting.
func (b *Inbox[Tx]) Mark(ctx context.Context, tx Tx, claim *idemsvc.Claim) (*Mark, error) {
	e, err := b.claimed(claim)
	if err != nil {
		return nil, err
	}
	return b.mark(ctx, tx, e)
}

// MarkAlone is [Inbox.Mark] without a claim: the marker alone decides.
func (b *Inbox[Tx]) MarkAlone(ctx context.Context, tx Tx, event *idemsvc.Event) (*Mark, error) {
	e, err := b.local(ctx, event)
	if err != nil {
		return nil, err
	}
	return b.mark(ctx, tx, e)
}

// Fence notes, in a short transaction of its own, that the claim has begun: from then on no
// older claim of the event commits. Where an older one is just committing, it waits for that.
// It does nothing for the first attempt, before which there was none.
//
// Without it an older owner, whose lease was lost, could still commit after a newer one's work
// was rolled back.
func (b *Inbox[Tx]) Fence(ctx context.Context, claim *idemsvc.Claim) error {
	if claim.GetAttempt() == 1 {
		return nil
	}
	e, err := b.claimed(claim)
	if err != nil {
		return err
	}
	return b.inTx(ctx, func(tx Tx) error {
		_, err := b.db.Exec(ctx, tx, `INSERT INTO `+b.table+` AS m (id, namespace, source, event_id, consumer, fence, round, changed_at)
VALUES ($1::bytea, $2::text, $3::text, $4::text, $5::text, $6::bigint, 0, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET fence = EXCLUDED.fence, changed_at = EXCLUDED.changed_at
WHERE m.namespace = EXCLUDED.namespace AND m.source = EXCLUDED.source AND m.event_id = EXCLUDED.event_id AND m.consumer = EXCLUDED.consumer
AND m.fence < EXCLUDED.fence AND (m.processed_at IS NULL OR ($7::boolean AND m.round < $8::bigint))`,
			e.id(), e.namespace, e.source, e.eventID, e.consumer, e.fence, e.replay, e.round)
		if err != nil {
			return fmt.Errorf("inbox: note the fence of %s/%s: %w", e.source, e.eventID, err)
		}
		return nil
	})
}

// claimed is the attempt of a claim.
func (b *Inbox[Tx]) claimed(claim *idemsvc.Claim) (entry, error) {
	e := entry{
		key:   key{namespace: claim.Namespace(), source: claim.Event().GetSource(), eventID: claim.Event().GetEventId(), consumer: claim.Consumer()},
		fence: claim.GetFence(), round: int64(claim.GetRound()), replay: claim.GetIsReplay(),
	}
	if e.namespace != b.namespace || e.consumer != b.consumer {
		return entry{}, fmt.Errorf("inbox: the claim is %q's in %q, the inbox %q's in %q: their markers would be about different things",
			e.consumer, e.namespace, b.consumer, b.namespace)
	}
	if e.fence <= 0 {
		return entry{}, fmt.Errorf("inbox: claim.fence is %d, it has to be above 0", e.fence)
	}
	return e, e.check()
}

// mark sets the marker, or finds out why not.
//
// Of two transactions that come at once the second waits inside the statement, for the first
// one's row. Its condition is then tested against what that left: PostgreSQL locks the newest
// version of the row and evaluates WHERE on that, at every isolation level that lets it wait.
// Where the condition fails the row stays locked all the same, so the second statement reads
// what the first one saw.
func (b *Inbox[Tx]) mark(ctx context.Context, tx Tx, e entry) (*Mark, error) {
	set := false
	err := b.db.Query(ctx, tx, func(scan func(...any) error) error {
		set = true
		var fence int64
		return scan(&fence)
	}, `INSERT INTO `+b.table+` AS m (id, namespace, source, event_id, consumer, fence, round, changed_at, processed_at, report)
VALUES ($1::bytea, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::bigint, clock_timestamp(), clock_timestamp(), $8::bytea)
ON CONFLICT (id) DO UPDATE SET fence = greatest(m.fence, EXCLUDED.fence), round = EXCLUDED.round, changed_at = EXCLUDED.changed_at,
processed_at = EXCLUDED.processed_at, result = NULL, content_type = '', outputs = NULL, report = EXCLUDED.report
WHERE m.namespace = EXCLUDED.namespace AND m.source = EXCLUDED.source AND m.event_id = EXCLUDED.event_id AND m.consumer = EXCLUDED.consumer
AND (m.processed_at IS NULL OR ($9::boolean AND m.round < EXCLUDED.round)) AND (EXCLUDED.fence = 0 OR m.fence <= EXCLUDED.fence)
RETURNING m.fence`, e.id(), e.namespace, e.source, e.eventID, e.consumer, e.fence, e.round, orNull(e.report), e.replay)
	if err != nil {
		return nil, fmt.Errorf("inbox: mark %s/%s: %w", e.source, e.eventID, err)
	}
	if !set {
		return b.find(ctx, tx, e)
	}
	return &Mark{store: func(ctx context.Context, r Result) error { return b.store(ctx, tx, e, r) }}, nil
}

// find is what stands where the marker could not be set.
func (b *Inbox[Tx]) find(ctx context.Context, tx Tx, e entry) (*Mark, error) {
	var (
		k              key
		fence, round   int64
		processed, was bool
		outputs        string
		m              = &Mark{Found: true}
	)
	err := b.db.Query(ctx, tx, func(scan func(...any) error) error {
		was = true
		return scan(&k.namespace, &k.source, &k.eventID, &k.consumer, &fence, &round, &processed, &m.Result.Body, &m.Result.ContentType, &outputs)
	}, `SELECT namespace, source, event_id, consumer, fence, round, processed_at IS NOT NULL, result, content_type, coalesce(outputs::text, '')
FROM `+b.table+` WHERE id = $1::bytea`, e.id())
	if err == nil && was {
		m.Result.Outputs, err = parseOutputs(outputs)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("inbox: look for %s/%s: %w", e.source, e.eventID, err)
	case !was: // it is locked: only a hand in this very transaction removes it
		return nil, fmt.Errorf("inbox: the marker of %s/%s has vanished", e.source, e.eventID)
	case k != e.key:
		return nil, fmt.Errorf("inbox: %q/%q and %q/%q have one hash: %w", k.source, k.eventID, e.source, e.eventID, errCollision)
	case processed && (!e.replay || round >= e.round):
		return m, nil
	default:
		return nil, fmt.Errorf("%w (%s/%s: %d, newer than %d)", ErrFenced, e.source, e.eventID, fence, e.fence)
	}
}

// errCollision is nothing that anybody will see: 2^64 events would have to be stored for it.
var errCollision = fmt.Errorf("inbox: collision")

func (b *Inbox[Tx]) store(ctx context.Context, tx Tx, e entry, r Result) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.empty() {
		return nil
	}
	n, err := b.db.Exec(ctx, tx, `UPDATE `+b.table+` SET result = $2::bytea, content_type = $3::text, outputs = $4::jsonb
WHERE id = $1::bytea`, e.id(), orNull(r.Body), r.ContentType, r.outputs())
	if err == nil && n != 1 {
		err = fmt.Errorf("the marker has vanished")
	}
	if err != nil {
		return fmt.Errorf("inbox: store the result of %s/%s: %w", e.source, e.eventID, err)
	}
	return nil
}

// orNull keeps drivers from taking nil bytes for empty ones.
func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
