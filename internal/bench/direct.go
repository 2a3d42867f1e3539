package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSizes are the sizes of pools from which the base takes the best.
var poolSizes = []int{8, 16, 32, 64}

// The base: what a program does that keeps a table of processed events of its own.
const (
	baseSchema = `DROP SCHEMA IF EXISTS idemsvc_bench CASCADE;
CREATE SCHEMA idemsvc_bench;
CREATE TABLE idemsvc_bench.event (
	namespace text COLLATE "C" NOT NULL,
	consumer  text COLLATE "C" NOT NULL,
	source    text COLLATE "C" NOT NULL,
	event_id  text COLLATE "C" NOT NULL,
	state     smallint NOT NULL,
	result    bytea,
	created   timestamptz NOT NULL DEFAULT now(),
	finished  timestamptz,
	PRIMARY KEY (namespace, consumer, source, event_id)
)`
	baseClaim = `INSERT INTO idemsvc_bench.event (namespace, consumer, source, event_id, state) VALUES ($1, $2, $3, $4, 1)
ON CONFLICT DO NOTHING RETURNING state`
	baseComplete = `UPDATE idemsvc_bench.event SET state = 2, result = $5, finished = now()
WHERE namespace = $1 AND consumer = $2 AND source = $3 AND event_id = $4 AND state = 1`
	baseFinished = `INSERT INTO idemsvc_bench.event (namespace, consumer, source, event_id, state, result, finished)
SELECT $1, $2, $3, id, 2, $5, now() FROM unnest($4::text[]) id`
	baseResult = `SELECT result FROM idemsvc_bench.event WHERE namespace = $1 AND consumer = $2 AND source = $3 AND event_id = $4 AND state = 2`
)

func (s *site) openBase(ctx context.Context) error {
	if _, err := s.admin.Exec(ctx, baseSchema, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	s.later(func() error {
		_, err := s.admin.Exec(context.WithoutCancel(ctx), "DROP SCHEMA idemsvc_bench CASCADE")
		return err
	})
	for _, size := range poolSizes {
		p, err := poolOf(ctx, s.url, size)
		if err != nil {
			return err
		}
		s.later(func() error { p.Close(); return nil })
		s.direct[size] = p
	}
	return nil
}

// directEvent claims and completes one fresh event.
func directEvent(ctx context.Context, p *pgxpool.Pool) (int, error) {
	id := freshID()
	var state int16
	if err := p.QueryRow(ctx, baseClaim, namespace, consumer, source, id).Scan(&state); err != nil {
		return 0, err
	}
	tag, err := p.Exec(ctx, baseComplete, namespace, consumer, source, id, result)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the completion found no row")
	}
	return 1, err
}

// directDuplicate asks for an event that is finished, and gets its result.
func directDuplicate(ctx context.Context, p *pgxpool.Pool, id string) (int, error) {
	var state int16
	if err := p.QueryRow(ctx, baseClaim, namespace, consumer, source, id).Scan(&state); !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("a duplicate was taken for new: %w", err)
	}
	var stored []byte
	return 1, p.QueryRow(ctx, baseResult, namespace, consumer, source, id).Scan(&stored)
}

// bestPool finds the size of pool with which the base is fastest.
func (s *site) bestPool(ctx context.Context, callers int, o Options) (int, error) {
	best, top := 0, 0.0
	for _, size := range poolSizes {
		p := s.direct[size]
		a := &arm{name: fmt.Sprintf("direct with a pool of %d", size), callers: callers, step: func(ctx context.Context, _ int) (int, error) { return directEvent(ctx, p) }}
		d := min(o.Duration, 500*time.Millisecond)
		if _, err := s.slot(ctx, a, d/3); err != nil { // connects
			return 0, err
		}
		r, err := s.slot(ctx, a, d)
		if err != nil {
			return 0, err
		}
		if r.rate() > top {
			best, top = size, r.rate()
		}
		if callers == 1 {
			break // one caller uses one connection
		}
	}
	return best, nil
}
