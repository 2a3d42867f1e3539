package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

// followBlocks is how many blocks of the journal one step of the reader behind it takes.
const followBlocks = 256

// idleSteps is how many steps in a row a replica leaves out that has nothing of its own to
// read behind. One of those that it takes is for what another left that died.
const idleSteps = 3

// maxCatchUp bounds the last pause of one who waits for another replica's step.
const maxCatchUp = 256 * time.Millisecond

// errOvertaken reports a step that another replica took.
var errOvertaken = errors.New("postgres: another replica moved the cursor")

// Follow reads what was written to the journal since the last step, by whichever replica,
// and returns how many entries it read; -1 when another replica was reading them.
func (s *Store) Follow(ctx context.Context) (int64, error) { return s.follow(ctx, 0) }

// catchUp reads all that was written before it was called. Where another replica is reading
// just now, that one may have begun before: what it leaves is read after it.
func (s *Store) catchUp(ctx context.Context) error {
	for wait := time.Millisecond; ; wait *= 2 {
		n, err := s.Follow(ctx)
		if err != nil || n >= 0 || wait > maxCatchUp {
			return err // beyond that the lag tells
		}
		pause(ctx, wait)
	}
}

// reading is a step of the reader behind the journal, to be taken again and again with the
// given pause.
func (s *Store) reading(pause time.Duration) func(context.Context) error {
	left := 0
	return func(ctx context.Context) error {
		if !s.wrote.Swap(false) && left < idleSteps {
			left++
			return nil
		}
		left = 0
		n, err := s.follow(ctx, pause/2)
		if n < 0 || err != nil {
			s.wrote.Store(true) // what this replica wrote may be unread
		}
		return err
	}
}

// follow leaves a cursor that another replica moved less than fresh ago to that one, as if
// that were reading still. One that does is in no hurry.
func (s *Store) follow(ctx context.Context, fresh time.Duration) (int64, error) {
	var total int64
	patient := fresh > 0
	for {
		f := &following{s: s, patient: patient}
		more, err := f.read(ctx, fresh)
		switch {
		case err != nil:
			return total, err
		case f.old == "": // left to another replica
			return -1, nil
		}
		switch err := f.write(ctx); {
		case errors.Is(err, errOvertaken):
			if total == 0 {
				total = -1
			}
			return total, nil
		case err != nil:
			return total, err
		}
		total += int64(len(f.entries))
		if !more {
			return total, nil
		}
		fresh = 0
	}
}

// following is one step of the reader behind the journal: it reads blocks in one round
// trip, and in a second one writes what they mean, on condition that nobody else has moved
// the cursor in the meantime.
type following struct {
	s        *Store
	patient  bool   // it makes room for others while it writes
	old, new string // snapshots
	entries  []journaled
}

// found is one block of the journal.
type found struct {
	behind      bool // of a transaction that ran while the cursor was made
	xid         int64
	at          time.Time
	heads, body []byte
}

// read reads the next blocks and reports whether there are more.
func (f *following) read(ctx context.Context, fresh time.Duration) (more bool, err error) {
	var base int64
	var blocks []found
	b := &pgx.Batch{}
	f.s.settings(b)
	b.Queue(sqlFollowRead, fresh.Microseconds(), followBlocks).Query(func(rows pgx.Rows) error {
		var behind *bool
		var xid *int64
		var at *time.Time
		var heads, body []byte
		_, err := pgx.ForEachRow(rows, []any{&f.old, &f.new, &base, &behind, &xid, &at, &heads, &body}, func() error {
			if xid != nil {
				blocks = append(blocks, found{*behind, *xid, *at, slices.Clone(heads), slices.Clone(body)})
			}
			return nil
		})
		return err
	})
	if err := f.s.send(ctx, b); err != nil {
		return false, err
	}
	if more, err = f.cut(blocks, base); err != nil {
		return false, err
	}
	for _, k := range blocks {
		list, err := readBlock(idem.InstantOf(k.at), k.heads, k.body)
		if err != nil { // it stays in the journal; whoever verifies that will say more
			f.s.log.ErrorContext(ctx, "a block of the journal cannot be read: its events are not to be found by value", "xid", k.xid, "error", err)
			continue
		}
		f.entries = append(f.entries, list...)
	}
	return more, nil
}

// cut makes the new cursor of a full step the snapshot as of its last transaction, all of
// which has been read.
func (f *following) cut(blocks []found, base int64) (more bool, err error) {
	ahead, last := 0, int64(0)
	for _, k := range blocks {
		if !k.behind {
			ahead++
			last = max(last, k.xid)
		}
	}
	if ahead < followBlocks {
		return false, nil
	}
	f.new, err = snapshotBelow(f.new, last-base+1)
	return true, err
}

// snapshotBelow is what a snapshot says of the transactions below an ID.
func snapshotBelow(snapshot string, xid int64) (string, error) {
	parts := strings.Split(snapshot, ":")
	if len(parts) != 3 {
		return "", fmt.Errorf("postgres: %q is not a snapshot", snapshot)
	}
	low := xid
	var running []string
	for x := range strings.SplitSeq(parts[2], ",") {
		n, err := strconv.ParseInt(x, 10, 64)
		if err == nil && n < xid {
			running = append(running, x)
			low = min(low, n)
		}
	}
	return fmt.Sprintf("%d:%d:%s", low, xid, strings.Join(running, ",")), nil
}

// settings steers the planner where the connection has not been set up for it.
func (s *Store) settings(b *pgx.Batch) {
	if !s.tuned {
		b.Queue(sqlBegin).Exec(nothing)
	}
}

// refill starts the reader behind the journal anew on another cluster, and fills in what it
// may not have read on the one before.
func refill(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT set_config('idemsvc.follow', 'on', true)"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlRefill); err != nil {
		return err
	}
	for {
		rows, err := tx.Query(ctx, "FETCH 256 FROM idemsvc_refill")
		if err != nil {
			return err
		}
		var entries []journaled
		n := 0
		var at time.Time
		var heads, body []byte
		_, err = pgx.ForEachRow(rows, []any{&at, &heads, &body}, func() error {
			n++
			list, err := readBlock(idem.InstantOf(at), heads, body)
			if err == nil {
				entries = append(entries, list...)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		b := &pgx.Batch{}
		lookups := lookupsOf(entries)
		lookups.queue(b)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, sqlMoved)
	return err
}
