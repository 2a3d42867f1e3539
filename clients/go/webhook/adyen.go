package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
)

// Adyen is its standard webhooks. Each event carries a signature of eight of its fields;
// the others are not covered. The keys are in hex.
func Adyen(hmacKeys ...string) *Provider {
	return provider("adyen", credentials{secrets: hmacKeys}, func(_ *authenticity, c credentials) (verification, error) {
		keys, err := keysOf(c.secrets, "hex")
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, r *Request) (time.Time, error) {
			n := 0
			err := each(r.Body, adyenItems, func(item []byte) error {
				n++
				return adyenItem(item, keys)
			})
			if err == nil && n == 0 {
				err = forged("it holds no event to be signed")
			}
			return time.Time{}, asForged(err)
		}, nil
	})
}

// adyenItems is where the events are.
var adyenItems = []string{"notificationItems", "[]", "NotificationRequestItem"}

// AdyenPlatform is the webhooks of Adyen's platforms and of its management API, which are
// signed in a header. The keys are in hex.
func AdyenPlatform(hmacKeys ...string) *Provider {
	return provider("adyen-platform", credentials{secrets: hmacKeys}, byRecipe)
}

// adyenSigned are the fields that an event's signature covers, in their order.
var adyenSigned = strings.Fields("pspReference originalReference merchantAccountCode merchantReference amount.value amount.currency eventCode success")

var adyenPaths = func() *node {
	n := newNode()
	for i, path := range append(adyenSigned, "additionalData.hmacSignature") {
		n.at(strings.Split(path, ".")).slot = i
	}
	return n
}()

func adyenItem(item []byte, keys [][]byte) error {
	parts, err := scalars(item, adyenPaths, len(adyenSigned)+1) // what is missing is signed as empty
	if err != nil {
		return err
	}
	sig, err := base64.StdEncoding.DecodeString(parts[len(adyenSigned)])
	if err != nil || len(sig) != sha256.Size {
		return forged("an event holds no signature")
	}
	for _, key := range keys {
		if hmac.Equal(sig, adyenMAC(key, parts)) {
			return nil
		}
	}
	return forged("no key fits an event")
}

// adyenMAC is the signature of an event's fields.
func adyenMAC(key []byte, parts []string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(parts[:len(adyenSigned)], ":")))
	return mac.Sum(nil)
}

// asForged is for signatures inside a body: one that cannot be read was not signed.
func asForged(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(Forged); ok { //nolint:errorlint // it is made here and wrapped by nobody
		return err
	}
	return forged("%v", err)
}
