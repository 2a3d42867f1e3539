package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// maxViews bounds how many event records one question can bring.
const maxViews = 1000

// Events implements [storage.Reader].
func (s *Store) Events(ctx context.Context, namespace, source, eventID string) (storage.Found, error) {
	if source == "" {
		return s.Lookup(ctx, storage.Query{Namespace: namespace, Kind: storage.ByEventID, Value: eventID})
	}
	ref := idem.EventRef{Namespace: namespace, Source: source, EventID: eventID}
	low, high := ref.Range()
	return s.find(ctx, maxViews, nil, sqlFindRef, low.Bucket(), [16]byte(low), [16]byte(high), namespace, source, eventID, maxViews+1)
}

// Facts implements [storage.Reader].
func (s *Store) Facts(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef]*idem.Facts, error) {
	out := make(map[idem.EventRef]*idem.Facts, len(refs))
	var low, high [][16]byte
	var namespace, source, eventID []string
	for _, ref := range refs {
		if _, twice := out[ref]; twice {
			continue
		}
		out[ref] = nil
		l, h := ref.Range()
		low, high = append(low, l), append(high, h)
		namespace, source, eventID = append(namespace, ref.Namespace), append(source, ref.Source), append(eventID, ref.EventID)
	}
	rows, err := s.pool.Query(ctx, sqlFindFacts, low, high, namespace, source, eventID)
	if err != nil {
		return nil, outside(err)
	}
	var ref idem.EventRef
	var stored []byte
	_, err = pgx.ForEachRow(rows, []any{&ref.Namespace, &ref.Source, &ref.EventID, &stored}, func() error {
		out[ref] = &idem.Facts{}
		return decodeFacts(stored, out[ref])
	})
	if err != nil {
		return nil, outside(err)
	}
	maps.DeleteFunc(out, func(_ idem.EventRef, f *idem.Facts) bool { return f == nil })
	return out, nil
}

// Lookup implements [storage.Reader].
func (s *Store) Lookup(ctx context.Context, q storage.Query) (storage.Found, error) {
	limit := q.Limit
	if limit <= 0 || limit > maxViews {
		limit = maxViews
	}
	term := idem.Term(q.Namespace, q.Value)
	switch q.Kind {
	case storage.ByResource:
		term = idem.Term(q.Namespace, q.Value, q.Name)
	case storage.ByCause:
		term = causeTerm(q.Namespace, q.Value, q.Name)
	default:
	}
	// What has just happened is to be found: the reader behind the journal takes a step now.
	// The answer says how far behind it is.
	if err := s.catchUp(ctx); err != nil {
		return storage.Found{}, outside(err)
	}
	match := func(v *storage.View) bool { return v.Event.Key.Namespace == q.Namespace && matches(v, q) }
	return s.find(ctx, limit, match, sqlFindTerm, term, limit+1)
}

// matches compares the value itself: the index knows only its hash, and all kinds share
// one space.
func matches(v *storage.View, q storage.Query) bool {
	e := v.Event
	switch q.Kind {
	case storage.ByEventID:
		return e.Key.EventID == q.Value
	case storage.ByCorrelation:
		return e.Facts.Correlation == q.Value
	case storage.ByRequestID:
		return e.Facts.RequestID == q.Value
	case storage.ByResource:
		return (e.Facts.ResourceType == q.Value && e.Facts.ResourceID == q.Name) ||
			(e.Ordering != nil && e.Ordering.Resource.Type == q.Value && e.Ordering.Resource.Name == q.Name)
	case storage.ByOutput:
		return slices.Contains(e.Outputs, q.Value)
	case storage.ByCause:
		return e.Facts.CauseSource == q.Value && e.Facts.CauseEventID == q.Name
	case storage.ByEffectKey:
		for _, f := range v.Effects {
			if f.Key.Key == q.Value {
				return true
			}
		}
	}
	return false
}

// find runs a query for event records and reads all that hangs on them, in one round
// trip after the records themselves.
func (s *Store) find(ctx context.Context, limit int, keep func(*storage.View) bool, sql string, args ...any) (storage.Found, error) {
	var found storage.Found
	info, err := s.Info(ctx)
	if err != nil {
		return found, err
	}
	found.Lag = info.Lag
	ep := s.epochNow()
	var events []*idem.Event
	b := &pgx.Batch{}
	b.Queue(sqlBegin).Exec(nothing)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			e, err := scanEvent(rows, ep)
			if err != nil && e == nil {
				return err
			}
			if err != nil {
				// One bad row never breaks a page.
				s.log.ErrorContext(ctx, "a stored event cannot be read", "event", e.ID(), "error", err)
				continue
			}
			events = append(events, e)
		}
		return rows.Err()
	})
	if err := s.send(ctx, b); err != nil {
		return found, outside(err)
	}
	if len(events) > limit {
		events, found.Truncated = events[:limit], true
	}
	views, err := s.views(ctx, events, info.Now)
	for i := range views {
		if keep == nil || keep(&views[i]) {
			found.Views = append(found.Views, views[i])
		}
	}
	return found, err
}

