// Package childproc starts helper servers, such as a development PostgreSQL,
// as children of this process. A child has a process group of its own so that
// a terminal's interrupt reaches only the parent, and on Linux is signalled
// when the parent dies, however it dies. One that an [Account] was applied to
// never runs as root.
package childproc

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Process is a running child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts cmd, asking the kernel, where it can, to send the child
// deathSignal when this process dies.
//
// Linux ties that request to the thread that forked the child, not to the
// process. The goroutine that starts the child therefore keeps its thread
// until the child has exited.
func Start(cmd *exec.Cmd, deathSignal os.Signal) (*Process, error) {
	Detach(cmd)
	setDeathSignal(cmd, deathSignal)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the child's process ID. It is meaningful until Done is closed.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the child has exited and has been waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the child exited, as [exec.Cmd.Wait] reports it: nil for exit
// status zero. It must not be called before Done is closed.
func (p *Process) Err() error { return p.err }

// Signal sends sig to the child. Signalling a child that has exited returns
// [os.ErrProcessDone].
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Environ is this process's environment without the variables that start with
// one of the prefixes.
func Environ(withoutPrefixes ...string) []string {
	var kept []string
next:
	for _, kv := range os.Environ() {
		for _, prefix := range withoutPrefixes {
			if strings.HasPrefix(kv, prefix) {
				continue next
			}
		}
		kept = append(kept, kv)
	}
	return kept
}
