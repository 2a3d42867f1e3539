package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/url"
	"strings"
	"time"
)

const hubspotTime = "X-Hubspot-Request-Timestamp"

// HubSpot sends arrays, of up to 100 events. It signs the target URL, as it was entered
// there, the query included.
func HubSpot(targetURL string, clientSecrets ...string) *Provider {
	return provider("hubspot", credentials{clientSecrets, targetURL}, hubspotScheme(false))
}

// HubSpotLegacy accepts the signatures v1 and v2, too, which sign no time and are plain
// hashes with the secret in front.
func HubSpotLegacy(targetURL string, clientSecrets ...string) *Provider {
	return provider("hubspot", credentials{clientSecrets, targetURL}, hubspotScheme(true))
}

// hubspotDecoded are the characters that are signed as such, wherever the URL escapes them.
var hubspotDecoded = strings.NewReplacer(
	"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
	"%3a", ":", "%2f", "/", "%3f", "?", "%2a", "*", "%2c", ",", "%3b", ";",
)

func hubspotScheme(legacy bool) scheme {
	return func(a *authenticity, c credentials) (verification, error) {
		target, err := publicURL(c.url)
		if err != nil {
			return nil, err
		}
		keys, err := keysOf(c.secrets, "text")
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, r *Request) (time.Time, error) {
			uri := withQuery(target, r)
			if said := r.Header.Get(a.Headers[0]); said != "" {
				return hubspotV3(a, r, hubspotDecoded.Replace(uri), said, keys)
			}
			if legacy {
				return time.Time{}, hubspotOld(r, uri, keys)
			}
			return time.Time{}, forged("the header %s is missing", a.Headers[0])
		}, nil
	}
}

// withQuery is the public URL with the query of a request, where it has none of its own.
func withQuery(target *url.URL, r *Request) string {
	u := *target
	if u.RawQuery == "" && r.URL != nil {
		u.RawQuery = r.URL.RawQuery
	}
	return u.String()
}

func hubspotV3(a *authenticity, r *Request, uri, said string, keys [][]byte) (time.Time, error) {
	sig, err := base64.StdEncoding.DecodeString(said)
	if err != nil {
		return time.Time{}, forged("it is not base64")
	}
	at := r.Header.Get(hubspotTime)
	if at == "" {
		return time.Time{}, forged("the header %s is missing", hubspotTime)
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		hubspotWrite(mac, r, uri)
		mac.Write([]byte(at))
		if hmac.Equal(sig, mac.Sum(nil)) {
			return a.time(at)
		}
	}
	return time.Time{}, forged("no secret fits")
}

func hubspotWrite(h hash.Hash, r *Request, uri string) {
	h.Write([]byte(r.Method + uri))
	h.Write(r.Body)
}

// hubspotOld checks v1 and v2.
func hubspotOld(r *Request, uri string, keys [][]byte) error {
	sig, err := hex.DecodeString(r.Header.Get("X-HubSpot-Signature"))
	if err != nil || len(sig) != sha256.Size {
		return forged("the header X-HubSpot-Signature holds no signature")
	}
	for _, key := range keys {
		h := sha256.New()
		h.Write(key)
		switch r.Header.Get("X-HubSpot-Signature-Version") {
		case "v1", "":
			h.Write(r.Body)
		case "v2":
			hubspotWrite(h, r, uri)
		default:
			return forged("its version is not known")
		}
		if subtle.ConstantTimeCompare(sig, h.Sum(nil)) == 1 {
			return nil
		}
	}
	return forged("no secret fits")
}
