package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// forgotten is a record that is to be removed, and the journal's entry of it.
type forgotten struct {
	id      idem.ID
	version int64
	keep    time.Duration // since its end; tested again by the statement that removes it
	term    int64         // of a resource: what its events are found by
	entry   idem.Entry
}

// forget removes records by a statement, a few at a time. A record that cannot be removed
// is told of and left, and its neighbours go.
func (r *retaining) forget(ctx context.Context, sql string, list []forgotten, more func(list []forgotten) []any) (gone int64, err error) {
	for part := range slices.Chunk(list, retainRows) {
		n, err := r.remove(ctx, sql, part, more)
		gone += n
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

func (r *retaining) remove(ctx context.Context, sql string, list []forgotten, more func(list []forgotten) []any) (int64, error) {
	id, version, keep := make([][16]byte, len(list)), make([]int64, len(list)), make([]int64, len(list))
	block := newBlock()
	for i, f := range list {
		id[i], version[i], keep[i] = f.id, f.version, f.keep.Microseconds()
		block.add(&idem.Decision{Entries: []idem.Entry{f.entry}})
	}
	args := []any{id, version, keep, block.out()}
	if more != nil {
		args = append(args, more(list)...)
	}
	var n int64
	b := &pgx.Batch{}
	r.s.settings(b)
	b.Queue(sql, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	err := r.send(ctx, b)
	switch {
	case err == nil || classify(err) != classData:
		return n, outside(err)
	case len(list) == 1:
		r.s.log.ErrorContext(ctx, "a record past its retention cannot be removed", "id", list[0].id, "error", err)
		return 0, nil
	}
	half := len(list) / 2
	a, err := r.remove(ctx, sql, list[:half], more)
	if err != nil {
		return a, err
	}
	c, err := r.remove(ctx, sql, list[half:], more)
	return a + c, err
}

// found reads a stretch of a table.
func (r *retaining) found(ctx context.Context, sql, from, to string, shortest time.Duration, scan func(pgx.Rows) error) error {
	b := &pgx.Batch{}
	r.s.settings(b)
	b.Queue(sql, from, to, shortest.Microseconds()).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return outside(r.send(ctx, b))
}

func (r *retaining) events(ctx context.Context, from, to string, shortest time.Duration, gone *storage.Retention) error {
	var list []forgotten
	var payloads [][16]byte
	longest, _ := r.payloadsApart()
	err := r.found(ctx, sqlRetainEvents, from, to, shortest, func(rows pgx.Rows) error {
		e, err := scanFinished(rows)
		if err != nil && e == nil {
			return err
		}
		if err != nil { // one bad row stops nothing
			r.s.log.ErrorContext(ctx, "a stored event cannot be read and is kept", "event", e.ID(), "error", err)
			return nil
		}
		p := r.s.policyOfEvent(e)
		if longest != 0 && p.KeepPayloads < longest && e.Facts.PayloadSize > 0 && p.ForgetsPayload(e, r.now) {
			payloads = append(payloads, e.Key.EventRef.ID())
		}
		if p.ForgetsEvent(e, r.now) {
			list = append(list, forgotten{id: e.ID(), version: e.Version, keep: p.KeepEvents, entry: idem.Entry{
				Kind: idem.EntryForgotten, Subject: idem.OnEvent, ID: e.ID(), Seq: e.Version + 1, From: e.State, Policy: p.Version,
			}})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(payloads, retainRows) {
		var n int64
		b := &pgx.Batch{}
		r.s.settings(b)
		b.Queue(sqlForgetPayloads, part).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		if err := r.send(ctx, b); err != nil {
			return outside(err)
		}
		gone.Payloads += n
	}
	gone.Events, err = r.forget(ctx, sqlForgetEvents, list, nil)
	return err
}

// scanFinished reads what the rules look at of an event that may be forgotten. With an
// error and a record, the row is there and cannot be read.
func scanFinished(rows pgx.Rows) (*idem.Event, error) {
	var e idem.Event
	var id [16]byte
	var created time.Time
	var granted, ended *time.Time
	var state int16
	var facts, detail []byte
	err := rows.Scan(&id, &e.Key.Namespace, &e.Key.Consumer, &e.Key.Source, &e.Key.EventID, &facts, &e.Version, &e.Fence, &created, &granted, &ended, &state, &detail)
	if err != nil {
		return nil, err
	}
	e.Identify(id)
	e.CreatedAt, e.GrantedAt, e.EndedAt = idem.InstantOf(created), instant(granted), instant(ended)
	e.State = idem.State(state) //nolint:gosec // a checked column
	if err := decodeFacts(facts, &e.Facts); err != nil {
		return &e, err
	}
	return &e, decodeDetail(detail, &e)
}

func (r *retaining) effects(ctx context.Context, from, to string, shortest time.Duration, gone *storage.Retention) error {
	var list []forgotten
	err := r.found(ctx, sqlRetainEffects, from, to, shortest, func(rows pgx.Rows) error {
		var f idem.Effect
		var id [16]byte
		var scope, state int16
		var since time.Time
		if err := rows.Scan(&id, &f.Key.Namespace, &scope, &f.Key.Consumer, &f.Key.Key, &f.Version, &state, &since); err != nil {
			return err
		}
		f.Key.Scope, f.State, f.Since = idem.Scope(scope), idem.EffectState(state), idem.InstantOf(since) //nolint:gosec // checked columns
		p := r.s.policies(idem.EventKey{EventRef: idem.EventRef{Namespace: f.Key.Namespace}, Consumer: f.Key.Consumer}, "")
		if p.ForgetsEffect(&f, r.now) {
			list = append(list, forgotten{id: id, version: f.Version, keep: p.KeepEffects, entry: idem.Entry{
				Kind: idem.EntryForgotten, Subject: idem.OnEffect, ID: id, Seq: f.Version + 1, Policy: p.Version,
			}})
		}
		return nil
	})
	if err == nil {
		gone.Effects, err = r.forget(ctx, sqlForgetEffects, list, nil)
	}
	return err
}

func (r *retaining) resources(ctx context.Context, from, to string, shortest time.Duration, gone *storage.Retention) error {
	var list []forgotten
	err := r.found(ctx, sqlRetainResources, from, to, shortest, func(rows pgx.Rows) error {
		var x idem.Resource
		var id [16]byte
		var changed time.Time
		if err := rows.Scan(&id, &x.Key.Namespace, &x.Key.Consumer, &x.Key.Type, &x.Key.Name, &x.Version, &changed); err != nil {
			return err
		}
		p := r.s.policies(idem.EventKey{EventRef: idem.EventRef{Namespace: x.Key.Namespace}, Consumer: x.Key.Consumer}, "")
		if p.ForgetsResource(&x, idem.InstantOf(changed), r.now) {
			list = append(list, forgotten{
				id: id, version: x.Version, keep: p.KeepVersions, term: idem.Term(x.Key.Namespace, x.Key.Type, x.Key.Name),
				entry: idem.Entry{Kind: idem.EntryForgotten, Subject: idem.OnResource, ID: id, Seq: x.Version + 1, Policy: p.Version},
			})
		}
		return nil
	})
	if err == nil {
		gone.Resources, err = r.forget(ctx, sqlForgetResources, list, func(list []forgotten) []any {
			terms := make([]int64, len(list))
			for i := range list {
				terms[i] = list[i].term
			}
			return []any{terms}
		})
	}
	return err
}
