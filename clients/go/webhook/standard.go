package webhook

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// StandardWebhooks is any sender that follows the specification of that name. A secret is
// "whsec_..." or, for Ed25519, the public key "whpk_...".
func StandardWebhooks(secrets ...string) *Provider { return standard("standard-webhooks", secrets) }

// Svix sends for others, whom [Provider.As] may name.
func Svix(secrets ...string) *Provider { return standard("svix", secrets) }

// Resend signs as Svix does.
func Resend(secrets ...string) *Provider { return standard("resend", secrets) }

// Clerk signs as Svix does.
func Clerk(secrets ...string) *Provider { return standard("clerk", secrets) }

func standard(name string, secrets []string) *Provider {
	p := provider(name, credentials{secrets: secrets}, byRecipe)
	extract := p.extract
	p.extract = func(r *Request) ([]*Item, error) {
		if r.Header.Get("webhook-signature") == "" && r.Header.Get("svix-signature") != "" { // only the ID of that prefix is signed
			own := *r
			own.Header = r.Header.Clone()
			own.Header.Del("webhook-id")
			r = &own
		}
		return extract(r)
	}
	return p
}

// standardScheme checks signatures of Standard Webhooks, under either prefix of headers.
func standardScheme(a *authenticity, c credentials) (verification, error) {
	var keys [][]byte
	var publics []ed25519.PublicKey
	for _, s := range c.secrets {
		if public, ok := strings.CutPrefix(s, "whpk_"); ok {
			key, err := base64.StdEncoding.DecodeString(public)
			if err != nil || len(key) != ed25519.PublicKeySize {
				return nil, errors.New("a public key is not base64 of 32 bytes")
			}
			publics = append(publics, key)
			continue
		}
		more, err := keysOf([]string{strings.TrimPrefix(s, "whsec_")}, "base64")
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	if len(keys)+len(publics) == 0 {
		return nil, errNoSecret
	}
	return func(_ context.Context, r *Request) (time.Time, error) {
		prefix := "webhook-"
		if r.Header.Get("webhook-signature") == "" {
			prefix = "svix-"
		}
		id, at, said := r.Header.Get(prefix+"id"), r.Header.Get(prefix+"timestamp"), r.Header.Get(prefix+"signature")
		switch {
		case id == "" || at == "" || said == "":
			return time.Time{}, forged("the headers webhook-id, webhook-timestamp and webhook-signature are not all there")
		case strings.Contains(id, "."):
			return time.Time{}, forged("the ID contains a dot, so what is signed could be read in two ways")
		}
		signed := make([]byte, 0, len(id)+len(at)+2+len(r.Body))
		signed = append(append(append(append(append(signed, id...), '.'), at...), '.'), r.Body...)
		for s := range strings.FieldsSeq(said) {
			version, encoded, _ := strings.Cut(s, ",")
			sig, err := base64.StdEncoding.DecodeString(encoded)
			if err == nil && standardFits(version, sig, signed, keys, publics) {
				return a.time(at)
			}
		}
		return time.Time{}, forged("no secret fits")
	}, nil
}

func standardFits(version string, sig, signed []byte, keys [][]byte, publics []ed25519.PublicKey) bool {
	switch version {
	case "v1":
		for _, key := range keys {
			mac := hmac.New(sha256.New, key)
			mac.Write(signed)
			if hmac.Equal(sig, mac.Sum(nil)) {
				return true
			}
		}
	case "v1a":
		for _, key := range publics {
			if len(sig) == ed25519.SignatureSize && ed25519.Verify(key, signed, sig) {
				return true
			}
		}
	}
	return false
}
