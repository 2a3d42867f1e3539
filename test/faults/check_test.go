//go:build linux

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
)

// checker compares what clients were acknowledged with what is stored, and with itself.
type checker struct {
	campaignID
	admin *pgxpool.Pool

	events map[int64]*history
	fresh  map[int64]bool // events with acknowledgements that have not been looked up yet
	counts map[string]int
	broken []string
}

// history is all that clients were acknowledged about one event.
type history struct {
	claims    map[int64]*claimed // by fence
	runs      int
	performs  []line
	done      *line // the first acknowledged outcome of its operation
	completed *line
}

// claimed is a claim that was acknowledged.
type claimed struct {
	line
	until  int64 // the end of its lease, with its extensions
	ending bool  // a call that ends it has been made
}

func (c *checker) fault(format string, args ...any) {
	if len(c.broken) < 50 {
		c.broken = append(c.broken, fmt.Sprintf(format, args...))
	}
}

func (c *checker) of(event int64) *history {
	h := c.events[event]
	if h == nil {
		h = &history{claims: map[int64]*claimed{}}
		c.events[event] = h
	}
	return h
}

// read takes in what clients have written.
func (c *checker) read(lines []line) {
	for _, x := range lines {
		c.counts[x.Op]++
		h, id := c.of(x.Event), c.eventID(x.Event)
		switch x.Op {
		case opClaim:
			if o := h.claims[x.Fence]; o != nil {
				c.fault("%s: fence %d was given twice", id, x.Fence)
			}
			h.claims[x.Fence] = &claimed{line: x, until: x.Expires}
			c.fresh[x.Event] = true
		case opRun:
			h.runs++
			if kindOf(x.Event) == held && h.runs > 1 {
				c.fault("%s: an event that must not run twice ran %d times", id, h.runs)
			}
		case opExtend:
			if g := h.claims[x.Fence]; g != nil {
				g.until = max(g.until, x.Expires)
			}
		case opEnding:
			if g := h.claims[x.Fence]; g != nil {
				g.ending = true
			}
		case opPerform:
			h.performs = append(h.performs, x)
		case opDone:
			if h.done != nil && h.done.Result != x.Result {
				c.fault("%s: two outcomes of one operation were accepted: %q and %q", id, h.done.Result, x.Result)
			}
			h.done = &x
			c.fresh[x.Event] = true
		case opKnown:
			if h.done != nil && h.done.Result != x.Result {
				c.fault("%s: an operation was known to have come to %q, acknowledged was %q", id, x.Result, h.done.Result)
			}
		case opComplete:
			if h.completed != nil && h.completed.Result != x.Result {
				c.fault("%s: completed twice: %q and %q", id, h.completed.Result, x.Result)
			}
			h.completed = &x
			c.fresh[x.Event] = true
		case opDuplicate:
			if h.completed != nil && h.completed.Result != x.Result {
				c.fault("%s: a duplicate was told %q, completed was %q", id, x.Result, h.completed.Result)
			}
		case opOther:
			c.counts[x.Note]++
			if slices.Contains([]string{"complete: Internal", "fail: Internal", "release: Internal"}, x.Note) {
				c.fault("%s: a caller was told of an internal error", id)
			}
		}
	}
}

// consistent judges what clients were told, all of it.
func (c *checker) consistent() {
	for event, h := range c.events {
		id := c.eventID(event)
		fences := slices.Sorted(maps.Keys(h.claims))
		for i, f := range fences {
			g := h.claims[f]
			if h.completed != nil && g.Asked > h.completed.At {
				c.fault("%s: given again, fence %d, after its completion was acknowledged", id, f)
			}
			if i == 0 {
				continue
			}
			before := h.claims[fences[i-1]]
			if granted := g.Expires - lease.Microseconds(); !before.ending && granted < before.until {
				c.fault("%s: fence %d was given %d µs before the lease of fence %d was over", id, f, before.until-granted, before.Fence)
			}
		}
		if kindOf(event) == effectHold && len(h.performs) > 1 {
			c.fault("%s: an operation that must not be repeated was performed %d times", id, len(h.performs))
		}
		for _, p := range h.performs {
			if h.done != nil && p.Asked > h.done.At {
				c.fault("%s: an operation was performed again after its outcome was acknowledged", id)
			}
		}
	}
}

