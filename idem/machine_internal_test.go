package idem

import "testing"

// TestMachine: by one edge where every step counts, by any path where the steps between
// may have been superseded.
func TestMachine(t *testing.T) {
	m := Machine{Initial: "new", Edges: map[string][]string{"new": {"paid", "lost"}, "paid": {"sent"}, "sent": {"back", "paid"}}}
	for _, c := range []struct {
		from, to    string
		edge, reach bool
	}{
		{"", "new", true, true},
		{"", "paid", true, true}, // from no state the initial one is entered first
		{"", "sent", false, true},
		{"new", "paid", true, true},
		{"new", "sent", false, true},
		{"new", "back", false, true},
		{"sent", "paid", true, true},
		{"paid", "new", false, false},
		{"lost", "paid", false, false},
		{"paid", "paid", true, true},
		{"paid", "unheard of", false, false},
		{"unheard of", "paid", false, false},
	} {
		if got := m.allows(c.from, c.to, false); got != c.edge {
			t.Errorf("%q to %q by an edge: %v", c.from, c.to, got)
		}
		if got := m.allows(c.from, c.to, true); got != c.reach {
			t.Errorf("%q to %q by a path: %v", c.from, c.to, got)
		}
	}
	if open := (Machine{}); !open.allows("", "anything", false) {
		t.Error("a machine without an initial state does not let the first one in")
	}
}
