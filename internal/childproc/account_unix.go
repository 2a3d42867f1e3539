//go:build unix

package childproc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Account is the operating-system user that children run as. The zero Account
// is the user that runs this process.
type Account struct {
	name     string
	uid, gid uint32
	drop     bool
}

// Unprivileged returns the account for children: the current user, or, when
// that is root, the user "postgres", or else "nobody".
func Unprivileged() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return Account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return Account{name: name, uid: uint32(uid), gid: uint32(gid), drop: true}, nil
	}
	return Account{}, errors.New("running as root, and there is no user postgres or nobody to run as instead")
}

// Dropped tells whether children run as another user than this process.
func (a Account) Dropped() bool { return a.drop }

// Apply makes cmd run as the account.
func (a Account) Apply(cmd *exec.Cmd) {
	if !a.drop {
		return
	}
	sysProcAttr(cmd).Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// Own gives the file at path to the account. It does not follow links.
func (a Account) Own(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// OwnTree gives path, and all below it, to the account unless path is the
// account's already.
func (a Account) OwnTree(path string) error {
	if !a.drop || a.Owns(path) {
		return nil
	}
	// The top goes last: if this is cut short, the next call starts over.
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == path {
			return err
		}
		return a.Own(p)
	})
	if err != nil {
		return err
	}
	return a.Own(path)
}

// Owns tells whether the file at path belongs to the account. It does not
// follow links.
func (a Account) Owns(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if !a.drop {
		return int(st.Uid) == os.Geteuid()
	}
	return st.Uid == a.uid
}

// CheckReach returns an error that names the folder on the way to the existing
// path that the account may not enter, if there is one.
func (a Account) CheckReach(path string) error {
	if !a.drop {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	for i := range path {
		if i > 0 && path[i] != filepath.Separator {
			continue
		}
		dir := path[:max(i, 1)]
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.mayEnter(info) {
			return fmt.Errorf("user %s, which runs it in root's stead, may not enter %s (mode %s): use another place, or run as a user other than root",
				a.name, dir, strings.TrimPrefix(info.Mode().String(), "d"))
		}
	}
	return nil
}

func (a Account) mayEnter(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	perm := info.Mode().Perm()
	switch {
	case st.Uid == a.uid:
		return perm&0o100 != 0
	case st.Gid == a.gid:
		return perm&0o010 != 0
	default:
		return perm&0o001 != 0
	}
}

// Detach makes cmd run in a process group of its own, which signals from the
// terminal do not reach.
func Detach(cmd *exec.Cmd) { sysProcAttr(cmd).Setpgid = true }

// SignalGroup sends sig to the child and to whatever else of its process group is left,
// also after the child has exited. A group of which nothing is left is no error.
func (p *Process) SignalGroup(sig syscall.Signal) error {
	if err := syscall.Kill(-p.PID(), sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func sysProcAttr(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}
