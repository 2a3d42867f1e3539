package linear

import (
	"os"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/wrongrules"
)

// again keeps a history and judges what was kept.
func again(t *testing.T, h *History) Verdict {
	t.Helper()
	b, err := Keep(h)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Kept(b)
	if err != nil {
		t.Fatal(err)
	}
	return Check(kept, 5*time.Second)
}

// A history that is kept gets the verdict that it had.
func TestKeptHistoriesAreJudgedTheSame(t *testing.T) {
	t.Parallel()
	var wrong wrongrules.Decider
	for _, r := range wrongrules.All() {
		if r.Name == "a live claim is taken over" {
			wrong = r.Decide
		}
	}
	noticed, passed := 0, 0
	for seed := uint64(1 << 50); seed < 1<<50+400 && (noticed < 3 || passed < 10); seed++ {
		c := newCore(seed)
		c.bad, c.decide = true, idem.Decide
		if seed%2 == 0 {
			c.decide = wrong
		}
		h := c.history(t, seed)
		v := Check(h, 5*time.Second)
		switch a := again(t, h); {
		case v.Open || a.Open:
		case a.OK != v.OK || a.Why != v.Why:
			t.Errorf("it was %v: %s\nand is %v: %s", v.OK, v.Text, a.OK, a.Text)
		case v.OK:
			passed++
		default:
			noticed++
			if _, err := Kept(v.Kept); err != nil {
				t.Error(err)
			}
		}
		Forget(h)
	}
	if noticed < 3 || passed < 10 {
		t.Errorf("%d histories at fault and %d right ones were kept", noticed, passed)
	}
}

// Judges the history in the file that IDEMSVC_LINEAR_HISTORY names.
func TestOneHistory(t *testing.T) {
	path := os.Getenv("IDEMSVC_LINEAR_HISTORY")
	if path == "" {
		t.Skip("IDEMSVC_LINEAR_HISTORY names no history")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Kept(b)
	if err != nil {
		t.Fatal(err)
	}
	if v := Check(h, time.Minute); !v.OK {
		t.Error(v.Text)
	}
}
