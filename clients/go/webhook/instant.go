package webhook

import (
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Ways to write a time. The names are those of the recipes.
const (
	unitSeconds = "s"       // since 1970, with or without a fraction
	unitMillis  = "ms"      // since 1970
	unitRFC3339 = "rfc3339" // also with a space, or a zone's name, in the middle
	unitHTTP    = "http"    // an HTTP date
	unitJakarta = "jakarta" // without a zone, of UTC+7
)

// rfc3339Likes are layouts that providers use beside RFC 3339 itself.
var rfc3339Likes = []string{time.RFC3339Nano, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05.999999999-0700"}

// What the contract takes of an instant.
var (
	firstInstant = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// instant reads a time to the nanosecond. It is false for what is none, or is outside
// of what the contract takes.
func instant(s, unit string) (time.Time, bool) {
	t, ok := readInstant(s, unit)
	return t, ok && t.After(firstInstant) && t.Before(lastInstant)
}

func readInstant(s, unit string) (time.Time, bool) {
	switch unit {
	case unitSeconds:
		return fromSeconds(s)
	case unitMillis:
		n, err := strconv.ParseInt(s, 10, 64)
		return time.UnixMilli(n).UTC(), err == nil
	case unitHTTP:
		t, err := http.ParseTime(s)
		return t, err == nil
	case unitJakarta:
		t, err := time.ParseInLocation(time.DateTime, s, time.FixedZone("WIB", 7*60*60))
		return t, err == nil
	}
	for _, layout := range rfc3339Likes {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// fromSeconds reads decimal seconds without the loss of a float.
func fromSeconds(s string) (time.Time, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0).UTC(), true
	}
	if len(s) > 40 || strings.ContainsAny(s, "eExX_/") {
		return time.Time{}, false // an exponent can ask for a number of any size
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return time.Time{}, false
	}
	nanos := new(big.Rat).Mul(r, big.NewRat(int64(time.Second), 1))
	n := new(big.Int).Quo(nanos.Num(), nanos.Denom())
	if !n.IsInt64() {
		return time.Time{}, false
	}
	return time.Unix(0, n.Int64()).UTC(), true
}
