//go:build linux

// Package faults_test kills and cripples the service as a whole: server processes, client
// processes and their PostgreSQL, under load, and looks after each fault whether all that
// was acknowledged is there and nothing ran twice that must not.
package faults_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// What a campaign is to reach. The defaults are those of every run of the tests.
var (
	killsFlag  = flag.Int("campaign.kills", 20, "kills and stops of processes at least")
	roundsFlag = flag.Int("campaign.rounds", 200, "rounds of one fault each at least")
	timeFlag   = flag.Duration("campaign.time", 0, "how long at least")
	limitFlag  = flag.Duration("campaign.limit", 90*time.Second, "how long at most, whatever was reached by then; 0: no limit")
	seedFlag   = flag.Uint64("campaign.seed", 0, "what decides all chances; 0: the clock")
	resultFlag = flag.String("campaign.result", "", "file to write the result to")
)

// The same of a campaign on the inbox.
var (
	inboxEventsFlag = flag.Int("inbox.events", 200, "events at least")
	inboxKillsFlag  = flag.Int("inbox.kills", 6, "kills and stops of processes at least")
	inboxTimeFlag   = flag.Duration("inbox.time", 0, "how long at least, before what is left is brought to its end")
	inboxLimitFlag  = flag.Duration("inbox.limit", 30*time.Second, "how long at most, whatever was reached by then; 0: no limit")
	inboxSeedFlag   = flag.Uint64("inbox.seed", 0, "what decides all chances; 0: the clock")
	inboxResultFlag = flag.String("inbox.result", "", "file to write the result to")
)

// What makes the test binary behave as a client process, or as a worker of the inbox.
const (
	asClient = "IDEMSVC_FAULTS_CLIENT"
	asWorker = "IDEMSVC_FAULTS_WORKER"
)

func TestMain(m *testing.M) {
	for variable, run := range map[string]func(string) error{asClient: runClient, asWorker: runInboxWorker} {
		if job := os.Getenv(variable); job != "" {
			if err := run(job); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	code := pgtest.Run(m)
	if program.path != "" {
		_ = os.RemoveAll(filepath.Dir(program.path))
	}
	os.Exit(code)
}

func migrate(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
	return err
}

var program struct {
	once sync.Once
	path string
	err  error
}

// buildProgram builds the program as this test was built, so that what is compiled is
// compiled once, and its races are found.
func buildProgram(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		dir, err := os.MkdirTemp("", "idemsvc-faults-")
		if err != nil {
			program.err = err
			return
		}
		program.path = filepath.Join(dir, "idemsvc")
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		args := append([]string{"build", "-o", program.path}, buildFlags...)
		out, err := exec.CommandContext(ctx, "go", append(args, "github.com/idemsvc/idemsvc/cmd/idemsvc")...).CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// sharedDir is a folder that PostgreSQL's user can enter.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "idemsvc-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	return dir
}

func sleepFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
