package webhook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// A record is a mark, the payload's length, a checksum of the length and the payload, and
// the payload. The mark lets a reader find the next record after a damaged one; that the
// checksum covers the length tells a record from a head whose rest never arrived.
const (
	recordMark = "\xf1SPL"
	recordHead = len(recordMark) + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func spoolRecord(payload []byte) []byte {
	b := make([]byte, 0, recordHead+len(payload))
	b = append(b, recordMark...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // bounded by the spool
	b = binary.BigEndian.AppendUint32(b, checksum(b[len(recordMark):], payload))
	return append(b, payload...)
}

func checksum(length, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, payload)
}

// parseRecord reads the record that b begins with, and where the next one begins.
func parseRecord(b []byte) (payload []byte, end int, ok bool) {
	if len(b) < recordHead || string(b[:len(recordMark)]) != recordMark {
		return nil, 0, false
	}
	n := int64(binary.BigEndian.Uint32(b[len(recordMark):]))
	if n > int64(len(b)-recordHead) {
		return nil, 0, false
	}
	end = recordHead + int(n)
	payload = b[recordHead:end]
	want := binary.BigEndian.Uint32(b[len(recordMark)+4:])
	return payload, end, checksum(b[len(recordMark):len(recordMark)+4], payload) == want
}

// readPlaces finds the whole records of a file. What is between them is damaged; what is
// behind the last one is a write that was cut off.
func readPlaces(f io.Reader, size int64) (places []spoolPlace, damaged, torn int64, err error) {
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, 0, 0, err
	}
	at, gap := 0, 0
	for at < len(b) {
		if _, end, ok := parseRecord(b[at:]); ok {
			places = append(places, spoolPlace{at: int64(at), length: int64(end)})
			damaged += int64(gap)
			at, gap = at+end, 0
			continue
		}
		next := bytes.Index(b[at+1:], []byte(recordMark))
		if next < 0 {
			gap += len(b) - at
			break
		}
		gap += next + 1
		at += next + 1
	}
	return places, damaged, int64(gap), nil
}

// spoolHead is what is kept of a request beside its body.
type spoolHead struct {
	ID         string      `json:"id"`
	Method     string      `json:"method"`
	URL        string      `json:"url"`
	Header     http.Header `json:"header"`
	ReceivedAt time.Time   `json:"received_at"`
	SignedAt   time.Time   `json:"signed_at"` // zero if it is not known
	Status     int         `json:"http_status"`
	AnsweredAt time.Time   `json:"answered_at"`
}

func (d *arrival) record(status int) ([]byte, error) {
	head, err := json.Marshal(spoolHead{
		ID: d.id, Method: d.request.Method, URL: d.request.URL.String(), Header: d.request.Header,
		ReceivedAt: d.request.ReceivedAt, SignedAt: d.signedAt, Status: status, AnsweredAt: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(head))) //nolint:gosec // of a request's headers
	return append(append(b, head...), d.request.Body...), nil
}

// restored is an arrival as it was kept.
func restored(payload []byte) (*arrival, *spoolHead, error) {
	if len(payload) < 4 {
		return nil, nil, errors.New("the record has no head")
	}
	n := int64(binary.BigEndian.Uint32(payload))
	if n > int64(len(payload)-4) {
		return nil, nil, errors.New("the record's head is cut off")
	}
	var head spoolHead
	if err := json.Unmarshal(payload[4:4+n], &head); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(head.URL)
	if err != nil {
		return nil, nil, err
	}
	return &arrival{
		id: head.ID, began: time.Now(), signedAt: head.SignedAt,
		request: &Request{Method: head.Method, URL: u, Header: head.Header, Body: payload[4+n:], ReceivedAt: head.ReceivedAt},
	}, &head, nil
}

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, spoolFileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(path)))
}
