//go:build unix

package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/docrun"
)

const httpGuide = "docs/guides/http.md"

// The commands of the guide to JSON over HTTP, run in one shell in a fresh copy of the
// repository, print what it says. Only where the server listens is another place.
func TestTheGuideToHTTP(t *testing.T) {
	t.Parallel()
	dir, err := docrun.Copy(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	page := strings.ReplaceAll(readFile(t, httpGuide), "127.0.0.1:7480", freeAddress(t))
	steps := docrun.Steps(blocksOf(t, page))
	if len(steps) < 9 {
		t.Fatalf("%d steps were found", len(steps))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shell := docrun.Shell{Dir: dir, Env: append(os.Environ(), "IDEMSVC_LISTEN="+freeAddress(t), "IDEMSVC_HTTP_LISTEN=", "IDEMSVC_DATABASE_URL=")}
	printed, err := shell.Run(ctx, steps)
	for i, s := range steps {
		switch {
		case i >= len(printed):
			t.Errorf("not reached:\n%s", s.Commands)
		case s.Prints != "" && !docrun.Matches(s.Prints, printed[i]):
			t.Errorf("%s\nprints\n%s\nand not\n%s", s.Commands, printed[i], s.Prints)
		}
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "server.log"))
		t.Errorf("the shell ends with %v\nserver:\n%s", err, log)
	}
}
