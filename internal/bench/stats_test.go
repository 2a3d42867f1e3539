package bench

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheIntervalEnclosesTheMedian(t *testing.T) {
	t.Parallel()
	i := intervalOf([]float64{1, 1.1, 1.2, 1.3, 5, 1.15, 1.05, 1.25, 0.9})
	if i.Median != 1.15 || i.Low > i.Median || i.High < i.Median || i.Low < 0.9 || i.High > 5 {
		t.Errorf("%+v", i)
	}
	if m := median([]float64{1, 2}); m != 1.5 {
		t.Errorf("%v", m)
	}
	if i := intervalOf(nil); i != (Interval{}) {
		t.Errorf("%+v", i)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var values []int64
	for n := range int64(1000) {
		values = append(values, n)
	}
	if a, b, c := quantile(values, 0.5), quantile(values, 0.99), quantile(values, 0.999); a != 500 || b != 990 || c != 999 {
		t.Errorf("%d %d %d", a, b, c)
	}
	if v := quantile([]int64{7}, 0.999); v != 7 {
		t.Errorf("%d", v)
	}
	if v := quantile([]int64(nil), 0.5); v != 0 {
		t.Errorf("%d", v)
	}
}

// Every arm runs once in each round, beside its group, and first as often as any other.
func TestTheOrderOfARound(t *testing.T) {
	t.Parallel()
	all := (&site{}).catalogue()
	first := map[*arm]bool{}
	for round := range 2 * len(all) {
		arms := order(all, round)
		first[arms[0]] = true
		groups := 1
		for i := range arms {
			if i > 0 && arms[i].group != arms[i-1].group {
				groups++
			}
		}
		if want := all[len(all)-1].group + 1; groups != want {
			t.Fatalf("round %d: %d groups of %d are torn apart", round, groups, want)
		}
		slices.SortFunc(arms, func(a, b *arm) int { return slices.Index(all, a) - slices.Index(all, b) })
		if !slices.Equal(arms, all) {
			t.Fatalf("round %d: %v", round, arms)
		}
	}
	if len(first) < len(all)/2 {
		t.Errorf("only %d of %d arms are ever the first", len(first), len(all))
	}
}

func TestChoosingBringsTheBases(t *testing.T) {
	t.Parallel()
	all := (&site{}).catalogue()
	var got []string
	for _, a := range choose(all, []string{"ordered", "marker64"}) {
		got = append(got, a.String())
	}
	if want := []string{"direct64", "unary64", "ordered64", "business64", "marker64"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := unknownNames(all, []string{"unary64", "batch", "latency", "direct64", "unary65", "ordered-batch16"}); !slices.Equal(got, []string{"direct64", "unary65"}) {
		t.Errorf("%q", got)
	}
	if n := len(choose(all, nil)); n != len(all) {
		t.Errorf("%d of %d", n, len(all))
	}
}

// What comes while an answer is late has waited since it was due.
func TestALateAnswerIsFeltByAllThatCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := time.Now().Add(time.Second) // nothing is answered before
		a := &arm{family: "stuck", step: func(context.Context, int) (int, error) {
			time.Sleep(time.Until(free))
			return 1, nil
		}}
		waits, missed, err := scheduled(t.Context(), a, 10, 2*time.Second)
		if err != nil || missed != 0 || len(waits) != 20 {
			t.Fatalf("%v %d %v", waits, missed, err)
		}
		for i, w := range waits {
			want := max(time.Second-time.Duration(i)*100*time.Millisecond, time.Microsecond).Microseconds()
			if w != want {
				t.Errorf("%d: %d µs, want %d", i, w, want)
			}
		}
	})
}

func TestTheDiskIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	if why := noRoom(t.TempDir(), 1<<50); why == "" {
		t.Error("a petabyte has room")
	}
	if why := noRoom(t.TempDir(), 1); why != "" {
		t.Log(why) // a full disk
	}
}
