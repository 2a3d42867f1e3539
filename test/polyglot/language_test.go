package polyglot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A language has an example that claims an event and completes it.
type language struct {
	name     string
	programs []string // that its example is built and run with
	build    []string
	example  []string // the event's ID follows
	source   string   // of the example
	readme   string   // that shows it

	building sync.Once
	built    bool
}

var languages = []*language{
	{
		name: "Go", programs: []string{"go"},
		build:   []string{"go", "build", "-o", "build/claimevent", "./clients/go/examples/claimevent"},
		example: []string{"build/claimevent"},
	},
	{
		name: "Python", programs: []string{"python3"},
		build:   []string{"scripts/clients.sh", "build", "python"},
		example: []string{"build/clients/python/bin/python", "clients/python/examples/claim_event.py"},
		source:  "clients/python/examples/claim_event.py", readme: "clients/python/README.md",
	},
	{
		name: "TypeScript", programs: []string{"node", "npm"},
		build:   []string{"scripts/clients.sh", "build", "typescript"},
		example: []string{"node", "build/clients/typescript/dist/examples/claim-event.js"},
		source:  "clients/typescript/examples/claim-event.ts", readme: "clients/typescript/README.md",
	},
	{
		name: "Java", programs: []string{"java", "javac", "mvn"},
		build:   []string{"scripts/clients.sh", "build", "java"},
		example: []string{"java", "-cp", "build/clients/java/target/test-classes:build/clients/java/target/classes:build/clients/java/target/lib/*", "ClaimEvent"},
		source:  "clients/java/examples/ClaimEvent.java", readme: "clients/java/README.md",
	},
}

// prepare builds the language's example, or skips the test where that cannot be done.
func (l *language) prepare(t *testing.T) {
	t.Helper()
	for _, program := range l.programs {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program)
		}
	}
	l.building.Do(func() {
		_, err := run(t, nil, l.build[0], l.build[1:]...)
		l.built = err == nil
	})
	if !l.built {
		t.Fatalf("the example for %s cannot be built", l.name)
	}
}

// claim runs the example for an event and returns what it printed.
func (l *language) claim(t *testing.T, address, token, eventID string) (stdout string, err error) {
	t.Helper()
	l.prepare(t)
	env := []string{"IDEMSVC_ADDRESS=" + address, "IDEMSVC_TOKEN=" + token}
	return run(t, env, l.example[0], append(slices.Clone(l.example[1:]), eventID)...)
}

// The READMEs show the examples as they are.
func TestREADMEsShowTheExamples(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		if l.readme == "" {
			continue
		}
		source, err := os.ReadFile(filepath.Join(repository, l.source))
		if err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(filepath.Join(repository, l.readme))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "\n"+string(source)+"```\n") {
			t.Errorf("%s does not show %s as it is", l.readme, l.source)
		}
	}
}
