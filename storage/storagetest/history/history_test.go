package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
	"github.com/idemsvc/idemsvc/storage/storagetest/history"
)

// TestMemoryHistories drives the memory store with concurrent workers and finds nothing.
func TestMemoryHistories(t *testing.T) {
	rounds := uint64(12)
	if testing.Short() {
		rounds = 3
	}
	for seed := uint64(1); seed <= rounds; seed++ {
		clock := memory.NewClock(1_800_000_000_000_000)
		p := idem.DefaultPolicy()
		p.MaxAttempts = 3
		p.Backoff = idem.Backoff{Base: time.Second, Factor: 2, Cap: 4 * time.Second}
		store := memory.New(memory.Options{Clock: clock.Now, Policy: func(idem.EventKey, string) *idem.Policy { return p }})
		apply := func(ctx context.Context, c idem.Command) storage.Result {
			return store.Apply(ctx, []idem.Command{c})[0]
		}
		h := history.Drive(t, apply, history.Options{Seed: seed, Events: 3 + int(seed%4), Max: p.MaxAttempts, Operators: seed%2 == 0, Pass: clock.Advance, Reader: store}) //nolint:gosec // small
		answers := map[string]int{}
		for i := range h.Calls {
			if a, ok := h.Calls[i].Answer.(*idem.ClaimAnswer); ok {
				answers[a.Outcome.String()]++
			}
		}
		t.Logf("%d calls, claims: %v", len(h.Calls), answers)
		for _, v := range history.Check(h) {
			t.Error(v.String())
		}
	}
}
