package idem_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/wrongrules"
)

// update rewrites the generated pages instead of comparing them.
var update = os.Getenv("IDEM_UPDATE") != ""

// mutantStates bounds the states in which a wrong rule has to be caught, per domain.
const mutantStates = 400

// isGrant reports whether a decision gives a claim.
func isGrant(d *idem.Decision) bool {
	a, ok := d.Answer.(*idem.ClaimAnswer)
	return ok && a.Granted
}

// TestWrongRulesAreCaught runs the exploration with each of many wrong rules and demands
// that an invariant notices. Which one did is written down in mutants.md.
func TestWrongRulesAreCaught(t *testing.T) {
	// What the right rules are found to break is no proof against a wrong one.
	known := map[string]func() map[string]bool{}
	for _, d := range domains() {
		known[d.name] = sync.OnceValue(func() map[string]bool {
			x := &explorer{dom: d, decide: idem.Decide, settle: true, most: 1 << 20, limit: mutantStates}
			x.run()
			keys := map[string]bool{}
			for _, v := range x.found {
				keys[v.key] = true
			}
			return keys
		})
	}
	muts := wrongrules.All()
	lines := make([]string, len(muts))
	t.Run("each", func(t *testing.T) {
		for m, mu := range muts {
			t.Run(mu.Name, func(t *testing.T) {
				t.Parallel()
				// First without the comparison of swept and unswept worlds, which notices much
				// but says little.
				for _, settle := range []bool{false, true} {
					for _, d := range worldsOf(mu) {
						x := &explorer{dom: d, decide: decider(mu.Decide), settle: settle, limit: mutantStates}
						x.run()
						if len(x.found) == 0 {
							continue
						}
						if keys := known[d.name](); keys[x.found[0].key] {
							x = &explorer{dom: d, decide: decider(mu.Decide), settle: settle, limit: mutantStates, ignore: keys}
							x.run()
						}
						if len(x.found) > 0 {
							v := x.found[0]
							lines[m] = fmt.Sprintf("| %s | %s | %s | %d |", mu.Name, v.key, d.name, len(v.path))
							return
						}
					}
				}
				t.Errorf("no invariant caught the wrong rule: %s", mu.Name)
			})
		}
	})
	page := mutantsHead + strings.Join(lines, "\n") + "\n"
	if update {
		if err := os.WriteFile("mutants.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	stored, err := os.ReadFile("mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != page && !t.Failed() {
		t.Errorf("mutants.md is out of date; run the tests of this package with IDEM_UPDATE=1. It should be:\n%s", page)
	}
}

// likely names the world in which a wrong rule shows first, to save the walk through the
// others.
var likely = []struct{ word, world string }{
	{"HOLD is given", "one event held"},
	{"held event", "one event held"},
	{"replay", "replays"},
	{"signal's own", "signals of versions"},
	{"behind a signal", "signals of versions"},
	{"failed grant answers", "signals failed and given back"},
	{"signal", "signals"},
	{"its request", "one event held"},
	{"acquired", "receipts of two versions"},
	{"an expired claim keeps its rights", "three events, two lanes"},
	{"asked about", "three events, two lanes"},
	{"operator's decision lowers", "two versions, held lanes freed"},
	{"predecessor", "a sequence"},
	{"effect under HOLD", "an effect under hold"},
	{"another request", "two requests under one effect key"},
	{"lane", "two versions"},
	{"version", "two versions"},
	{"completion applies", "two versions"},
	{"PERFORM", "an effect of two events"},
	{"DONE", "an effect of two events"},
	{"effect", "an effect of two events"},
}

// worldsOf are all worlds, the likely one first.
func worldsOf(m wrongrules.Rule) []*domain {
	all := domains()
	for _, l := range likely {
		if !strings.Contains(m.Name, l.word) {
			continue
		}
		for i, d := range all {
			if d.name == l.world {
				all[0], all[i] = all[i], all[0]
			}
		}
		break
	}
	return all
}

const mutantsHead = `# Wrong rules, and what catches them

Each line is a rule of this package made wrong on purpose, the invariant of the exploration that noticed, the small world in
which it did, and after how many steps. The page is written by ` + "`IDEM_UPDATE=1 go test -run TestWrongRulesAreCaught ./idem`" + ` and
compared by the same test.

| wrong rule | caught by | in the world | steps |
| --- | --- | --- | --: |
`
