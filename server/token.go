package server

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

const (
	tokenVersion = 1
	macBytes     = 16
	maxTokenPart = 512
)

// tokens seals what a token says, and reads it back. A token is a version byte, the
// length-prefixed names, the fixed fields, and the first half of an HMAC-SHA256 over
// all that; each kind of token has a key of its own, so that none passes for another.
type tokens struct {
	secret func(context.Context) ([]byte, error)
	mu     sync.Mutex
	keys   atomic.Pointer[tokenKeys]
}

type tokenKeys struct{ claim, effect, page *sealer }

// load derives the keys at the first use, so that a server starts before its database.
func (t *tokens) load(ctx context.Context) (*tokenKeys, error) {
	if k := t.keys.Load(); k != nil {
		return k, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	secret, err := t.secret(ctx)
	if err != nil {
		return nil, err
	}
	claim, err := hkdf.Expand(sha256.New, secret, "idemsvc/token/claim/1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of claim tokens: %w", err)
	}
	effect, err := hkdf.Expand(sha256.New, secret, "idemsvc/token/effect/1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of effect tokens: %w", err)
	}
	page, err := hkdf.Expand(sha256.New, secret, "idemsvc/token/page/1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of page tokens: %w", err)
	}
	k := &tokenKeys{claim: newSealer(claim), effect: newSealer(effect), page: newSealer(page)}
	t.keys.Store(k)
	return k, nil
}

// sealClaim is the text of a claim's token.
func (k *tokenKeys) sealClaim(t idem.Token) []byte {
	b := make([]byte, 0, 1+2+len(t.Namespace)+2+len(t.Consumer)+16+8+16+macBytes)
	b = append(b, tokenVersion)
	b = appendText(b, t.Namespace)
	b = appendText(b, t.Consumer)
	b = append(b, t.Event[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Fence)) //nolint:gosec // the bits are read back as they are
	b = append(b, t.Nonce[:]...)
	return k.claim.seal(b)
}

// openClaim reads a claim's token; ok is false for anything that was not sealed here.
func (k *tokenKeys) openClaim(text []byte) (t idem.Token, ok bool) {
	r := reader{rest: k.claim.unseal(text)}
	t.Namespace, t.Consumer = r.text(), r.text()
	r.id(&t.Event)
	t.Fence = int64(r.uint64()) //nolint:gosec // the bits as they were written
	r.id(&t.Nonce)
	return t, r.whole()
}

// sealEffect is the text of an effect's token.
func (k *tokenKeys) sealEffect(t idem.EffectToken) []byte {
	b := make([]byte, 0, 1+2+len(t.Namespace)+16+4+4+16+macBytes)
	b = append(b, tokenVersion)
	b = appendText(b, t.Namespace)
	b = append(b, t.Effect[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(t.Generation)) //nolint:gosec // the bits are read back as they are
	b = binary.BigEndian.AppendUint32(b, uint32(t.Number))     //nolint:gosec // the bits are read back as they are
	b = append(b, t.Nonce[:]...)
	return k.effect.seal(b)
}

// openEffect reads an effect's token.
func (k *tokenKeys) openEffect(text []byte) (t idem.EffectToken, ok bool) {
	r := reader{rest: k.effect.unseal(text)}
	t.Namespace = r.text()
	r.id(&t.Effect)
	t.Generation, t.Number = int32(r.uint32()), int32(r.uint32()) //nolint:gosec // the bits as they were written
	r.id(&t.Nonce)
	return t, r.whole()
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s))) //nolint:gosec // limited to 512 bytes
	return append(b, s...)
}

// sealer makes and checks the MACs of one kind of token. States that have taken in the key
// are kept: that is half of the work.
type sealer struct{ states sync.Pool }

func newSealer(key []byte) *sealer {
	return &sealer{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

func (s *sealer) sum(b []byte) (sum [macBytes]byte) {
	mac, _ := s.states.Get().(hash.Hash) // nothing else is put in
	_, _ = mac.Write(b)                  // it never fails
	var all [sha256.Size]byte
	copy(sum[:], mac.Sum(all[:0]))
	mac.Reset()
	s.states.Put(mac)
	return sum
}

func (s *sealer) seal(b []byte) []byte {
	sum := s.sum(b)
	return append(b, sum[:]...)
}

// unseal is what lies between version and MAC, nil when either is wrong. The MAC is
// compared in constant time before anything else is read.
func (s *sealer) unseal(text []byte) []byte {
	if len(text) < 1+macBytes || text[0] != tokenVersion {
		return nil
	}
	body := text[:len(text)-macBytes]
	sum := s.sum(body)
	if !hmac.Equal(sum[:], text[len(text)-macBytes:]) {
		return nil
	}
	return body[1:]
}

// reader takes fields off a token.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.rest) < n {
		r.bad = true
		return make([]byte, n)
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) text() string {
	n := int(binary.BigEndian.Uint16(r.take(2)))
	if n == 0 || n > maxTokenPart {
		r.bad = true
		return ""
	}
	return string(r.take(n))
}

func (r *reader) id(id *idem.ID) { copy(id[:], r.take(len(id))) }
func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) whole() bool    { return !r.bad && len(r.rest) == 0 }

// errToken refuses a token alike whether it is forged, damaged or of a namespace that
// the caller may not use: nobody learns from it whether a token is genuine.
func errToken(field string) *refusal {
	return refused(pb.ErrorReason_ERROR_REASON_INVALID_TOKEN, field, "the token was not issued for this caller, or is damaged")
}
