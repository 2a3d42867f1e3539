//go:build unix

package auth

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockTimeout bounds the wait for a change that another process makes.
const lockTimeout = 10 * time.Second

// lock takes the lock of the file at path, which stays behind empty. The kernel gives it
// back however this process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s, which another process may hold: %w", path, err)
		}
	}
}

// giveTo gives the file to the owner of another one.
func giveTo(f *os.File, other os.FileInfo) error {
	st, ok := other.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
