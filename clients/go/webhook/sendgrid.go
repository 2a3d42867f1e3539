package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"time"
)

// SendGrid sends arrays. The keys are the public ones that its settings show, in base64.
func SendGrid(publicKeys ...string) *Provider {
	return provider("sendgrid", credentials{secrets: publicKeys}, byRecipe)
}

// ecdsaScheme checks ECDSA signatures over what the recipe says.
func ecdsaScheme(a *authenticity, creds credentials) (verification, error) {
	if len(creds.secrets) == 0 {
		return nil, errNoSecret
	}
	var keys []*ecdsa.PublicKey
	for _, s := range creds.secrets {
		der, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, errors.New("a public key is not base64")
		}
		key, err := x509.ParsePKIXPublicKey(der)
		if err != nil {
			return nil, err
		}
		public, ok := key.(*ecdsa.PublicKey)
		if !ok {
			return nil, errors.New("a public key is none of ECDSA")
		}
		keys = append(keys, public)
	}
	parts := template(a.Signed)
	return func(_ context.Context, r *Request) (time.Time, error) {
		c, err := a.claims(r.Header)
		if err != nil {
			return time.Time{}, err
		}
		h := sha256.New()
		parts.write(h, r, c.timestamp, "")
		digest := h.Sum(nil)
		for _, key := range keys {
			for _, s := range c.signatures {
				if ecdsa.VerifyASN1(key, digest, s) {
					return a.time(c.timestamp)
				}
			}
		}
		return time.Time{}, forged("no key fits")
	}, nil
}
