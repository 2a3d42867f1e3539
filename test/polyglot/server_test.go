package polyglot_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/childproc"
)

// site is a running server and the tokens for it.
type site struct {
	address          string
	consumer, reader string
}

// serve builds the program in the copy and runs it, over a PostgreSQL of its own, until
// the test ends.
func serve(t *testing.T) site {
	t.Helper()
	// Not build/idemsvc, which the first hour builds at the same time.
	program, home := "build/polyglot-idemsvc", "build/polyglot"
	if _, err := run(t, nil, "go", "build", "-o", program, "./cmd/idemsvc"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(freshCopy(t), home), 0o711); err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(home, "tokens.json")
	token := func(role string) string {
		out, err := run(t, nil, program, "token", "create", "--tokens", tokens, "--name", role, "--namespaces", "dev", "--role", role)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	s := site{consumer: token("consumer"), reader: token("reader")}

	cmd := exec.CommandContext(context.Background(), program, "serve", "--listen", "127.0.0.1:0", "--tokens", tokens, "--data-dir", filepath.Join(home, "data"))
	cmd.Dir = freshCopy(t)
	log, err := os.Create(filepath.Join(freshCopy(t), home, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	process, err := childproc.Start(cmd, os.Interrupt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Signal(os.Interrupt)
		select {
		case <-process.Done():
			if err := process.Err(); err != nil {
				t.Errorf("the server ends with %v", err)
			}
		case <-time.After(time.Minute):
			_ = process.Signal(os.Kill)
			t.Error("the server does not stop")
		}
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", said)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n') // the only one that it prints there
	_, rest, _ := strings.Cut(line, "listens on ")
	s.address, _, _ = strings.Cut(rest, ",")
	if err != nil || s.address == "" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return s
}

// dial is a client with one of the tokens.
func (s site) dial(t *testing.T, token string) *idemsvc.Client {
	t.Helper()
	c, err := idemsvc.Dial(s.address, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"), idemsvc.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
