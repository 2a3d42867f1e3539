package postgres

import (
	"bytes"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// canonicalForms are the encodings that the database keeps: reading bytes and writing what
// was read.
var canonicalForms = []func(b []byte) ([]byte, error){
	func(b []byte) ([]byte, error) {
		var x idem.Event
		err := decodeDetail(b, &x)
		return encodeDetail(&x), err
	},
	func(b []byte) ([]byte, error) {
		var x idem.Facts
		err := decodeFacts(b, &x)
		return encodeFacts(&x), err
	},
	func(b []byte) ([]byte, error) {
		var x idem.Attempt
		err := decodeAttempt(b, &x)
		return encodeAttempt(&x), err
	},
	func(b []byte) ([]byte, error) {
		var x idem.Effect
		err := decodeEffect(append([]byte{}, b...), &x)
		return encodeEffect(&x), err
	},
	func(b []byte) ([]byte, error) {
		var x storage.Delivery
		err := decodeDelivery(b, &x)
		return encodeDelivery(&x), err
	},
}

// Whatever bytes are read, what was read has one encoding, and that is read as the same.
func FuzzCanonicalForms(f *testing.F) {
	f.Add(uint8(0), encodeDetail(filled[idem.Event]()))
	f.Add(uint8(1), encodeFacts(filled[idem.Facts]()))
	f.Add(uint8(2), encodeAttempt(filled[idem.Attempt]()))
	f.Add(uint8(3), encodeEffect(filled[idem.Effect]()))
	f.Add(uint8(4), encodeDelivery(filled[storage.Delivery]()))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		form := canonicalForms[int(which)%len(canonicalForms)]
		once, err := form(b)
		if err != nil {
			return
		}
		twice, err := form(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !bytes.Equal(once, twice) {
			t.Errorf("one content has two encodings: %x and %x", once, twice)
		}
	})
}

// A block of the journal is read to its end or refused, and never tells of a command whose
// head is missing.
func FuzzReadBlock(f *testing.F) {
	e := filled[idem.Event]()
	d := &idem.Decision{Event: &idem.EventWrite{New: e}, Entries: []idem.Entry{{Kind: idem.EntryClaimed, Subject: idem.OnEvent, ID: e.ID(), Seq: 1, First: true, To: idem.Processing}}}
	b := newBlock()
	lead := b.add(d)
	f.Add(append(lead[:], make([]byte, 8)...), b.out())
	f.Add([]byte{}, b.out())
	f.Fuzz(func(t *testing.T, heads, body []byte) {
		list, err := readBlock(1, heads, body)
		if err == nil && len(heads) == 0 && len(list) > 0 {
			t.Errorf("%d entries of commands that were not carried out", len(list))
		}
	})
}
