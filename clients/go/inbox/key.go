package inbox

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPart is how long each part of a key may be in bytes, as in the service's contract.
const maxPart = 512

// key names the processing of one event by one consumer.
type key struct{ namespace, source, eventID, consumer string }

// id is 16 bytes of the SHA-256 over the parts, each led by its length, so that no choice of
// parts can imitate another. It keeps the primary key short whatever the parts are. The parts
// stand beside it and are compared on every hit.
func (k key) id() []byte {
	var buf []byte
	for _, part := range []string{"idemsvc/inbox/1", k.namespace, k.source, k.eventID, k.consumer} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(part))) //nolint:gosec // parts are limited far below 4 GiB
		buf = append(buf, part...)
	}
	sum := sha256.Sum256(buf)
	return sum[:16]
}

// check refuses what the service would refuse, so that what was marked without it can be told
// to it later.
func (k key) check() error {
	for _, p := range []struct{ field, value string }{
		{"namespace", k.namespace}, {"consumer", k.consumer}, {"event.source", k.source}, {"event.event_id", k.eventID},
	} {
		if err := checkPart(p.field, p.value); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(field, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("inbox: %s is empty", field)
	case len(value) > maxPart:
		return fmt.Errorf("inbox: %s has %d bytes, at most %d are allowed", field, len(value), maxPart)
	case !utf8.ValidString(value):
		return fmt.Errorf("inbox: %s is not valid UTF-8", field)
	case strings.Contains(value, "\x00"):
		return fmt.Errorf("inbox: %s contains NUL", field)
	case strings.TrimSpace(value) == "":
		return fmt.Errorf("inbox: %s is only white space", field)
	}
	return nil
}
