package idem_test

import (
	"bytes"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// Keys are told apart by their parts, wherever the parts are cut: no choice of names makes
// one record of two.
func FuzzKeys(f *testing.F) {
	f.Add("a", "b:c", "d", "e", "a:b", "c", "d", "e")
	f.Add("", "a", "", "", "a", "", "", "")
	f.Add("ns", "src", "evt", "c", "ns", "src", "evt", "d")
	f.Fuzz(func(t *testing.T, n1, s1, e1, c1, n2, s2, e2, c2 string) {
		x := idem.EventKey{EventRef: idem.EventRef{Namespace: n1, Source: s1, EventID: e1}, Consumer: c1}
		y := idem.EventKey{EventRef: idem.EventRef{Namespace: n2, Source: s2, EventID: e2}, Consumer: c2}
		if (x == y) != (x.ID() == y.ID()) {
			t.Errorf("events %q and %q: %v and %v", x, y, x.ID(), y.ID())
		}
		low, high := x.Range()
		if id := x.ID(); bytes.Compare(low[:], id[:]) > 0 || bytes.Compare(id[:], high[:]) > 0 {
			t.Errorf("%v is not from %v to %v", id, low, high)
		}
		r := idem.ResourceKey{Namespace: n1, Consumer: s1, Type: e1, Name: c1}
		q := idem.ResourceKey{Namespace: n2, Consumer: s2, Type: e2, Name: c2}
		if (r == q) != (r.ID() == q.ID()) {
			t.Errorf("resources %q and %q: %v and %v", r, q, r.ID(), q.ID())
		}
		for scope := idem.EventScope; scope <= idem.NamespaceScope; scope++ {
			p := idem.EffectKey{Scope: scope, Namespace: n1, Consumer: s1, Event: x.ID(), Key: c1}
			o := idem.EffectKey{Scope: scope, Namespace: n2, Consumer: s2, Event: y.ID(), Key: c2}
			if (p.Scoped() == o.Scoped()) != (p.ID() == o.ID()) {
				t.Errorf("effects %q and %q: %v and %v", p, o, p.ID(), o.ID())
			}
		}
		if (n1 == n2 && s1 == s2) != (idem.Digest(n1, s1) == idem.Digest(n2, s2)) {
			t.Errorf("digests of %q, %q and %q, %q", n1, s1, n2, s2)
		}
	})
}
