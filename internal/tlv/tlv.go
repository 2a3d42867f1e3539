// Package tlv is the canonical encoding of what the database keeps as bytes: fields in
// rising order of their tags, each a tag, a length and a value; zero values are left
// out. The same content always gives the same bytes, unknown tags are skipped, so that
// a newer program can add fields which an older one ignores.
package tlv

import (
	"encoding/binary"
	"errors"
	"math"
)

// Writer appends fields. Tags must rise; the writer panics where they do not, since
// that is a mistake of the program and would make the bytes ambiguous.
type Writer struct {
	buf  []byte
	last uint64
}

// NewWriter starts with a version byte, which readers check.
func NewWriter(version byte) *Writer {
	return &Writer{buf: append(make([]byte, 0, 160), version)}
}

// Out is the encoding.
func (w *Writer) Out() []byte { return w.buf }

func (w *Writer) tag(t uint64, size int) {
	if t <= w.last {
		panic("tlv: tags must rise")
	}
	w.last = t
	w.buf = binary.AppendUvarint(w.buf, t)
	w.buf = binary.AppendUvarint(w.buf, uint64(size)) //nolint:gosec // a length
}

// Bytes writes a byte string, nothing for an empty one.
func (w *Writer) Bytes(t uint64, v []byte) {
	if len(v) > 0 {
		w.tag(t, len(v))
		w.buf = append(w.buf, v...)
	}
}

// String writes a text, nothing for an empty one.
func (w *Writer) String(t uint64, v string) {
	if v != "" {
		w.tag(t, len(v))
		w.buf = append(w.buf, v...)
	}
}

// Int writes a number, nothing for zero. Negative ones are zigzag-coded.
func (w *Writer) Int(t uint64, v int64) {
	if v != 0 {
		var tmp [binary.MaxVarintLen64]byte
		n := binary.PutVarint(tmp[:], v)
		w.tag(t, n)
		w.buf = append(w.buf, tmp[:n]...)
	}
}

// Bool writes true as 1 and false as nothing.
func (w *Writer) Bool(t uint64, v bool) {
	if v {
		w.Int(t, 1)
	}
}

// Group writes a nested encoding. It is the one field whose tag may repeat, for lists.
func (w *Writer) Group(t uint64, fill func(*Writer)) {
	if t < w.last {
		panic("tlv: tags must rise")
	}
	w.buf = binary.AppendUvarint(w.buf, t)
	start := len(w.buf)
	w.last = 0
	fill(w) // in place; its length goes before it afterwards
	w.last = t
	var tmp [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(tmp[:], uint64(len(w.buf)-start)) //nolint:gosec // a length
	w.buf = append(w.buf, tmp[:n]...)
	copy(w.buf[start+n:], w.buf[start:len(w.buf)-n])
	copy(w.buf[start:], tmp[:n])
}

// Strings writes a list of texts, each as a field of its own.
func (w *Writer) Strings(t uint64, list []string) {
	for _, s := range list {
		w.Group(t, func(g *Writer) { g.String(1, s) })
	}
}

// ErrCorrupt reports bytes that no writer made.
var ErrCorrupt = errors.New("tlv: corrupt encoding")

// Field is one field of an encoding.
type Field struct {
	Tag   uint64
	Value []byte
}

// Reader walks the fields of an encoding.
type Reader struct {
	buf []byte
	err error
}

// NewReader checks the version byte.
func NewReader(buf []byte, version byte) *Reader {
	if len(buf) == 0 || buf[0] != version {
		return &Reader{err: ErrCorrupt}
	}
	return &Reader{buf: buf[1:]}
}

// Sub reads the value of a group.
func (f Field) Sub() *Reader { return &Reader{buf: f.Value} }

// Next is the next field; false at the end or on corrupt bytes, see Err.
func (r *Reader) Next() (Field, bool) {
	if r.err != nil || len(r.buf) == 0 {
		return Field{}, false
	}
	t, n := binary.Uvarint(r.buf)
	if n <= 0 || t == 0 {
		return r.fail()
	}
	size, m := binary.Uvarint(r.buf[n:])
	if m <= 0 || size > uint64(len(r.buf)-n-m) {
		return r.fail()
	}
	start := n + m
	end := start + int(size) //nolint:gosec // not above the buffer's length
	f := Field{Tag: t, Value: r.buf[start:end:end]}
	r.buf = r.buf[end:]
	return f, true
}

func (r *Reader) fail() (Field, bool) {
	r.err = ErrCorrupt
	return Field{}, false
}

// Err is what stopped the reader, nil at a clean end.
func (r *Reader) Err() error { return r.err }

// String is the field's value as a text.
func (f Field) String() string { return string(f.Value) }

// Int is the field's value as a number; 0 when it is none.
func (f Field) Int() int64 {
	v, n := binary.Varint(f.Value)
	if n <= 0 {
		return 0
	}
	return v
}

// Int32 is the field's value as a number, cut to the range of 32 bits.
func (f Field) Int32() int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, f.Int()))) //nolint:gosec // clamped
}

// Bool is the field's value as a truth value.
func (f Field) Bool() bool { return f.Int() != 0 }

// Bytes is a copy of the field's value.
func (f Field) Bytes() []byte { return append([]byte(nil), f.Value...) }
