package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func newSpool(t *testing.T, dir string, size int64) *spool {
	t.Helper()
	s, err := openSpool(spoolConfig{dir: dir, max: size}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *spool) mustClose(t *testing.T) {
	t.Helper()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// all takes everything and returns what was kept.
func (s *spool) all(t *testing.T) (records []*spooled, texts []string) {
	t.Helper()
	for {
		more := s.take(10)
		if len(more) == 0 {
			return records, texts
		}
		for _, r := range more {
			b, err := s.read(r)
			if err != nil {
				t.Fatal(err)
			}
			records, texts = append(records, r), append(texts, string(b))
		}
	}
}

func spoolFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+spoolSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func appendAll(t *testing.T, s *spool, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := s.append([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// What was kept comes back in order, after a restart, too, and leaves nothing when it is
// settled.
func TestASpoolKeepsOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, minSpool)
	var want []string
	for i := range 200 {
		want = append(want, strings.Repeat(fmt.Sprint(i, " "), 20))
	}
	appendAll(t, s, want[:150]...)
	if n := len(spoolFiles(t, dir)); n < 2 {
		t.Errorf("it has %d files: room would not come free until all is settled", n)
	}
	s.mustClose(t)

	s = newSpool(t, dir, minSpool)
	appendAll(t, s, want[150:]...)
	if !s.waiting() {
		t.Error("nothing waits")
	}
	records, got := s.all(t)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d came back", len(got), len(want))
	}
	for _, r := range records {
		s.tried()
		s.settle(r)
	}
	if s.waiting() || s.size != 0 || len(spoolFiles(t, dir)) != 0 {
		t.Errorf("%d bytes in %v are left", s.size, spoolFiles(t, dir))
	}
	appendAll(t, s, "more")
	if _, got := s.all(t); !slices.Equal(got, []string{"more"}) {
		t.Errorf("%q", got)
	}
	s.mustClose(t)
}

// A write that was cut off at any byte is dropped, and what was kept before it is not.
func TestATornTailIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, minSpool)
	appendAll(t, s, "first", "second", "third")
	s.mustClose(t)
	path := spoolFiles(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := len(spoolRecord([]byte("third")))
	for cut := 1; cut <= last; cut++ {
		torn := slices.Clone(whole[:len(whole)-cut])
		if cut%2 == 0 { // the file had its length already, the bytes had not arrived
			torn = append(torn, make([]byte, cut)...)
		}
		if err := os.WriteFile(path, torn, spoolFileMode); err != nil {
			t.Fatal(err)
		}
		s := newSpool(t, dir, minSpool)
		if _, got := s.all(t); !slices.Equal(got, []string{"first", "second"}) {
			t.Fatalf("%d bytes cut off: %q", cut, got)
		}
		appendAll(t, s, "fourth")
		if _, got := s.all(t); !slices.Equal(got, []string{"fourth"}) {
			t.Fatalf("%d bytes cut off: %q", cut, got)
		}
		s.mustClose(t)
		for _, p := range spoolFiles(t, dir)[1:] {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Damage in the middle costs what is damaged, and nothing behind it.
func TestDamageInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, minSpool)
	appendAll(t, s, "first", "second", "third")
	s.mustClose(t)
	path := spoolFiles(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := len(spoolRecord([]byte("first")))
	for i := range spoolRecord([]byte("second")) {
		damaged := slices.Clone(b)
		damaged[at+i] ^= 0xff
		if err := os.WriteFile(path, damaged, spoolFileMode); err != nil {
			t.Fatal(err)
		}
		s := newSpool(t, dir, minSpool)
		if _, got := s.all(t); !slices.Equal(got, []string{"first", "third"}) {
			t.Errorf("byte %d: %q", i, got)
		}
		s.mustClose(t)
	}
}

// A full spool refuses, and room comes free file by file.
func TestAFullSpoolRefuses(t *testing.T) {
	t.Parallel()
	s := newSpool(t, t.TempDir(), minSpool)
	defer s.mustClose(t)
	text := []byte(strings.Repeat("x", 1000))
	n := 0
	var err error
	for err == nil {
		if err = s.append(text); err == nil {
			n++
		}
	}
	if !errors.Is(err, errSpoolFull) || n < minSpool/1100 || s.size > minSpool {
		t.Errorf("%d records, %d bytes: %v", n, s.size, err)
	}
	records, _ := s.all(t)
	for _, r := range records[:n/2] {
		s.settle(r)
	}
	if err := s.append(text); err != nil {
		t.Errorf("half of it is settled: %v", err)
	}
}

// Many write at once, and each is answered when its own record is on the disk.
func TestManyWriteAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, defaultSpool)
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Go(func() {
			for k := range 20 {
				if err := s.append(fmt.Appendf(nil, "%d-%d", i, k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	_, got := s.all(t)
	slices.Sort(got)
	if len(slices.Compact(got)) != 320 {
		t.Errorf("%d records", len(got))
	}
	next := map[string]int{}
	s.mustClose(t)
	s = newSpool(t, dir, defaultSpool)
	defer s.mustClose(t)
	_, got = s.all(t)
	for _, text := range got { // each writer's own order holds
		w, k, _ := strings.Cut(text, "-")
		if k != fmt.Sprint(next[w]) {
			t.Fatalf("%s came when %d was next", text, next[w])
		}
		next[w]++
	}
}

// One folder is one handler's.
func TestASpoolHasOneOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, minSpool)
	if _, err := openSpool(spoolConfig{dir: dir, max: minSpool}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it has two owners")
	}
	s.mustClose(t)
	newSpool(t, dir, minSpool).mustClose(t)
}

// What can never be handled is put aside, still takes up room, and is not tried again.
func TestRefusedRecordsArePutAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSpool(t, dir, minSpool)
	appendAll(t, s, "bad")
	records, _ := s.all(t)
	if err := s.refuse(records[0], "R1"); err != nil {
		t.Fatal(err)
	}
	s.mustClose(t)
	b, err := os.ReadFile(filepath.Join(dir, "R1"+refusedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if payload, _, ok := parseRecord(b); !ok || string(payload) != "bad" {
		t.Errorf("%q", b)
	}
	s = newSpool(t, dir, minSpool)
	defer s.mustClose(t)
	if _, got := s.all(t); len(got) != 0 || s.size != int64(len(b)) {
		t.Errorf("%q, %d bytes", got, s.size)
	}
}
