package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// How what is past its retention is looked for. The tables are read a stretch at a time in
// the order in which rows lie: that needs no index, which every claim would have to keep up.
const (
	retainBlocks  = 32                    // of a stretch: a quarter of a megabyte
	retainRows    = 250                   // removed by one statement at most
	retainShare   = 50                    // one part in so many of the time is spent; the rest is rest …
	retainHurry   = 5                     // … or in so many, when it is behind:
	retainBehind  = 24 * time.Hour        // when the last look through everything is as long ago
	retainPause   = 50 * time.Millisecond // at least, between two steps
	retainRest    = 30 * time.Second      // at most
	retainWatch   = 20 * time.Second      // how often others look whether the leader is gone
	retainTimeout = time.Minute           // of one statement
)

// retainPlace is what is looked through, one after the other.
type retainPlace int16

const (
	placeEvents retainPlace = iota
	placeEffects
	placeResources
	placePartitions
	placeEnd
)

// tables are what is read a stretch at a time.
var retainTables = [...]string{placeEvents: "idemsvc.event", placeEffects: "idemsvc.effect", placeResources: "idemsvc.resource"}

// retaining is one replica's part in it.
type retaining struct {
	s  *Store
	id [16]byte

	place    retainPlace
	block    int64
	passedAt idem.Instant
	now      idem.Instant
}

// retain looks for what is past its retention for as long as the store lives, whenever it
// is the one that does, one part in fifty of the time.
func (s *Store) retain(ctx context.Context, between time.Duration) {
	r := newRetaining(s)
	wait := retainPause
	for {
		pause(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		leads, err := r.lead(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil && !leads:
			wait = retainWatch
		case err == nil && r.fresh() && r.passedAt != 0 && r.now.Sub(r.passedAt) < between:
			wait = min(between-r.now.Sub(r.passedAt), retainWatch) // the lease must not run out
		default:
			if err == nil {
				err = r.step(ctx)
			}
			wait = min(max(retainPause, (r.share()-1)*time.Since(began)), retainRest)
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "a background step failed and is tried again", "step", "retention", "error", err)
			wait = retainRest
		}
	}
}

func newRetaining(s *Store) *retaining {
	r := &retaining{s: s}
	_, _ = rand.Read(r.id[:]) // never fails
	return r
}

// Retain looks once through all that is stored, without rest, and removes what is past its
// retention. It returns false where another replica is doing so.
func (s *Store) Retain(ctx context.Context) (bool, error) {
	r := newRetaining(s)
	if leads, err := r.lead(ctx); err != nil || !leads {
		return false, err
	}
	r.place, r.block = placeEvents, 0
	for {
		if err := r.step(ctx); err != nil {
			return true, err
		}
		if r.fresh() {
			_, err := s.pool.Exec(ctx, "UPDATE idemsvc.retention SET lease_until = '-infinity' WHERE holder = $1", r.id)
			return true, outside(err)
		}
	}
}

// share is the part of the time that is spent: one in so many.
func (r *retaining) share() time.Duration {
	if r.passedAt != 0 && r.now.Sub(r.passedAt) > retainBehind {
		return retainHurry
	}
	return retainShare
}

// fresh reports whether a pass is about to begin.
func (r *retaining) fresh() bool { return r.place == placeEvents && r.block == 0 }

// lead takes the lead, or keeps it, and reads how far the work has come.
func (r *retaining) lead(ctx context.Context) (bool, error) {
	var place int16
	var passed *time.Time
	var now time.Time
	leads := false
	b := &pgx.Batch{}
	r.s.settings(b)
	b.Queue(sqlRetainLead, r.id).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&place, &r.block, &passed, &now}, func() error {
			leads = true
			return nil
		})
		return err
	})
	if err := r.send(ctx, b); err != nil {
		return false, err
	}
	r.place, r.passedAt, r.now = retainPlace(place), instant(passed), idem.InstantOf(now)
	return leads, nil
}

func (r *retaining) send(ctx context.Context, b *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, retainTimeout)
	defer cancel()
	return r.s.send(ctx, b)
}

