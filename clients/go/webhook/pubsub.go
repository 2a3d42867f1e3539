package webhook

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// PubSubConfig is what is needed for authenticated pushes of Google Pub/Sub.
type PubSubConfig struct {
	// Audience is the subscription's; by default it is the push URL.
	Audience string
	// Email is the service account's that the subscription pushes as.
	Email string
	// HTTP fetches Google's keys. Default: a client of its own.
	HTTP *http.Client
}

// PubSub is wrapped pushes of Google Pub/Sub. Their token names the caller and covers no
// body: TLS protects that.
func PubSub(cfg PubSubConfig) *Provider {
	return provider("google-pubsub", credentials{}, func(*authenticity, credentials) (verification, error) {
		if cfg.Audience == "" || cfg.Email == "" {
			return nil, errors.New("the audience and the service account's e-mail are needed, or every Google user could push")
		}
		g := &google{cfg: cfg, fetch: newFetcher(cfg.HTTP)}
		return g.verify, nil
	})
}

const (
	googleKeys = "https://www.googleapis.com/oauth2/v3/certs"
	googleKeep = time.Hour
	skew       = time.Minute // between Google's clock and ours
)

type google struct {
	cfg   PubSubConfig
	fetch *fetcher
	keys  cache[*rsa.PublicKey]
}

type googleClaims struct {
	Audience string `json:"aud"`
	Issuer   string `json:"iss"`
	Email    string `json:"email"`
	Verified bool   `json:"email_verified"`
	Expires  int64  `json:"exp"`
	Issued   int64  `json:"iat"`
}

func (g *google) verify(ctx context.Context, r *Request) (time.Time, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		return time.Time{}, forged("the header Authorization holds no token")
	}
	var head struct{ Alg, Kid string }
	var claims googleClaims
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || segment(parts[0], &head) != nil || segment(parts[1], &claims) != nil {
		return time.Time{}, forged("the token cannot be read")
	}
	if head.Alg != "RS256" {
		return time.Time{}, forged("the token is signed by %q and not by RS256", head.Alg)
	}
	key, err := g.key(ctx, head.Kid)
	if err != nil {
		return time.Time{}, err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], sig) != nil {
		return time.Time{}, forged("the token's key does not fit")
	}
	return time.Time{}, g.check(&claims, r.ReceivedAt)
}

func segment(s string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func (g *google) check(c *googleClaims, now time.Time) error {
	switch {
	case c.Issuer != "accounts.google.com" && c.Issuer != "https://accounts.google.com":
		return forged("the token is issued by %q", c.Issuer)
	case c.Audience != g.cfg.Audience:
		return forged("the token is meant for %q", c.Audience)
	case c.Email != g.cfg.Email || !c.Verified:
		return forged("the token is %q's", c.Email)
	case now.After(time.Unix(c.Expires, 0).Add(skew)), now.Before(time.Unix(c.Issued, 0).Add(-skew)):
		return forged("the token does not hold now")
	default:
		return nil
	}
}

// key is one of Google's keys, all of which are fetched when it is not known.
func (g *google) key(ctx context.Context, id string) (*rsa.PublicKey, error) {
	if key, ok := g.keys.get(id); ok {
		return key, nil
	}
	b, err := g.fetch.get(ctx, googleKeys)
	if err != nil {
		return nil, fmt.Errorf("Google's keys: %w", err)
	}
	var set struct {
		Keys []struct{ Kid, Kty, N, E string }
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("Google's keys: %w", err)
	}
	for _, k := range set.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(k.N)
		e, errE := base64.RawURLEncoding.DecodeString(k.E)
		if k.Kty != "RSA" || errN != nil || errE != nil || len(e) > 4 {
			continue
		}
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		g.keys.put(k.Kid, key, time.Now().Add(googleKeep))
	}
	if key, ok := g.keys.get(id); ok {
		return key, nil
	}
	return nil, forged("the token's key is none of Google's")
}
