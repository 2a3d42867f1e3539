//go:build linux || darwin

package bench

import "syscall"

// freeBytes is how much of the disk below a directory is free.
func freeBytes(dir string) (n int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:gosec,unconvert // types differ between systems
}
