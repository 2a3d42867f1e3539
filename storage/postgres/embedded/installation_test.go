package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		major   int
		version string
	}{
		{"postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)\n", 15, "15.8"},
		{"postgres (PostgreSQL) 18beta1\n", 18, "18beta1"},
		{"postgres (PostgreSQL) 19devel\n", 19, "19devel"},
		{"postgres (PostgreSQL) 9.6.24\n", 9, "9.6.24"},
	} {
		major, version, err := parseVersion(c.in)
		if err != nil || major != c.major || version != c.version {
			t.Errorf("%q: got %d, %q, %v", c.in, major, version, err)
		}
	}
	if _, _, err := parseVersion("mysqld 8"); err == nil {
		t.Error("accepted another program's version")
	}
}

// fakeInstall makes a folder with programs that claim to be of a version.
func fakeInstall(t *testing.T, version string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, program := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNewestWins(t *testing.T) {
	t.Parallel()
	dirs := []string{fakeInstall(t, "14.1"), fakeInstall(t, "15.3"), fakeInstall(t, "17.2"), fakeInstall(t, "16.9"), t.TempDir()}
	for _, c := range []struct{ preferred, want int }{{0, 17}, {16, 16}, {18, 17}, {14, 17}} {
		got, err := newest(t.Context(), c.preferred, dirs)
		if err != nil {
			t.Fatal(err)
		}
		if got.Major != c.want {
			t.Errorf("preferring %d: got %d, want %d", c.preferred, got.Major, c.want)
		}
	}
}

func TestNothingFound(t *testing.T) {
	t.Parallel()
	old, none := fakeInstall(t, "14.1"), t.TempDir()
	_, err := newest(t.Context(), 0, []string{old, none})
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
	for _, want := range []string{old + ": it is PostgreSQL 14.1", none + ": it has no postgres", installAdvice(), BinDirEnv} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestInstallCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system, has string
		root        bool
		want        string
	}{
		{"linux", "apt-get", true, "apt-get update && apt-get install -y postgresql"},
		{"linux", "apt-get", false, "sudo apt-get update && sudo apt-get install -y postgresql"},
		{"linux", "dnf", false, "sudo dnf install -y postgresql-server"},
		{"linux", "brew", false, "brew install postgresql@17"},
		{"darwin", "", false, "brew install postgresql@17"},
		{"linux", "", true, ""}, // an image that holds nothing else
	} {
		if got := installCommand(c.system, c.root, func(program string) bool { return program == c.has }); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestFindObeysEnv(t *testing.T) {
	dir := fakeInstall(t, "16.0")
	t.Setenv(BinDirEnv, dir)
	if got, err := Find(t.Context()); err != nil || got.BinDir != dir || got.Major != 16 {
		t.Errorf("got %+v, %v", got, err)
	}
	t.Setenv(BinDirEnv, t.TempDir())
	if got, err := Find(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Errorf("fell back to %+v, %v", got, err)
	}
}
