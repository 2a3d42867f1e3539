package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemsvc/idemsvc/idem"
)

// failedTrips counts, for each record, the batches that were to write it and may have been
// committed although they ended in an error. They are counted before their sender hears of
// the error, so that whoever tries again is known to.
type failedTrips struct {
	mu sync.Mutex
	n  map[idem.ID]int64
}

// of sums up the counts of some records.
func (f *failedTrips) of(ids []idem.ID) (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		n += f.n[id]
	}
	return n
}

type tripIDs struct{}

// TraceBatchStart implements [pgx.BatchTracer].
func (*failedTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	ids := map[idem.ID]bool{}
	for _, q := range d.Batch.QueuedQueries {
		if !strings.Contains(q.SQL, "INSERT INTO idemsvc.journal") {
			continue // every statement that decides something keeps the journal
		}
		for _, a := range q.Arguments {
			list, ok := a.([][16]byte)
			for _, id := range list {
				ids[id] = ok
			}
		}
	}
	return context.WithValue(ctx, tripIDs{}, ids)
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (*failedTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (f *failedTrips) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	pg, said := errors.AsType[*pgconn.PgError](d.Err)
	if d.Err == nil || said && pg.Severity == "ERROR" {
		return // an error that the server itself reports has rolled all back
	}
	ids, ok := ctx.Value(tripIDs{}).(map[idem.ID]bool)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[idem.ID]int64{}
	}
	for id := range ids {
		f.n[id]++
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (*failedTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*failedTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
