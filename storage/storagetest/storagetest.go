// Package storagetest is the conformance suite of [storage.Backend]: what the promises
// and the tables of the rules mean at the level of commands, for any backend.
//
// The expected answers are written from the rules as documented, not from the code
// that carries them out. Every test works in a namespace of its own, so that all can
// share one database and run at the same time, and no test waits for time to pass: a
// [Harness] moves stored instants instead.
package storagetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// Harness is a backend under test and the means to let time pass for one record. Its
// backend takes its policies from [PolicyOf].
type Harness interface {
	Backend() storage.Backend
	// Expire ends the lease of an event's claim, or of an effect's last try, as of now. A
	// record without a lease is left alone.
	Expire(t testing.TB, id idem.ID)
	// Due makes an event that rests due now. One that does not rest is left alone.
	Due(t testing.TB, id idem.ID)
	// Later shifts all stored instants of an event (and of its attempts), of an effect or
	// of a resource back by d.
	Later(t testing.TB, id idem.ID, d time.Duration)
	// Retain removes what is past its retention.
	Retain(t testing.TB)
}

// Open opens a harness for one test. Several may share what is behind it.
type Open func(t testing.TB) Harness

// PolicyFunc finds the policy for an event key and type.
type PolicyFunc = func(key idem.EventKey, eventType string) *idem.Policy

var policies sync.Map // namespace → PolicyFunc

// PolicyOf is the policy function for backends under test: tests choose the policies of
// their own namespaces with [SetPolicy].
func PolicyOf(key idem.EventKey, eventType string) *idem.Policy {
	if f, ok := policies.Load(key.Namespace); ok {
		return f.(PolicyFunc)(key, eventType) //nolint:errcheck // SetPolicy stores nothing else
	}
	return idem.DefaultPolicy()
}

// Cleaner is what [SetPolicy] needs of a test, so that one run of a property is a test
// too.
type Cleaner interface {
	Helper()
	Cleanup(func())
}

// SetPolicy chooses the policies of a namespace until the test ends.
func SetPolicy(t Cleaner, namespace string, f PolicyFunc) {
	t.Helper()
	policies.Store(namespace, f)
	t.Cleanup(func() { policies.Delete(namespace) })
}

// Memory opens a harness over a memory store of its own, whose clock stands still.
func Memory(testing.TB) Harness {
	clock := memory.NewClock(idem.InstantOf(time.Date(2026, 2, 3, 4, 5, 6, 789_012_000, time.UTC)))
	return memoryHarness{memory.New(memory.Options{Clock: clock.Now, Policy: PolicyOf})}
}

type memoryHarness struct{ store *memory.Store }

// Backend implements [Harness].
func (h memoryHarness) Backend() storage.Backend { return h.store }

// Expire implements [Harness].
func (h memoryHarness) Expire(_ testing.TB, id idem.ID) { h.store.Expire(id) }

// Due implements [Harness].
func (h memoryHarness) Due(_ testing.TB, id idem.ID) { h.store.Due(id) }

// Later implements [Harness].
func (h memoryHarness) Later(_ testing.TB, id idem.ID, d time.Duration) { h.store.Later(id, d) }

// Retain implements [Harness].
func (h memoryHarness) Retain(testing.TB) { h.store.Retain() }

// test is one test of the suite.
type test struct {
	name string
	run  func(s *site)
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	run(t, open, slices.Concat(promises, scenarios, gates, tokenCalls, versions, effects, operators, corners, readers, lists, retention, receipts, acquisitions, signals))
}

// RunDisputed runs the tests of rules on which the documented semantics and the rules in
// force disagree. They join [Run] once the two agree.
func RunDisputed(t *testing.T, open Open) {
	t.Helper()
	run(t, open, disputed)
}

func run(t *testing.T, open Open, tests []test) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(newSite(t, open))
		})
	}
}
