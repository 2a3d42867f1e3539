package webhook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a payload may be nested, as in encoding/json.
const maxDepth = 10000

var (
	errNotJSON = errors.New("the body is not JSON")
	errTooDeep = fmt.Errorf("the body is nested deeper than %d levels", maxDepth)
)

// span is where a value stands in a body; empty if it was not found.
type span struct{ from, to int }

// node is a step of the paths that are looked for in a body. All are found in one pass,
// because a body is as large as its sender likes.
type node struct {
	fields map[string]*node
	any    *node // what is looked for in every member
	slot   int   // where the value's span goes; negative: nowhere
}

func newNode() *node { return &node{slot: -1} }

// at is the node of a path, made if need be. "*" stands for every member.
func (n *node) at(path []string) *node {
	for _, step := range path {
		if step == "*" {
			if n.any == nil {
				n.any = newNode()
			}
			n = n.any
			continue
		}
		if n.fields == nil {
			n.fields = map[string]*node{}
		}
		if n.fields[step] == nil {
			n.fields[step] = newNode()
		}
		n = n.fields[step]
	}
	return n
}

func (n *node) leaf() bool { return n.fields == nil && n.any == nil }

// scan finds the values of the paths in a body. Of members with one name the last one
// counts, as in encoding/json. Parts that nobody looks for are checked for balanced
// brackets and ended strings only.
func scan(b []byte, root *node, found []span) error {
	i := space(b, 0)
	end, err := scanValue(b, i, root, found)
	if err != nil {
		return err
	}
	if space(b, end) != len(b) {
		return errNotJSON
	}
	return nil
}

func scanValue(b []byte, i int, n *node, found []span) (int, error) {
	var end int
	var err error
	if i < len(b) && b[i] == '{' && !n.leaf() {
		end, err = scanObject(b, i, n, found)
	} else {
		end, err = skip(b, i)
	}
	if err == nil && n.slot >= 0 {
		found[n.slot] = span{i, end}
	}
	return end, err
}

func scanObject(b []byte, i int, n *node, found []span) (int, error) {
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return 0, errNotJSON
		}
		end, err := skipString(b, i)
		if err != nil {
			return 0, err
		}
		next := n.member(b[i:end])
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return 0, errNotJSON
		}
		i = space(b, i+1)
		if next != nil {
			i, err = scanValue(b, i, next, found)
		} else {
			i, err = skip(b, i)
		}
		if err != nil {
			return 0, err
		}
		i = space(b, i)
		switch {
		case i < len(b) && b[i] == '}':
			return i + 1, nil
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		default:
			return 0, errNotJSON
		}
	}
}

// member is what is looked for under a quoted name; nil for nothing.
func (n *node) member(quoted []byte) *node {
	name := quoted[1 : len(quoted)-1]
	var next *node
	if bytes.IndexByte(name, '\\') < 0 {
		next = n.fields[string(name)]
	} else if s, ok := unquote(quoted); ok {
		next = n.fields[s]
	}
	if next == nil {
		next = n.any
	}
	return next
}

// skip is the end of the value that begins at i.
func skip(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errNotJSON
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) && scalar[b[i]] {
		i++
	}
	if i == start {
		return 0, errNotJSON
	}
	return i, nil
}

func skipNested(b []byte, i int) (int, error) {
	var room [64]byte
	open := room[:0] // the brackets that will close
	for i < len(b) {
		if plain[b[i]] {
			i++
			continue
		}
		switch c := b[i]; c {
		case '"':
			end, err := skipString(b, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case '{', '[':
			if len(open) >= maxDepth {
				return 0, errTooDeep
			}
			open = append(open, c+2) // '}' and ']' come two after their openings
		case '}', ']':
			if open[len(open)-1] != c {
				return 0, errNotJSON
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errNotJSON
}

// skipString is the end of the string whose quote is at i.
func skipString(b []byte, i int) (int, error) {
	for i++; ; {
		if i = quote(b, i); i >= len(b) {
			return 0, errNotJSON
		}
		i++
		escapes := 0
		for b[i-2-escapes] == '\\' {
			escapes++ // ends at the opening quote at the latest
		}
		if escapes%2 == 0 {
			return i, nil
		}
	}
}

// quote is where the next quote is, len(b) if there is none. Eight bytes are looked at in
// one step: most strings are so short that a call of bytes.IndexByte costs more.
func quote(b []byte, i int) int {
	const ones, tops, quotes = 0x0101010101010101, 0x8080808080808080, 0x2222222222222222
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ quotes // a quote is a zero byte now
		if zero := (x - ones) &^ x & tops; zero != 0 {
			return i + bits.TrailingZeros64(zero)/8
		}
	}
	for i < len(b) && b[i] != '"' {
		i++
	}
	return i
}

// plain are the bytes between strings and brackets.
var plain = func() (t [256]bool) {
	for i := range t {
		t[i] = i != '"' && i != '{' && i != '}' && i != '[' && i != ']'
	}
	return t
}()

// scalar are the bytes of numbers and literals.
var scalar = func() (t [256]bool) {
	for _, c := range []byte("+-.0123456789Eabcdefghijklmnopqrstuvwxyz") {
		t[c] = true
	}
	return t
}()

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// elements calls f with every element of an array.
func elements(b []byte, f func(element []byte) error) error {
	i := space(b, 1)
	if i < len(b) && b[i] == ']' {
		return nil
	}
	for {
		end, err := skip(b, i)
		if err != nil {
			return err
		}
		if err := f(b[i:end]); err != nil {
			return err
		}
		i = space(b, end)
		switch {
		case i < len(b) && b[i] == ']':
			return nil
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		default:
			return errNotJSON
		}
	}
}

// text is a scalar as text: a string's content, or a number exactly as it was written,
// because a number above 2^53 is another one after it has been a float. It is false for
// null, for what is no scalar, and for a string that is not text.
func text(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return unquote(raw)
	case '{', '[':
		return "", false
	}
	if string(raw) == "null" || !json.Valid(raw) {
		return "", false
	}
	return string(raw), true
}

// unquote is a string's content. It is false where the content cannot be told exactly,
// so that two different strings are never taken for the same.
func unquote(quoted []byte) (string, bool) {
	if !utf8.Valid(quoted) {
		return "", false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil || strings.ContainsRune(s, utf8.RuneError) {
		return "", false // half a surrogate pair, for example
	}
	return s, true
}
