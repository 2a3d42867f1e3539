package linear

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// theme is what the clients of a history fight over.
type theme struct {
	events     int
	ordered    bool // events are ordered by a resource
	sequential bool
	effects    bool
	operators  bool
	signals    bool // events only say that the resource has changed
	inbox      bool // events are received, and acquired
	slow       bool // somebody waits for the true end of a lease
}

// themeOf draws a theme: one kind of contention at a time finds more than all at once.
func themeOf(rng *rand.Rand) theme {
	t := theme{events: 1 + rng.IntN(2), slow: rng.IntN(60) == 0, operators: rng.IntN(4) == 0}
	t.inbox = rng.IntN(3) == 0
	switch rng.IntN(10) {
	case 0, 1, 2:
		t.ordered, t.events = true, 2+rng.IntN(2)
	case 3:
		t.ordered, t.sequential, t.events = true, true, 3
	case 4, 5:
		t.effects = true
	case 6:
		t.ordered, t.effects, t.events = true, true, 2
	case 8, 9:
		t.ordered, t.signals, t.inbox, t.events = true, true, rng.IntN(4) > 0, 2+rng.IntN(2)
	}
	return t
}

// Namespace is that of the history which a seed makes.
func Namespace(seed uint64) string { return fmt.Sprintf("linear-%016x", seed) }

var policies sync.Map // by namespace

// PolicyOf is the policy function for stores under test: each history has a policy of its
// own, drawn from its seed.
func PolicyOf(key idem.EventKey, _ string) *idem.Policy {
	if p, ok := policies.Load(key.Namespace); ok {
		return p.(*idem.Policy) //nolint:errcheck // nothing else is stored
	}
	return idem.DefaultPolicy()
}

func policyFor(rng *rand.Rand, t theme) *idem.Policy {
	pause := func(of ...time.Duration) time.Duration { return of[rng.IntN(len(of))] }
	p := idem.DefaultPolicy()
	p.MaxAttempts = 1 + rng.Int32N(4)
	p.MaxReleases = rng.Int32N(3)
	p.HeldLanes = rng.IntN(2) == 0
	p.Lease = 2 * time.Second
	if t.slow {
		p.Lease = idem.MinLease
	}
	if rng.IntN(4) == 0 {
		p.Stale = idem.Hold
	}
	p.WaiveInterval = pause(0, 20*time.Millisecond, time.Hour)
	p.ReleaseDelay = pause(0, 0, 5*time.Millisecond)
	p.NotYetBudget = pause(time.Millisecond, time.Hour)
	p.Backoff = idem.Backoff{Base: pause(time.Millisecond, 10*time.Millisecond, time.Hour), Factor: 2, Cap: time.Hour}
	p.RefuseMismatch = rng.IntN(4) == 0
	p.Signature = idem.SignatureOptional
	p.TieSequence = idem.TieRule(rng.IntN(3)) //nolint:gosec // small
	p.Gap = idem.GapRule(rng.IntN(3))         //nolint:gosec // small
	p.GapAfter = pause(0, 5*time.Millisecond, time.Hour)
	p.Dead = idem.DeadRule(rng.IntN(3)) //nolint:gosec // small
	p.StartAt = rng.Int64N(2)
	p.OnUnknown = []idem.OnUnknown{idem.UnknownRetry, idem.UnknownHold}[rng.IntN(2)]
	return p
}
