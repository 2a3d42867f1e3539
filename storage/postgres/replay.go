package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// StoreReplayRun implements [storage.Backend]. Of two who store a run of one request, the
// second one waits for the first, and reads what that has stored.
func (s *Store) StoreReplayRun(ctx context.Context, run storage.ReplayRun) (storage.ReplayRun, error) {
	events := make([][16]byte, len(run.Events))
	for i, id := range run.Events {
		events[i] = id
	}
	b := &pgx.Batch{}
	b.Queue(sqlBegin).Exec(nothing)
	var at *time.Time
	var behind *[16]byte
	if run.More {
		t, id := run.Next.At.Time(), [16]byte(run.Next.ID)
		at, behind = &t, &id
	}
	b.Queue(sqlReplayStore, run.Namespace, run.RequestID, run.Request[:], events, run.Received, at, behind).Exec(nothing)
	b.Queue(sqlReplayFind, run.Namespace, run.RequestID).Query((&storedRun{run: &run}).scan)
	return run, outside(s.send(ctx, b))
}

// ReplayRun implements [storage.Reader].
func (s *Store) ReplayRun(ctx context.Context, namespace, requestID string) (storage.ReplayRun, bool, error) {
	run := storage.ReplayRun{Namespace: namespace, RequestID: requestID}
	b := &pgx.Batch{}
	s.settings(b)
	found := storedRun{run: &run}
	b.Queue(sqlReplayFind, namespace, requestID).Query(found.scan)
	err := s.send(ctx, b)
	return run, found.ok, outside(err)
}

// storedRun takes a run from its row.
type storedRun struct {
	run *storage.ReplayRun
	ok  bool
}

func (f *storedRun) scan(rows pgx.Rows) error {
	var request []byte
	var events [][16]byte
	var at *time.Time
	var behind *[16]byte
	_, err := pgx.ForEachRow(rows, []any{&request, &events, &f.run.Received, &at, &behind}, func() error {
		f.ok = true
		f.run.Request = id16(request)
		f.run.More, f.run.Next = behind != nil, storage.Cursor{}
		if f.run.More {
			f.run.Next = storage.Cursor{At: idem.InstantOf(*at), ID: *behind}
		}
		f.run.Events = make([]idem.ID, len(events))
		for i, id := range events {
			f.run.Events[i] = id
		}
		return nil
	})
	return err
}

// Records implements [storage.Reader].
func (s *Store) Records(ctx context.Context, ids []idem.ID) (map[idem.ID]storage.View, error) {
	out := map[idem.ID]storage.View{}
	if len(ids) == 0 {
		return out, nil
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	places := make([]place, len(ids))
	for i, id := range ids {
		places[i].ID = id
	}
	records, damaged, err := s.records(ctx, places)
	for id, e := range records {
		out[id] = storage.View{Event: idem.Settled(e, info.Now, s.policyOfEvent(e)), Now: info.Now, Damaged: damaged[id]}
	}
	return out, err
}
