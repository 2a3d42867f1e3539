package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"sync"
	"time"
)

// Mailgun signs a time and a token, not the event: whoever has seen a request can put
// another event beside its signature. So a token is taken for one event only, as long as
// this process remembers it.
func Mailgun(signingKeys ...string) *Provider {
	seen := &tokens{}
	p := provider("mailgun", credentials{secrets: signingKeys}, func(a *authenticity, c credentials) (verification, error) {
		keys, err := keysOf(c.secrets, "text")
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, r *Request) (time.Time, error) {
			said, err := scalars(r.Body, mailgunPaths, 4)
			if err != nil {
				return time.Time{}, asForged(err)
			}
			at, token, id := said[0], said[1], said[3]
			sig, err := hex.DecodeString(said[2])
			if err != nil || len(sig) != sha256.Size || token == "" {
				return time.Time{}, forged("the body holds no signature")
			}
			for _, key := range keys {
				mac := hmac.New(sha256.New, key)
				mac.Write([]byte(at + token))
				if !hmac.Equal(sig, mac.Sum(nil)) {
					continue
				}
				if !seen.first(at+token, id) { // as they are signed: nothing says where one ends
					return time.Time{}, forged("its token belongs to another event")
				}
				return a.time(at)
			}
			return time.Time{}, forged("no key fits")
		}, nil
	})
	p.tokens = seen
	return p
}

var mailgunPaths = func() *node {
	n := newNode()
	for i, path := range []string{"signature.timestamp", "signature.token", "signature.signature", "event-data.id"} {
		n.at(strings.Split(path, ".")).slot = i
	}
	return n
}()

// maxTokens bounds what is remembered, in two generations of half of it.
const maxTokens = 20000

// tokens remembers which event a token was used for.
type tokens struct {
	mu       sync.Mutex
	now, old map[string]string
}

// follow goes on with what another memory holds.
func (t *tokens) follow(old *tokens) {
	old.mu.Lock()
	now, before := maps.Clone(old.now), old.old
	old.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.old = now, before
}

// first reports whether a token was not used for another event.
func (t *tokens) first(token, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.now[token]
	if !ok {
		known, ok = t.old[token]
	}
	if ok {
		return known == id
	}
	if t.now == nil || len(t.now) >= maxTokens/2 {
		t.now, t.old = map[string]string{}, t.now
	}
	t.now[token] = id
	return true
}
