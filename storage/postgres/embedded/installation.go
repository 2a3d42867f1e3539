package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// MinMajor is the oldest PostgreSQL major version that is used.
const MinMajor = 15

// BinDirEnv is the environment variable that names the folder of the
// PostgreSQL programs to use, before all others.
const BinDirEnv = "IDEMSVC_PG_BIN"

// ErrNotFound is wrapped by errors that say that no usable PostgreSQL is
// installed.
var ErrNotFound = errors.New("no usable PostgreSQL found")

// Installation is one set of PostgreSQL programs.
type Installation struct {
	// BinDir is the folder that holds postgres and initdb.
	BinDir string
	// Major is the major version, for example 15.
	Major int
	// Version is the full version, for example "15.8" or "18beta1".
	Version string
}

// searched are the folders that packages put PostgreSQL in, newest version or
// not: the version is asked of the programs themselves.
var searched = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // RHEL, Fedora
	"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                    // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",    // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/usr/local/pgsql/bin",                               // built from source
}

// Find returns the installation in the folder that the environment variable
// IDEMSVC_PG_BIN names. If that is unset, it returns the one of the newest
// major version among PATH and the folders that the packages of Debian, RHEL,
// Homebrew and Postgres.app use. An error wraps [ErrNotFound], lists what was
// looked at and says how to install PostgreSQL.
func Find(ctx context.Context) (Installation, error) { return find(ctx, 0) }

// At returns the installation in binDir. An error wraps [ErrNotFound].
func At(ctx context.Context, binDir string) (Installation, error) {
	inst, err := inspect(ctx, binDir)
	if err != nil {
		return Installation{}, fmt.Errorf("%w in %s: %w", ErrNotFound, binDir, err)
	}
	return inst, nil
}

// find is Find, but prefers an installation of the given major version, if
// that is not zero.
func find(ctx context.Context, major int) (Installation, error) {
	if dir := os.Getenv(BinDirEnv); dir != "" {
		inst, err := At(ctx, dir)
		if err != nil {
			return Installation{}, fmt.Errorf("%s: %w", BinDirEnv, err)
		}
		return inst, nil
	}
	return newest(ctx, major, candidates())
}

// newest returns the installation of the preferred major version, if that is
// not zero and there is one, or else that of the newest.
func newest(ctx context.Context, preferred int, dirs []string) (Installation, error) {
	var best Installation
	looked := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		inst, err := inspect(ctx, dir)
		if err != nil {
			looked = append(looked, fmt.Sprintf("  %s: %v", dir, err))
			continue
		}
		if inst.Major == preferred {
			return inst, nil
		}
		if inst.Major > best.Major {
			best = inst
		}
	}
	if err := ctx.Err(); err != nil {
		return Installation{}, err
	}
	if best.Major == 0 {
		return Installation{}, fmt.Errorf("%w: version %d or newer is needed; looked at\n  PATH\n  %s\n%s%sset %s to the folder that holds postgres and initdb",
			ErrNotFound, MinMajor, strings.Join(searched, "\n  "), lines(looked), installAdvice(), BinDirEnv)
	}
	return best, nil
}

func lines(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return "and found\n" + strings.Join(s, "\n") + "\n"
}

// candidates are the folders in which to look, those in PATH first.
func candidates() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// Packages link single programs into PATH; initdb is beside the real one.
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}
	for _, pattern := range searched {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // not reached: the patterns are well formed
		}
		dirs = append(dirs, matches...)
	}
	return dirs
}

// inspect asks the programs in dir for their version.
func inspect(ctx context.Context, dir string) (Installation, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Installation{}, err
	}
	for _, program := range []string{"postgres", "initdb"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return Installation{}, fmt.Errorf("it has no %s", program)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Env = cleanEnv()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Installation{}, fmt.Errorf("postgres --version: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	inst := Installation{BinDir: dir}
	if inst.Major, inst.Version, err = parseVersion(string(out)); err != nil {
		return Installation{}, err
	}
	if inst.Major < MinMajor {
		return Installation{}, fmt.Errorf("it is PostgreSQL %s, older than %d", inst.Version, MinMajor)
	}
	return inst, nil
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// parseVersion reads the output of postgres --version.
func parseVersion(s string) (major int, version string, err error) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return 0, "", fmt.Errorf("postgres --version printed %q", s)
	}
	major, err = strconv.Atoi(m[2])
	return major, m[1], err
}

// installAdvice says how to install PostgreSQL, where that can be told.
func installAdvice() string {
	command := installCommand(runtime.GOOS, os.Geteuid() == 0, func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	})
	if command == "" {
		return ""
	}
	return "install it with\n  " + command + "\nor "
}

// installCommand installs PostgreSQL with the package manager that there is, "" for none.
func installCommand(system string, root bool, has func(program string) bool) string {
	sudo := "sudo "
	if root {
		sudo = ""
	}
	switch {
	case system == "darwin" || has("brew"):
		return "brew install postgresql@17"
	case has("apt-get"):
		return sudo + "apt-get update && " + sudo + "apt-get install -y postgresql"
	case has("dnf"):
		return sudo + "dnf install -y postgresql-server"
	default:
		return ""
	}
}

// cleanEnv is the environment for PostgreSQL's programs: without the variables
// that would redirect them, and with messages in English.
func cleanEnv() []string {
	return append(childproc.Environ("PG", "LC_", "LANG", "LANGUAGE"), "LC_ALL=C")
}
