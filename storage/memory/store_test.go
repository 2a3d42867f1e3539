package memory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func claim(event, claimant string) *idem.Claim {
	return &idem.Claim{
		Key:      idem.EventKey{EventRef: idem.EventRef{Namespace: "n", Source: "s", EventID: event}, Consumer: "c"},
		Claimant: claimant, Nonce: idem.Digest(claimant), Lease: time.Minute,
	}
}

func grant(t *testing.T, s *memory.Store, c *idem.Claim) (idem.Token, *idem.ClaimAnswer) {
	t.Helper()
	res := s.Apply(t.Context(), []idem.Command{c})[0]
	a, ok := res.Answer.(*idem.ClaimAnswer)
	if !ok || a.Outcome != idem.OutcomeClaimed {
		t.Fatalf("claim: got %+v, %v; want a grant", res.Answer, res.Err)
	}
	return idem.Token{Namespace: "n", Consumer: "c", Event: c.Key.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce}, a
}

// TestClock: leases follow the store's clock and no other.
func TestClock(t *testing.T) {
	t.Parallel()
	clock := memory.NewClock(1_000_000)
	s := memory.New(memory.Options{Clock: clock.Now})
	token, a := grant(t, s, claim("e", "p1"))
	if want := clock.Now().Add(time.Minute); a.Event.LeaseUntil != want {
		t.Fatalf("lease until %v, want %v", a.Event.LeaseUntil, want)
	}
	clock.Advance(time.Minute - time.Microsecond)
	if res := s.Apply(t.Context(), []idem.Command{&idem.Extend{Token: token, Lease: time.Second}})[0]; res.Err != nil {
		t.Fatalf("a microsecond before the end: %v", res.Err)
	}
	clock.Advance(time.Second)
	grant(t, s, claim("e", "p2")) // expired is lease_until <= now
}

// TestRunningClock: a clock that runs can be moved, frozen and let go.
func TestRunningClock(t *testing.T) {
	t.Parallel()
	c := memory.NewRunningClock()
	if d := c.Now().Sub(idem.InstantOf(time.Now())); d < -time.Minute || d > time.Minute {
		t.Errorf("it is off by %v", d)
	}
	awaitLater := func() {
		t.Helper()
		for before := c.Now(); c.Now() <= before; {
			if _, frozen := c.Shows(); frozen {
				t.Fatal("it does not run")
			}
		}
	}
	awaitLater()
	before := c.Now()
	c.Advance(time.Hour)
	if d := c.Now().Sub(before); d < time.Hour || d > 2*time.Hour {
		t.Errorf("it moved by %v", d)
	}
	awaitLater()
	c.Set(5_000_000, true)
	c.Advance(time.Second)
	if now, frozen := c.Shows(); now != 6_000_000 || !frozen {
		t.Errorf("it shows %d, frozen: %v", now, frozen)
	}
	c.Set(0, false)
	if now, frozen := c.Shows(); now < 6_000_000 || now > 600_000_000 || frozen {
		t.Errorf("it shows %d, frozen: %v", now, frozen)
	}
	awaitLater()
}

// TestSweep: claims whose lease is over are settled, once and no others, and their lanes
// are free.
func TestSweep(t *testing.T) {
	t.Parallel()
	clock := memory.NewClock(1_000_000)
	s := memory.New(memory.Options{Clock: clock.Now})
	c := claim("e", "p1")
	c.Ordering = &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: "n", Consumer: "c", Type: "order", Name: "1"}, Version: idem.Version{Kind: idem.Sequence, Value: 1}, Mode: idem.LatestWins,
	}
	grant(t, s, c)
	done, _ := grant(t, s, claim("done", "p2"))
	s.Apply(t.Context(), []idem.Command{&idem.Complete{Token: done}})
	clock.Advance(30 * time.Second)
	grant(t, s, claim("later", "p3"))
	if n := s.Sweep(t.Context()); n != 0 {
		t.Errorf("%d claims settled before their time", n)
	}
	clock.Advance(30 * time.Second)
	written := len(s.Journal())
	for _, want := range []int{1, 0} {
		if n := s.Sweep(t.Context()); n != want {
			t.Errorf("%d claims settled, want %d", n, want)
		}
	}
	entries := s.Journal()[written:]
	if len(entries) != 1 || entries[0].Kind != idem.EntryExpired || entries[0].ID != c.Key.ID() {
		t.Errorf("it wrote %+v", entries)
	}
	found, err := s.Events(t.Context(), "n", "s", "e")
	if err != nil || len(found.Views) != 1 || found.Views[0].Resources[0].Owned {
		t.Errorf("the lane is not free: %+v, %v", found, err)
	}
}

