package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

const (
	// listScan bounds the records that one page looks at. What is not asked for costs a
	// look, too: the page is then short, and says that there is more.
	listScan = 2000
	// listMinutes bounds the minutes that one statement looks at.
	listMinutes = 24 * 60
)

// place is an event in a list, before its record has been read.
type place struct {
	storage.Cursor
	since idem.Instant // of the list of unfinished work, else zero
}

// List implements [storage.Reader]. First the places are read from a narrow table by their
// order, then the records by their IDs.
func (s *Store) List(ctx context.Context, q storage.ListQuery) (storage.Listed, error) {
	var out storage.Listed
	if q.Limit < 1 || q.Limit > storage.MaxListed {
		q.Limit = storage.MaxListed
	}
	// What has just happened is to be found, as by Lookup.
	if err := s.catchUp(ctx); err != nil {
		return out, outside(err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		return out, err
	}
	next, err := s.walk(&q)
	if err != nil {
		return out, err
	}
	out.Now, out.Lag, out.Next, out.More = info.Now, info.Lag, q.After, true
	for scanned := 0; out.More && scanned < listScan && len(out.Views) < q.Limit; {
		list, more, err := next(ctx, out.Next)
		if err != nil {
			return out, err
		}
		scanned += max(len(list), 1)
		if err := s.listed(ctx, &q, list, info.Now, &out); err != nil {
			return out, err
		}
		if len(out.Views) < q.Limit {
			out.Next, out.More = more.at, more.more
		}
	}
	return out, nil
}

// further says where a list goes on, and whether it does.
type further struct {
	at   storage.Cursor
	more bool
}

// stretch reads the next places of a list behind one.
type stretch func(ctx context.Context, after storage.Cursor) ([]place, further, error)

// walk is the way through the table that serves the query.
func (s *Store) walk(q *storage.ListQuery) (stretch, error) {
	switch q.Way() {
	case storage.ByTerm:
		return s.walkTerm(q), nil
	case storage.ByUnfinished:
		return s.walkUnfinished(q), nil
	case storage.ByFirstSeenAt:
		return s.walkMinutes(q), nil
	default:
		return nil, errors.New("postgres: no index serves this list")
	}
}

func (s *Store) walkUnfinished(q *storage.ListQuery) stretch {
	scanned, over := q.Scanned()
	states := make([]int16, len(scanned))
	for i, st := range scanned {
		states[i] = int16(st)
	}
	return func(ctx context.Context, after storage.Cursor) ([]place, further, error) {
		sql, args := sqlListUnfinished, []any{states, q.Namespace, time.UnixMicro(int64(after.At)), [16]byte(after.ID), storage.MaxListed, over}
		if q.Consumer != "" {
			sql, args = sqlListUnfinishedOfConsumer, append(args, q.Consumer)
		}
		var list []place
		var since time.Time
		var id [16]byte
		err := s.ask(ctx, sql, args, []any{&since, &id}, func() {
			at := idem.InstantOf(since)
			list = append(list, place{storage.Cursor{At: at, ID: id}, at})
		})
		return list, goesOn(list, after), err
	}
}

func (s *Store) walkTerm(q *storage.ListQuery) stretch {
	term := idem.Term(q.Namespace, q.Correlation)
	if q.Correlation == "" {
		term = idem.Term(q.Namespace, q.ResourceType, q.ResourceID)
	}
	return func(ctx context.Context, after storage.Cursor) ([]place, further, error) {
		// An event can be there more than once: the stretch ends where the rows end.
		var list []place
		var id [16]byte
		err := s.ask(ctx, sqlListTerm, []any{term, [16]byte(after.ID), storage.MaxListed}, []any{&id}, func() {
			list = append(list, place{Cursor: storage.Cursor{ID: id}})
		})
		f := goesOn(list, after)
		f.more = len(list) > 0
		return list, f, err
	}
}

// goesOn says where a list goes on that was read in full stretches.
func goesOn(list []place, after storage.Cursor) further {
	if len(list) == 0 {
		return further{after, false}
	}
	return further{list[len(list)-1].Cursor, len(list) == storage.MaxListed}
}

// walkMinutes looks at a few minutes first, and at ever more while it finds little.
func (s *Store) walkMinutes(q *storage.ListQuery) stretch {
	chunk := 15
	return func(ctx context.Context, after storage.Cursor) ([]place, further, error) {
		minute := max(storage.FirstSeenMinute(q.From), after.At)
		var terms []int64
		var at []time.Time
		for m := minute; m < q.Until && len(terms) < chunk; m = m.Add(time.Minute) {
			terms, at = append(terms, storage.FirstSeenTerm(q.Namespace, m)), append(at, m.Time())
		}
		if len(terms) == 0 {
			return nil, further{after, false}, nil
		}
		behind := idem.ID{}
		if minute == after.At {
			behind = after.ID
		}
		var list []place
		var n int64
		var id [16]byte
		err := s.ask(ctx, sqlListMinutes, []any{terms, at, [16]byte(behind), storage.MaxListed}, []any{&n, &id}, func() {
			list = append(list, place{Cursor: storage.Cursor{At: minute.Add(time.Duration(n-1) * time.Minute), ID: id}})
		})
		chunk = min(4*chunk, listMinutes)
		if len(list) == storage.MaxListed {
			return list, further{list[len(list)-1].Cursor, true}, err
		}
		end := minute.Add(time.Duration(len(terms)) * time.Minute)
		return list, further{storage.Cursor{At: end}, end < q.Until}, err
	}
}

// ask reads the rows of one statement under the settings of every batch.
func (s *Store) ask(ctx context.Context, sql string, args, into []any, each func()) error {
	b := &pgx.Batch{}
	s.settings(b)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, into, func() error { each(); return nil })
		return err
	})
	return outside(s.send(ctx, b))
}

