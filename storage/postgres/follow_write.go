package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// sliceRows is how many rows a reader that is in no hurry writes at once: some milliseconds'
// worth. Behind a quarter of a second of a busy service there are thousands, and whoever claims
// meanwhile would feel all of them.
const sliceRows = 128

// write moves the cursor and writes what the entries mean. Where that is much, a reader that is
// in no hurry writes most of it before, in slices, with as long a pause after each as it took.
// A slice that is written again, since its reader died or was overtaken, changes nothing but
// that its events are in the look-up index twice.
func (f *following) write(ctx context.Context) error {
	looked, over, open := lookupsOf(f.entries), overCols{}, openCols{}
	f.sort(&over, &open)
	listed, some := open.id, open.some
	for f.patient && len(looked.id)+len(open.id) > sliceRows {
		began := time.Now()
		err := f.behind(ctx, sqlFollowHold, []any{f.old}, func(b *pgx.Batch) {
			n := min(len(looked.id), sliceRows)
			looked.take(n).queue(b)
			open.take(min(len(open.id), sliceRows-n)).queue(b)
		})
		if err != nil {
			return err
		}
		pause(ctx, time.Since(began))
	}
	return f.behind(ctx, sqlFollowMove, []any{f.old, f.new}, func(b *pgx.Batch) {
		looked.queue(b)
		over.queue(b)
		open.queue(b)
		lanes, freed := f.lanes()
		if len(lanes) > 0 {
			b.Queue(sqlFollowLanes, lanes, freed).Exec(nothing)
		}
		if len(lanes) > 0 || some {
			b.Queue(sqlFollowNotify, listed, lanes).Exec(nothing)
		}
	})
}

// behind writes behind a statement about the cursor, which finds it only where it was read: all
// others write nothing if it does not.
func (f *following) behind(ctx context.Context, cursor string, args []any, write func(*pgx.Batch)) error {
	ours := false
	b := &pgx.Batch{}
	f.s.settings(b)
	b.Queue(cursor, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			ours = true
		}
		return rows.Err()
	})
	write(b)
	if err := f.s.send(ctx, b); err != nil {
		return err
	}
	if !ours {
		return errOvertaken
	}
	return nil
}

// sort finds which events are over, and which are in the list of unfinished work, or are to
// enter it.
func (f *following) sort(over *overCols, open *openCols) {
	last := map[idem.ID]*journaled{}
	fresh := map[idem.ID]bool{} // begun in this step: not in the list yet
	typ := map[idem.ID]string{}
	for i := range f.entries {
		n := &f.entries[i]
		if n.subject != idem.OnEvent || n.kind == idem.EntryLateReport { // which changes nothing
			continue
		}
		fresh[n.id] = fresh[n.id] || n.seq == 1
		if n.typ != "" {
			typ[n.id] = n.typ
		}
		if l := last[n.id]; l == nil || l.before(n) {
			last[n.id] = n
		}
	}
	for id, n := range last {
		switch {
		case !isOver(n):
			open.add(id, n, typ[id])
		case !fresh[id]:
			over.id, over.seq = append(over.id, id), append(over.seq, n.seq)
		}
	}
}

// before reports whether an entry comes before another one about the same record. A record
// that is made again after it was forgotten counts its versions anew.
func (n *journaled) before(o *journaled) bool {
	if n.kind == idem.EntryForgotten || o.kind == idem.EntryForgotten {
		return n.at < o.at
	}
	return n.seq < o.seq
}

// isOver reports whether an event is over for good: processed, ignored, or closed by an
// operator. One whose replay failed is what it was before, and somebody should know.
func isOver(n *journaled) bool {
	switch n.to {
	case idem.Absent:
		return true
	case idem.Processed:
		return !failed(n.kind) && n.kind != idem.EntryIgnored
	case idem.IgnoredStale, idem.IgnoredSelf:
		return !failed(n.kind)
	default:
		return n.kind == idem.EntryResolved && n.to == idem.FailedTerminal
	}
}

// failed reports whether an entry tells of a grant that ended without success.
func failed(k idem.EntryKind) bool {
	return k == idem.EntryFailed || k == idem.EntryExpired || k == idem.EntryDeadLettered
}

// overCols are the rows of follow_over.sql.
type overCols struct {
	id  [][16]byte
	seq []int64
}

func (c *overCols) queue(b *pgx.Batch) {
	if len(c.id) > 0 {
		b.Queue(sqlFollowOver, c.id, c.seq).Exec(nothing)
	}
}

// lookupCols are the rows of follow_lookup.sql.
type lookupCols struct {
	at   []time.Time
	term []int64
	id   [][16]byte
}

// lookupsOf are what the entries' events are to be found by, in the order of the index.
func lookupsOf(entries []journaled) (c lookupCols) {
	type row struct {
		at   idem.Instant
		term int64
		id   idem.ID
	}
	var list []row
	for i := range entries {
		n := &entries[i]
		for _, t := range n.terms {
			list = append(list, row{n.at, t, n.id})
		}
	}
	slices.SortFunc(list, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.term, y.term), cmp.Compare(string(x.id[:]), string(y.id[:])), cmp.Compare(x.at, y.at))
	})
	for _, r := range slices.Compact(list) {
		c.at, c.term, c.id = append(c.at, r.at.Time()), append(c.term, r.term), append(c.id, r.id)
	}
	return c
}

func (c *lookupCols) queue(b *pgx.Batch) {
	if len(c.id) > 0 {
		b.Queue(sqlFollowLookup, c.at, c.term, c.id).Exec(nothing)
	}
}

// take takes the first rows away.
func (c *lookupCols) take(n int) *lookupCols {
	return &lookupCols{at: cut(&c.at, n), term: cut(&c.term, n), id: cut(&c.id, n)}
}

// cut takes the first values of a list away.
func cut[T any](list *[]T, n int) []T {
	head := (*list)[:n:n]
	*list = (*list)[n:]
	return head
}
