package inbox

import "context"

// Driver is how an inbox speaks to a database whose transactions are of type Tx: [New] brings
// that of database/sql, package pgxinbox that of pgx. The database is PostgreSQL, or speaks
// its protocol and has its INSERT ... ON CONFLICT. A driver is safe for concurrent use as far
// as different transactions are concerned.
type Driver[Tx any] interface {
	// Begin begins a transaction. Its end belongs to the caller.
	Begin(ctx context.Context) (Tx, error)
	// Commit returns nil only if the transaction is committed. After an error it may be.
	Commit(ctx context.Context, tx Tx) error
	// Rollback ends the transaction without a trace. It may be called after its end.
	Rollback(ctx context.Context, tx Tx) error
	// Exec runs a statement in the transaction, and returns how many rows it touched.
	Exec(ctx context.Context, tx Tx, sql string, args ...any) (int64, error)
	// Query runs a statement in the transaction, and calls row for each of its rows.
	Query(ctx context.Context, tx Tx, row func(scan func(dest ...any) error) error, sql string, args ...any) error
}
