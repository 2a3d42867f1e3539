package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

var _ storage.Surveyor = (*Store)(nil)

// Survey implements [storage.Surveyor]. A store that has a policy function of its own takes
// the defaults for what is stuck.
func (s *Store) Survey(ctx context.Context, limit int) ([]storage.Backlog, error) {
	rows, err := s.pool.Query(ctx, sqlSurvey, append([]any{limit}, patience(s.book.book.Load())...)...)
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

// patience is how long which events may stand still, as survey.sql takes it: the policies,
// the more specific ones of a namespace first and the default last, and their times.
func patience(book *idem.Rulebook) []any {
	list := append(book.Ranked("stuck_after"), idem.NamespaceRule{Policy: idem.DefaultPolicy()})
	var times []time.Duration
	for _, x := range list {
		times = append(times, x.Policy.StuckAfter)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	var namespace, consumer, source, typ []string
	var passes []int32
	for _, x := range list {
		n, _ := slices.BinarySearch(times, x.Policy.StuckAfter)
		namespace, consumer = append(namespace, x.Namespace), append(consumer, x.Rule.Consumer)
		source, typ = append(source, x.Rule.Source), append(typ, x.Rule.Type)
		passes = append(passes, int32(n)+1) //nolint:gosec // as many as there are policies
	}
	return []any{namespace, consumer, source, typ, passes, times}
}
