package childproc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Listener is a child that serves an address, which it prints as its first line:
// «… listens on ADDRESS, …».
type Listener struct {
	*Process
	// Addr is the address.
	Addr string

	out *os.File
}

// StartListener starts cmd, whose standard output must not be set, and waits up to the
// timeout until it says where it listens. What else it prints is dropped. The child is
// signalled SIGTERM when this process dies.
func StartListener(cmd *exec.Cmd, timeout time.Duration) (*Listener, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	proc, err := Start(cmd, syscall.SIGTERM)
	_ = write.Close()
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	l := &Listener{Process: proc, out: read}
	if l.Addr, err = address(read, proc.Done(), timeout); err != nil {
		_ = proc.Signal(os.Kill)
		<-proc.Done()
		return nil, errors.Join(err, read.Close())
	}
	return l, nil
}

// address reads where the child listens from what it prints.
func address(out io.Reader, ended <-chan struct{}, timeout time.Duration) (string, error) {
	line := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		text, _ := r.ReadString('\n')
		line <- text
		_, _ = io.Copy(io.Discard, r)
	}()
	var text string
	select {
	case text = <-line:
	case <-ended:
		text = <-line
	case <-time.After(timeout):
	}
	_, rest, ok := strings.Cut(text, "listens on ")
	addr, _, _ := strings.Cut(strings.TrimSpace(rest), ",")
	if !ok {
		return "", fmt.Errorf("the process did not start to listen: %q", text)
	}
	return addr, nil
}

// Stop asks the child to end and waits for that. One that does not end within the
// timeout is killed. The error is how it exited.
func (l *Listener) Stop(timeout time.Duration) error {
	_ = l.Signal(syscall.SIGTERM)
	select {
	case <-l.Done():
	case <-time.After(timeout):
		_ = l.Signal(os.Kill)
		<-l.Done()
	}
	return errors.Join(l.out.Close(), l.Err())
}
