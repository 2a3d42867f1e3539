package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// forTest is what is shipped, for this machine's platform.
func forTest(out string) options {
	return options{root: "../..", out: out, version: testVersion, created: testCreated, platforms: []platform{{runtime.GOOS, runtime.GOARCH}}}
}

// shared is a folder for all tests, with what is shipped once one of them has asked for it.
var shared string

var made = sync.OnceValue(func() error { return run(context.Background(), forTest(filepath.Join(shared, "dist"))) })

const testVersion = "1.2.3-rc.1+test"

var testCreated = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "idemsvc-dist-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

func distribution(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("images are made for Linux")
	}
	if err := made(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(shared, "dist")
}

func program() string { return "idemsvc-" + runtime.GOOS + "-" + runtime.GOARCH }

func TestTheProgramIsStaticAndKnowsItsVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(distribution(t), program())
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it needs a %v", p.Type)
		}
	}
	out, err := exec.CommandContext(t.Context(), path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "idemsvc "+testVersion+", schema ") {
		t.Errorf("%s %v", out, err)
	}
	info, err := exec.CommandContext(t.Context(), "go", "version", "-m", path).Output()
	if root, rootErr := filepath.Abs("../.."); err != nil || rootErr != nil || bytes.Contains(info, []byte(root)) || bytes.Contains(info, []byte("vcs")) {
		t.Errorf("it says where it was built: %s %v", info, err)
	}
}

// Linked again, elsewhere, the program and the image are the same to the byte.
func TestItIsReproducible(t *testing.T) {
	t.Parallel()
	first := distribution(t)
	again := filepath.Join(t.TempDir(), "elsewhere", "dist")
	if err := run(t.Context(), forTest(again)); err != nil {
		t.Fatal(err)
	}
	a, errA := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	b, errB := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	if errors.Join(errA, errB) != nil || !bytes.Equal(a, b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, a, b)
	}
}

func TestTheChecksumsAreRight(t *testing.T) {
	t.Parallel()
	dir := distribution(t)
	f, err := os.Open(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var listed []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if got, err := sumOf(filepath.Join(dir, name)); err != nil || !ok || got != sum {
			t.Errorf("%s: %s, %v", lines.Text(), got, err)
		}
		listed = append(listed, name)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" && !slices.Contains(listed, e.Name()) {
			t.Errorf("%s has no checksum", e.Name())
		}
	}
	if len(listed) != 3 {
		t.Errorf("listed are %q", listed)
	}
}

func TestTheLicencesAreHandedOn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(distribution(t), "LICENSES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== idemsvc\n", "==== Go's runtime", "==== google.golang.org/grpc v", "==== github.com/jackc/pgx/v5 v", "Apache License", "MIT License"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%q is not in it", want)
		}
	}
}

func TestWhatIsAskedForIsChecked(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"", "1 2", "a/b", "1'"} {
		if err := run(t.Context(), options{root: "../..", out: t.TempDir(), version: v}); err == nil || !strings.Contains(err.Error(), "-version") {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, s := range []string{"", "now", "-1"} {
		if _, err := sourceDate(s); err == nil {
			t.Errorf("%q is a time", s)
		}
	}
	if at, err := sourceDate("86400"); err != nil || !at.Equal(time.Unix(86400, 0)) {
		t.Errorf("%v %v", at, err)
	}
}
