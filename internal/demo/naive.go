package demo

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5"
)

// naive is the handler that many write first: it answers at once, so that the provider
// does not time out, and works afterwards, once for each delivery.
type naive struct {
	shop    *shop
	log     *slog.Logger
	working sync.WaitGroup
}

// ServeHTTP takes a delivery.
func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := readRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the request ends before the work
	n.working.Go(func() {
		if err := n.work(ctx, d); err != nil {
			n.log.ErrorContext(ctx, "an event was dropped", "event", d.id, "error", err)
		}
	})
	w.WriteHeader(http.StatusOK)
}

const setState = `INSERT INTO resources (source, resource, version, state) VALUES ($1, $2, $3, $4)
	ON CONFLICT (source, resource) DO UPDATE SET version = excluded.version, state = excluded.state`

// work does the business: a row, the state that the payload tells, a mail, a charge.
func (n *naive) work(ctx context.Context, d *request) error {
	if err := n.shop.lookUp(ctx, d); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, n.shop.db, func(tx pgx.Tx) error {
		if err := book(ctx, tx, d); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, setState, d.source, d.resource, d.version, d.kind)
		return err
	})
	if err != nil {
		return err
	}
	if err := n.shop.email(ctx, d, ""); err != nil {
		return err
	}
	if d.version == 1 {
		return n.shop.charge(ctx, d, "")
	}
	return nil
}

// finish waits for the work that was begun.
func (n *naive) finish() { n.working.Wait() }
