package bench

import (
	"context"
	"fmt"
	"slices"
)

// finished is how many finished events duplicates are asked for.
const finished = 1000

// batchCallers is how many callers send batches.
const batchCallers = 16

// arms makes all arms.
func (s *site) arms(ctx context.Context, o Options) ([]*arm, error) {
	ids, err := s.finish(ctx)
	if err != nil {
		return nil, err
	}
	var arms []*arm
	add := func(a *arm) *arm {
		arms = append(arms, a)
		return a
	}
	levels := slices.Clone(o.Callers)
	if !slices.Contains(levels, batchCallers) {
		levels = append(levels, batchCallers)
	}
	for _, n := range levels {
		size, err := s.bestPool(ctx, n, o)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Progress, "direct SQL with %d callers is fastest with a pool of %d\n", n, size)
		pool := s.direct[size]
		direct := add(&arm{name: "direct", callers: n, what: fmt.Sprintf("one-row SQL through pgx, pool of %d", size), step: func(ctx context.Context, _ int) (int, error) {
			return directEvent(ctx, pool)
		}})
		if n == batchCallers {
			add(&arm{name: "batch of 100", callers: n, base: direct, what: "ClaimEvents and CompleteEvents", step: func(ctx context.Context, i int) (int, error) {
				ids, err := batchEvents(ctx, s.clients[i%connections])
				return len(ids), err
			}})
		}
		if !slices.Contains(o.Callers, n) {
			continue
		}
		unary := add(&arm{name: "unary", callers: n, base: direct, what: "ClaimEvent and CompleteEvent", step: func(ctx context.Context, i int) (int, error) {
			return unaryEvent(ctx, s.clients[i%connections], freshID(), false)
		}})
		add(&arm{name: "ordered", callers: n, base: unary, what: "the same with a version and a lane, against unary", step: func(ctx context.Context, i int) (int, error) {
			return unaryEvent(ctx, s.clients[i%connections], freshID(), true)
		}})
		add(&arm{name: "session", callers: n, base: direct, what: "the same over a stream", step: func(ctx context.Context, i int) (int, error) {
			return sessionEvent(ctx, s.sessions[i%connections])
		}})
		dup := add(&arm{name: "direct duplicates", callers: n, what: "the insert that finds a row, and a select of its result", step: func(ctx context.Context, i int) (int, error) {
			return directDuplicate(ctx, pool, ids[i%len(ids)])
		}})
		add(&arm{name: "unary duplicates", callers: n, base: dup, what: "ClaimEvent that answers the stored result", step: func(ctx context.Context, i int) (int, error) {
			return unaryDuplicate(ctx, s.clients[i%connections], ids[i%len(ids)])
		}})
	}
	return arms, nil
}

// finish makes finished events on both sides.
func (s *site) finish(ctx context.Context) ([]string, error) {
	var ids []string
	for len(ids) < finished {
		batch, err := batchEvents(ctx, s.clients[0])
		if err != nil {
			return nil, err
		}
		ids = append(ids, batch...)
	}
	_, err := s.admin.Exec(ctx, baseFinished, namespace, consumer, source, ids, result)
	return ids, err
}
