//go:build linux

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// slowDisk makes the database's disk slow: a library before the C library's own makes
// fsync and fdatasync take as long as a file says.
type slowDisk struct{ file string }

// newSlowDisk gives the database programs that listen to it. Without a C compiler there is
// none, and nil is returned.
func newSlowDisk(t *testing.T, o *embedded.Options) *slowDisk {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Log("without a C compiler the disk is never slow")
		return nil
	}
	inst, err := embedded.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := sharedDir(t)
	s := &slowDisk{file: filepath.Join(dir, "delay")}
	lib := filepath.Join(dir, "slowdisk.so")
	out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-O1", "-o", lib, "testdata/slowdisk.c", "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	script := fmt.Sprintf("#!/bin/sh\nSLOW_DISK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n", s.file, lib, filepath.Join(inst.BinDir, "postgres"))
	err = errors.Join(
		os.Chmod(lib, 0o755), //nolint:gosec // PostgreSQL's user runs it
		os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755), //nolint:gosec // the same
		os.Symlink(filepath.Join(inst.BinDir, "initdb"), filepath.Join(dir, "initdb")),
		s.set(0),
	)
	if err != nil {
		t.Fatal(err)
	}
	inst.BinDir = dir
	o.Installation = inst
	return s
}

// set says how long a sync takes from now on.
func (s *slowDisk) set(d time.Duration) error {
	return os.WriteFile(s.file, []byte(strconv.FormatInt(d.Microseconds(), 10)), 0o644) //nolint:gosec // PostgreSQL's user reads it
}

// mountSmall mounts a small file system, or skips.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := sharedDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size="+size); err != nil {
		t.Skipf("no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill takes all room that is left, and gives it back when it is told.
func fill(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is full
	for size := 1 << 20; size >= 512; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
	return func() error { return os.Remove(path) }, nil
}

// A disk that is full, log and all, stops the work and loses nothing: once there is room
// again, what was acknowledged is there, and the work goes on.
func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := mountSmall(t, "160m")
	s := newSite(t, uint64(time.Now().UnixNano()), embedded.Options{DataDir: filepath.Join(dir, "pg"), Settings: map[string]string{ //nolint:gosec // any number is a seed
		"min_wal_size": "32MB", "max_wal_size": "48MB", "shared_buffers": "16MB",
	}})
	for i := range 2 {
		if err := s.startClient(i); err != nil {
			t.Fatal(err)
		}
	}
	s.mustProgress(60 * time.Second)
	for range 2 {
		free, err := fill(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.untilStuck(30 * time.Second)
		if err := free(); err != nil {
			t.Fatal(err)
		}
		s.revive()
		s.mustProgress(60 * time.Second)
		s.verify(t.Context(), true)
	}
	s.finish(t.Context())
}

// untilStuck waits until no event has been completed for two seconds.
func (s *site) untilStuck(within time.Duration) {
	s.t.Helper()
	last, since := 0, time.Now()
	for end := time.Now().Add(within); time.Now().Before(end); sleepFor(s.t.Context(), 50*time.Millisecond) {
		if err := s.collectAll(); err != nil {
			s.t.Fatal(err)
		}
		if n := s.check.counts[opComplete]; n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > 2*time.Second {
			return
		}
	}
	s.t.Log("the full disk did not stop the work: nothing needed new room")
}

// revive starts the database again where it has ended: without room for its log it does.
func (s *site) revive() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := s.pg.Restart(ctx); err != nil {
		s.t.Fatal(err)
	}
}
