package docs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/internal/pgtest"
)

// The README shows this function to those who do not need the service.

// once does the work of an event in the transaction that remembers it.
func once(ctx context.Context, db *pgxpool.Pool, source, id string, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		mark, err := tx.Exec(ctx, "INSERT INTO processed_events VALUES ($1, $2) ON CONFLICT DO NOTHING", source, id)
		if err != nil || mark.RowsAffected() == 0 { // a duplicate: it has been processed
			return err
		}
		return work(tx) // an error takes the mark back, too
	})
}

// What the README recommends instead of the service does what it says: an event that
// arrives many times at once is processed once, and one whose work failed is not remembered.
func TestAUniqueIndexIsEnoughForOneDatabase(t *testing.T) {
	t.Parallel()
	db, err := pgxpool.New(t.Context(), pgtest.Database(t, "empty", nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, sql := range []string{onlyBlock(t, readFile(t, "README.md"), "sql"), "CREATE TABLE invoice (event_id text)"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	book := func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO invoice VALUES ('evt_1')")
		return err
	}
	count := func(table string) (n int) {
		if err := db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	broken := errors.New("broken")
	err = once(t.Context(), db, "stripe", "evt_1", func(tx pgx.Tx) error {
		return errors.Join(book(tx), broken)
	})
	if !errors.Is(err, broken) || count("processed_events") != 0 || count("invoice") != 0 {
		t.Errorf("work that failed: %v, %d marks and %d invoices are left", err, count("processed_events"), count("invoice"))
	}

	var deliveries sync.WaitGroup
	for range 16 {
		deliveries.Go(func() {
			if err := once(t.Context(), db, "stripe", "evt_1", book); err != nil {
				t.Error(err)
			}
		})
	}
	deliveries.Wait()
	if count("processed_events") != 1 || count("invoice") != 1 {
		t.Errorf("%d marks, %d invoices", count("processed_events"), count("invoice"))
	}

	if source := readFile(t, "test/docs/unique_index_test.go"); !strings.Contains(source, "\n"+goBlockWith(t, readFile(t, "README.md"), "func once(")) {
		t.Error("the README shows another function than the one that is tested here")
	}
}
