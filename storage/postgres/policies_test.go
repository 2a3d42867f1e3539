package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

func attemptsRule(n string) []idem.Rule {
	return []idem.Rule{{Consumer: "mailer", Set: map[string]string{"max_attempts": n}}}
}

func apply(t testing.TB, s storage.Policies, ns string, base int32, rules []idem.Rule) storage.PolicySet {
	t.Helper()
	p, err := s.ApplyPolicies(t.Context(), storage.PolicySet{Namespace: ns, Version: base, Rules: rules, AppliedBy: "me", Why: "because"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What both stores do with policies.
func TestPoliciesAreKept(t *testing.T) {
	t.Parallel()
	pg, _ := openStore(t, quiet)
	for name, s := range map[string]storage.Backend{"postgres": pg, "memory": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			none, err := s.Policies(t.Context(), "ns", 0)
			if err != nil || none.Version != 0 || len(none.Rules) != 0 {
				t.Fatalf("%+v %v", none, err)
			}
			if a := must[*idem.ClaimAnswer](t, s, claimOf("ns", "before")); a.Max != 8 {
				t.Errorf("by default %d attempts", a.Max)
			}
			first := apply(t, s, "ns", 0, attemptsRule("3"))
			second := apply(t, s, "ns", 1, attemptsRule("5"))
			apply(t, s, "other", 0, attemptsRule("7"))
			if first.Version != 1 || second.Version != 2 || second.AppliedAt < first.AppliedAt {
				t.Errorf("%+v then %+v", first, second)
			}
			// In force here at once.
			if a := must[*idem.ClaimAnswer](t, s, claimOf("ns", "after")); a.Max != 5 {
				t.Errorf("%d attempts, want 5", a.Max)
			}
			if a := must[*idem.ClaimAnswer](t, s, claimOf("other", "after")); a.Max != 7 {
				t.Errorf("%d attempts in the other namespace, want 7", a.Max)
			}
			for version, want := range map[int32]storage.PolicySet{0: second, 1: first, 2: second} {
				if got, err := s.Policies(t.Context(), "ns", version); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("version %d: %+v, want %+v, %v", version, got, want, err)
				}
			}
			if _, err := s.Policies(t.Context(), "ns", 3); !errors.Is(err, storage.ErrNoPolicies) {
				t.Errorf("version 3: %v", err)
			}
			history, err := s.PolicyHistory(t.Context(), "ns", 0, 10)
			if err != nil || len(history) != 2 || history[0].Version != 2 || history[1].Version != 1 || history[0].AppliedBy != "me" || history[0].Why != "because" || history[0].Rules != nil {
				t.Errorf("%+v %v", history, err)
			}
			if history, err = s.PolicyHistory(t.Context(), "ns", 2, 10); err != nil || len(history) != 1 || history[0].Version != 1 {
				t.Errorf("below 2: %+v %v", history, err)
			}
			// A change that was made from an older version is refused.
			if _, err := s.ApplyPolicies(t.Context(), storage.PolicySet{Namespace: "ns", Version: 1, Rules: attemptsRule("9")}); !errors.Is(err, storage.ErrPoliciesChanged) {
				t.Errorf("from version 1: %v", err)
			}
			// Of many at once, one is.
			var won atomic.Int32
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					_, err := s.ApplyPolicies(context.Background(), storage.PolicySet{Namespace: "ns", Version: 2, Rules: attemptsRule(fmt.Sprint(10 + i))})
					switch {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, storage.ErrPoliciesChanged):
						t.Errorf("at once: %v", err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%d of 8 changes from one version were applied", won.Load())
			}
		})
	}
}

// Another replica goes by a change within a second, and so does one that starts later;
// the journal names the version that each decision was made by.
func TestEveryReplicaGoesByAPolicyWithinASecond(t *testing.T) {
	t.Parallel()
	for _, road := range []string{"direct", "transaction pooler"} {
		t.Run(road, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t, "idemsvc", migrate)
			there, how := url, func(*pgxpool.Config) {}
			if road != "direct" {
				there, how = pgtest.PgBouncer(t, url), describing
			}
			here, pool := openOn(t, url, quiet)
			sent := &countedStatements{n: map[string]int{}}
			other, _ := openOn(t, there, postgres.Options{Follow: -1}, how, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
			n := 0
			most := func() int32 {
				n++
				return must[*idem.ClaimAnswer](t, other, claimOf("ns", fmt.Sprint("e", n))).Max
			}
			for version, attempts := range []string{"3", "5", "4"} {
				apply(t, here, "ns", int32(version), attemptsRule(attempts))
				began := time.Now()
				eventually(t, 10*time.Second, "the other replica goes by "+attempts, func() bool { return fmt.Sprint(most()) == attempts })
				t.Logf("in force elsewhere after %v", time.Since(began)) // a poll comes every 400 ms; a busy machine may take longer
			}
			// The poll is one small statement; the policies are read when they changed.
			if heads, reads := sent.of(postgres.Statements()["policy_head"]), sent.of(postgres.Statements()["policies"]); reads > heads || reads > 4 {
				t.Errorf("%d polls, the policies were read %d times after 3 changes", heads, reads)
			}
			late, _ := openOn(t, there, quiet, how)
			if a := must[*idem.ClaimAnswer](t, late, claimOf("ns", "late")); a.Max != 4 {
				t.Errorf("a replica that starts later goes by %d attempts", a.Max)
			}
			var last int64
			for _, e := range entries(t, pool) {
				last = e.policy
			}
			if last != 3 {
				t.Errorf("the journal names version %d, want 3", last)
			}
		})
	}
}

// countedStatements counts the texts that a pool sent outside of batches.
type countedStatements struct {
	mu sync.Mutex
	n  map[string]int
}

func (s *countedStatements) of(sql string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n[sql]
}

func (s *countedStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[d.SQL]++
	return ctx
}

func (s *countedStatements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