// views reads what hangs on the records.
func (s *Store) views(ctx context.Context, events []*idem.Event, now idem.Instant) ([]storage.View, error) {
	if len(events) == 0 {
		return nil, nil
	}
	t := &trip{s: s, ep: s.epochNow(), now: now}
	w := newWorld(t, nil)
	for _, e := range events {
		id := e.ID()
		w.deepBucket = append(w.deepBucket, id.Bucket())
		w.deepID = append(w.deepID, id)
		if o := e.Ordering; o != nil {
			w.resource = append(w.resource, o.Resource.ID())
		}
	}
	deliveries := map[idem.ID]*arrived{}
	b := &pgx.Batch{}
	t.begin(b)
	w.queue(b)
	b.Queue(sqlFindDeliveries, w.deepID).Query(func(rows pgx.Rows) error { return t.scanDeliveries(rows, deliveries) })
	if err := s.send(ctx, b); err != nil {
		return nil, outside(err)
	}
	names, err := s.names(ctx, w, events)
	if err != nil {
		return nil, err
	}
	out := make([]storage.View, len(events))
	for i, e := range events {
		id := e.ID()
		v := storage.View{
			Event: idem.Settled(e, now, s.policies(e.Key, e.Facts.Type)), Now: now,
			Effects: w.ofEvent[id], LaneOwners: names, Damaged: t.spoilt[id] != nil,
		}
		if of := deliveries[id]; of != nil {
			v.Deliveries, v.DeliveriesOmitted = of.list, of.omitted
		}
		for _, a := range slices.Backward(w.attempts[id]) {
			v.Attempts = append(v.Attempts, a)
		}
		v.Resources = resourcesOf(e, w)
		out[i] = v
	}
	return out, nil
}

func resourcesOf(e *idem.Event, w *world) []*idem.Resource {
	var list []*idem.Resource
	seen := map[idem.ID]bool{}
	add := func(id idem.ID) {
		if r := w.resources[id]; r != nil && !seen[id] {
			seen[id] = true
			list = append(list, r)
		}
	}
	if e.Ordering != nil {
		add(e.Ordering.Resource.ID())
	}
	for _, l := range e.Lanes {
		add(l.Resource)
	}
	return list
}

// names finds the keys of the events that resources name, and that events wait for or were
// carried by.
func (s *Store) names(ctx context.Context, w *world, events []*idem.Event) (map[idem.ID]idem.EventKey, error) {
	var ids [][16]byte
	for _, r := range w.resources {
		for _, id := range []idem.ID{r.Owner, r.AppliedBy} {
			if !id.IsZero() {
				ids = append(ids, id)
			}
		}
	}
	for _, e := range events {
		for _, id := range []idem.ID{e.Waiting.Event, e.CarriedBy} {
			if !id.IsZero() {
				ids = append(ids, id)
			}
		}
	}
	return s.keysOf(ctx, ids)
}

