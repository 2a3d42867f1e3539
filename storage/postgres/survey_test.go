package postgres_test

import (
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// A survey counts what is unfinished by consumer and state, with how long the oldest has been
// there, and what could have been claimed for a quarter of an hour.
func TestSurvey(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, postgres.Options{Follow: -1, Sweep: -1})
	for _, id := range []string{"a", "b"} {
		must[*idem.ClaimAnswer](t, s, claimOf("ns", id))
	}
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := s.Survey(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].Namespace != "ns" || list[0].State != idem.Processing || list[0].Events != 2 || list[0].Stuck != 0 || list[0].Oldest > time.Minute {
		t.Fatalf("%+v %v", list, err)
	}
	if _, err := pool.Exec(t.Context(), "UPDATE idemsvc.unfinished SET since = since - interval '1 hour', due_at = due_at - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	list, err = s.Survey(t.Context(), 10)
	if err != nil || list[0].Stuck != 2 || list[0].Oldest < time.Hour {
		t.Fatalf("%+v %v", list, err)
	}
}
