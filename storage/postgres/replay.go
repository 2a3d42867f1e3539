package postgres

import (
	"context"
	"slices"

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
	b.Queue(sqlReplayStore, run.Namespace, run.RequestID, run.Request[:], events).Exec(nothing)
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
	_, err := pgx.ForEachRow(rows, []any{&request, &events}, func() error {
		f.ok = true
		f.run.Request = id16(request)
		f.run.Events = make([]idem.ID, len(events))
		for i, id := range events {
			f.run.Events[i] = id
		}
		return nil
	})
	return err
}

// Keys implements [storage.Reader].
func (s *Store) Keys(ctx context.Context, ids []idem.ID) (map[idem.ID]idem.EventKey, error) {
	list := make([][16]byte, 0, len(ids))
	for _, id := range ids {
		list = append(list, id)
	}
	return s.keysOf(ctx, slices.Compact(list))
}
