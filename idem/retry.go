package idem

import (
	"fmt"
	"math"
	"time"
)

// Backoff is an exponential schedule with full jitter: the delay of an attempt is
// drawn evenly from (0, min(Cap, Base·Factor^(attempt-1))]. Full jitter spreads a
// crowd that failed together
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
type Backoff struct {
	Base   time.Duration
	Factor float64
	Cap    time.Duration
}

// Validate reports a schedule that could give no delay, or an endless one.
func (b Backoff) Validate() error {
	switch {
	case b.Base <= 0:
		return fmt.Errorf("backoff base must be above 0, is %v", b.Base)
	case b.Cap < b.Base:
		return fmt.Errorf("backoff cap %v is below its base %v", b.Cap, b.Base)
	case b.Cap > 30*24*time.Hour:
		return fmt.Errorf("backoff cap must be at most 720h, is %v", b.Cap)
	case math.IsNaN(b.Factor) || b.Factor < 1 || b.Factor > 100:
		return fmt.Errorf("backoff factor must be from 1 to 100, is %v", b.Factor)
	}
	return nil
}

// Ceiling is the longest delay after the given attempt (1 is the first). It never
// falls and never passes the cap, whatever the attempt.
func (b Backoff) Ceiling(attempt int32) time.Duration {
	if attempt < 1 {
		attempt = 1
	}
	// In floating point an overflow is +Inf, which the cap catches; integer
	// multiplication would wrap round to zero.
	d := float64(b.Base) * math.Pow(b.Factor, float64(attempt-1))
	if !(d < float64(b.Cap)) {
		return b.Cap
	}
	return time.Duration(d)
}

// Delay is the delay after the given attempt for a random draw from [0, 1). It is
// at least a microsecond, the database's resolution.
func (b Backoff) Delay(attempt int32, draw float64) time.Duration {
	if math.IsNaN(draw) || draw < 0 || draw >= 1 {
		draw = 0
	}
	return max(time.Microsecond, time.Duration((1-draw)*float64(b.Ceiling(attempt))))
}

// After is the attempt after which the longest delay is as long as what has been waited so
// far: for tries that are not counted, so that they grow as rare as those that are.
func (b Backoff) After(waited time.Duration) int32 {
	if waited <= b.Base || b.Factor <= 1 {
		return 1
	}
	n := 1 + math.Ceil(math.Log(float64(min(waited, b.Cap))/float64(b.Base))/math.Log(b.Factor))
	return int32(min(n, math.MaxInt32))
}