// stored looks up what has been acknowledged since the last time, or everything.
func (c *checker) stored(ctx context.Context, everything bool) error {
	var list []int64
	for event := range c.events {
		if everything || c.fresh[event] {
			list = append(list, event)
		}
	}
	for part := range slices.Chunk(list, 2000) {
		if err := c.lookUp(ctx, part); err != nil {
			return err
		}
	}
	clear(c.fresh)
	return c.lanes(ctx)
}

type storedEvent struct {
	state    int16
	fence    int64
	result   []byte
	attempts map[int64]bool
}

func (c *checker) lookUp(ctx context.Context, events []int64) error {
	var ids, effects [][16]byte
	byID := map[[16]byte]int64{}
	for _, e := range events {
		id, fx := [16]byte(c.key(e).ID()), [16]byte(c.effect(e).ID())
		ids, effects = append(ids, id), append(effects, fx)
		byID[id], byID[fx] = e, e
	}
	found := map[int64]*storedEvent{}
	var id [16]byte
	var x storedEvent
	err := c.rows(ctx, "SELECT id, state, fence, result FROM idemsvc.event WHERE bucket = ANY(SELECT get_byte(uuid_send(i), 0) FROM unnest($1::uuid[]) i) AND id = ANY($1)",
		ids, []any{&id, &x.state, &x.fence, &x.result}, func() {
			own := x
			own.attempts = map[int64]bool{x.fence: true}
			found[byID[id]] = &own
		})
	if err != nil {
		return err
	}
	var fence int64
	err = c.rows(ctx, "SELECT event, fence FROM idemsvc.attempt WHERE bucket = ANY(SELECT get_byte(uuid_send(i), 0) FROM unnest($1::uuid[]) i) AND event = ANY($1)",
		ids, []any{&id, &fence}, func() {
			if e := found[byID[id]]; e != nil {
				e.attempts[fence] = true
			}
		})
	if err != nil {
		return err
	}
	outcome := map[int64]string{}
	var state int16
	var result []byte
	err = c.rows(ctx, "SELECT id, state, result FROM idemsvc.effect WHERE bucket = ANY(SELECT get_byte(uuid_send(i), 0) FROM unnest($1::uuid[]) i) AND id = ANY($1)",
		effects, []any{&id, &state, &result}, func() {
			if idem.EffectState(state) == idem.EffectDone {
				outcome[byID[id]] = string(result)
			}
		})
	if err != nil {
		return err
	}
	for _, e := range events {
		c.compare(e, found[e], outcome)
	}
	return nil
}

func (c *checker) rows(ctx context.Context, sql string, ids [][16]byte, into []any, each func()) error {
	rows, err := c.admin.Query(ctx, sql, ids)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, func() error { each(); return nil })
	return err
}

// compare: every acknowledged claim, completion and effect is there.
func (c *checker) compare(event int64, e *storedEvent, outcome map[int64]string) {
	h, id := c.events[event], c.eventID(event)
	for fence := range h.claims {
		if e == nil || !e.attempts[fence] {
			c.fault("%s: the acknowledged claim under fence %d is not stored", id, fence)
		}
	}
	if h.completed != nil && (e == nil || idem.State(e.state) != idem.Processed || string(e.result) != h.completed.Result) {
		c.fault("%s: the acknowledged completion %q is not stored: %+v", id, h.completed.Result, e)
	}
	if got, ok := outcome[event]; h.done != nil && (!ok || got != h.done.Result) {
		c.fault("%s: the acknowledged outcome %q is not stored: %q", id, h.done.Result, got)
	}
}

// lanes: no lane belongs to a claim that is over.
func (c *checker) lanes(ctx context.Context) error {
	var orphans int
	err := c.admin.QueryRow(ctx, `SELECT count(*)::int FROM idemsvc.resource r LEFT JOIN idemsvc.event e ON e.bucket = get_byte(uuid_send(r.owner), 0) AND e.id = r.owner
		WHERE r.owned AND (e.id IS NULL OR e.state NOT IN (2, 8) OR e.fence <> r.owner_fence)`).Scan(&orphans)
	if err == nil && orphans > 0 {
		c.fault("%d lanes belong to claims that are over", orphans)
	}
	return err
}
