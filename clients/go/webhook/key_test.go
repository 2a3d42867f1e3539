package webhook

import (
	"strings"
	"testing"
)

// No two lists of parts have one key, and no key is too long for the contract.
func TestKeysOfSeveralPartsAreApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, parts := range [][]string{{"a", "bc"}, {"ab", "c"}, {"abc"}, {"", "abc"}, {"abc", ""}, {"1:a", "bc"}, {"a", "", "bc"}, {"a2:bc"}, {"1:a2:bc"}} {
		key := joined(parts)
		if seen[key] {
			t.Errorf("%q has the key of another list: %s", parts, key)
		}
		seen[key] = true
	}
	if got := joined([]string{"shop", "42"}); got != "4:shop2:42" {
		t.Error(got)
	}
	long := strings.Repeat("x", maxPart+1)
	a, b := storableKey(long), storableKey(long+"y")
	if len(a) > maxPart || a == b || storableKey(a) == a {
		t.Errorf("%s %s %s", a, b, storableKey(a))
	}
	if got := storableKey(long[1:]); got != long[1:] {
		t.Errorf("%d bytes fit and were hashed", maxPart)
	}
}

// Times are read to the nanosecond, and compared as instants whatever their zone.
func TestInstants(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ in, unit, want string }{
		{"1700000000", unitSeconds, "2023-11-14T22:13:20Z"},
		{"1700000000.000100", unitSeconds, "2023-11-14T22:13:20.0001Z"},
		{"1700000000123", unitMillis, "2023-11-14T22:13:20.123Z"},
		{"2024-08-07T22:48:27.480992003Z", unitRFC3339, "2024-08-07T22:48:27.480992003Z"},
		{"2018-04-05T19:31:00+02:00", unitRFC3339, "2018-04-05T17:31:00Z"},
		{"2023-02-20 19:43:43 UTC", unitRFC3339, "2023-02-20T19:43:43Z"},
		{"Wed, 08 Mar 2023 06:12:10 GMT", unitHTTP, "2023-03-08T06:12:10Z"},
		{"2021-06-23 11:42:03", unitJakarta, "2021-06-23T04:42:03Z"},
		{"", unitSeconds, ""},
		{"1e9999999", unitSeconds, ""},
		{"1/3", unitSeconds, ""},
		{"99999999999999999999", unitSeconds, ""},
		{"9223372036854775807", unitSeconds, ""},
		{"9223372036854775807", unitMillis, ""},
		{"yesterday", unitRFC3339, ""},
		{"0001-01-01T00:00:00Z", unitRFC3339, ""},
	} {
		got := ""
		if at, ok := instant(x.in, x.unit); ok {
			got = at.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
		}
		if got != x.want {
			t.Errorf("%q in %s is %q, not %q", x.in, x.unit, got, x.want)
		}
	}
}