// keysOf finds the keys of events.
func (s *Store) keysOf(ctx context.Context, ids [][16]byte) (map[idem.ID]idem.EventKey, error) {
	out := map[idem.ID]idem.EventKey{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := s.pool.Query(ctx, sqlFindNames, ids)
	if err != nil {
		return nil, outside(err)
	}
	var id [16]byte
	var k idem.EventKey
	_, err = pgx.ForEachRow(rows, []any{&id, &k.Namespace, &k.Consumer, &k.Source, &k.EventID}, func() error {
		out[id] = k
		return nil
	})
	return out, outside(err)
}

// scanDeliveries reads deliveries. One that cannot be read is missing, and damages its
// event's view.
func (t *trip) scanDeliveries(rows pgx.Rows, into map[idem.ID]*arrived) error {
	defer rows.Close()
	for rows.Next() {
		var d storage.Delivery
		var event, identity [16]byte
		var at time.Time
		var detail []byte
		var all int64
		if err := rows.Scan(&event, &identity, &at, &detail, &all); err != nil {
			return err
		}
		d.Event, d.Identity, d.RecordedAt = event, identity, idem.InstantOf(at)
		if into[d.Event] == nil {
			into[d.Event] = &arrived{omitted: all}
		}
		of := into[d.Event]
		of.omitted--
		if err := decodeDelivery(detail, &d); err != nil {
			t.spoil(d.Event, err)
			continue
		}
		of.list = append(of.list, d)
	}
	for _, of := range into {
		slices.Reverse(of.list) // the newest last
	}
	return rows.Err()
}

// arrived are later deliveries of an event, and how many there are beside.
type arrived struct {
	list    []storage.Delivery
	omitted int64
}

// Payload implements [storage.Reader].
func (s *Store) Payload(ctx context.Context, ref idem.EventRef) ([]byte, bool, error) {
	rows, err := s.pool.Query(ctx, "SELECT payload FROM idemsvc.payload WHERE ref = $1 ORDER BY received_at LIMIT 1", [16]byte(ref.ID()))
	if err != nil {
		return nil, false, outside(err)
	}
	var payload []byte
	tag, err := pgx.ForEachRow(rows, []any{&payload}, func() error { return nil })
	return payload, tag.RowsAffected() > 0, outside(err)
}

// Info implements [storage.Reader].
func (s *Store) Info(ctx context.Context) (storage.Info, error) {
	i := storage.Info{Storage: "postgres", RequiredSchema: RequiredSchema()}
	var now time.Time
	var lag float64
	var standby bool
	var passed *time.Time
	g := &i.Retention
	if err := s.pool.QueryRow(ctx, sqlInfo).Scan(&now, &i.Epoch, &lag, &i.Schema, &standby, &passed, &g.Events, &g.Effects, &g.Resources, &g.Payloads, &g.Partitions); err != nil {
		return i, outside(err)
	}
	g.PassedAt = instant(passed)
	i.Now, i.Lag = idem.InstantOf(now), time.Duration(lag*float64(time.Second))
	if standby {
		return i, fmt.Errorf("%w: the database is a standby and takes no writes", storage.ErrUnavailable)
	}
	return i, nil
}

// keptRejections is how many rejected deliveries of a source and minute are kept; the
// rest are only counted.
const keptRejections = 20

// RecordDeliveries implements [storage.Backend].
func (s *Store) RecordDeliveries(ctx context.Context, batch []storage.Delivery) error {
	genuine, forged := split(batch)
	kept, err := s.reject(ctx, forged)
	if err != nil {
		return err
	}
	list := slices.Concat(genuine, kept)
	if len(list) == 0 {
		return nil
	}
	event, identity, detail := make([][16]byte, len(list)), make([][16]byte, len(list)), make([][]byte, len(list))
	for i := range list {
		event[i], identity[i], detail[i] = list[i].Event, list[i].Identity, encodeDelivery(&list[i])
	}
	b := &pgx.Batch{}
	b.Queue(sqlBegin).Exec(nothing)
	b.Queue(sqlDeliveries, event, identity, detail).Exec(nothing)
	return outside(s.send(ctx, b))
}

func split(batch []storage.Delivery) (genuine, forged []storage.Delivery) {
	for _, d := range batch {
		if d.Disposition == idem.DispositionRejected {
			forged = append(forged, d)
		} else {
			genuine = append(genuine, d)
		}
	}
	return genuine, forged
}

// reject counts forged deliveries and returns those to be kept.
func (s *Store) reject(ctx context.Context, forged []storage.Delivery) ([]storage.Delivery, error) {
	if len(forged) == 0 {
		return nil, nil
	}
	counts := map[sourceKey]int64{}
	for _, d := range forged {
		counts[sourceKey{d.Key.Namespace, d.Key.Source}]++
	}
	var ns, src []string
	var n []int64
	for k, c := range counts {
		ns, src, n = append(ns, k.namespace), append(src, k.source), append(n, c)
	}
	room := map[sourceKey]int64{}
	b := &pgx.Batch{}
	b.Queue(sqlBegin).Exec(nothing)
	b.Queue(sqlRejected, ns, src, n).Query(func(rows pgx.Rows) error {
		var k sourceKey
		var total int64
		_, err := pgx.ForEachRow(rows, []any{&k.namespace, &k.source, &total}, func() error {
			room[k] = keptRejections - (total - counts[k])
			return nil
		})
		return err
	})
	if err := s.send(ctx, b); err != nil {
		return nil, outside(err)
	}
	var kept []storage.Delivery
	for _, d := range forged {
		k := sourceKey{d.Key.Namespace, d.Key.Source}
		if room[k] > 0 {
			room[k]--
			kept = append(kept, d)
		}
	}
	return kept, nil
}
