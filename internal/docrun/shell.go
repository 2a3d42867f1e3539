//go:build unix

package docrun

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// stepMark begins the line that the shell prints before each step.
const stepMark = "\x01"

// prologue gives every job of the shell a process group of its own, as in a terminal, and
// ends those that are left when the shell ends, with all that they started, in silence.
const prologue = `set -m
trap 'exec >/dev/null 2>&1; for job in $(jobs -p); do kill -- -$job || :; done; wait || :' EXIT
`

// Shell is where steps are run.
type Shell struct {
	Dir string   // its working directory
	Env []string // its whole environment
}

// Run runs the steps in one shell, which ends at the first command that fails, and returns
// what each step printed that was reached, to standard output and standard error. The end
// of the context ends the shell and all that it has started in the background.
func (s Shell) Run(ctx context.Context, steps []Step) (printed []string, err error) {
	var script strings.Builder
	script.WriteString(prologue)
	for _, step := range steps {
		fmt.Fprintf(&script, "echo; echo '%s'\n%s", stepMark, step.Commands)
	}
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script.String())
	shell.Dir, shell.Env = s.Dir, s.Env
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGTERM) }
	shell.WaitDelay = 30 * time.Second
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	process, err := childproc.Start(shell, syscall.SIGTERM) // in a group of its own
	if err != nil {
		return nil, err
	}
	<-process.Done()
	if err = process.Err(); err != nil {
		_ = process.SignalGroup(syscall.SIGKILL)
	}
	parts := strings.Split(out.String(), "\n"+stepMark+"\n")
	return parts[1:], err
}
