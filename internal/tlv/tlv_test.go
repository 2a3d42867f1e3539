package tlv_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/idemsvc/idemsvc/internal/tlv"
)

func sample() []byte {
	w := tlv.NewWriter(1)
	w.Int(1, -7)
	w.Int(2, 0)
	w.String(3, "héllo")
	w.Bytes(4, []byte{0, 1, 2})
	w.Bool(5, true)
	w.Bool(6, false)
	w.Strings(7, []string{"a", "", "c"})
	w.Group(9, func(g *tlv.Writer) { g.Int(1, 1<<62) })
	return w.Out()
}

func TestRoundTrip(t *testing.T) {
	r := tlv.NewReader(sample(), 1)
	var tags []uint64
	var list []string
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		tags = append(tags, f.Tag)
		switch f.Tag {
		case 1:
			if f.Int() != -7 || f.Int32() != -7 {
				t.Errorf("tag 1: %d", f.Int())
			}
		case 3:
			if f.String() != "héllo" {
				t.Errorf("tag 3: %q", f.String())
			}
		case 4:
			if !bytes.Equal(f.Bytes(), []byte{0, 1, 2}) {
				t.Errorf("tag 4: %v", f.Bytes())
			}
		case 5:
			if !f.Bool() {
				t.Error("tag 5: false")
			}
		case 7:
			g, _ := f.Sub().Next()
			list = append(list, g.String())
		case 9:
			g, _ := f.Sub().Next()
			if g.Int() != 1<<62 {
				t.Errorf("tag 9: %d", g.Int())
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{1, 3, 4, 5, 7, 7, 7, 9}; !equal(tags, want) {
		t.Errorf("tags %v, want %v: zero values are left out, lists repeat", tags, want)
	}
	if len(list) != 3 || list[0] != "a" || list[1] != "" || list[2] != "c" {
		t.Errorf("list %q", list)
	}
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSameContentGivesTheSameBytes(t *testing.T) {
	if !bytes.Equal(sample(), sample()) {
		t.Error("two encodings of one content differ")
	}
}

func TestTagsMustRise(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a falling tag was written")
		}
	}()
	w := tlv.NewWriter(1)
	w.Int(2, 1)
	w.Int(1, 1)
}

func TestCorruptBytesAreTold(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":         nil,
		"other version": {2},
		"tag zero":      {1, 0, 0},
		"cut length":    {1, 1},
		"cut value":     {1, 1, 5, 'a'},
		"long length":   {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	} {
		r := tlv.NewReader(b, 1)
		for _, ok := r.Next(); ok; _, ok = r.Next() {
		}
		if !errors.Is(r.Err(), tlv.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, r.Err(), tlv.ErrCorrupt)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := tlv.NewReader(b, 1)
		total := 0
		for field, ok := r.Next(); ok; field, ok = r.Next() {
			total += len(field.Value)
			_, _ = field.Int(), field.Int32()
			sub := field.Sub()
			for _, more := sub.Next(); more; _, more = sub.Next() {
			}
		}
		if total > len(b) {
			t.Errorf("read %d bytes of %d", total, len(b))
		}
	})
}
