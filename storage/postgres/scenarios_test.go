package postgres_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// P4: no answer says more than a durable commit holds. A commit that fails after every
// statement has succeeded is the case in which an early answer would lie.
func TestP04AnswerAfterCommit(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	execSQL(t, pool, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = '23514'; END $$`)
	execSQL(t, pool, `CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON idemsvc.event DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.event_id = 'bad') EXECUTE FUNCTION refuse()`)
	batch := []idem.Command{claimOf("ns", "good-1"), claimOf("ns", "bad"), claimOf("ns", "good-2")}
	results := s.Apply(t.Context(), batch)
	if results[1].Err == nil {
		t.Errorf("answered %s though its commit failed", outcomeOf(results[1]))
	}
	for _, i := range []int{0, 2} {
		if outcomeOf(results[i]) != idem.OutcomeClaimed.String() {
			t.Errorf("neighbour %d: %s, want CLAIMED", i, outcomeOf(results[i]))
		}
	}
	if n := scalar[int64](t, pool, "SELECT count(*) FROM idemsvc.event WHERE event_id = 'bad'"); n != 0 {
		t.Errorf("%d records of the refused claim", n)
	}
	if n := len(entries(t, pool)); n != 2 {
		t.Errorf("%d journal entries, want those of the two neighbours", n)
	}
}

// P15: what an event applied and did outlives its record.
func TestP15MemoryOutlivesTheEvent(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	c := lane(claimOf("ns", "e2"), "42", 2)
	tok := grantOf(t, s, c)
	key := idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "ns", Key: "charge/42"}
	must[*idem.EffectAnswer](t, s, &idem.RecordEffect{Token: &tok, Key: key, RequestHash: []byte("100 EUR"), Result: []byte("ch_1")})
	must[*idem.EndAnswer](t, s, completeOf(tok, "done"))
	execSQL(t, pool, "DELETE FROM idemsvc.event") // as a purge would

	if a := must[*idem.ClaimAnswer](t, s, lane(claimOf("ns", "e1"), "42", 1)); a.Outcome != idem.OutcomeStale {
		t.Errorf("an older version after the purge: %v, want STALE", a.Outcome)
	}
	if a := must[*idem.ClaimAnswer](t, s, lane(claimOf("ns", "e2"), "42", 2)); a.Outcome != idem.OutcomeAlreadyProcessed || !a.Gone {
		t.Errorf("the purged event again: %v, gone %v, want ALREADY_PROCESSED with its result gone", a.Outcome, a.Gone)
	}
	tok = grantOf(t, s, claimOf("ns", "another"))
	a := must[*idem.EffectAnswer](t, s, &idem.RecordEffect{Token: &tok, Key: key, RequestHash: []byte("100 EUR"), Result: []byte("ch_2")})
	if a.Verdict != idem.EffectAlreadyDone || string(a.Effect.Result) != "ch_1" {
		t.Errorf("the effect after the purge: %v %q, want ALREADY_DONE with the first value", a.Verdict, a.Effect.Result)
	}
}

// O-14: a mismatch is told, never answered as a success, and never overwrites what the
// first delivery brought.
func TestO14OtherBodyIsAnAnomaly(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	first := claimOf("ns", "e")
	first.Facts.PayloadHash, first.Facts.Fingerprint = []byte("hash-1"), []byte("amount=100")
	tok := grantOf(t, s, first)
	deliver := func(hash, fingerprint string) *idem.ClaimAnswer {
		c := claimOf("ns", "e")
		c.Facts.PayloadHash, c.Facts.Fingerprint = []byte(hash), []byte(fingerprint)
		return must[*idem.ClaimAnswer](t, s, c)
	}
	check := func(when string, want idem.Outcome) {
		t.Helper()
		if a := deliver("hash-2", "amount=100"); a.Outcome != want || len(a.Anomalies) != 0 {
			t.Errorf("%s, the same content in other bytes: %v %v, want %v and no anomaly", when, a.Outcome, a.Anomalies, want)
		}
		if a := deliver("hash-3", "amount=900"); a.Outcome != want || len(a.Anomalies) != 1 || a.Anomalies[0] != idem.AnomalyMismatch {
			t.Errorf("%s, another amount: %v %v, want %v flagged", when, a.Outcome, a.Anomalies, want)
		}
	}
	before := rowOf(t, pool, first.Key)
	check("in flight", idem.OutcomeInProgress)
	if after := rowOf(t, pool, first.Key); after != before {
		t.Errorf("the running claim was disturbed: %+v, was %+v", after, before)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "done"))
	check("afterwards", idem.OutcomeAlreadyProcessed)
	found, err := s.Events(t.Context(), "ns", "shop", "e")
	if err != nil || !bytes.Equal(found.Views[0].Event.Facts.PayloadHash, []byte("hash-1")) {
		t.Errorf("the stored hash is %q, %v", found.Views[0].Event.Facts.PayloadHash, err)
	}
}

// O-28: leases are judged by the database's clock alone, however wrong replicas are.
func TestO28ReplicasWithWrongClocks(t *testing.T) {
	t.Parallel()
	fast, pool := openStore(t, quiet)
	slow, err := postgres.Open(t.Context(), pool, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	wrong := func(c *idem.Claim, by time.Duration) *idem.Claim { // all that a replica's clock says to the store
		c.ArrivedAt = idem.InstantOf(time.Now().Add(by))
		c.Facts.ReceivedAt = time.Now().Add(by).UnixNano()
		return c
	}
	c := wrong(claimOf("ns", "e"), -3*time.Minute)
	c.Lease = 2 * time.Minute
	tok := grantOf(t, slow, c)
	if us := scalar[int64](t, pool, "SELECT (extract(epoch FROM lease_until - granted_at) * 1000000)::bigint FROM idemsvc.event"); us != c.Lease.Microseconds() {
		t.Errorf("a lease of %v lasts %d µs of database time", c.Lease, us)
	}
	if a := must[*idem.ClaimAnswer](t, fast, wrong(claimOf("ns", "e"), 3*time.Minute)); a.Outcome != idem.OutcomeInProgress {
		t.Errorf("on the fast replica: %v, want IN_PROGRESS", a.Outcome)
	}
	if n, err := fast.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("the fast replica swept %d live claims, %v", n, err)
	}
	if a := must[*idem.ExtendAnswer](t, fast, &idem.Extend{Token: tok, Lease: 5 * time.Minute}); a.LeaseUntil <= a.Now {
		t.Errorf("extended on the fast replica to %v, at %v", a.LeaseUntil, a.Now)
	}
	must[*idem.EndAnswer](t, slow, completeOf(tok, "done"))
	if e := scalar[int64](t, pool, "SELECT epoch FROM idemsvc.meta"); e != 1 {
		t.Errorf("epoch %d: a wrong clock of a replica was taken for the database's", e)
	}
}

// O-31: what is within the limit works, whether it compresses or not, alone and all at
// once, and keys with a long common beginning stay apart.
func TestO31LongestKeys(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet)
	const limit = 512
	random := func() string {
		var sb strings.Builder
		for sb.Len() < limit {
			n, err := rand.Int(rand.Reader, big.NewInt(0x7e-0x20))
			if err != nil {
				t.Fatal(err)
			}
			sb.WriteByte(byte(0x20 + n.Int64()))
		}
		return sb.String()
	}
	for name, part := range map[string]func() string{
		"one letter":  func() string { return strings.Repeat("x", limit) },
		"random":      random,
		"four bytes":  func() string { return strings.Repeat("🧾", limit/4) },
		"common head": func() string { return strings.Repeat("h", limit-8) + random()[:8] },
	} {
		t.Run(name, func(t *testing.T) {
			c := claimOf(part(), "e")
			c.Key.Source, c.Key.EventID, c.Key.Consumer = part(), part(), part()
			c.Facts.Correlation, c.Facts.Type = part(), part()
			c.Ordering = &idem.Ordering{
				Resource: idem.ResourceKey{Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Type: part(), Name: part()},
				Mode:     idem.LatestWins, Version: idem.Version{Kind: idem.Sequence, Value: 1},
			}
			tok := grantOf(t, s, c)
			key := idem.EffectKey{Scope: idem.EventScope, Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Event: c.Key.ID(), Key: part()}
			must[*idem.EffectAnswer](t, s, &idem.RecordEffect{Token: &tok, Key: key, Result: []byte("v")})
			must[*idem.EndAnswer](t, s, &idem.Complete{Token: tok, Outputs: []string{part()}})
			again := claimOf(c.Key.Namespace, "e")
			again.Key = c.Key
			if a := must[*idem.ClaimAnswer](t, s, again); a.Outcome != idem.OutcomeAlreadyProcessed {
				t.Errorf("again: %v", a.Outcome)
			}
		})
	}
	a, b := claimOf("ns", strings.Repeat("p", limit-1)+"a"), claimOf("ns", strings.Repeat("p", limit-1)+"b")
	grantOf(t, s, a)
	grantOf(t, s, b)
	if fmt.Sprint(a.Key.ID()) == fmt.Sprint(b.Key.ID()) {
		t.Error("two long keys are one")
	}
}

// O-08: what is held stays held over a restart of the service, and its sweeps, whatever the
// claims that come then ask for: HOLD was said by the first claim alone.
func TestO08HoldOutlivesARestart(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	first, pool := openOn(t, url, quiet)
	c := claimOf("ns", "withdrawal-1")
	c.Stale = idem.Hold
	tok := grantOf(t, first, c)
	expire(t, pool, tok.Event)
	for range 3 {
		again, _ := openOn(t, url, quiet)
		sweep(t, again)
		for range 5 {
			other := claimOf("ns", "withdrawal-1")
			other.Stale = idem.Reclaim
			if a := must[*idem.ClaimAnswer](t, again, other); a.Outcome != idem.OutcomeHeld || a.Granted {
				t.Fatalf("after a restart: %v", a.Outcome)
			}
		}
	}
}
