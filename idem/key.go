package idem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// ID is the 16-byte name of a record: a hash of its length-prefixed key parts.
// The full parts are stored beside it and compared on every hit, so that a
// collision can refuse a call but never merge two records.
type ID [16]byte

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// String is the ID in lower-case hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Bucket spreads records over 256 buckets; it leads every hot primary key, so
// that a distributed database can address a batch by equality.
func (id ID) Bucket() int16 { return int16(id[0]) }

// EventRef names what happened, for all consumers: it is what a provider sent.
type EventRef struct {
	Namespace string // tenant and environment: the wall that nothing crosses
	Source    string // the sender, such as "stripe"
	EventID   string // the sender's ID of the event
}

// EventKey names the processing of one event by one consumer.
type EventKey struct {
	EventRef
	Consumer string // the logical processor: a service, not an instance of it
}

// ResourceKey names the thing an event is about, as one consumer sees it.
type ResourceKey struct {
	Namespace string
	Consumer  string
	Type      string
	Name      string
}

// hashParts hashes a domain word and parts, each led by its length in bytes, so
// that no choice of parts can imitate another: ("a","b:c") is not ("a:b","c").
func hashParts(domain string, parts ...string) [32]byte {
	var room [256]byte // enough for nearly all, and not on the heap
	buf := appendPart(room[:0], domain)
	for _, p := range parts {
		buf = appendPart(buf, p)
	}
	return sha256.Sum256(buf)
}

func appendPart(buf []byte, p string) []byte {
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(p))) //nolint:gosec // parts are limited far below 4 GiB
	return append(buf, p...)
}

// ID is 8 bytes of the ref's hash followed by 8 bytes of the whole key's hash:
// all consumers of one event are neighbours in the primary key, so that an event
// is found without its consumer and without a second index.
func (k EventKey) ID() ID {
	ref := hashParts("idemsvc/ref/1", k.Namespace, k.Source, k.EventID)
	key := hashParts("idemsvc/event/1", k.Namespace, k.Source, k.EventID, k.Consumer)
	var id ID
	copy(id[:8], ref[:8])
	copy(id[8:], key[:8])
	return id
}

// Range is the closed interval of IDs that the ref's consumers can have.
func (r EventRef) Range() (low, high ID) {
	ref := hashParts("idemsvc/ref/1", r.Namespace, r.Source, r.EventID)
	copy(low[:8], ref[:8])
	copy(high[:8], ref[:8])
	for i := 8; i < 16; i++ {
		high[i] = 0xff
	}
	return low, high
}

// ID names the ref itself: payloads belong to it, not to a consumer.
func (r EventRef) ID() ID {
	return short(hashParts("idemsvc/ref/1", r.Namespace, r.Source, r.EventID))
}

// ID names the resource's record.
func (k ResourceKey) ID() ID {
	return short(hashParts("idemsvc/resource/1", k.Namespace, k.Consumer, k.Type, k.Name))
}

func short(sum [32]byte) ID {
	var id ID
	copy(id[:], sum[:16])
	return id
}

// Term is the hash under which a value (an event, correlation or request ID, an
// output name, a resource, an effect key) finds events again. Values of all
// kinds share one space, so that one search serves whatever a person has at hand.
func Term(namespace string, parts ...string) int64 {
	sum := hashParts("idemsvc/term/1", append([]string{namespace}, parts...)...)
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // a hash, any bit pattern is fine
}

// Digest is a 16-byte hash of length-prefixed parts. It names the content of an
// ending call (is this the same completion again?) and a call's request ID.
func Digest(parts ...string) ID { return short(hashParts("idemsvc/digest/1", parts...)) }
