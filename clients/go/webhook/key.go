package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPart is what the contract takes of a key part, a type or a resource, in bytes.
const maxPart = 512

// hashed marks a key that is the hash of a longer one.
const hashed = "sha256:"

// joined is one key of several parts. Each part is led by its length, so that no two lists
// of parts have one key, whatever is in them: ("a", "bc") is "1:a2:bc".
func joined(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// storableKey is a key that the contract takes: what is too long, or could be taken for a
// hash, is replaced by its hash.
func storableKey(key string) string {
	if fits(key) && !strings.HasPrefix(key, hashed) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hashed + hex.EncodeToString(sum[:])
}

// fits reports whether the contract takes a text as a key part.
func fits(s string) bool {
	return len(s) <= maxPart && utf8.ValidString(s) && !strings.Contains(s, "\x00") && strings.TrimSpace(s) != ""
}

// fitting is the text, or none if the contract does not take it.
func fitting(s string) string {
	if !fits(s) {
		return ""
	}
	return s
}
