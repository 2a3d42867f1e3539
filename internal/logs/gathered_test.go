package logs

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

// TestLogLines: lines at info are written within a moment, together; a warning is written
// at once, after what came before it; what is left is written at the end.
func TestLogLines(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	written := make(chan string, 8)
	go func() {
		buf := make([]byte, 1<<20)
		for {
			n, err := r.Read(buf)
			if err != nil {
				return
			}
			written <- string(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = r.Close() })
	log, flush := New(w, slog.LevelInfo, false)
	log = log.With("a", 1).WithGroup("g")

	check := func(want ...string) {
		t.Helper()
		got := <-written
		for _, line := range want {
			i := strings.Index(got, line+" a=1")
			if i < 0 {
				t.Fatalf("no %q in %q", line, got)
			}
			got = got[i:]
		}
	}
	log.Info("first")
	check("msg=first") // nothing follows it: time brings it
	log.Info("second")
	log.Warn("third", "x", 2)
	check("msg=second", "msg=third")
	log.Info("fourth")
	log.Debug("never")
	flush()
	check("msg=fourth")
	flush() // nothing is left
	log.Info(strings.Repeat("long", most/4))
	check("msg=" + strings.Repeat("long", most/4))
	select {
	case more := <-written:
		t.Errorf("more was written: %q", more)
	default:
	}
}

// TestLogTime: a line's time has the contract's name in either form, and nothing else of
// that name is touched.
func TestLogTime(t *testing.T) {
	t.Parallel()
	for json, want := range map[bool]string{false: `^ts=\S+ level=INFO msg=one time=2\nts=`, true: `^{"ts":"[^"]+","level":"INFO","msg":"one","time":2}\n{"ts":"`} {
		var out strings.Builder
		log, flush := New(&out, slog.LevelInfo, json)
		log.Info("one", "time", 2)
		log.Info("two")
		flush()
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("json=%v: %q does not match %s", json, out.String(), want)
		}
	}
}
