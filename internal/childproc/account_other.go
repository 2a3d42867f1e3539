//go:build !unix

package childproc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Account is the operating-system user that children run as: on this system
// always the user that runs this process.
type Account struct{}

// Unprivileged returns the account for children.
func Unprivileged() (Account, error) { return Account{}, nil }

// Dropped tells whether children run as another user than this process.
func (Account) Dropped() bool { return false }

// Apply makes cmd run as the account.
func (Account) Apply(*exec.Cmd) {}

// Own gives the file at path to the account.
func (Account) Own(string) error { return nil }

// OwnTree gives path, and all below it, to the account.
func (Account) OwnTree(string) error { return nil }

// Owns tells whether the file at path belongs to the account.
func (Account) Owns(string) bool { return true }

// CheckReach returns an error if the account may not enter a folder on the way
// to path.
func (Account) CheckReach(string) error { return nil }

// Detach makes cmd run in a process group of its own.
func Detach(*exec.Cmd) {}

// SignalGroup sends sig to the child. One that has exited is no error.
func (p *Process) SignalGroup(sig syscall.Signal) error {
	if err := p.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