// listed reads the records of places and adds what is asked for. It stops when the page is
// full, and then says where.
func (s *Store) listed(ctx context.Context, q *storage.ListQuery, places []place, now idem.Instant, out *storage.Listed) error {
	if len(places) == 0 {
		return nil
	}
	records, damaged, err := s.records(ctx, places)
	if err != nil {
		return err
	}
	var events []*idem.Event
	var kept []place
	for _, p := range places {
		e := records[p.ID]
		if e == nil {
			continue // purged, or a side effect that was begun without an event
		}
		policy := s.policies(e.Key, e.Facts.Type)
		v := storage.View{Event: idem.Settled(e, now, policy), Now: now, Since: p.since, Damaged: damaged[p.ID]}
		if !q.Matches(&v, policy) {
			continue
		}
		events, kept = append(events, e), append(kept, p)
		if len(out.Views)+len(events) == q.Limit {
			out.Next, out.More = p.Cursor, true
			break
		}
	}
	views, err := s.views(ctx, events, now)
	if err != nil {
		return err
	}
	for i, v := range views {
		v.Since, v.Damaged = kept[i].since, v.Damaged || damaged[kept[i].ID]
		out.Views, out.Cursors = append(out.Views, v), append(out.Cursors, kept[i].Cursor)
	}
	return nil
}

// records reads event records. Of one that cannot be read, what can be is returned, and
// that it is damaged.
func (s *Store) records(ctx context.Context, places []place) (map[idem.ID]*idem.Event, map[idem.ID]bool, error) {
	bucket, id := make([]int16, len(places)), make([][16]byte, len(places))
	for i, p := range places {
		bucket[i], id[i] = p.ID.Bucket(), p.ID
	}
	ep := s.epochNow()
	found, damaged := map[idem.ID]*idem.Event{}, map[idem.ID]bool{}
	b := &pgx.Batch{}
	s.settings(b)
	b.Queue(sqlReadEvents, bucket, id).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			e, err := scanEvent(rows, ep)
			if e == nil {
				return err
			}
			if err != nil {
				s.log.ErrorContext(ctx, "a stored event cannot be read", "event", e.ID(), "error", err)
				damaged[e.ID()] = true
			}
			found[e.ID()] = e
		}
		return rows.Err()
	})
	return found, damaged, outside(s.send(ctx, b))
}
