package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goTest   = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )?go test (.*)$`)
	aPackage = regexp.MustCompile(`^\./[\w/-]+$`)
)

// The commands of CONTRIBUTING.md would do something: what they name exists. They are not
// run, since most of them run this test.
func TestTheCommandsForContributors(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	for _, b := range blocksOf(t, readFile(t, "CONTRIBUTING.md")) {
		if b.Language != "sh" {
			t.Errorf("CONTRIBUTING.md, line %d: no test knows a block of %q", b.Line, b.Language)
			continue
		}
		for line := range strings.Lines(b.Text) {
			command, _, _ := strings.Cut(line, "#")
			command = strings.TrimSpace(command)
			m := goTest.FindStringSubmatch(command)
			switch target, isMake := strings.CutPrefix(command, "make "); {
			case isMake && targets[target]:
			case m != nil:
				checkGoTest(t, m[1])
			default:
				t.Errorf("CONTRIBUTING.md: nothing does «%s»", command)
			}
		}
	}
}

// checkGoTest fails unless the packages exist and hold the tests that are asked for.
func checkGoTest(t *testing.T, args string) {
	t.Helper()
	words := strings.Fields(args)
	var inPackages strings.Builder
	for i, w := range words {
		if !aPackage.MatchString(w) {
			continue
		}
		found, err := filepath.Glob(filepath.Join(repository, w, "*_test.go"))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: there are no tests in %s (%v)", args, w, err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			inPackages.Write(text)
		}
		words[i] = ""
	}
	for i, w := range words {
		if w != "-run" && w != "-fuzz" || i+1 == len(words) {
			continue
		}
		for name := range strings.SplitSeq(strings.Trim(words[i+1], "'"), "|") {
			if name != "^$" && !strings.Contains(inPackages.String(), "\nfunc "+name) {
				t.Errorf("%s: there is no test %s", args, name)
			}
		}
	}
}
