package webhook_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// The guide's snippet, run on a real database, with the service away and without.
func TestGuideTheMarkerDecides(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	client := o.dial()
	books := newLedger(t, client)
	box, secret := books.box, "secret"

	book := func(item *webhook.Item) inbox.Work[pgx.Tx] {
		return func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
			_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1)", item.ID)
			return inbox.Result{}, err
		}
	}
	receiver, err := webhook.New(client, webhook.GitHub(secret), func(ctx context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
		_, err := box.Do(ctx, claim, book(item))
		return err
	}, webhook.Local(func(ctx context.Context, item *webhook.Item, event *idemsvc.Event, opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
		return box.Alone(ctx, event, book(item), opts...)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()

	r := request(`{"action":"opened","issue":{"id":1}}`, map[string]string{"X-GitHub-Delivery": "d1", "X-GitHub-Event": "issues"})
	if err := webhook.GitHub(secret).SignForTest(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	o.away()
	for range 2 {
		hr := httptest.NewRequest(r.Method, "/", bytes.NewReader(r.Body))
		hr.Header = r.Header
		w := httptest.NewRecorder()
		if receiver.ServeHTTP(w, hr); w.Code/100 != 2 {
			t.Errorf("answered %d", w.Code)
		}
		if o.stop == nil {
			o.start()
			books.report(t)
		}
	}
	books.once(t, "d1")
}
