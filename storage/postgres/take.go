package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// How far back a take looks, and how often one looks at everything. Entries of rows that were
// taken stay in the index while any transaction of the cluster is older: walking over all of
// them each time would make acquiring the slower the longer somebody keeps one open.
const (
	takeSlack = 30 * time.Second // beyond what was looked at: as late as the list may be
	takeAll   = 10 * time.Second
	maxTakes  = 4096 // groups of which that is remembered
)

// takes remembers how far the takes of each group have come.
type takes struct {
	mu     sync.Mutex
	groups map[storage.Group]*taking
}

type taking struct {
	since idem.Instant // what was due before is not asked for
	all   time.Time    // when everything was asked for last
}

// since is from when on a take of the group looks.
func (t *takes) since(g storage.Group, now time.Time) idem.Instant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.groups == nil || len(t.groups) >= maxTakes {
		t.groups = map[storage.Group]*taking{}
	}
	k := t.groups[g]
	if k == nil {
		k = &taking{}
		t.groups[g] = k
	}
	if now.Sub(k.all) >= takeAll {
		k.since, k.all = 0, now
	}
	return k.since
}

// took notes how far a take came: to the last that it found, or to now where it found no more.
func (t *takes) took(g storage.Group, last idem.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.groups[g]; k != nil && last != 0 {
		k.since = max(k.since, last.Add(-takeSlack))
	}
}

// Take implements [storage.Backend]. All questions travel in one round trip.
func (s *Store) Take(ctx context.Context, q storage.TakeQuery) (storage.Taken, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out := storage.Taken{Again: map[idem.ID][]*idem.Event{}}
	ep := s.epochNow()
	b := &pgx.Batch{}
	s.settings(b)
	s.queueDue(ctx, b, q.Wanted, ep, &out)
	if len(q.Lanes) > 0 {
		b.Queue(sqlTakeLane, ids(q.Lanes)).Query(func(rows pgx.Rows) error {
			return s.candidates(ctx, rows, ep, func(e *idem.Event) { out.Next = append(out.Next, e) })
		})
	}
	if len(q.Again) > 0 {
		var acquisition [16]byte
		b.Queue(sqlTakeAgain, ids(q.Again)).Query(func(rows pgx.Rows) error {
			return s.candidates(ctx, rows, ep, func(e *idem.Event) {
				out.Again[acquisition] = append(out.Again[acquisition], e)
			}, &acquisition)
		})
	}
	if err := s.send(ctx, b); err != nil {
		return storage.Taken{}, outside(err)
	}
	out.Now = s.Clock()
	return out, nil
}

// queueDue asks for the events that are due.
func (s *Store) queueDue(ctx context.Context, b *pgx.Batch, wanted []storage.Wanted, ep epochs, out *storage.Taken) {
	if len(wanted) == 0 {
		return
	}
	var namespace, consumer []string
	var since []time.Time
	var most []int32
	for _, w := range wanted {
		namespace, consumer = append(namespace, w.Namespace), append(consumer, w.Consumer)
		since = append(since, s.takes.since(w.Group, time.Now()).Time())
		most = append(most, int32(w.Max)) //nolint:gosec // bounded by the caller's batch
	}
	found := make([]int, len(wanted))
	last := make([]idem.Instant, len(wanted))
	b.Queue(sqlTake, namespace, consumer, since, most, storage.TakeFor.Microseconds()).Query(func(rows pgx.Rows) error {
		var n int64
		var at time.Time
		err := s.candidates(ctx, rows, ep, func(e *idem.Event) {
			found[n-1]++
			last[n-1] = idem.InstantOf(at)
			if e.State == idem.Received || e.State == idem.FailedRetryable { // else it has been granted since it was listed
				out.Due = append(out.Due, e)
				s.offer(e)
			}
		}, &n, &at)
		for i, w := range wanted {
			if found[i] < w.Max {
				last[i] = s.Clock()
			} else {
				out.Full = append(out.Full, w.Group)
			}
			s.takes.took(w.Group, last[i])
		}
		return err
	})
}

// candidates reads event records behind other columns. One that cannot be read never breaks
// the rest.
func (s *Store) candidates(ctx context.Context, rows pgx.Rows, ep epochs, take func(*idem.Event), before ...any) error {
	defer rows.Close()
	for rows.Next() {
		e, err := scanEvent(rows, ep, before...)
		switch {
		case err == nil:
			take(e)
		case e == nil:
			return err
		default:
			s.log.ErrorContext(ctx, "a stored event cannot be read, and nobody can acquire it", "event", e.ID(), "error", err)
		}
	}
	return rows.Err()
}

func ids(list []idem.ID) [][16]byte {
	out := make([][16]byte, len(list))
	for i, id := range list {
		out[i] = id
	}
	return out
}

// Rest implements [storage.Backend].
func (s *Store) Rest(ctx context.Context, list []storage.Rest) error {
	if len(list) == 0 {
		return nil
	}
	id, pause := make([][16]byte, len(list)), make([]int64, len(list))
	for i, r := range list {
		id[i], pause[i] = r.Event, max(r.In, 0).Microseconds()
	}
	b := &pgx.Batch{}
	s.settings(b)
	b.Queue(sqlRest, id, pause).Exec(nothing)
	return outside(s.send(ctx, b))
}

// Payloads implements [storage.Reader].
func (s *Store) Payloads(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef][]byte, error) {
	out := make(map[idem.EventRef][]byte, len(refs))
	if len(refs) == 0 {
		return out, nil
	}
	byID := make(map[idem.ID]idem.EventRef, len(refs))
	list := make([]idem.ID, 0, len(refs))
	for _, ref := range refs {
		id := ref.ID()
		if _, twice := byID[id]; !twice {
			list = append(list, id)
		}
		byID[id] = ref
	}
	rows, err := s.pool.Query(ctx, sqlPayloads, ids(list))
	if err != nil {
		return nil, outside(err)
	}
	var id [16]byte
	var payload []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &payload}, func() error {
		out[byID[id]] = payload
		payload = nil
		return nil
	})
	return out, outside(err)
}

// forgetBatch is how many acquisitions one step forgets.
const forgetBatch = 5000

// forgetAcquisitions forgets what nobody repeats any more.
func (s *Store) forgetAcquisitions(ctx context.Context) error {
	for {
		tag, err := s.pool.Exec(ctx, sqlForgetAcquired, storage.AcquisitionsKept.Microseconds(), forgetBatch)
		if err != nil || tag.RowsAffected() < forgetBatch {
			return outside(err)
		}
	}
}
