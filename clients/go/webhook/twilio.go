package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the provider signs with nothing else
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Twilio signs the public URL, as it was entered there, and the form fields. For another
// body the URL carries its hash.
func Twilio(publicURL string, authTokens ...string) *Provider {
	return provider("twilio", credentials{authTokens, publicURL}, twilioScheme)
}

func twilioScheme(a *authenticity, c credentials) (verification, error) {
	target, err := publicURL(c.url)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(c.secrets, "text")
	if err != nil {
		return nil, err
	}
	header := a.Headers[0]
	return func(_ context.Context, r *Request) (time.Time, error) {
		sig, err := base64.StdEncoding.DecodeString(r.Header.Get(header))
		if err != nil || len(sig) != sha1.Size {
			return time.Time{}, forged("the header %s holds no signature", header)
		}
		full := withQuery(target, r)
		fields, err := twilioFields(r, full)
		if err != nil {
			return time.Time{}, err
		}
		for _, u := range portVariants(full) {
			for _, key := range keys {
				if hmac.Equal(sig, twilioMAC(key, u+fields)) {
					return time.Time{}, nil
				}
			}
		}
		return time.Time{}, forged("no token fits")
	}, nil
}

func twilioMAC(key []byte, signed string) []byte {
	mac := hmac.New(sha1.New, key)
	mac.Write([]byte(signed))
	return mac.Sum(nil)
}

// twilioFields are the form fields as they are signed, sorted, each value once. A body that
// is no form must have the hash that the URL names.
func twilioFields(r *Request, full string) (string, error) {
	if mediaType(r.Header.Get("Content-Type")) != formType {
		if len(r.Body) == 0 {
			return "", nil
		}
		u, err := url.Parse(full)
		if err != nil {
			return "", forged("the URL is none")
		}
		want, err := hex.DecodeString(u.Query().Get("bodySHA256"))
		got := sha256.Sum256(r.Body)
		if err != nil || subtle.ConstantTimeCompare(want, got[:]) != 1 {
			return "", forged("the URL does not name the body's hash")
		}
		return "", nil
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return "", forged("the body is no form")
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			b.WriteString(name)
			b.WriteString(v)
		}
	}
	return b.String(), nil
}

// portVariants are a URL with and without the scheme's own port: which of the two is
// signed differs.
func portVariants(full string) []string {
	u, err := url.Parse(full)
	if err != nil {
		return []string{full}
	}
	port := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	head, rest, _ := strings.Cut(full, "://")
	switch u.Port() {
	case "":
		return []string{full, head + "://" + strings.Replace(rest, u.Host, net.JoinHostPort(u.Hostname(), port), 1)}
	case port:
		return []string{full, head + "://" + strings.Replace(rest, u.Host, strings.TrimSuffix(u.Host, ":"+port), 1)}
	default:
		return []string{full}
	}
}
