package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fencedBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	heading      = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	codeSpan     = regexp.MustCompile("`([^`\n]+)`")
)

// Every relative link of every page leads to a file, and to a heading where it names one.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range files(t, ".md") {
		text := fencedBlock.ReplaceAllString(readFile(t, page), "")
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // another site's, or mail
				continue
			}
			checked++
			to := page
			if target != "" {
				to = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil || strings.HasPrefix(to, "..") {
				t.Errorf("%s: %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !anchors(readFile(t, to))[anchor] {
				t.Errorf("%s: %s has no heading #%s", page, to, anchor)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d links were found", checked)
	}
}

// anchors are the names under which GitHub links to the headings of a page.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(page, ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, m[1])] = true
	}
	return found
}

// handWritten are the pages that name parts of the project in code spans, which are held
// to exist.
var handWritten = []string{
	"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/failures.md", "docs/compatibility.md", "docs/proof.md",
}

var (
	aPath   = regexp.MustCompile(`^(?:\./)?((?:api|clients|cmd|docs|idem|internal|scripts|server|storage|test|tools)(?:/[\w.-]+)*)/?(?:\.\.\.)?$`)
	aTarget = regexp.MustCompile(`^make ([a-z-]+)`)
	aTest   = regexp.MustCompile(`^(?:Test|Fuzz|Example)[A-Z]\w*$`)
	aCase   = regexp.MustCompile(`^(?:[PO]-?\d\d|[A-Z][a-z]+)(?:/\w+)+$`)
	aName   = regexp.MustCompile(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`)
)

// What a page names in a code span exists: files, targets of make, tests, and the words of
// the contract.
func TestPagesNameWhatExists(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	targets := makeTargets(t)
	words := map[string]bool{}
	for _, e := range enums() {
		for i := range e.Values().Len() {
			words[shortName(e.Values().Get(i))] = true
		}
	}
	settings := readFile(t, "docs/cli.md") + readFile(t, "internal/pgtest/doc.go") + readFile(t, "idem/mutants_test.go")
	for _, page := range handWritten {
		for _, m := range codeSpan.FindAllStringSubmatch(fencedBlock.ReplaceAllString(readFile(t, page), ""), -1) {
			span := m[1]
			switch {
			case aPath.MatchString(span):
				if _, err := os.Stat(filepath.Join(repository, aPath.FindStringSubmatch(span)[1])); err != nil {
					t.Errorf("%s: there is no %s", page, span)
				}
			case aTarget.MatchString(span):
				if !targets[aTarget.FindStringSubmatch(span)[1]] {
					t.Errorf("%s: there is no «%s»", page, span)
				}
			case aTest.MatchString(span), aCase.MatchString(span):
				if !tests[span] {
					t.Errorf("%s: there is no test %s", page, span)
				}
			case strings.HasPrefix(span, "IDEM"):
				name, _, _ := strings.Cut(span, "=")
				if !strings.Contains(settings, name) {
					t.Errorf("%s: there is no variable %s", page, name)
				}
			case aName.MatchString(span):
				if !words[span] {
					t.Errorf("%s: the contract has no %s", page, span)
				}
			}
		}
	}
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w+)\(`)
	suiteCase    = regexp.MustCompile(`(?m)^\t\{"([\w/-]+)", \w+\},$`)
)

// testNames are the names of all tests, and of the cases of the conformance suite.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, file := range files(t, "_test.go") {
		for _, m := range testFunction.FindAllStringSubmatch(readFile(t, file), -1) {
			found[m[1]] = true
		}
	}
	cases := 0
	for _, file := range files(t, ".go") {
		if path.Dir(file) != "storage/storagetest" {
			continue
		}
		for _, m := range suiteCase.FindAllStringSubmatch(readFile(t, file), -1) {
			found[m[1]] = true
			cases++
		}
	}
	if cases < 100 {
		t.Fatalf("only %d cases of the conformance suite were found", cases)
	}
	return found
}

// makeTargets are the targets of the Makefile.
func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(readFile(t, "Makefile"), -1) {
		found[m[1]] = true
	}
	return found
}
