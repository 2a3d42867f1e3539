//go:build !unix

package webhook

import "os"

// lockFile takes no lock here: see to it that a spool belongs to one handler.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, spoolFileMode)
}
