// Package pgxinbox is the inbox over pgx: the work gets a [pgx.Tx]. Everything else is said by
// package inbox, which knows database/sql alone, so that only users of pgx import it.
package pgxinbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/clients/go/inbox"
)

// Beginner begins transactions: a pgxpool.Pool or a [pgx.Conn].
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// New makes the inbox of one consumer over pgx. Without an option the marker alone decides;
// see [inbox.Option]. Namespace and consumer are parts of every marker's key: choose those
// that the service knows, or will know.
//
// It works in each of pgx's execution modes, and so through a pooler in transaction mode.
func New(db Beginner, namespace, consumer string, opts ...inbox.Option) (*inbox.Inbox[pgx.Tx], error) {
	return inbox.Over(driver{db}, namespace, consumer, opts...)
}

type driver struct{ db Beginner }

// Begin implements [inbox.Driver].
func (d driver) Begin(ctx context.Context) (pgx.Tx, error) { return d.db.BeginTx(ctx, pgx.TxOptions{}) }

// Commit implements [inbox.Driver].
func (driver) Commit(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }

// Rollback implements [inbox.Driver].
func (driver) Rollback(ctx context.Context, tx pgx.Tx) error {
	if err := tx.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}

// Exec implements [inbox.Driver].
func (driver) Exec(ctx context.Context, tx pgx.Tx, sql string, args ...any) (int64, error) {
	tag, err := tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

// Query implements [inbox.Driver].
func (driver) Query(ctx context.Context, tx pgx.Tx, row func(func(...any) error) error, sql string, args ...any) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
