package inbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
)

// The guide's snippets, run on a real database, which is why they are no Example functions.

func TestGuideTheMarkerAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, pool := consumerDB(t)

	box, err := pgxinbox.New(pool, "shop-live", "billing")
	if err != nil {
		t.Fatal(err)
	}
	if err := box.EnsureSchema(ctx); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		event := &idemsvc.Event{Source: "stripe", EventId: "evt_1"}
		answer, err := box.Process(ctx, event, func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
			_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1, $2)", "evt_1", 0)
			return inbox.Result{Body: []byte("invoice/42"), ContentType: "text/plain"}, err
		})
		if err != nil {
			fmt.Println(err) // for your log; what to answer is in the answer
		}
		if !answer.Acknowledge() || string(answer.Result) != "invoice/42" {
			t.Errorf("%+v", answer)
		}
	}
	booked(t, pool, "evt_1", 1)
}

func TestGuideDatabaseSQL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url, pool := consumerDB(t)
	client := memoryService(t).Client()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }()
	event := &idemsvc.Event{Source: "stripe", EventId: "evt_1"}

	box, err := inbox.New(db, "dev", "billing", inbox.Enforce(client))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := box.Process(ctx, event, func(ctx context.Context, tx *sql.Tx) (inbox.Result, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO invoice VALUES ($1, $2)", "evt_1", 0)
		return inbox.Result{}, err
	})
	if err != nil || !answer.Acknowledge() {
		t.Errorf("%+v, %v", answer, err)
	}
	booked(t, pool, "evt_1", 1)
}

func TestGuideUnderAClaim(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, pool := consumerDB(t)
	service := memoryService(t)
	client := service.Client(idemsvc.WithConsumer("billing"))
	box, err := pgxinbox.New(pool, "dev", "billing")
	if err != nil {
		t.Fatal(err)
	}
	event := &idemsvc.Event{Source: "stripe", EventId: "evt_1"}
	handle := func(ctx context.Context, claim *idemsvc.Claim) error {
		_, err := box.Do(ctx, claim, func(ctx context.Context, tx pgx.Tx) (inbox.Result, error) {
			_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1, $2)", claim.Event().GetEventId(), claim.GetFence())
			return inbox.Result{Outputs: []string{"invoice/42"}}, err
		})
		return err
	}
	if answer, err := client.Process(ctx, event, handle); err != nil || !answer.Acknowledge() {
		t.Errorf("%+v, %v", answer, err)
	}
	booked(t, pool, "evt_1", 1)
}

func TestGuideOwnTransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, pool := consumerDB(t)
	service := memoryService(t)
	client := service.Client(idemsvc.WithConsumer("billing"))
	box, err := pgxinbox.New(pool, "dev", "billing")
	if err != nil {
		t.Fatal(err)
	}
	transfer := func(ctx context.Context, claim *idemsvc.Claim) error {
		if err := box.Fence(ctx, claim); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			mark, err := box.Mark(ctx, tx, claim)
			if err != nil || mark.Found { // found: it is committed already
				return err
			}
			if _, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1, $2)", "evt_1", claim.GetFence()); err != nil {
				return err
			}
			return mark.Store(ctx, inbox.Result{Body: []byte("invoice/42")})
		})
	}
	claims := owners(t, service, client, "evt_1", 2)
	for _, claim := range claims {
		if err := transfer(ctx, claim); err != nil {
			t.Error(err)
		}
	}
	booked(t, pool, "evt_1", 1)
	for range 2 {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			mark, err := box.MarkAlone(ctx, tx, event("evt_2"))
			if err != nil || mark.Found {
				return err
			}
			_, err = tx.Exec(ctx, "INSERT INTO invoice VALUES ('evt_2', 0)")
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	booked(t, pool, "evt_2", 1)
}

func TestGuideAwayAndReported(t *testing.T) {
	t.Parallel()
	_, pool := consumerDB(t)
	client := memoryService(t).Client()
	ctx, stop := context.WithCancel(t.Context())

	box, err := pgxinbox.New(pool, "dev", "billing", inbox.EnforceOrLocal(client, 2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	report := func(every, keep time.Duration) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			if r, err := box.Report(ctx); err != nil || len(r.Errs)+len(r.Differs) > 0 {
				fmt.Println("reported to idemsvc:", r, err) // for your log
			}
			for n := 1000; n == 1000; {
				if n, err = box.Purge(ctx, keep, 1000); err != nil {
					fmt.Println("purging the inbox:", err)
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	if a, err := box.Alone(ctx, event("evt_1"), func(context.Context, pgx.Tx) (inbox.Result, error) {
		return inbox.Result{Body: []byte("invoice of evt_1")}, nil
	}); err != nil || !a.Handled {
		t.Fatal(a, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report(time.Millisecond, 35*24*time.Hour)
	}()
	until(t, "it is reported", func() bool {
		return count(t, pool, "SELECT count(*) FROM idemsvc_inbox WHERE report IS NULL") == 1
	})
	stop()
	<-ended
	a, err := client.Claim(t.Context(), event("evt_1"), idemsvc.ForConsumer("billing"))
	if err != nil || string(a.GetExisting().GetResult()) != "invoice of evt_1" {
		t.Error(a, err)
	}
}

// The guide shows the table as it is made.
func TestGuideShowsTheTable(t *testing.T) {
	t.Parallel()
	url, _ := consumerDB(t)
	page, err := os.ReadFile("../../../docs/guides/inbox.md")
	if err != nil {
		t.Fatal(err)
	}
	if schema := drivers["pgx"](t, url).Schema(); !strings.Contains(string(page), "```sql\n"+schema+"```\n") {
		t.Errorf("docs/guides/inbox.md does not show the table:\n%s", schema)
	}
}
