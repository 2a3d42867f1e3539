package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

// asProgram makes the test binary behave as the program.
const asProgram = "RUN_AS_IDEMSVC"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(pgtest.Run(m))
}

// environment is a lookup in a map.
func environment(vars map[string]string) lookup {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// outcome is what a run of the program said.
type outcome struct {
	code           int
	stdout, stderr string
}

// idemsvcRun runs the program in this process.
func idemsvcRun(t *testing.T, vars map[string]string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	code := run(ctx, args, environment(vars), strings.NewReader(""), &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

// program is a running server in a process of its own.
type program struct {
	cmd     *exec.Cmd
	addr    string
	http    string
	metrics string
	stderr  *lockedBuffer
	exited  chan error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startProgram runs «idemsvc serve» and waits until it listens.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	return startProgramIn(t, nil, args...)
}

// startProgramIn is startProgram with more variables in the environment.
func startProgramIn(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	return startCommand(t, env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// startCommand runs a command that serves, and waits until it listens.
func startCommand(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{stderr: &lockedBuffer{}, exited: make(chan error, 1)}
	p.cmd = exec.CommandContext(context.Background(), self, args...)
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		p.exited <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Signal(os.Interrupt)
			_ = p.wait()
		}
	})
	p.addr = addressIn(line)
	if _, rest, ok := strings.Cut(line, "HTTP: "); ok {
		p.http, _, _ = strings.Cut(strings.TrimSpace(rest), ",")
	}
	_, p.metrics, _ = strings.Cut(strings.TrimSpace(line), "metrics: ")
	if p.addr == "" {
		t.Fatalf("it does not listen: %q\n%s", line, p.stderr)
	}
	return p
}

// addressIn finds the address in the line that a server prints.
func addressIn(line string) string {
	_, rest, _ := strings.Cut(line, "listens on ")
	addr, _, _ := strings.Cut(strings.TrimSpace(rest), ",")
	return addr
}

func (p *program) wait() error {
	select {
	case err := <-p.exited:
		p.exited <- err
		return err
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		return <-p.exited
	}
}

// dataDir is a directory that root's PostgreSQL, which runs as another user, can reach.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "idemsvc-cmd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	return dir
}

func dial(t *testing.T, addr string, opts ...idemsvc.Option) *idemsvc.Client {
	t.Helper()
	c, err := idemsvc.Dial(addr, append([]idemsvc.Option{idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// event is one of the usual kind.
func event(id string) *idemsvc.Event {
	return &idemsvc.Event{Source: "stripe", EventId: id, Type: "invoice.paid"}
}

// process claims and completes an event.
func process(ctx context.Context, c *idemsvc.Client, id string) error {
	a, err := c.Claim(ctx, event(id))
	if err != nil {
		return err
	}
	if a.Claim == nil {
		return nil
	}
	_, err = a.Claim.Complete(ctx, idemsvc.WithResult([]byte("result of "+id), "text/plain"))
	return err
}

// wantDuplicate fails unless the event was processed with its result.
func wantDuplicate(t *testing.T, c *idemsvc.Client, id string) {
	t.Helper()
	a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: id})
	if err != nil || a.Advice() != idemsvc.Acknowledge || string(a.GetExisting().GetResult()) != "result of "+id {
		t.Fatalf("%s: %v %v", id, a, err)
	}
}
