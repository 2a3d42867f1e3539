package webhook

import (
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"time"
)

// Midtrans signs the order, the status code and the amount, but not the transaction's
// status: ask Midtrans for the status before acting on money. The keys are server keys.
func Midtrans(serverKeys ...string) *Provider {
	return provider("midtrans", credentials{secrets: serverKeys}, func(_ *authenticity, c credentials) (verification, error) {
		keys, err := keysOf(c.secrets, "text")
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, r *Request) (time.Time, error) {
			said, err := scalars(r.Body, midtransPaths, 4)
			if err != nil {
				return time.Time{}, asForged(err)
			}
			sig, err := hex.DecodeString(said[3])
			if err != nil || len(sig) != sha512.Size {
				return time.Time{}, forged("the body holds no signature")
			}
			for _, key := range keys {
				want := sha512.Sum512([]byte(said[0] + said[1] + said[2] + string(key)))
				if subtle.ConstantTimeCompare(sig, want[:]) == 1 {
					return time.Time{}, nil
				}
			}
			return time.Time{}, forged("no key fits")
		}, nil
	})
}

var midtransPaths = func() *node {
	n := newNode()
	for i, path := range strings.Fields("order_id status_code gross_amount signature_key") {
		n.at([]string{path}).slot = i
	}
	return n
}()
