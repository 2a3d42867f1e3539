package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// process is what the tests of this process share; nil outside [Run].
var process struct {
	sync.Mutex
	fixture *fixture
}

// Run runs the tests, then stops the server that they shared and removes all
// that was created for them. It returns the code to exit with.
func Run(m *testing.M) int {
	f := &fixture{}
	process.Lock()
	process.fixture = f
	process.Unlock()

	code := m.Run()
	if err := f.close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest: clean up:", err)
		if code == 0 {
			code = 1
		}
	}
	return code
}

// current returns the fixture of this process, or ends the test if there is
// nothing that would clean up after it.
func current(t testing.TB) *fixture {
	t.Helper()
	process.Lock()
	defer process.Unlock()
	if process.fixture == nil {
		t.Fatal("pgtest: this package needs func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }")
	}
	return process.fixture
}

// fixture owns the files and the shared server of one process.
type fixture struct {
	mu        sync.Mutex
	root      string // the folder that all files are in
	reaper    *reaper
	server    *server
	serverErr error // why there is no server; not tried again
}

// dir creates a folder that the unprivileged user can reach.
func (f *fixture) dir(prefix string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirLocked(prefix)
}

func (f *fixture) dirLocked(prefix string) (string, error) {
	if f.root == "" {
		root, err := os.MkdirTemp("", "idemsvc-pgtest-")
		if err != nil {
			return "", err
		}
		f.root = root
		// Servers that root starts run as another user.
		if err := os.Chmod(root, 0o711); err != nil {
			return "", err
		}
		if f.reaper, err = startReaper(root); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(f.root, prefix+"-")
}

// shared returns the server that databases are created on, starting it at the
// first call.
func (f *fixture) shared(ctx context.Context) (*server, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil || f.serverErr != nil {
		return f.server, f.serverErr
	}
	f.server, f.serverErr = f.openServer(ctx)
	return f.server, f.serverErr
}

func (f *fixture) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Long enough for a clean shutdown, which ends hard after 20 seconds.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if f.server != nil {
		errs = append(errs, f.server.close(ctx))
	}
	if f.root != "" {
		errs = append(errs, os.RemoveAll(f.root))
	}
	if f.reaper != nil {
		errs = append(errs, f.reaper.dismiss())
	}
	return errors.Join(errs...)
}

// reaper is a shell that waits for the end of this process, then stops the
// servers that run in a folder and removes it. It covers the ends that no
// deferred call sees: a panic in a test, a timeout, a kill.
type reaper struct {
	cmd   *exec.Cmd
	stdin io.Closer // closed by the kernel when this process ends
}

const reaperScript = `
cat >/dev/null
for f in "$1"/*/data/postmaster.pid "$1"/*/pgbouncer.pid; do
	[ -f "$f" ] || continue
	pid=$(head -n 1 "$f")
	kill -QUIT "$pid" 2>/dev/null || continue
	n=0
	while [ $n -lt 100 ] && kill -0 "$pid" 2>/dev/null; do
		sleep 0.1
		n=$((n + 1))
	done
done
rm -rf "$1"
`

func startReaper(root string) (*reaper, error) {
	cmd := exec.CommandContext(context.Background(), "sh", "-c", reaperScript, "sh", filepath.Clean(root))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	childproc.Detach(cmd) // an interrupt from the terminal is not for it
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that cleans up: %w", err)
	}
	return &reaper{cmd, stdin}, nil
}

func (r *reaper) dismiss() error {
	return errors.Join(r.stdin.Close(), r.cmd.Wait())
}
