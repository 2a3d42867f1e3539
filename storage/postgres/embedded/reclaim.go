package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// reclaim stops a server that an earlier, dead parent left running on the
// directory. The caller holds the directory's lock, so no live Server owns it.
// It tells whether the last server ended without cleaning up: parts of it may
// then still be going away.
func reclaim(ctx context.Context, l layout) (crashed bool, err error) {
	pidFile := filepath.Join(l.data(), "postmaster.pid")
	b, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var pid int
	if n, _ := fmt.Sscan(string(b), &pid); n != 1 || pid <= 0 {
		return true, removeStale(pidFile, l.data()) // torn by a crash of the machine
	}
	if !alive(pid) {
		return true, nil // PostgreSQL sees that for itself
	}
	if !worksIn(ctx, pid, l.data()) {
		// The ID went to an unrelated process, which PostgreSQL would take for
		// a live server.
		return true, removeStale(pidFile, l.data())
	}
	return true, stopOrphan(ctx, pid, l.data())
}

// removeStale removes the lock file of a server that is gone, unless processes that are
// left of it use the data, as far as the system can tell.
func removeStale(pidFile, data string) error {
	if other, found := anyWorkingIn(data); found {
		return fmt.Errorf("process %d is left of a dead server on %s: end it", other, data)
	}
	return os.Remove(pidFile)
}

// stopOrphan ends a server that is not a child of this process, more
// forcefully with time.
func stopOrphan(ctx context.Context, pid int, data string) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, sig := range []os.Signal{fastShutdown, immediateShutdown, os.Kill} {
		if err := process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop process %d, which still runs PostgreSQL on %s: %w", pid, data, err)
		}
		deadline := time.After(stopTimeout)
		for waiting := true; waiting; {
			if !worksIn(ctx, pid, data) {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-deadline:
				waiting = false
			case <-tick.C:
			}
		}
	}
	return fmt.Errorf("process %d still runs PostgreSQL on %s, and cannot be stopped", pid, data)
}

// worksIn tells whether the process is a PostgreSQL server of the data
// directory, which it has as its working directory and among its arguments.
func worksIn(ctx context.Context, pid int, data string) bool {
	if _, err := os.Stat("/proc/self/cwd"); err == nil {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return err == nil && samePath(cwd, data)
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), data)
}

// anyWorkingIn finds a process whose working directory is the data directory,
// where the system can tell.
func anyWorkingIn(data string) (pid int, found bool) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return 0, false
	}
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && samePath(cwd, data) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			return pid, err == nil
		}
	}
	return 0, false
}

func samePath(a, b string) bool {
	target, err := filepath.EvalSymlinks(b)
	return err == nil && a == target
}
