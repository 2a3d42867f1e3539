//go:build unix

package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/docrun"
)

const ingressAddress = "127.0.0.1:8080"

// The commands of the guide to the ingress are run with its file and print what it says. Only
// where the processes listen is another than on the page.
func TestTheCommandsOfTheIngressGuide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "idemsvc")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/idemsvc")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address, web := freeAddress(t), freeAddress(t)
	page := strings.NewReplacer(defaultAddress, address, ingressAddress, web).Replace(readFile(t, "docs/guides/ingress.md"))
	if err := os.WriteFile(filepath.Join(dir, "sources.yaml"), []byte(onlyBlock(t, page, "yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := docrun.Steps(blocksOf(t, page))
	if len(steps) != 4 {
		t.Fatalf("%d steps were found", len(steps))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	shell := docrun.Shell{Dir: dir, Env: append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"),
		"IDEMSVC_LISTEN="+address, "IDEMSVC_ADDRESS="+address, "IDEMSVC_INGRESS_LISTEN="+web)}
	printed, err := shell.Run(ctx, steps)
	for i, s := range steps {
		switch {
		case i >= len(printed):
			t.Errorf("not reached:\n%s", s.Commands)
		case !docrun.Matches(s.Prints, printed[i]):
			t.Errorf("%s\nprints\n%s\nand not\n%s", s.Commands, printed[i], s.Prints)
		}
	}
	if err != nil {
		t.Errorf("the shell ends with %v", err)
	}
	if t.Failed() {
		for _, name := range []string{"server.log", "ingress.log"} {
			log, _ := os.ReadFile(filepath.Join(dir, name))
			t.Logf("%s:\n%s", name, log)
		}
	}
}
