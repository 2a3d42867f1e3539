package idem_test

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// transition is one row of the table in states.md.
type transition struct{ from, to, entry, command string }

func (tr transition) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |", tr.from, tr.to, tr.entry, tr.command)
}

func commandName(c idem.Command) string {
	switch c := c.(type) {
	case *idem.Claim:
		return "ClaimEvent"
	case *idem.Receive:
		if c.Backfill != nil {
			return "ReplayEvents"
		}
		return "ReceiveEvent"
	case *idem.Complete:
		return "CompleteEvent"
	case *idem.Fail:
		return "FailEvent"
	case *idem.Extend:
		return "ExtendClaim"
	case *idem.Release:
		return "ReleaseClaim"
	case *idem.Check:
		return "CheckVersion"
	case *idem.BeginEffect, *idem.RecordEffect:
		return "RecordSideEffect"
	case *idem.Resolve:
		switch c.To {
		case idem.ResolveProcessed:
			return "ResolveEvent processed"
		case idem.ResolveRetry:
			return "ResolveEvent retry"
		default:
			return "ResolveEvent terminal"
		}
	case *idem.Replay:
		return "ReplayEvents"
	default:
		return fmt.Sprintf("%T", c)
	}
}

// transitionsOf lists the moves that a decision makes, of its subject and of the owners
// of lanes that it settles.
func transitionsOf(c idem.Command, d *idem.Decision) []transition {
	var out []transition
	name := func(s idem.State, star bool) string {
		if star {
			return s.String() + "*"
		}
		return s.String()
	}
	moves := func(w *idem.EventWrite) {
		if w == nil || w.Rises == 0 {
			return
		}
		star := w.Old != nil && w.Old.ByExpiry
		left := w.Rises
		for _, e := range d.Entries {
			if e.Subject != idem.OnEvent || e.ID != w.New.ID() {
				continue
			}
			left--
			tr := transition{from: name(e.From, star), entry: e.Kind.String(), command: commandName(c)}
			star = e.Kind == idem.EntryExpired
			if left == 0 {
				star = w.New.ByExpiry
			}
			if e.Kind == idem.EntryExpired {
				tr.command = "the lease's end"
			}
			tr.to = name(e.To, star)
			out = append(out, tr)
		}
	}
	moves(d.Event)
	for _, o := range d.Owners {
		moves(o)
	}
	return out
}

// The worlds in which the transitions are looked for are bounded; what replays come to
// lies deepest.
const (
	statesStates = 350
	replayStates = 1000
)

