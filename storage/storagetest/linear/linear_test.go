package linear

import (
	"slices"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/internal/wrongrules"
)

func TestRightRulesPass(t *testing.T) {
	for i, test := range []struct {
		name               string
		bad, coarse, apart bool
	}{
		{name: "in peace"}, {name: "with lost answers", bad: true}, {name: "with lost answers, many in one moment", bad: true, coarse: true},
		{name: "decided before it is written", apart: true}, {name: "decided before it is written, with lost answers", bad: true, apart: true},
		{name: "decided before it is written, with lost answers, many in one moment", bad: true, apart: true, coarse: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			calls, unheard, open := 0, 0, 0
			from := uint64(i+100) << 32 //nolint:gosec // small
			for seed := from; seed < from+25; seed++ {
				c := newCore(seed)
				c.bad, c.coarse, c.apart = test.bad, test.coarse, test.apart
				h := c.history(t, seed)
				v := Check(h, 5*time.Second)
				Forget(h)
				switch {
				case v.Open:
					open++
				case !v.OK:
					t.Fatal(v.Text)
				}
				for i := range h.Calls {
					calls++
					if h.Calls[i].Unknown != nil {
						unheard++
					}
				}
			}
			t.Logf("%d calls, %d unheard, %d histories left open", calls, unheard, open)
			if test.bad == (unheard == 0) || open > 5 {
				t.Errorf("%d of %d calls are unheard, %d histories are left open", unheard, calls, open)
			}
		})
	}
}

// wrong are the rules that show soon; the others take thousands of histories of a store
// that does one thing after the other.
var wrong = []string{
	"the fence of a token is not compared", "a live claim is taken over", "an expired claim is in progress until it is swept", "a held event is given again",
	"a grant is not counted", "one more attempt than allowed is given", "a release is counted", "a reclaim keeps the old fence", "an ended claimant claims again",
	"a processed event is given again", "the same ending call again is not known", "a late completion is refused", "a live lane is given on",
	"a failure keeps its lanes", "a claim's version counts as applied at its grant", "a completion applies nothing", "the applied version is not looked at",
	"an unfinished predecessor is passed over", "a transition is not journaled",
	"a fetch answers signals that came after it", "a fetch answers its own signal alone", "a signal's own version counts as fetched",
	"a receipt is not stored where a signal waits already", "a claim that is acquired takes no lane", "a decision forgets its request",
}

// Each wrong rule is noticed, in few histories of a store that is right in all else.
func TestWrongRulesAreNoticed(t *testing.T) {
	tried := 0
	for i, r := range wrongrules.All() {
		if !slices.Contains(wrong, r.Name) {
			continue
		}
		tried++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			noticed(t, uint64(i+3)<<32, func(c *core) { c.decide = r.Decide }) //nolint:gosec // small
		})
	}
	if tried != len(wrong) {
		t.Errorf("%d of %d rules are there", tried, len(wrong))
	}
}

// An answer that is not stored is noticed.
func TestForgottenAnswersAreNoticed(t *testing.T) {
	t.Parallel()
	noticed(t, 1<<48, func(c *core) { c.early = true })
}

// An acquisition that is forgotten is noticed when it comes again.
func TestForgottenAcquisitionsAreNoticed(t *testing.T) {
	t.Parallel()
	noticed(t, 1<<49, func(c *core) { c.forgets = true })
}

func noticed(t *testing.T, from uint64, change func(c *core)) {
	t.Helper()
	for seed := from; seed < from+3000; seed++ {
		c := newCore(seed)
		change(c)
		h := c.history(t, seed)
		v := Check(h, 5*time.Second)
		Forget(h)
		if !v.OK && !v.Open {
			t.Logf("after %d histories: %s", seed-from+1, v.Why)
			if v.Text == "" || v.Why == "" {
				t.Errorf("nothing is said about it: %+v", v)
			}
			return
		}
	}
	t.Error("nothing was noticed")
}
