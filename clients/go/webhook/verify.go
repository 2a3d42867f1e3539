package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some providers sign with nothing else
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"time"
)

// Forged is the error of a request that its provider did not sign. Any other error of a
// verification says that nobody can tell now.
type Forged struct{ Why string }

// Error implements error.
func (f Forged) Error() string { return "the signature is wrong: " + f.Why }

func forged(format string, args ...any) error { return Forged{Why: fmt.Sprintf(format, args...)} }

// verification tells whether a request is genuine, before anything in it is believed, and
// when it was signed: zero where the provider does not sign a time.
type verification func(context.Context, *Request) (signedAt time.Time, err error)

var (
	errNoSecret    = errors.New("no secret was given")
	errEmptySecret = errors.New("a secret is empty")
)

// keysOf reads secrets. An empty one, as from a variable that is not set, would let
// everybody sign.
func keysOf(secrets []string, how string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, errNoSecret
	}
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		key, err := keyOf(s, how)
		if err != nil {
			return nil, err
		}
		if len(key) == 0 {
			return nil, errEmptySecret
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func keyOf(secret, how string) ([]byte, error) {
	switch how {
	case "hex":
		key, err := hex.DecodeString(strings.TrimSpace(secret))
		if err != nil {
			return nil, errors.New("a secret is not hexadecimal")
		}
		return key, nil
	case "base64":
		key, err := base64.StdEncoding.DecodeString(secret)
		if err != nil {
			return nil, errors.New("a secret is not base64")
		}
		return key, nil
	default:
		return []byte(secret), nil
	}
}

// hashes are those of the recipes.
var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// signedParts is a recipe's template of what is signed, cut at its names.
type signedParts []string

// template cuts "{timestamp}.{body}" into "{timestamp}", "." and "{body}".
func template(s string) signedParts {
	var parts signedParts
	for s != "" {
		at := strings.IndexByte(s, '{')
		if at != 0 {
			if at < 0 {
				at = len(s)
			}
			parts, s = append(parts, s[:at]), s[at:]
			continue
		}
		end := strings.IndexByte(s, '}') + 1
		if end == 0 {
			end = len(s)
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
	return parts
}

// write writes what is signed to a hash.
func (p signedParts) write(h hash.Hash, r *Request, timestamp, url string) {
	for _, part := range p {
		switch part {
		case "{body}":
			h.Write(r.Body)
		case "{timestamp}":
			h.Write([]byte(timestamp))
		case "{url}":
			h.Write([]byte(url))
		default:
			h.Write([]byte(part))
		}
	}
}

// hmacScheme checks what most providers send: an HMAC in a header.
func hmacScheme(a *authenticity, creds credentials) (verification, error) {
	keys, err := keysOf(creds.secrets, a.Key)
	if err != nil {
		return nil, err
	}
	parts, newHash := template(a.Signed), hashes[a.Hash]
	if newHash == nil {
		return nil, fmt.Errorf("there is no hash %q", a.Hash)
	}
	return func(_ context.Context, r *Request) (time.Time, error) {
		c, err := a.claims(r.Header)
		if err != nil {
			return time.Time{}, err
		}
		for _, key := range keys {
			mac := hmac.New(newHash, key)
			parts.write(mac, r, c.timestamp, creds.url)
			want := mac.Sum(nil)
			for _, s := range c.signatures {
				if hmac.Equal(s, want) {
					return a.time(c.timestamp)
				}
			}
		}
		return time.Time{}, forged("no secret fits")
	}, nil
}

// claimed is what a request says of its signature.
type claimed struct {
	signatures [][]byte
	timestamp  string
}

// claims reads the headers of a signature.
func (a *authenticity) claims(h http.Header) (*claimed, error) {
	c := &claimed{}
	if a.Timestamp != "" && !strings.HasPrefix(a.Timestamp, "body:") {
		if c.timestamp = h.Get(a.Timestamp); c.timestamp == "" {
			return nil, forged("the header %s is missing", a.Timestamp)
		}
	}
	said := h.Get(a.Headers[0])
	if said == "" {
		return nil, forged("the header %s is missing", a.Headers[0])
	}
	fields, prefix := []string{said}, a.Prefix
	if a.List != nil {
		fields, prefix = strings.Split(said, a.List.Separator), a.List.Signature
	}
	for _, f := range fields {
		f = strings.TrimSpace(f)
		if a.List != nil && c.timestamp == "" {
			if t, ok := strings.CutPrefix(f, a.List.Timestamp); ok {
				c.timestamp = t
				continue
			}
		}
		s, ok := strings.CutPrefix(f, prefix)
		if !ok {
			continue // of an older scheme
		}
		if sig, err := decode(s, a.Encoding); err == nil {
			c.signatures = append(c.signatures, sig)
		}
	}
	if len(c.signatures) == 0 {
		return nil, forged("the header %s holds no signature", a.Headers[0])
	}
	return c, nil
}

func decode(s, encoding string) ([]byte, error) {
	if encoding == "hex" {
		return hex.DecodeString(s)
	}
	return base64.StdEncoding.DecodeString(s)
}

// time is when a genuine request was signed.
func (a *authenticity) time(said string) (time.Time, error) {
	if said == "" {
		return time.Time{}, nil
	}
	t, ok := instant(said, a.Unit)
	if !ok {
		return time.Time{}, forged("its time %q is none", said)
	}
	return t, nil
}

// tokenScheme compares a header with a shared secret.
func tokenScheme(a *authenticity, c credentials) (verification, error) {
	keys, err := keysOf(c.secrets, "text")
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, r *Request) (time.Time, error) {
		token, ok := strings.CutPrefix(r.Header.Get(a.Headers[0]), a.Prefix)
		if !ok {
			return time.Time{}, forged("the header %s holds no token", a.Headers[0])
		}
		said := sum([]byte(token)) // hashes have one length, whatever was sent
		for _, key := range keys {
			if subtle.ConstantTimeCompare(said, sum(key)) == 1 {
				return time.Time{}, nil
			}
		}
		return time.Time{}, forged("the token in %s is not ours", a.Headers[0])
	}, nil
}
