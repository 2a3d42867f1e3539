package tlv_test

import (
	"bytes"
	"testing"

	"github.com/idemsvc/idemsvc/internal/tlv"
)

// Fields are read as they were written, and what is read of any bytes and written again
// has one form.
func FuzzWriter(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{1, 1, 2, 'a', 'b', 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		once, ok := rewrite(b)
		if !ok {
			return
		}
		twice, ok := rewrite(once)
		if !ok || !bytes.Equal(once, twice) {
			t.Errorf("%x is written as %x, and that as %x", b, once, twice)
		}
	})
}

// rewrite reads fields with rising tags and writes them.
func rewrite(b []byte) (out []byte, ok bool) {
	r := tlv.NewReader(b, 1)
	w := tlv.NewWriter(1)
	last := uint64(0)
	for field, more := r.Next(); more; field, more = r.Next() {
		if field.Tag <= last {
			return nil, false
		}
		last = field.Tag
		w.Bytes(field.Tag, field.Value)
	}
	return w.Out(), r.Err() == nil
}
