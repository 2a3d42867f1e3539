package polyglot_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/docrun"
)

// repository is the root of the work tree.
const repository = "../.."

// The tests share one copy of the repository, which the first one makes.
var (
	theCopy    string
	errCopy    error
	makingCopy sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if theCopy != "" {
		if err := os.RemoveAll(theCopy); err != nil && code == 0 {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// freshCopy is a folder with a copy of the repository.
func freshCopy(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		missing(t, "git")
	}
	makingCopy.Do(func() { theCopy, errCopy = docrun.Copy(context.Background(), repository) })
	if errCopy != nil {
		t.Fatal(errCopy)
	}
	return theCopy
}

// run runs a program in the copy and returns what it printed to its standard output.
func run(t *testing.T, env []string, program string, args ...string) (stdout string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = freshCopy(t)
	cmd.Env = append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s %q: %v\n%s%s", program, args, err, out, &errs)
	}
	return string(out), err
}

// missing skips the test because a program is not installed, but not where everything
// must be tested.
func missing(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
}
