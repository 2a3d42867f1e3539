package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/storage"
)

var _ storage.Surveyor = (*Store)(nil)

// Survey implements [storage.Surveyor].
func (s *Store) Survey(ctx context.Context, limit int) ([]storage.Backlog, error) {
	rows, err := s.pool.Query(ctx, sqlSurvey, limit)
	if err != nil {
		return nil, outside(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (x storage.Backlog, err error) {
		var seconds float64
		err = row.Scan(&x.Namespace, &x.Consumer, &x.State, &x.Events, &seconds, &x.Stuck)
		x.Oldest = time.Duration(seconds * float64(time.Second))
		return x, err
	})
	return list, outside(err)
}
