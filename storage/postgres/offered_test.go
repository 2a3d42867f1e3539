package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// offeredOn receives an event through one store, takes it through another and returns that
// one, what it sends, and the claim of the event.
func offeredOn(t *testing.T, url string) (taker, other *postgres.Store, sent *sentStatements, claim *idem.Claim) {
	t.Helper()
	sent = &sentStatements{args: map[string][]any{}}
	other, _ = openOn(t, url, quiet, func(*pgxpool.Config) {})
	taker, _ = openOn(t, url, quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	grantOf(t, taker, claimOf("ns", "clock")) // from here on it knows the database's time
	must[*idem.ReceiveAnswer](t, other, receiptOf("e"))
	if _, err := other.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken, err := taker.Take(t.Context(), storage.TakeQuery{Wanted: []storage.Wanted{{Group: mailer, Max: 10}}})
	if err != nil || len(taken.Due) != 1 {
		t.Fatalf("%d due, %v", len(taken.Due), err)
	}
	sent.reset()
	return taker, other, sent, acquisitionOf("worker", taken.Due[0])
}

// What was just taken is granted without being read once more.
func TestAcquireReadsAnEventOnce(t *testing.T) {
	t.Parallel()
	taker, _, sent, claim := offeredOn(t, pgtest.Database(t, "idemsvc", migrate))
	if a := must[*idem.ClaimAnswer](t, taker, claim); a.Outcome != idem.OutcomeClaimed {
		t.Fatal(a.Outcome)
	}
	for _, name := range []string{"read_events", "read_attempts", "read_effects", "read_resources"} {
		if _, ok := sent.of(postgres.Statements()[name]); ok {
			t.Errorf("%s was sent", name)
		}
	}
}

// What has happened to an event since it was taken counts, not what was read then.
func TestAcquireNoticesWhatHappenedSinceItWasTaken(t *testing.T) {
	t.Parallel()
	taker, other, _, claim := offeredOn(t, pgtest.Database(t, "idemsvc", migrate))
	tok := grantOf(t, other, claimOf("ns", "e"))
	if a := must[*idem.ClaimAnswer](t, taker, claim); a.Outcome != idem.OutcomeInProgress || a.Granted {
		t.Errorf("while somebody works on it: %v", a.Outcome)
	}
	must[*idem.EndAnswer](t, other, completeOf(tok, "done"))
	if a := must[*idem.ClaimAnswer](t, taker, claim); a.Outcome != idem.OutcomeAlreadyProcessed || a.Granted {
		t.Errorf("when it is done: %v", a.Outcome)
	}
}
