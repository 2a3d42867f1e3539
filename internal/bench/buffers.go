package bench

import (
	"context"
	"errors"
	"slices"
	"time"
)

// untilTold is how long an idle session of PostgreSQL may keep to itself what it has done:
// 10 s, and some.
const untilTold = 10*time.Second + 500*time.Millisecond

// placed is an arm on a stage.
type placed struct {
	*stage
	arm *arm
}

// buffers is how many pages the database's sessions look at for an event of each arm, the
// median of its turns. The arms of one turn are on different databases.
//
// A session adds up what it does now and then only, when it was asked to, or when it has
// been idle for ten seconds. Those of the callers are asked to; for those of the server,
// which cannot be, the ten seconds are waited for, once for all arms of a turn. What a
// server does in that time is taken off. It takes long, and is not part of the rounds.
func buffers(ctx context.Context, turns [][]placed, d time.Duration) (map[*arm]float64, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	anyServed := slices.ContainsFunc(turns, served)
	before, err := blocks(ctx, turns[0], anyServed)
	if err != nil {
		return nil, err
	}
	after, err := blocks(ctx, turns[0], anyServed)
	if err != nil {
		return nil, err
	}
	idle := make([]int64, len(after))
	for i := range idle {
		idle[i] = after[i] - before[i]
	}
	each := map[*arm][]float64{}
	for _, turn := range turns {
		before = after
		events := make([]int64, len(turn))
		for i, p := range turn {
			if events[i], _, err = work(ctx, p.arm, d); err != nil {
				return nil, err
			}
			if p.arm.way == overServer {
				if err := caughtUp(ctx, p.service, p.arm.behind); err != nil {
					return nil, err
				}
			}
		}
		if after, err = blocks(ctx, turn, served(turn)); err != nil {
			return nil, err
		}
		for i, p := range turn {
			n := after[i] - before[i]
			if served(turn) {
				n -= idle[i]
			}
			each[p.arm] = append(each[p.arm], float64(max(n, 0))/float64(max(events[i], 1)))
		}
	}
	found := map[*arm]float64{}
	for a, list := range each {
		found[a] = median(list)
	}
	return found, nil
}

// served tells whether a process of its own answers any arm of a turn: its sessions cannot be
// asked to tell.
func served(turn []placed) bool {
	return slices.ContainsFunc(turn, func(p placed) bool { return p.arm.way == overServer || p.arm.way == overRiver })
}

// blocks is how many pages the sessions of each database have looked at, once they have
// told.
func blocks(ctx context.Context, turn []placed, wait bool) ([]int64, error) {
	var faults []error
	for _, place := range turn {
		for _, pool := range place.pools {
			for _, c := range pool.AcquireAllIdle(ctx) {
				_, err := c.Exec(ctx, "SELECT pg_stat_force_next_flush()")
				faults = append(faults, err)
				c.Release()
			}
		}
	}
	if wait {
		faults = append(faults, pause(ctx, untilTold))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	const counters = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
	list := make([]int64, len(turn))
	for i, p := range turn {
		if err := p.db.admin.QueryRow(ctx, counters).Scan(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