// step looks through the next stretch, or at the next partition, and writes down how far it
// came.
func (r *retaining) step(ctx context.Context) error {
	var gone storage.Retention
	next, err := r.look(ctx, &gone)
	if err != nil {
		return err
	}
	ended := next && r.place+1 == placeEnd
	switch {
	case ended:
		r.place, r.block = placeEvents, 0
	case next:
		r.place, r.block = r.place+1, 0
	}
	b := &pgx.Batch{}
	r.s.settings(b)
	b.Queue(sqlRetainSave, r.id, int16(r.place), r.block, ended, gone.Events, gone.Effects, gone.Resources, gone.Payloads, gone.Partitions).Exec(nothing)
	return r.send(ctx, b)
}

// look does the work of a step, and reports whether this place is done.
func (r *retaining) look(ctx context.Context, gone *storage.Retention) (next bool, err error) {
	if r.place == placePartitions {
		n, err := r.retire(ctx)
		gone.Partitions = n
		return n == 0, err
	}
	shortest, some := r.shortest()
	if !some {
		return true, nil
	}
	var blocks int64
	if err := r.s.pool.QueryRow(ctx, sqlRetainSize, retainTables[r.place]).Scan(&blocks); err != nil {
		return false, outside(err)
	}
	end := min(r.block+retainBlocks, blocks)
	if r.block < end {
		from, to := fmt.Sprintf("(%d,0)", r.block), fmt.Sprintf("(%d,0)", end)
		switch r.place {
		case placeEvents:
			err = r.events(ctx, from, to, shortest, gone)
		case placeEffects:
			err = r.effects(ctx, from, to, shortest, gone)
		default:
			err = r.resources(ctx, from, to, shortest, gone)
		}
	}
	r.block = end
	return end == blocks, err
}

// shortest is the least time that anything of this place is kept. A store that has a policy
// function of its own looks at everything.
func (r *retaining) shortest() (time.Duration, bool) {
	if r.s.ownPolicies {
		return 0, true
	}
	book := r.s.book.book.Load()
	switch r.place {
	case placeEvents:
		short, some := book.Shortest(keepEvents)
		if longest, p := r.payloadsApart(); longest != 0 && p < short {
			short, some = p, true
		}
		return short, some
	case placeEffects:
		return book.Shortest(func(p *idem.Policy) time.Duration { return p.KeepEffects })
	default:
		return book.Shortest(func(p *idem.Policy) time.Duration { return p.KeepVersions })
	}
}

func keepEvents(p *idem.Policy) time.Duration   { return p.KeepEvents }
func keepPayloads(p *idem.Policy) time.Duration { return p.KeepPayloads }

// payloadsApart tells how long payloads are kept at the longest and at the least, where
// that differs: those that are kept shorter than their partition are removed one by one.
// Longest is 0 where they do not differ.
func (r *retaining) payloadsApart() (longest, shortest time.Duration) {
	if r.s.ownPolicies {
		return 1 << 62, 0
	}
	book := r.s.book.book.Load()
	shortest, some := book.Shortest(keepPayloads)
	if longest = book.Longest(keepPayloads); longest == 0 && some {
		longest = 1 << 62 // some are kept for ever
	}
	if !some || longest == shortest {
		return 0, 0
	}
	return longest, shortest
}

// retire drops a partition that is past every retention, and returns how many it dropped.
// A store that has a policy function of its own does not know how long that is.
func (r *retaining) retire(ctx context.Context) (int64, error) {
	if r.s.ownPolicies {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*retainTimeout)
	defer cancel()
	book := r.s.book.book.Load()
	events, payloads := book.Longest(keepEvents), book.Longest(keepPayloads)
	for _, t := range []struct {
		parent string
		keep   time.Duration
	}{{"payload", payloads}, {"delivery", events}, {"lookup", events}, {"journal", events}} {
		if t.keep == 0 {
			continue
		}
		var n int64
		err := r.s.pool.QueryRow(ctx, "SELECT idemsvc.retire($1, clock_timestamp() - $2::bigint * interval '1 microsecond')", t.parent, t.keep.Microseconds()).Scan(&n)
		if err != nil {
			return 0, outside(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	if events != 0 {
		_, err := r.s.pool.Exec(ctx, "DELETE FROM idemsvc.rejected r WHERE r.minute < clock_timestamp() - $1::bigint * interval '1 microsecond'", events.Microseconds())
		return 0, outside(err)
	}
	return 0, nil
}
