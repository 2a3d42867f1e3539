//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDir takes the lock that one live Server at a time holds on its data
// directory. The kernel releases it when the file is closed, which includes
// the death of the process.
func lockDir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s: another process, or another server of this one, runs PostgreSQL on it", ErrInUse, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// alive tells whether there is a process, or what is left of one, with this ID.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

const (
	fastShutdown      = syscall.SIGINT  // ends sessions, writes a checkpoint
	immediateShutdown = syscall.SIGQUIT // leaves recovery to the next start
)
