package bench

import "testing"

func TestTheIntervalEnclosesTheMedian(t *testing.T) {
	t.Parallel()
	values := []float64{1, 1.1, 1.2, 1.3, 5, 1.15, 1.05, 1.25, 0.9}
	low, high := interval(values)
	if m := median(values); m != 1.15 || low > m || high < m || low < 0.9 || high > 5 {
		t.Errorf("%v in [%v, %v]", m, low, high)
	}
	if m := median([]float64{1, 2}); m != 1.5 {
		t.Errorf("%v", m)
	}
}
