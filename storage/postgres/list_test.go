package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// failMany makes events that have failed for good, e0 and so on.
func failMany(t *testing.T, s *postgres.Store, ns string, n int) {
	t.Helper()
	claims := make([]idem.Command, n)
	for i := range claims {
		claims[i] = claimOf(ns, fmt.Sprint("e", i))
	}
	ends := make([]idem.Command, n)
	for i, r := range s.Apply(t.Context(), claims) {
		f := failOf(tokenFrom(t, claims[i], r))
		f.Error.Kind = idem.Terminal
		ends[i] = f
	}
	for _, r := range s.Apply(t.Context(), ends) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// O-34: rows that cannot be read never break a page, whichever table they are in. They are
// on it, marked.
func TestO34_OneBadRowNeverBreaksAList(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	failMany(t, s, "ns", 25)
	id := func(i int) [16]byte { return [16]byte(keyOf("ns", fmt.Sprint("e", i)).ID()) }
	const bad = "'\\x01ffffffff'"
	execSQL(t, pool, "UPDATE idemsvc.event SET detail = "+bad+" WHERE id = $1", id(3))
	execSQL(t, pool, "UPDATE idemsvc.event SET facts = "+bad+" WHERE id = $1", id(7))
	execSQL(t, pool, "INSERT INTO idemsvc.attempt (bucket, event, fence, nonce, detail) SELECT bucket, id, 1, id, "+bad+" FROM idemsvc.event WHERE id = $1", id(11))
	execSQL(t, pool, "INSERT INTO idemsvc.delivery (recorded_at, event, identity, detail) VALUES (clock_timestamp(), $1, $1, "+bad+")", id(13))
	execSQL(t, pool, `INSERT INTO idemsvc.effect (bucket, id, namespace, scope, consumer, key, version, state, event, detail)
		SELECT bucket, id, namespace, 1, consumer, 'k', 1, 2, id, `+bad+` FROM idemsvc.event WHERE id = $1`, id(17))
	execSQL(t, pool, "DELETE FROM idemsvc.event WHERE id = $1", id(19)) // purged behind the list's back
	damaged := map[string]bool{}
	n := 0
	q := storage.ListQuery{Namespace: "ns", States: []idem.State{idem.FailedTerminal}, Limit: 4}
	for more := true; more; {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Views {
			n++
			if v.Damaged {
				damaged[v.Event.Key.EventID] = true
			}
		}
		q.After, more = page.Next, page.More
	}
	if n != 24 {
		t.Errorf("%d events, want 24", n)
	}
	for _, i := range []int{3, 7, 11, 13, 17} {
		if !damaged[fmt.Sprint("e", i)] {
			t.Errorf("nobody is told that e%d cannot be read", i)
		}
	}
	if len(damaged) != 5 {
		t.Errorf("damaged: %v", damaged)
	}
}

// O-34: one record that cannot be replayed, because it is locked or cannot be read, does
// not stop the others.
func TestO34_OneBadRowDoesNotStopABulkReplay(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	failMany(t, s, "ns", 40)
	execSQL(t, pool, "UPDATE idemsvc.event SET detail = '\\x01ffffffff' WHERE id = $1", [16]byte(keyOf("ns", "e5").ID()))
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "SELECT FROM idemsvc.event WHERE id = $1 FOR UPDATE", [16]byte(keyOf("ns", "e9").ID())); err != nil {
		t.Fatal(err)
	}
	replays := make([]idem.Command, 40)
	for i := range replays {
		replays[i] = &idem.Replay{Event: keyOf("ns", fmt.Sprint("e", i)).ID(), RequestID: "r", Unprocessed: true, Who: "op", Why: "mended"}
	}
	for i, r := range s.Apply(t.Context(), replays) {
		switch a, _ := r.Answer.(*idem.EndAnswer); {
		case i == 5:
			if r.Err == nil {
				t.Error("e5 cannot be read and was replayed")
			}
		case i == 9:
			if !errors.Is(r.Err, storage.ErrContended) {
				t.Errorf("e9 is locked: %v", r.Err)
			}
		case r.Err != nil || a.Already || a.State != idem.Received:
			t.Errorf("e%d: %+v, %v", i, a, r.Err)
		}
	}
}

// What a filter passes over costs a look, too: pages are short then, and the list goes on.
func TestAListOfFewAmongManyEnds(t *testing.T) {
	t.Parallel()
	s, _ := openStore(t, quiet)
	failMany(t, s, "ns", 450)
	rare := claimOf("ns", "rare")
	rare.Facts.Type = "rare"
	f := failOf(grantOf(t, s, rare))
	f.Error.Kind = idem.Terminal
	must[*idem.EndAnswer](t, s, f)
	now := s.Clock()
	for name, q := range map[string]storage.ListQuery{
		"unfinished": {States: []idem.State{idem.FailedTerminal}},
		"a day":      {From: now.Add(-12 * time.Hour), Until: now.Add(12 * time.Hour)},
	} {
		q.Namespace, q.Type, q.Limit = "ns", "rare", 50
		var got []string
		for more := true; more; {
			page, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Views {
				got = append(got, v.Event.Key.EventID)
			}
			q.After, more = page.Next, page.More
		}
		if len(got) != 1 || got[0] != "rare" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is written before a list is asked for is in it, also where another replica is just
// reading the journal and began before that was written.
func TestAListWaitsForAnotherReplicasStep(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	sent := &sentStatements{args: map[string][]any{}}
	s, pool := openOn(t, url, quiet, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	failMany(t, s, "ns", 1)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM idemsvc.follower FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	type listed struct {
		storage.Listed
		err error
	}
	done := make(chan listed, 1)
	go func() {
		page, err := s.List(context.Background(), storage.ListQuery{Namespace: "ns", States: []idem.State{idem.FailedTerminal}, Limit: 4})
		done <- listed{page, err}
	}()
	eventually(t, 10*time.Second, "the list tries to read the journal", func() bool { _, ok := sent.of(postgres.Statements()["follow_move"]); return ok })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := <-done; l.err != nil || len(l.Views) != 1 {
		t.Errorf("listed are %d, %v", len(l.Views), l.err)
	}
}