// TestEpoch: fences of a later epoch are above all of an earlier one, and claims of an
// earlier one get their whole lease again.
func TestEpoch(t *testing.T) {
	t.Parallel()
	clock := memory.NewClock(1_000_000)
	s := memory.New(memory.Options{Clock: clock.Now})
	_, before := grant(t, s, claim("e", "p1"))
	clock.Advance(30 * time.Second)
	s.SetEpoch(7)
	s.SetEpoch(3) // never back
	token, after := grant(t, s, claim("f", "p2"))
	if epoch := after.Event.Fence >> 41; epoch != 7 {
		t.Errorf("fence of epoch %d, want 7", epoch)
	}
	if after.Event.Fence <= before.Event.Fence {
		t.Errorf("fence %d after %d", after.Event.Fence, before.Event.Fence)
	}
	if info, err := s.Info(t.Context()); err != nil || info.Epoch != 7 || info.Storage != "memory" {
		t.Errorf("info: got %+v, %v", info, err)
	}
	clock.Advance(45 * time.Second) // over for e without the new epoch
	res := s.Apply(t.Context(), []idem.Command{claim("e", "p3"), &idem.Complete{Token: token}})
	if a, ok := res[0].Answer.(*idem.ClaimAnswer); !ok || a.Outcome != idem.OutcomeInProgress {
		t.Errorf("claim of an old epoch: got %+v, %v; want it alive", res[0].Answer, res[0].Err)
	}
	late := claim("old", "p4")
	late.Facts.ReceivedAt = 1_000_000_000 // before the epoch began
	_, a := grant(t, s, late)
	if len(a.Anomalies) != 1 || a.Anomalies[0] != idem.AnomalyRestored {
		t.Errorf("anomalies: got %v, want POST_RESTORE", a.Anomalies)
	}
}

// TestJournal: every rise of a row's version has its entry, without holes and in order.
func TestJournal(t *testing.T) {
	t.Parallel()
	clock := memory.NewClock(1_000_000)
	s := memory.New(memory.Options{Clock: clock.Now})
	c := claim("e", "p1")
	resource := idem.ResourceKey{Namespace: "n", Consumer: "c", Type: "order", Name: "1"}
	c.Ordering = &idem.Ordering{Resource: resource, Version: idem.Version{Kind: idem.Sequence, Value: 1}, Mode: idem.LatestWins}
	token, _ := grant(t, s, c)
	effect := idem.EffectKey{Scope: idem.EventScope, Namespace: "n", Consumer: "c", Event: token.Event, Key: "k"}
	lost := token
	clock.Advance(2 * time.Minute)
	s.Apply(t.Context(), []idem.Command{&idem.Settle{Event: token.Event}, claim("e", "p2")})
	found, err := s.Events(t.Context(), "n", "s", "e")
	if err != nil || len(found.Views) != 1 {
		t.Fatalf("Events: got %+v, %v", found, err)
	}
	e := found.Views[0].Event
	token.Fence, token.Nonce = e.Fence, e.Nonce
	for _, c := range []idem.Command{
		&idem.RecordEffect{Token: &token, Key: effect, Result: []byte("v")},
		&idem.Extend{Token: token, Lease: time.Hour},
		&idem.Complete{Token: lost},
		&idem.Complete{Token: token, Result: []byte("done"), Outputs: []string{"o"}},
		&idem.Replay{Event: token.Event, RequestID: "r"},
	} {
		s.Apply(t.Context(), []idem.Command{c})
	}

	seq := map[idem.ID]int64{}
	note := func(id idem.ID, n int64) {
		if n != seq[id]+1 {
			t.Errorf("record %v: entry %d after %d", id, n, seq[id])
		}
		seq[id] = n
	}
	entries := s.Journal()
	for _, e := range entries {
		note(e.ID, e.Seq)
		if e.First != (e.Seq == 1) {
			t.Errorf("entry %d of %v says that it is the first: %v", e.Seq, e.ID, e.First)
		}
		for _, also := range e.Also {
			note(also.ID, also.Seq)
		}
	}
	found, err = s.Events(t.Context(), "n", "s", "e")
	if err != nil {
		t.Fatal(err)
	}
	v := found.Views[0]
	for id, version := range map[idem.ID]int64{
		token.Event: v.Event.Version, resource.ID(): v.Resources[0].Version, effect.ID(): v.Effects[0].Version,
	} {
		if seq[id] != version {
			t.Errorf("record %v: %d entries, row version %d", id, seq[id], version)
		}
	}
	entries[0].Kind = 0
	if s.Journal()[0].Kind == 0 {
		t.Error("the journal is shared with its readers")
	}
}

// TestCancelled: after its context's end nothing is tried.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := s.Apply(ctx, []idem.Command{claim("e", "p1")})
	if len(res) != 1 || !errors.Is(res[0].Err, context.Canceled) {
		t.Errorf("got %+v, want the context's error", res)
	}
	if err := s.RecordDeliveries(ctx, []storage.Delivery{{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("RecordDeliveries: %v", err)
	}
	k := claim("e", "p1").Key
	if found, err := s.Events(t.Context(), k.Namespace, k.Source, k.EventID); err != nil || len(found.Views) != 0 {
		t.Errorf("a record was made: %+v, %v", found, err)
	}
}
