package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// labels are the README's words for entries of the journal, by which states.md names its
// moves.
var labels = map[string]string{
	"claimed": "CLAIMED", "has to wait": "WAITING", "completed": "COMPLETED", "failed": "FAILED",
	"its lease ended": "EXPIRED", "given back": "RELEASED", "skipped": "IGNORED",
}

// notDrawn are moves of the main road that the README leaves out.
var notDrawn = map[move]string{
	{"PROCESSING", "PROCESSED", "FAILED"}:        "a replay that failed",
	{"PROCESSING", "PROCESSED", "EXPIRED"}:       "a replay whose owner vanished",
	{"PROCESSING", "FAILED_TERMINAL", "EXPIRED"}: "a replay whose owner vanished",
}

// BLOCKED_LOOP is the only state that nothing in the picture leads to: no loop rule exists
// yet.
const unreachable = "BLOCKED_LOOP"

type move struct{ from, to, entry string }

// The README's picture of states is a part of the whole one in idem/states.md: it draws
// nothing that is not there, knows every state, and has every move that claims, their ends
// and the ends of leases make in an event's first run.
func TestThePictureOfStates(t *testing.T) {
	t.Parallel()
	const byExpiry = "_BY_EXPIRY" // a state that only the end of a lease made
	whole, main, states := map[move]bool{}, map[move]bool{}, map[string]bool{}
	for _, m := range moves(onlyBlock(t, readFile(t, "idem/states.md"), "mermaid")) {
		late := strings.HasSuffix(m.from, byExpiry)
		m.from, m.to = strings.TrimSuffix(m.from, byExpiry), strings.TrimSuffix(m.to, byExpiry)
		whole[m] = true
		states[m.from], states[m.to] = true, true
		switch m.entry {
		case "CLAIMED", "COMPLETED", "FAILED", "RELEASED", "EXPIRED":
			main[m] = main[m] || !late
		}
	}
	drawn := map[move]bool{}
	for _, m := range moves(onlyBlock(t, readFile(t, "README.md"), "mermaid")) {
		entry, ok := labels[m.entry]
		if !ok {
			t.Errorf("the README calls a move «%s», which no entry of the journal is", m.entry)
		}
		m.entry = entry
		drawn[m] = true
		delete(states, m.from)
		delete(states, m.to)
		if !whole[m] {
			t.Errorf("the README draws %v, which idem/states.md does not have", m)
		}
	}
	for m, on := range main {
		if on && !drawn[m] && notDrawn[m] == "" {
			t.Errorf("the README does not draw %v", m)
		}
	}
	for m := range notDrawn {
		if !main[m] || drawn[m] {
			t.Errorf("%v is said not to be drawn", m)
		}
	}
	delete(states, unreachable)
	if len(states) > 0 {
		t.Errorf("the README does not draw the states %v", names(states))
	}
}

var arrow = regexp.MustCompile(`(?m)^ +(\S+) --> (\S+): (.+)$`)

// moves are the arrows of a diagram, one for each of their labels.
func moves(diagram string) []move {
	var found []move
	for _, m := range arrow.FindAllStringSubmatch(diagram, -1) {
		for label := range strings.SplitSeq(m[3], ", ") {
			found = append(found, move{m[1], m[2], label})
		}
	}
	return found
}
