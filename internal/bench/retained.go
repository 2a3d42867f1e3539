package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemsvc/idemsvc/storage/postgres"
)

// pastEvents is how many events past their retention are there for each turn of an arm that
// works beside their removal: more than are removed in it.
const pastEvents = 10_000

// The events are copies of one that the service did, moved back by 40 days. The removal
// begins where they lie, and by whom it is done is this process.
const (
	beginPast = `UPDATE idemsvc.retention SET holder = NULL, lease_until = '-infinity', passed_at = NULL, place = 0,
	block = pg_relation_size('idemsvc.event') / current_setting('block_size')::bigint`
	makePast = `WITH one AS (SELECT * FROM idemsvc.event WHERE state = 3 LIMIT 1)
INSERT INTO idemsvc.event (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce, lease_until, lease_us, granted_at, ended_at,
	total, effects, state, by_expiry, detail, result)
SELECT get_byte(uuid_send(n.id), 0), n.id, clock_timestamp() - interval '40 days', e.namespace, e.consumer, e.source, n.id::text, e.facts, e.version, e.fence, e.nonce,
	e.lease_until, e.lease_us, clock_timestamp() - interval '40 days', clock_timestamp() - interval '40 days', e.total, e.effects, e.state, e.by_expiry, e.detail, e.result
FROM one e, (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) n`
)

// besideRetention has events past their retention removed, at the pace at which a server
// does it, until it is stopped; stopping reports whether any were.
func besideRetention(ctx context.Context, g *stage) (stop func() error, err error) {
	if _, err := g.db.admin.Exec(ctx, beginPast); err != nil {
		return nil, err
	}
	tag, err := g.db.admin.Exec(ctx, makePast, pastEvents)
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, errors.New("no event is finished that could be copied")
	}
	removed := func() (n int64, err error) {
		err = g.db.admin.QueryRow(ctx, "SELECT events FROM idemsvc.retention").Scan(&n)
		return n, err
	}
	before, err := removed()
	if err != nil {
		return nil, err
	}
	pool, err := poolOf(ctx, g.db.url, appAdmin, 2, postgres.Tune)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, pool, postgres.Options{Follow: -1, Sweep: time.Hour, Retain: time.Nanosecond})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return func() error {
		defer pool.Close()
		defer store.Close()
		for range 200 { // a step that was under way has not been counted
			after, err := removed()
			if err != nil || after > before {
				return err
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		return fmt.Errorf("nothing of %d events past their retention was removed", pastEvents)
	}, nil
}
