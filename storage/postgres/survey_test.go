package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
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
	stoodStill(t, pool, time.Hour)
	list, err = s.Survey(t.Context(), 10)
	if err != nil || list[0].Stuck != 2 || list[0].Oldest < time.Hour {
		t.Fatalf("%+v %v", list, err)
	}
}

// stoodStill lets everything unfinished have been as it is for so much longer.
func stoodStill(t *testing.T, pool *pgxpool.Pool, d time.Duration) {
	t.Helper()
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET since = since - $1::interval, due_at = due_at - $1::interval", d)
}

// stuckOf is how many events of each consumer are stuck.
func stuckOf(t *testing.T, s *postgres.Store) map[string]int64 {
	t.Helper()
	list, err := s.Survey(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, b := range list {
		out[b.Namespace+"/"+b.Consumer] += b.Stuck
	}
	return out
}

// waiting receives an event that nobody claims.
func waiting(t *testing.T, s storage.Backend, ns, consumer, source, eventType, id string) idem.EventKey {
	t.Helper()
	k := idem.EventKey{EventRef: idem.EventRef{Namespace: ns, Source: source, EventID: id}, Consumer: consumer}
	must[*idem.ReceiveAnswer](t, s, &idem.Receive{Key: k, Facts: idem.Facts{Type: eventType}})
	return k
}

// What is stuck is told by the policy of each event, for those that are there already, too.
func TestASurveyGoesByThePolicies(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	for i, typ := range []string{"paid", "paid", "report", ""} {
		waiting(t, s, "ns", "billing", "stripe", typ, fmt.Sprint("e", i))
	}
	waiting(t, s, "ns", "billing", "crm", "report", "e")
	waiting(t, s, "ns", "mail", "crm", "report", "e")
	tried := claimOf("ns", "tried") // two steps of the reader behind the journal
	tried.Key = waiting(t, s, "ns", "billing", "stripe", "report", "tried")
	waiting(t, s, "other", "billing", "stripe", "paid", "e")
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	must[*idem.EndAnswer](t, s, failOf(grantOf(t, s, tried)))
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")
	stoodStill(t, pool, 20*time.Minute)
	want := func(what string, billing, mail, other int64) {
		t.Helper()
		if got := stuckOf(t, s); got["ns/billing"] != billing || got["ns/mail"] != mail || got["other/billing"] != other {
			t.Errorf("%s: stuck %v, want %d, %d and %d", what, got, billing, mail, other)
		}
	}
	want("by default", 6, 1, 1)
	after := func(d string) map[string]string { return map[string]string{"stuck_after": d} }
	apply(t, s, "ns", 0, []idem.Rule{{Type: "report", Set: after("1d")}})
	want("reports may wait", 3, 0, 1)
	apply(t, s, "ns", 1, []idem.Rule{{Type: "report", Set: after("1d")}, {Consumer: "billing", Source: "crm", Set: after("1m")}, {Consumer: "mail", Set: map[string]string{"lease": "2m"}}})
	want("but not those from the CRM", 4, 0, 1)
	apply(t, s, "ns", 2, []idem.Rule{{Set: after("30m")}, {Consumer: "billing", Source: "stripe", Type: "paid", Set: after("10m")}})
	want("only payments are urgent", 2, 0, 1)
	apply(t, s, "ns", 3, nil)
	want("without policies", 6, 1, 1)
}

// An event that is opened again, and one that a server of the version before has listed, are
// counted by what is known of them.
func TestASurveyKnowsWhatWasOpenedAgain(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	follow := func() {
		t.Helper()
		if _, err := s.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := claimOf("ns", "again")
	c.Facts.Type = "report"
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, c), "done"))
	follow()
	if got := stuckOf(t, s); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	must[*idem.EndAnswer](t, s, &idem.Replay{Event: c.Key.ID(), RequestID: "r", Who: "me", Why: "because"})
	follow()
	stoodStill(t, pool, time.Hour)
	consumer := "ns/" + c.Key.Consumer
	apply(t, s, "ns", 0, []idem.Rule{{Set: map[string]string{"stuck_after": "1d"}}})
	if n := stuckOf(t, s)[consumer]; n != 0 {
		t.Errorf("%d are stuck", n)
	}
	apply(t, s, "ns", 1, []idem.Rule{{Set: map[string]string{"stuck_after": "1d"}}, {Source: c.Key.Source, Type: "report", Set: map[string]string{"stuck_after": "1m"}}})
	if n := stuckOf(t, s)[consumer]; n != 1 {
		t.Errorf("%d are stuck whose type says that they are", n)
	}
	execSQL(t, pool, "UPDATE idemsvc.unfinished SET source = NULL, type = NULL")
	if n := stuckOf(t, s)[consumer]; n != 0 {
		t.Errorf("%d are stuck, of a type that is not known", n)
	}
}

// A survey stays cheap where much is unfinished and policies differ.
func BenchmarkSurvey(b *testing.B) {
	s, pool := openStore(b, quiet)
	execSQL(b, pool, `INSERT INTO idemsvc.unfinished (bucket, id, seq, state, since, due_at, namespace, consumer, source, type)
		SELECT get_byte(uuid_send(i.id), 0), i.id, 1, 1, clock_timestamp() - interval '1 hour', clock_timestamp() - interval '1 hour', 'ns', 'c' || n % 7, 's' || n % 5, 't' || n % 11
		FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, 200000) n) i`)
	execSQL(b, pool, "ANALYZE idemsvc.unfinished")
	for version, rules := range []int{0, 1, 20} {
		var list []idem.Rule
		for i := range rules {
			list = append(list, idem.Rule{Type: fmt.Sprint("t", i), Set: map[string]string{"stuck_after": "1d"}})
		}
		apply(b, s, "ns", int32(version), list)
		b.Run(fmt.Sprint(rules, " policies"), func(b *testing.B) {
			for b.Loop() {
				if list, err := s.Survey(context.Background(), 500); err != nil || len(list) != 7 {
					b.Fatal(list, err)
				}
			}
		})
	}
}
