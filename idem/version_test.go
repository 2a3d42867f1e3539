package idem_test

import (
	"math"
	"testing"
	"testing/quick"

	"github.com/idemsvc/idemsvc/idem"
)

// TestVersionsCompareAsNumbers, never as text, and digit for digit.
func TestVersionsCompareAsNumbers(t *testing.T) {
	v := func(epoch, value int64) idem.Version {
		return idem.Version{Kind: idem.Sequence, Epoch: epoch, Value: value}
	}
	for _, c := range []struct {
		a, b idem.Version
		want int
	}{
		{v(0, 9674), v(0, 10008), -1},
		{v(0, 9999), v(0, 10008), -1},
		{v(0, 9), v(0, 10), -1},
		{v(0, 99), v(0, 100), -1},
		{v(0, 999), v(0, 999), 0},
		{v(0, 2868860079149422351), v(0, 2868860079149422352), -1},
		{v(0, 9007199254740993), v(0, 9007199254740992), 1},
		{v(0, 1614372436823720459), v(0, 1614372436823720460), -1},
		{v(0, math.MinInt64), v(0, math.MaxInt64), -1},
		{v(1, 1), v(0, math.MaxInt64), 1},
		{v(-1, 5), v(0, 4), -1},
	} {
		if got := c.a.Compare(c.b); got != c.want {
			t.Errorf("%v against %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestVersionOrder is total: antisymmetric and transitive.
func TestVersionOrder(t *testing.T) {
	small := func(x int64) int64 { return x % 3 }
	check := func(a, b, c idem.Version, near bool) bool {
		if near {
			for _, v := range []*idem.Version{&a, &b, &c} {
				v.Epoch, v.Value = small(v.Epoch), small(v.Value)
			}
		}
		same := a
		if a.Compare(b) != -b.Compare(a) || a.Compare(same) != 0 {
			return false
		}
		return a.Compare(b) > 0 || b.Compare(c) > 0 || a.Compare(c) <= 0
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 3000}); err != nil {
		t.Error(err)
	}
}
