package idem_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/quick"

	"github.com/idemsvc/idemsvc/idem"
)

// TestKeysNeverRunTogether: no choice of parts imitates another, whatever separator the
// parts contain.
func TestKeysNeverRunTogether(t *testing.T) {
	tuples := [][2]string{{"a", "b:c"}, {"a:b", "c"}, {"a", ""}, {"", "a"}, {"a\x00b", "c"}, {"a", "b\x00c"}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc", ""}}
	seen := map[idem.ID]string{}
	note := func(id idem.ID, what string) {
		t.Helper()
		if was, ok := seen[id]; ok {
			t.Errorf("%s and %s have one ID", was, what)
		}
		seen[id] = what
	}
	for _, p := range tuples {
		q := p[0] + "|" + p[1]
		note(idem.EventKey{EventRef: idem.EventRef{Namespace: p[0], Source: p[1], EventID: "1"}, Consumer: "x"}.ID(), "namespace, source "+q)
		note(idem.EventKey{EventRef: idem.EventRef{Namespace: "n", Source: p[0], EventID: p[1]}, Consumer: "x"}.ID(), "source, event "+q)
		note(idem.EventKey{EventRef: idem.EventRef{Namespace: "n", Source: "s", EventID: p[0]}, Consumer: p[1]}.ID(), "event, consumer "+q)
		note(idem.ResourceKey{Namespace: p[0], Consumer: p[1], Type: "t", Name: "n"}.ID(), "resource namespace, consumer "+q)
		note(idem.ResourceKey{Namespace: "n", Consumer: "c", Type: p[0], Name: p[1]}.ID(), "resource type, name "+q)
		note(idem.EffectKey{Scope: idem.ConsumerScope, Namespace: "n", Consumer: p[0], Key: p[1]}.ID(), "consumer effect "+q)
		note(idem.EffectKey{Scope: idem.NamespaceScope, Namespace: p[0], Key: p[1]}.ID(), "namespace effect "+q)
	}
}

// TestEventIDsAreInjective: two keys have one ID only when they are one key.
func TestEventIDsAreInjective(t *testing.T) {
	same := func(a, b idem.EventKey) bool { return (a == b) == (a.ID() == b.ID()) }
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	// Neighbours: a part moved by one byte from one field to the next.
	moved := func(k idem.EventKey, cut uint8) bool {
		joined := k.Source + k.EventID
		n := int(cut) % (len(joined) + 1)
		o := k
		o.Source, o.EventID = joined[:n], joined[n:]
		return same(k, o)
	}
	if err := quick.Check(moved, nil); err != nil {
		t.Error(err)
	}
}

// TestRefRangeHoldsItsConsumers: all consumers of an event lie in its ref's range, and
// those of another event do not.
func TestRefRangeHoldsItsConsumers(t *testing.T) {
	check := func(r, other idem.EventRef, consumer string) bool {
		low, high := r.Range()
		in := func(id idem.ID) bool { return bytes.Compare(id[:], low[:]) >= 0 && bytes.Compare(id[:], high[:]) <= 0 }
		ok := in(idem.EventKey{EventRef: r, Consumer: consumer}.ID())
		if other != r {
			ok = ok && !in(idem.EventKey{EventRef: other, Consumer: consumer}.ID())
		}
		return ok
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// TestBigIDsStayApart: IDs that JSON numbers would round to one are two events.
func TestBigIDsStayApart(t *testing.T) {
	id := func(s string) idem.ID {
		return idem.EventKey{EventRef: idem.EventRef{Namespace: "n", Source: "s", EventID: s}, Consumer: "c"}.ID()
	}
	if id("2868860079149422351") == id("2868860079149422352") {
		t.Error("two IDs collapse")
	}
}

// TestScopes: what a scope does not use has no part in the key, what it uses has.
func TestScopes(t *testing.T) {
	base := idem.EffectKey{Namespace: "n", Consumer: "c", Event: idem.ID{1}, Key: "k"}
	with := func(s idem.Scope, change func(*idem.EffectKey)) idem.ID {
		k := base
		k.Scope = s
		if change != nil {
			change(&k)
		}
		return k.ID()
	}
	otherEvent := func(k *idem.EffectKey) { k.Event = idem.ID{2} }
	otherConsumer := func(k *idem.EffectKey) { k.Consumer = "d" }
	otherNamespace := func(k *idem.EffectKey) { k.Namespace = "m" }
	for _, c := range []struct {
		scope  idem.Scope
		change func(*idem.EffectKey)
		same   bool
	}{
		{idem.EventScope, otherEvent, false},
		{idem.ConsumerScope, otherEvent, true},
		{idem.ConsumerScope, otherConsumer, false},
		{idem.NamespaceScope, otherConsumer, true},
		{idem.EventScope, otherNamespace, false},
		{idem.ConsumerScope, otherNamespace, false},
		{idem.NamespaceScope, otherNamespace, false},
	} {
		if got := with(c.scope, nil) == with(c.scope, c.change); got != c.same {
			t.Errorf("scope %d: same=%v, want %v", c.scope, got, c.same)
		}
	}
	if with(idem.ConsumerScope, nil) == with(idem.NamespaceScope, nil) || with(idem.EventScope, nil) == with(idem.ConsumerScope, nil) {
		t.Error("two scopes share a key")
	}
}

// TestDownstreamKey is stable within a generation and another in the next.
func TestDownstreamKey(t *testing.T) {
	f := idem.Effect{Key: idem.EffectKey{Scope: idem.NamespaceScope, Namespace: "n", Key: "k"}, Generation: 1}
	first := f.DownstreamKey()
	f.Tries = append(f.Tries, idem.Try{Number: 1})
	f.State = idem.EffectBegun
	if f.DownstreamKey() != first {
		t.Error("the downstream key changes with a try")
	}
	f.Generation++
	if f.DownstreamKey() == first {
		t.Error("a new generation keeps the downstream key")
	}
}

// TestIDText is the ID in hexadecimal, and its first byte is its bucket.
func TestIDText(t *testing.T) {
	id := idem.ID{0xab, 15: 0x01}
	if got := id.String(); got != "ab"+strings.Repeat("00", 14)+"01" {
		t.Errorf("String() = %s", got)
	}
	if id.Bucket() != 0xab || id.IsZero() || !(idem.ID{}).IsZero() {
		t.Error("bucket or zero")
	}
}

// TestTermsAndDigests keep their parts and namespaces apart.
func TestTermsAndDigests(t *testing.T) {
	if idem.Term("n", "a", "b") == idem.Term("n", "ab") || idem.Term("n", "a") == idem.Term("m", "a") {
		t.Error("two terms are one")
	}
	if idem.Digest("a", "b") == idem.Digest("ab") || idem.Digest("a", "") == idem.Digest("a") {
		t.Error("two digests are one")
	}
}
