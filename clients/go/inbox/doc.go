// Package inbox remembers in the consumer's own database which events were processed, in the
// transaction that did the work: business rows and marker are committed together or not at
// all. An attempt that dies after its commit and before it could tell the service is found by
// the next one, which completes the claim with the stored result and does not work again.
//
//	box, err := inbox.New(db, "shop-live", "billing", inbox.Enforce(client))
//	...
//	answer, err := box.Process(ctx, event, func(ctx context.Context, tx *sql.Tx) (inbox.Result, error) {
//		_, err := tx.ExecContext(ctx, "INSERT INTO invoice ...")
//		return inbox.Result{Body: []byte("invoice/42")}, err
//	})
//
// [New] is for database/sql; package pgxinbox is for pgx.
//
// # Who decides
//
// One option says what the service has to do with it, so that a consumer can begin without the
// service and climb without another change:
//
//	inbox.New(db, "shop-live", "billing")                                       // the marker alone
//	inbox.New(db, "shop-live", "billing", inbox.Observe(client))                // the service looks on
//	inbox.New(db, "shop-live", "billing", inbox.Enforce(client))                // the service decides
//	inbox.New(db, "shop-live", "billing", inbox.EnforceOrLocal(client, d))      // unless it is away
//
// [Inbox.Do] is the same under a claim that is held already, as in a handler of a worker or of
// package webhook; [Inbox.Mark] is for a transaction of one's own.
//
// # What the fence is for
//
// A process that slept through its lease may wake up at any moment and go on with its work. The
// marker keeps it from committing: once another attempt has committed it finds the marker, and
// once a newer claim has begun it gets [ErrFenced], also if that claim's work was rolled back.
// Of two that come at once the second waits for the first one's transaction to end. A process
// that is stopped within its transaction therefore holds up the next owner as long as the
// database keeps the transaction: set idle_in_transaction_session_timeout.
//
// # What it is not for
//
// What the work does outside the transaction is neither taken back nor remembered: see
// [idemsvc.Claim.SideEffect].
package inbox
