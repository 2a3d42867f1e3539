package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSizes are the sizes of pools from which the base takes the best.
var poolSizes = []int{8, 16, 32, 64}

// needed is how many connections a database must allow: those of all pools, of the server,
// and some.
const needed = 150

// accounts is how many balances the business has.
const accounts = 10_000

// The base: what a program does that keeps a table of processed events of its own; and the
// tables of a business that is done in the same transaction.
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
);
CREATE TABLE idemsvc_bench.marker (
	source   text COLLATE "C" NOT NULL,
	event_id text COLLATE "C" NOT NULL,
	created  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (source, event_id)
);
CREATE TABLE idemsvc_bench.invoice (
	id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account integer NOT NULL,
	amount  integer NOT NULL,
	created timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE idemsvc_bench.account (
	id      integer PRIMARY KEY,
	balance bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE idemsvc_bench.stranger (id integer)`
	baseAccounts = `INSERT INTO idemsvc_bench.account (id, balance) SELECT n, 0 FROM generate_series(0, $1::integer - 1) n`

	baseClaim = `INSERT INTO idemsvc_bench.event (namespace, consumer, source, event_id, state) VALUES ($1, $2, $3, $4, 1)
ON CONFLICT DO NOTHING RETURNING state`
	baseComplete = `UPDATE idemsvc_bench.event SET state = 2, result = $5, finished = now()
WHERE namespace = $1 AND consumer = $2 AND source = $3 AND event_id = $4 AND state = 1`
	baseFinished = `INSERT INTO idemsvc_bench.event (namespace, consumer, source, event_id, state, result, finished)
SELECT $1, $2, $3, id, 2, $5, now() FROM unnest($4::text[]) id`
	baseResult = `SELECT result FROM idemsvc_bench.event WHERE namespace = $1 AND consumer = $2 AND source = $3 AND event_id = $4 AND state = 2`

	baseInvoice = `INSERT INTO idemsvc_bench.invoice (account, amount) VALUES ($1, $2)`
	baseBalance = `UPDATE idemsvc_bench.account SET balance = balance + $2 WHERE id = $1`
	baseMarker  = `INSERT INTO idemsvc_bench.marker (source, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`
)

// openBase makes the base's tables and its pools.
func (s *site) openBase(ctx context.Context) error {
	var allowed int
	if err := s.db.admin.QueryRow(ctx, "SELECT current_setting('max_connections')::integer").Scan(&allowed); err != nil {
		return err
	}
	if allowed < needed {
		return fmt.Errorf("the database allows %d connections, and comparing needs %d: raise its max_connections, or name none to use a PostgreSQL of its own", allowed, needed)
	}
	if _, err := s.db.admin.Exec(ctx, baseSchema, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	s.later(func() error {
		_, err := s.db.admin.Exec(context.WithoutCancel(ctx), "DROP SCHEMA idemsvc_bench CASCADE")
		return err
	})
	if _, err := s.db.admin.Exec(ctx, baseAccounts, accounts); err != nil {
		return err
	}
	for _, size := range poolSizes {
		p, err := poolOf(ctx, s.db.url, appDirect, size, nil)
		if err != nil {
			return err
		}
		s.later(func() error { p.Close(); return nil })
		s.direct[size], s.pools = p, append(s.pools, p)
	}
	return nil
}

// pool is the base's fastest with as many callers.
func (s *site) pool(callers int) *pgxpool.Pool { return s.direct[s.best[callers]] }

// directClaim claims one fresh event.
func directClaim(ctx context.Context, p *pgxpool.Pool, id string) (int, error) {
	var state int16
	return 1, p.QueryRow(ctx, baseClaim, namespace, consumer, source, id).Scan(&state)
}

// directEvent claims and completes one fresh event.
func directEvent(ctx context.Context, p *pgxpool.Pool) (int, error) {
	id := freshID()
	if _, err := directClaim(ctx, p, id); err != nil {
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

// businessEvent is the consumer's own work.
func businessEvent(ctx context.Context, p *pgxpool.Pool) (int, error) {
	return 1, pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error { return business(ctx, tx) })
}

// markedEvent is the same with a marker that tells whether it was done before.
func markedEvent(ctx context.Context, p *pgxpool.Pool) (int, error) {
	return 1, pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, baseMarker, source, freshID())
		if err == nil && tag.RowsAffected() != 1 {
			err = errors.New("a fresh event was taken for a duplicate")
		}
		if err != nil {
			return err
		}
		return business(ctx, tx)
	})
}

func business(ctx context.Context, tx pgx.Tx) error {
	account, amount := rand.IntN(accounts), 1+rand.IntN(100) //nolint:gosec // any will do
	if _, err := tx.Exec(ctx, baseInvoice, account, amount); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, baseBalance, account, amount)
	return err
}

// calibrate finds the size of pool with which the base is fastest for each number of
// callers. Sizes take turns, forth and back, so that drift falls on all of them.
func (s *site) calibrate(ctx context.Context, callers []int, d time.Duration) error {
	passes := 2
	if s.Quick {
		passes = 1
	}
	d = min(d, 500*time.Millisecond)
	for _, n := range callers {
		sizes := slices.DeleteFunc(slices.Clone(poolSizes), func(size int) bool { return size != poolSizes[0] && size >= 2*n }) // idle connections help nobody
		done := map[int]float64{}
		for range passes {
			for _, size := range sizes {
				p := s.direct[size]
				a := &arm{family: "direct", callers: n, step: func(ctx context.Context, _ int) (int, error) { return directEvent(ctx, p) }}
				if _, _, err := work(ctx, a, d/3); err != nil { // connects
					return err
				}
				events, seconds, err := work(ctx, a, d)
				if err != nil {
					return err
				}
				done[size] += float64(events) / seconds
			}
			slices.Reverse(sizes)
		}
		for _, size := range sizes {
			if done[size] >= done[s.best[n]] {
				s.best[n] = size
			}
		}
		s.say("direct SQL with %d callers is fastest with a pool of %d", n, s.best[n])
	}
	return nil
}
