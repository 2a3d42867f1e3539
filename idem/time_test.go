package idem_test

import (
	"math"
	"testing"
	"testing/quick"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// TestBackoffNeverOverflows: above zero, at most the cap, and never falling, however many
// attempts there were.
func TestBackoffNeverOverflows(t *testing.T) {
	b := idem.Backoff{Base: 30 * time.Millisecond, Factor: 2, Cap: time.Second}
	want := map[int32]time.Duration{
		1: 30 * time.Millisecond, 2: 60 * time.Millisecond, 3: 120 * time.Millisecond, 4: 240 * time.Millisecond, 5: 480 * time.Millisecond, 6: 960 * time.Millisecond,
	}
	last := time.Duration(0)
	for _, attempt := range []int32{math.MinInt32, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 38, 39, 49, 62, 63, 64, 65, 100, math.MaxInt32} {
		got := b.Ceiling(attempt)
		exp, ok := want[max(1, attempt)]
		if !ok {
			exp = time.Second
		}
		if got != exp {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, exp)
		}
		if got <= 0 || got > b.Cap || got < last {
			t.Errorf("after attempt %d: %v is not in (0, cap] or falls", attempt, got)
		}
		last = got
		for _, draw := range []float64{0, 0.5, 1 - 1e-16, 1, 2, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if d := b.Delay(attempt, draw); d <= 0 || d > got {
				t.Errorf("after attempt %d with draw %v: %v is not in (0, %v]", attempt, draw, d, got)
			}
		}
	}
}

// TestBackoffProperties holds for every valid schedule.
func TestBackoffProperties(t *testing.T) {
	check := func(base, limit uint32, factor uint8, attempt int32, draw float64) bool {
		b := idem.Backoff{Base: time.Duration(base) + 1, Factor: 1 + float64(factor)/4, Cap: time.Duration(base) + 1 + time.Duration(limit)*1000}
		if b.Validate() != nil {
			return false
		}
		c := b.Ceiling(attempt)
		next := c
		if attempt < math.MaxInt32 {
			next = b.Ceiling(attempt + 1)
		}
		d := b.Delay(attempt, math.Abs(draw-math.Trunc(draw)))
		return c > 0 && c <= b.Cap && next >= c && d > 0 && (d <= c || d == time.Microsecond)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
}

// TestBackoffSpreads: ten thousand failures in one instant come back spread over the
// whole delay.
func TestBackoffSpreads(t *testing.T) {
	b := idem.Backoff{Base: 100 * time.Second, Factor: 2, Cap: time.Hour}
	buckets := map[time.Duration]int{}
	for i := range 10_000 {
		buckets[b.Delay(1, float64(i)/10_000)/time.Second]++
	}
	for s, n := range buckets {
		if n > 3*10_000/100 {
			t.Errorf("second %d has %d of ten thousand", s, n)
		}
	}
}

// TestBackoffValidation refuses what could give no delay or an endless one.
func TestBackoffValidation(t *testing.T) {
	ok := idem.Backoff{Base: time.Second, Factor: 2, Cap: time.Minute}
	if err := ok.Validate(); err != nil {
		t.Errorf("a good schedule is refused: %v", err)
	}
	for name, change := range map[string]func(*idem.Backoff){
		"base zero":        func(b *idem.Backoff) { b.Base = 0 },
		"base negative":    func(b *idem.Backoff) { b.Base = -time.Second },
		"cap below base":   func(b *idem.Backoff) { b.Cap = time.Millisecond },
		"cap too long":     func(b *idem.Backoff) { b.Cap = 31 * 24 * time.Hour },
		"factor below one": func(b *idem.Backoff) { b.Factor = 0.5 },
		"factor not one":   func(b *idem.Backoff) { b.Factor = math.NaN() },
		"factor endless":   func(b *idem.Backoff) { b.Factor = math.Inf(1) },
	} {
		b := ok
		change(&b)
		if b.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := idem.DefaultPolicy().Backoff.Validate(); err != nil {
		t.Errorf("the default schedule is refused: %v", err)
	}
}

// TestWhenCodes: each instruction has one code, and resolves as the code says.
func TestWhenCodes(t *testing.T) {
	const now, old idem.Instant = 1_000_000_000, 77
	for _, c := range []struct {
		name  string
		w     idem.When
		code  int64
		after idem.Instant
	}{
		{"keep", idem.When{}, -1, old},
		{"clear", idem.Clear(), -2, 0},
		{"now", idem.In(0), 0, now},
		{"later", idem.In(1500 * time.Microsecond), 1500, now + 1500},
		{"never before now", idem.In(-time.Hour), 0, now},
		{"at", idem.At(123_456), -123_456, 123_456},
	} {
		if got := c.w.Code(); got != c.code {
			t.Errorf("%s: code %d, want %d", c.name, got, c.code)
		}
		if got := c.w.Resolve(old, now); got != c.after {
			t.Errorf("%s: resolves to %d, want %d", c.name, got, c.after)
		}
	}
	decode := func(code int64, old, now idem.Instant) idem.Instant { // what SQL does
		switch {
		case code == -1:
			return old
		case code == -2:
			return 0
		case code < -2:
			return idem.Instant(-code)
		default:
			return now + idem.Instant(code)
		}
	}
	check := func(us uint32, at uint32, old uint32) bool {
		for _, w := range []idem.When{{}, idem.Clear(), idem.In(time.Duration(us) * time.Microsecond), idem.At(idem.Instant(at) + 3)} {
			if w.Resolve(idem.Instant(old), now) != decode(w.Code(), idem.Instant(old), now) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// TestInstants are microseconds, and zero means none on both sides.
func TestInstants(t *testing.T) {
	at := time.Date(2021, 2, 26, 20, 47, 16, 823_720_459, time.FixedZone("", 3600))
	i := idem.InstantOf(at)
	if got := i.Time(); !got.Equal(at.Truncate(time.Microsecond)) || got.Location() != time.UTC {
		t.Errorf("%v became %v", at, got)
	}
	if idem.InstantOf(i.Time()) != i {
		t.Error("an instant that was given out comes back as another")
	}
	if idem.InstantOf(time.Time{}) != 0 || !idem.Instant(0).Time().IsZero() {
		t.Error("none is not none")
	}
	if i.Add(time.Second).Sub(i) != time.Second {
		t.Error("Add and Sub differ")
	}
}
