package idem

import "time"

// Instant is a moment of the database's clock, in microseconds since 1970 UTC.
// Zero means none.
type Instant int64

// Time is the instant as a time in UTC; the zero instant is the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Add moves the instant by d, cut to microseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub is the distance from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i-o) * time.Microsecond }

// InstantOf is the instant of t, cut to microseconds; the zero time gives none.
func InstantOf(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// When says what a stored instant becomes at the moment the write is applied.
// The zero value keeps it.
type When struct {
	op whenOp
	d  time.Duration
	at Instant
}

type whenOp uint8

const (
	whenKeep whenOp = iota
	whenClear
	whenSet
	whenAt
)

// Clear empties the instant.
func Clear() When { return When{op: whenClear} }

// In sets the instant to d after the moment of writing; zero means that moment.
func In(d time.Duration) When {
	if d < 0 {
		d = 0
	}
	return When{op: whenSet, d: d}
}

// At sets the instant to one that the record already holds, such as the end of its
// lease.
func At(i Instant) When { return When{op: whenAt, at: i} }

// Code is the instruction as one number for SQL: -1 keeps, -2 clears, lower numbers
// are a negated instant, any other is a distance in microseconds from the moment of
// writing.
func (w When) Code() int64 {
	switch w.op {
	case whenSet:
		return w.d.Microseconds()
	case whenClear:
		return -2
	case whenAt:
		return -int64(w.at)
	default:
		return -1
	}
}

// Resolve is the instant after the write.
func (w When) Resolve(old, now Instant) Instant {
	switch w.op {
	case whenSet:
		return now.Add(w.d)
	case whenClear:
		return 0
	case whenAt:
		return w.at
	default:
		return old
	}
}
