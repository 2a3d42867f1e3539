//go:build unix

package polyglot_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/docrun"
)

const (
	firstHour      = "docs/first-hour.md"
	defaultAddress = "127.0.0.1:7443"
)

// The page for strangers is true: its commands, run in a fresh copy of the repository,
// print what it says.
func TestTheFirstHour(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, firstHour))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		l.prepare(t) // what the page's own command then finds done
	}
	address := freeAddress(t)
	blocks, err := docrun.Blocks(strings.ReplaceAll(string(page), defaultAddress, address))
	if err != nil {
		t.Fatal(err)
	}
	steps := docrun.Steps(blocks)
	if len(steps) < 10 {
		t.Fatalf("%d steps found", len(steps))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	shell := docrun.Shell{Dir: freshCopy(t), Env: append(os.Environ(), "IDEMSVC_LISTEN="+address, "IDEMSVC_ADDRESS="+address)}
	printed, err := shell.Run(ctx, steps)
	for i, s := range steps {
		t.Run(s.Heading, func(t *testing.T) {
			if i >= len(printed) {
				t.Fatal("it was not reached")
			}
			if s.Prints != "" && !docrun.Matches(s.Prints, printed[i]) {
				t.Errorf("%s\nprints\n%s\nand not\n%s", s.Commands, printed[i], s.Prints)
			}
		})
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(freshCopy(t), "server.log"))
		t.Errorf("the shell ends with %v\n%s\nserver:\n%s", err, strings.Join(printed, ""), log)
	}
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}
