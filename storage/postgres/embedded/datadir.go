package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// ErrInUse is wrapped by the error of [Start] when the data directory has a
// live [Server], of this or another process.
var ErrInUse = errors.New("data directory is in use")

// ErrVersionMismatch is wrapped by the error of [Start] when the data was
// written by another major version of PostgreSQL.
var ErrVersionMismatch = errors.New("data directory is of another PostgreSQL version")

// Exists reports whether the directory has a database of an earlier start.
func Exists(dataDir string) (bool, error) {
	root, err := filepath.Abs(dataDir)
	if err != nil {
		return false, err
	}
	major, err := layout{root}.major()
	return major != 0, err
}

// layout is where things are in a data directory.
type layout struct{ root string }

func (l layout) data() string     { return filepath.Join(l.root, "data") }
func (l layout) sock() string     { return filepath.Join(l.root, "sock") }
func (l layout) password() string { return filepath.Join(l.root, "password") }

// prepare creates the directory when it is missing, gives it to the account,
// and locks it. The caller closes the returned file to unlock.
func (l layout) prepare(account childproc.Account) (*os.File, error) {
	if err := l.checkOurs(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(l.root), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(l.root, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := account.Own(l.root); err != nil {
		return nil, fmt.Errorf("give the data directory to the user that runs PostgreSQL: %w", err)
	}
	if err := account.CheckReach(l.root); err != nil {
		return nil, fmt.Errorf("PostgreSQL cannot use the data directory %s: %w", l.root, err)
	}
	lock, err := lockDir(l.root)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// checkOurs refuses a directory that holds anything that this package does not
// put there.
func (l layout) checkOurs() error {
	entries, err := os.ReadDir(l.root)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "data", name == "sock", name == "password", name == "lost+found",
			strings.HasPrefix(name, initPrefix):
		case name == "PG_VERSION":
			return fmt.Errorf("%s is itself a PostgreSQL cluster: give a directory that is empty or missing", l.root)
		default:
			return fmt.Errorf("%s holds %s, which is not of an embedded PostgreSQL: give a directory that is empty or missing", l.root, name)
		}
	}
	return nil
}

// major is the version that the data is of, or zero if there is no data yet.
func (l layout) major() (int, error) {
	b, err := os.ReadFile(filepath.Join(l.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION: %w", l.data(), err)
	}
	return major, nil
}

func checkMajor(l layout, major int, inst Installation) error {
	if major == 0 || major == inst.Major {
		return nil
	}
	return fmt.Errorf("%w: %s was created by PostgreSQL %d, but %s holds PostgreSQL %d: point %s to the programs of version %d, or move the directory away to start with an empty one",
		ErrVersionMismatch, l.root, major, inst.BinDir, inst.Major, BinDirEnv, major)
}

const initPrefix = "init-"

// initialise creates the cluster. It is whole once it has its final name.
func (l layout) initialise(ctx context.Context, inst Installation, account childproc.Account, durable bool) error {
	abandoned, err := filepath.Glob(filepath.Join(l.root, initPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range abandoned {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.WriteFile(l.password(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	if err := account.Own(l.password()); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(l.root, initPrefix)
	if err != nil {
		return err
	}
	// Finds nothing after the rename, and what it fails at is left to the
	// next start.
	defer func() { _ = os.RemoveAll(dir) }()
	if err := account.Own(dir); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + dir, "--username=" + Superuser, "--pwfile=" + l.password(),
		"--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256",
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(inst.BinDir, "initdb"), args...)
	cmd.Dir = l.root
	cmd.Env = cleanEnv()
	account.Apply(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Rename(dir, l.data())
}
