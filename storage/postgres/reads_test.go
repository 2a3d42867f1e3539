package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

func sequential(c *idem.Claim, name string, value int64) *idem.Claim {
	lane(c, name, value).Ordering.Mode = idem.Sequential
	return c
}

// What one item of a batch reads of a resource is not another's: a duplicate of version 1
// beside the first claim of version 2 does not make the series begin with 1 again.
func TestMembersAreReadForEachItemAlone(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet)
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, sequential(claimOf("ns", "e1"), "r", 1)), "ok"))
	rs := s.Apply(t.Context(), []idem.Command{sequential(claimOf("ns", "e1"), "r", 1), sequential(claimOf("ns", "e2"), "r", 2)})
	if outcomeOf(rs[0]) != idem.OutcomeAlreadyProcessed.String() || outcomeOf(rs[1]) != idem.OutcomeClaimed.String() {
		t.Fatalf("%s, %s", outcomeOf(rs[0]), outcomeOf(rs[1]))
	}
	a, _ := rs[1].Answer.(*idem.ClaimAnswer)
	if l := a.Event.Lanes; len(l) != 1 || l[0].Start != 2 {
		t.Errorf("lanes %+v, want one that starts with 2", l)
	}
}

// An event that is completed between the reading of its record and that of its resource
// is processed, with its result: its record has not been purged.
func TestRecordsThatChangeWhileTheyAreReadAreReadAgain(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	tok := grantOf(t, s, lane(claimOf("ns", "e"), "r", 1))
	must[*idem.EndAnswer](t, s, failOf(tok))
	// A replica that remembers nothing reads the record with all that hangs on it: its
	// attempts come between the record and the resource.
	other, _ := openOn(t, pool.Config().ConnString(), quiet, func(c *pgxpool.Config) { c.MaxConns = 1 })
	one(other, lane(claimOf("ns", "another"), "other", 1)) // prepares the statements
	one(other, lane(claimOf("ns", "another"), "other", 1))
	stranger := connectTo(t, pool.Config().ConnString())
	onConn(t, stranger, "BEGIN")
	onConn(t, stranger, "LOCK TABLE idemsvc.attempt IN ACCESS EXCLUSIVE MODE")
	done := make(chan storage.Result, 1)
	go func() { done <- one(other, lane(claimOf("ns", "e"), "r", 1)) }()
	waitForLock(t, pool)
	onConn(t, stranger, "UPDATE idemsvc.event SET state = 3, result = 'ok', version = version + 1 WHERE id = $1", [16]byte(tok.Event))
	onConn(t, stranger, "UPDATE idemsvc.resource SET applied = true, value = 1, applied_by = $1, version = version + 1", [16]byte(tok.Event))
	onConn(t, stranger, "COMMIT")
	r := <-done
	a, ok := r.Answer.(*idem.ClaimAnswer)
	if !ok || a.Outcome != idem.OutcomeAlreadyProcessed || a.Gone || string(a.Event.Result) != "ok" {
		t.Errorf("%s %+v, want ALREADY_PROCESSED with the result", outcomeOf(r), r.Answer)
	}
}

// gated is a proxy behind which the versions of resources are read up to a gate, and the
// resources after it.
func gated(t *testing.T) *proxy {
	t.Helper()
	p := newProxy(t)
	p.Rewrite(func(sql string) string {
		return strings.Replace(sql, "AS w(bucket, resource, epoch, own, start), LATERAL (", "AS w(bucket, resource, epoch, own, start) "+
			"CROSS JOIN (SELECT pg_advisory_xact_lock_shared(4711) AS open OFFSET 0) gate, LATERAL (", 1)
	})
	return p
}

// A predecessor that is recorded and given between the reading of a resource's versions and
// that of the resource is a known one: it is waited for as such, and not as any holder of
// the lane.
func TestHolderOfTheLaneIsAmongTheVersions(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	p := gated(t)
	other, _ := openOn(t, pool.Config().ConnString(), quiet, p.dial)
	one(other, lane(claimOf("ns", "another"), "other", 1))
	stranger := connectTo(t, pool.Config().ConnString())
	onConn(t, stranger, "SELECT pg_advisory_lock(4711)")
	done := make(chan storage.Result, 1)
	go func() { done <- one(other, sequential(claimOf("ns", "e2"), "r", 3)) }()
	waitForLock(t, pool)
	grantOf(t, s, sequential(claimOf("ns", "e1"), "r", 2))
	onConn(t, stranger, "SELECT pg_advisory_unlock(4711)")
	r := <-done
	a, ok := r.Answer.(*idem.ClaimAnswer)
	if !ok || a.Outcome != idem.OutcomeAwaiting || a.Blocker != keyOf("ns", "e1") {
		t.Errorf("%s %+v, want AWAITING_PREDECESSOR behind e1", outcomeOf(r), r.Answer)
	}
	if p.Changed() == 0 {
		t.Error("the gate was not there")
	}
}

// A predecessor that is recorded, and begins to wait, between the reading of a resource's
// versions and that of the resource is a known one: what is missing before it is not all
// that is in the way.
func TestFirstToWaitForAGapIsAmongTheVersions(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	must[*idem.EndAnswer](t, s, completeOf(grantOf(t, s, sequential(claimOf("ns", "e0"), "r", 1)), "ok"))
	p := gated(t)
	other, _ := openOn(t, pool.Config().ConnString(), quiet, p.dial)
	one(other, lane(claimOf("ns", "another"), "other", 1))
	stranger := connectTo(t, pool.Config().ConnString())
	onConn(t, stranger, "SELECT pg_advisory_lock(4711)")
	done := make(chan storage.Result, 1)
	go func() { done <- one(other, sequential(claimOf("ns", "e2"), "r", 4)) }()
	waitForLock(t, pool)
	if r := one(s, sequential(claimOf("ns", "e1"), "r", 3)); outcomeOf(r) != idem.OutcomeAwaiting.String() {
		t.Fatal(outcomeOf(r))
	}
	onConn(t, stranger, "SELECT pg_advisory_unlock(4711)")
	r := <-done
	a, ok := r.Answer.(*idem.ClaimAnswer)
	if !ok || a.Outcome != idem.OutcomeAwaiting || a.Blocker != keyOf("ns", "e1") {
		t.Errorf("%s %+v, want AWAITING_PREDECESSOR behind e1", outcomeOf(r), r.Answer)
	}
	if p.Changed() == 0 {
		t.Error("the gate was not there")
	}
}

// A version may be applied in an event's name without a claim of it: its record and the
// resource then differ for good, and are believed.
func TestVersionAppliedWithoutAClaimIsBelieved(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet)
	c := lane(claimOf("ns", "e"), "r", 1)
	must[*idem.EndAnswer](t, s, &idem.Release{Token: grantOf(t, s, c), Why: "test"})
	must[*idem.CheckAnswer](t, s, &idem.Check{Ordering: *c.Ordering, By: c.Key.ID(), Event: true})
	if a := must[*idem.ClaimAnswer](t, s, lane(claimOf("ns", "e"), "r", 1)); a.Outcome != idem.OutcomeAlreadyProcessed || !a.Gone {
		t.Errorf("%s, gone %v; want ALREADY_PROCESSED without a result", a.Outcome, a.Gone)
	}
}
