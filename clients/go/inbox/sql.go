package inbox

import (
	"context"
	"database/sql"
	"errors"
)

// Beginner begins transactions: a [*sql.DB] or a [*sql.Conn].
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// New makes the inbox of one consumer over database/sql, with any driver for PostgreSQL that
// takes parameters as $1. Without an option the marker alone decides; see [Option].
//
// Namespace and consumer are parts of every marker's key: choose those that the service
// knows, or will know, or else its answers and the markers are about different things.
func New(db Beginner, namespace, consumer string, opts ...Option) (*Inbox[*sql.Tx], error) {
	return Over(sqlDriver{db}, namespace, consumer, opts...)
}

type sqlDriver struct{ db Beginner }

// Begin implements [Driver].
func (d sqlDriver) Begin(ctx context.Context) (*sql.Tx, error) { return d.db.BeginTx(ctx, nil) }

// Commit implements [Driver].
func (sqlDriver) Commit(_ context.Context, tx *sql.Tx) error { return tx.Commit() }

// Rollback implements [Driver].
func (sqlDriver) Rollback(_ context.Context, tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// Exec implements [Driver].
func (sqlDriver) Exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query implements [Driver].
func (sqlDriver) Query(ctx context.Context, tx *sql.Tx, row func(func(...any) error) error, statement string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