// TestStatesPage makes every transition that small worlds can make, and holds them
// against the table in states.md: no transition outside the table, no row that is never
// made, and a diagram that draws exactly the table.
func TestStatesPage(t *testing.T) {
	made := map[transition]string{}
	for _, d := range append(domains(), rareDomains()...) {
		x := &explorer{dom: d, decide: idem.Decide, most: 1 << 20, limit: statesStates}
		if strings.HasPrefix(d.name, "replays") {
			x.limit = replayStates
		}
		x.see = func(n *node, c idem.Command, dec *idem.Decision) {
			for _, tr := range transitionsOf(c, dec) {
				if _, ok := made[tr]; !ok {
					made[tr] = d.name + ": " + n.show()
				}
			}
		}
		x.run()
	}
	if update {
		if err := os.WriteFile("states.md", []byte(statesPage(made)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("states.md")
	if err != nil {
		t.Fatal(err)
	}
	table, diagram := parseStates(t, string(page))
	for _, tr := range sorted(made) {
		if !table[tr] {
			t.Errorf("the code makes a transition that the table does not have (in %s):\n%s", made[tr], tr)
		}
	}
	for _, tr := range sorted(table) {
		if _, ok := made[tr]; !ok {
			t.Errorf("the table has a transition that the code never makes:\n%s", tr)
		}
	}
	drawn := edges(table)
	for edge, kinds := range drawn {
		if got, want := diagram[edge], strings.Join(sorted(kinds), ", "); got != want {
			t.Errorf("the diagram draws %s with %q, the table says %q", edge, got, want)
		}
	}
	for edge := range diagram {
		if drawn[edge] == nil {
			t.Errorf("the diagram draws %s, the table does not have it", edge)
		}
	}
}

// edges are the moves of a table that the diagram draws, with their kinds of entries.
// What stays in its state is not drawn.
func edges[V any](table map[transition]V) map[string]map[string]bool {
	drawn := map[string]map[string]bool{}
	for tr := range table {
		if tr.from == tr.to {
			continue
		}
		edge := tr.from + " --> " + tr.to
		if drawn[edge] == nil {
			drawn[edge] = map[string]bool{}
		}
		drawn[edge][tr.entry] = true
	}
	return drawn
}

// statesPage writes the page anew from what the code does. Read the difference before
// keeping it: the page is what the rules should be, not what they happen to be.
func statesPage[V any](made map[transition]V) string {
	var b strings.Builder
	b.WriteString(statesHead + "```mermaid\nstateDiagram-v2\n")
	alias := func(s string) string {
		if s == "ABSENT" {
			return "[*]"
		}
		return strings.Replace(s, "*", "_BY_EXPIRY", 1)
	}
	drawn := edges(made)
	stars := map[string]bool{}
	for edge := range drawn {
		from, to, _ := strings.Cut(edge, " --> ")
		for _, s := range []string{from, to} {
			if strings.HasSuffix(s, "*") {
				stars[s] = true
			}
		}
	}
	for _, s := range sorted(stars) {
		fmt.Fprintf(&b, "    state \"%s\" as %s\n", s, alias(s))
	}
	for _, edge := range sorted(drawn) {
		from, to, _ := strings.Cut(edge, " --> ")
		fmt.Fprintf(&b, "    %s --> %s: %s\n", alias(from), alias(to), strings.Join(sorted(drawn[edge]), ", "))
	}
	b.WriteString("```\n\n## Transitions\n\n| from | to | entry | command |\n| --- | --- | --- | --- |\n")
	for _, tr := range sorted(made) {
		fmt.Fprintln(&b, tr)
	}
	return b.String()
}

const statesHead = `# States of an event key

A state with a star was produced by the end of a lease alone. Its last claim token still counts: it may report (complete, fail)
and arm itself again, until a newer grant, an operator's decision or a lane given on stands against it. A star on RECEIVED means
that a later delivery waits for something, which takes nothing from the last claim, or that an operator ordered a retry: then
the last claim may still complete, and nothing else.

The end of a lease is a fact of time. Whoever comes next writes it down, the sweeper at the latest, and no answer depends on who
does. A replay that does not succeed returns its event to the state it was settled as; that is why PROCESSED and other
end states are reached by failures and by the lease's end.

BLOCKED_LOOP is entered by the loop rule, outside this package's Decide.

The table is checked against the code by TestStatesPage, which makes every transition that small worlds can make. The diagram
draws the table's moves from one state to another; what stays in its state (re-entries, reservations, side effects, late
reports) is in the table only.

`

func sorted[K interface{ comparable }, V any](m map[K]V) []K {
	var out []K
	for k := range m {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool { return fmt.Sprint(out[i]) < fmt.Sprint(out[j]) })
	return out
}

func parseStates(t *testing.T, page string) (table map[transition]bool, diagram map[string]string) {
	t.Helper()
	table, diagram = map[transition]bool{}, map[string]string{}
	for line := range strings.SplitSeq(page, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "| ") && strings.Count(line, "|") == 5:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			tr := transition{cells[0], cells[1], cells[2], cells[3]}
			if tr.from == "from" || strings.HasPrefix(tr.from, "---") {
				continue
			}
			if table[tr] {
				t.Errorf("the table has a row twice: %s", tr)
			}
			table[tr] = true
		case strings.Contains(line, " --> "):
			edge, label, _ := strings.Cut(line, ": ")
			from, to, _ := strings.Cut(edge, " --> ")
			plain := func(s string) string {
				if s == "[*]" {
					return "ABSENT"
				}
				if base, ok := strings.CutSuffix(s, "_BY_EXPIRY"); ok {
					return base + "*"
				}
				return s
			}
			diagram[plain(from)+" --> "+plain(to)] = label
		}
	}
	return table, diagram
}
