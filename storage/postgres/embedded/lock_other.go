//go:build !unix

package embedded

import (
	"errors"
	"os"
)

func lockDir(string) (*os.File, error) {
	return nil, errors.New("an embedded PostgreSQL is not supported on this system: connect to a server instead")
}

func alive(int) bool { return false }

var (
	fastShutdown      = os.Interrupt
	immediateShutdown = os.Kill
)
