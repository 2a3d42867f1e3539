package idemsvc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every Go snippet of the guides is part of an example, which is compiled and run.
func TestTheGuidesSnippetsAreRun(t *testing.T) {
	t.Parallel()
	var examples strings.Builder
	for _, pattern := range []string{"example_*_test.go", "idemtest/*_test.go", "otelidemsvc/*_test.go", "webhook/example_*_test.go", "inbox/example_*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v %v", pattern, files, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			examples.WriteString(unindented(string(source)))
		}
	}
	for _, guide := range []string{"go-client.md", "inbox.md", "receive-now-work-later.md", "your-own-queue.md", "webhooks.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs/guides", guide))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), "```go\n")
		if !found {
			t.Errorf("%s has no snippet", guide)
		}
		for found {
			var snippet string
			snippet, rest, _ = strings.Cut(rest, "```")
			if !strings.Contains(examples.String(), "\n"+unindented(snippet)) {
				t.Errorf("%s: not part of an example:\n%s", guide, snippet)
			}
			_, rest, found = strings.Cut(rest, "```go\n")
		}
	}
}

// unindented is a text whose lines begin where their first word does.
func unindented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimLeft(line, "\t"))
	}
	return out.String()
}
