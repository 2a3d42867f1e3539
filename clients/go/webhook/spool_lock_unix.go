//go:build unix

package webhook

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, spoolFileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // a descriptor
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
