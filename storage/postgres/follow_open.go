package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// lanes are the resources of which something has happened, and whether that is something
// which others may have waited for.
func (f *following) lanes() (ids [][16]byte, freed []bool) {
	touched := map[idem.ID]bool{}
	for i := range f.entries {
		n := &f.entries[i]
		moves := n.moves()
		if !n.lane.IsZero() {
			touched[n.lane] = touched[n.lane] || moves
		}
		for _, r := range n.resources {
			touched[r] = touched[r] || moves
		}
		if n.subject == idem.OnResource {
			touched[n.id] = true
		}
	}
	for id, moves := range touched {
		ids, freed = append(ids, id), append(freed, moves)
	}
	return ids, freed
}

// moves reports whether an entry may let others about the same resource go on: everything
// but an arrival, and a claim.
func (n *journaled) moves() bool {
	switch n.kind {
	case idem.EntryReceived, idem.EntryWaiting, idem.EntryClaimed, idem.EntryReentered, idem.EntryLateReport:
		return false
	default:
		return true
	}
}

// blockedPause is how long an event that was found to wait for something is left alone,
// unless that happens before.
const blockedPause = 5 * time.Second

// openCols are the rows of follow_open.sql.
type openCols struct {
	id                   [][16]byte
	seq                  []int64
	state                []int16
	at                   []time.Time
	due, ready, blocked  []*time.Time
	lane                 []*[16]byte
	rankEpoch, rankValue []int64
	typ                  []*string // nil: as it is known already

	some bool // at least one could be granted, now or later
}

func (c *openCols) add(id idem.ID, n *journaled, typ string) {
	var ready, blocked idem.Instant
	if n.to == idem.Received || n.to == idem.FailedRetryable {
		ready = n.due
		c.some = true
	}
	if n.kind == idem.EntryWaiting {
		blocked = n.at.Add(blockedPause)
	}
	c.id = append(c.id, id)
	c.seq = append(c.seq, n.seq)
	c.state = append(c.state, int16(n.to))
	c.at = append(c.at, n.at.Time())
	c.due = append(c.due, nullTime(n.due))
	c.ready = append(c.ready, nullTime(ready))
	c.blocked = append(c.blocked, nullTime(blocked))
	c.lane = append(c.lane, nullID(n.lane))
	c.rankEpoch = append(c.rankEpoch, n.rankEpoch)
	c.rankValue = append(c.rankValue, n.rankValue)
	c.typ = append(c.typ, nullText(typ))
}

func (c *openCols) queue(b *pgx.Batch) {
	if len(c.id) > 0 {
		b.Queue(sqlFollowOpen, c.id, c.seq, c.state, c.at, c.due, c.ready, c.blocked, c.lane, c.rankEpoch, c.rankValue, c.typ).Exec(nothing)
	}
}

// take takes the first rows away.
func (c *openCols) take(n int) *openCols {
	return &openCols{
		id: cut(&c.id, n), seq: cut(&c.seq, n), state: cut(&c.state, n), at: cut(&c.at, n), due: cut(&c.due, n), ready: cut(&c.ready, n),
		blocked: cut(&c.blocked, n), lane: cut(&c.lane, n), rankEpoch: cut(&c.rankEpoch, n), rankValue: cut(&c.rankValue, n), typ: cut(&c.typ, n),
	}
}
