package childproc

import (
	"strings"
	"testing"
)

func TestATailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var s Tail
	if s.String() != "" {
		t.Errorf("%q", s.String())
	}
	for _, text := range []string{strings.Repeat("a", 3*tailBytes), "b\n", strings.Repeat("c", tailBytes-8), "\n  the end\n"} {
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	got := s.String()
	if !strings.HasSuffix(got, "c\n  the end") || strings.Contains(got, "aaa") || len(got) > tailBytes+64 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
