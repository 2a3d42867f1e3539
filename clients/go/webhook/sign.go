package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// SignaturePlaceholder stands in a body for its signature, with providers that put it
// there; see [Provider.SignForTest].
const SignaturePlaceholder = "{signature}"

// SignForTest signs a request as the provider would at that time, with the first secret.
// It is for tests of receivers, and knows the schemes with a shared secret only. Of
// providers that sign inside the body (Adyen, Mailgun, Midtrans) the body must hold
// [SignaturePlaceholder] where the signature belongs, and is changed.
func (p *Provider) SignForTest(r *Request, at time.Time) error {
	if p.err != nil {
		return p.err
	}
	a := &p.recipe.Authenticity
	switch a.Scheme {
	case "none":
		if len(p.creds.secrets) > 0 {
			r.Header.Set("Authorization", bearerPrefix+p.creds.secrets[0])
		}
		return nil
	case "token":
		r.Header.Set(a.Headers[0], a.Prefix+p.creds.secrets[0])
		return nil
	case "hmac":
		return p.signHMAC(r, at)
	case "standard-webhooks":
		return p.signStandard(r, at)
	case "hubspot", "twilio":
		return p.signURL(r, at)
	case "adyen", "mailgun", "midtrans":
		return p.signInside(r)
	default:
		return fmt.Errorf("webhook: %s signs with a key that only it has", p.Name())
	}
}

func (p *Provider) signHMAC(r *Request, at time.Time) error {
	a := &p.recipe.Authenticity
	key, err := keyOf(p.creds.secrets[0], a.Key)
	if err != nil {
		return err
	}
	said := timeAs(at, a.Unit)
	mac := hmac.New(hashes[a.Hash], key)
	template(a.Signed).write(mac, r, said, p.creds.url)
	signature := encode(mac.Sum(nil), a.Encoding)
	if a.Timestamp != "" && !strings.HasPrefix(a.Timestamp, "body:") {
		r.Header.Set(a.Timestamp, said)
	}
	if a.List != nil {
		r.Header.Set(a.Headers[0], a.List.Timestamp+said+a.List.Separator+a.List.Signature+signature)
		return nil
	}
	r.Header.Set(a.Headers[0], a.Prefix+signature)
	return nil
}

func (p *Provider) signStandard(r *Request, at time.Time) error {
	key, err := keyOf(strings.TrimPrefix(p.creds.secrets[0], "whsec_"), "base64")
	if err != nil {
		return err
	}
	said := timeAs(at, unitSeconds)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Header.Get("webhook-id") + "." + said + "."))
	mac.Write(r.Body)
	r.Header.Set("webhook-timestamp", said)
	r.Header.Set("webhook-signature", "v1,"+encode(mac.Sum(nil), "base64"))
	return nil
}

func (p *Provider) signURL(r *Request, at time.Time) error {
	a := &p.recipe.Authenticity
	target, err := url.Parse(p.creds.url)
	if err != nil {
		return err
	}
	full, key := withQuery(target, r), []byte(p.creds.secrets[0])
	if a.Scheme == "twilio" {
		fields, err := twilioFields(r, full)
		if err == nil {
			r.Header.Set(a.Headers[0], encode(twilioMAC(key, full+fields), "base64"))
		}
		return err
	}
	said := timeAs(at, a.Unit)
	mac := hmac.New(sha256.New, key)
	hubspotWrite(mac, r, hubspotDecoded.Replace(full))
	mac.Write([]byte(said))
	r.Header.Set(hubspotTime, said)
	r.Header.Set(a.Headers[0], encode(mac.Sum(nil), "base64"))
	return nil
}

// signInside puts signatures where the placeholder is.
func (p *Provider) signInside(r *Request) error {
	secret := p.creds.secrets[0]
	signature := func([]byte) (string, error) { return "", nil }
	items := []string(nil)
	switch p.recipe.Authenticity.Scheme {
	case "adyen":
		key, err := keyOf(secret, "hex")
		if err != nil {
			return err
		}
		items = adyenItems
		signature = func(item []byte) (string, error) {
			parts, err := scalars(item, adyenPaths, len(adyenSigned)+1)
			return encode(adyenMAC(key, parts), "base64"), err
		}
	case "mailgun":
		signature = func(body []byte) (string, error) {
			parts, err := scalars(body, mailgunPaths, 4)
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(parts[0] + parts[1]))
			return encode(mac.Sum(nil), "hex"), err
		}
	case "midtrans":
		signature = func(body []byte) (string, error) {
			parts, err := scalars(body, midtransPaths, 4)
			s := sha512.Sum512([]byte(parts[0] + parts[1] + parts[2] + secret))
			return encode(s[:], "hex"), err
		}
	}
	body := r.Body
	err := each(body, items, func(item []byte) error {
		s, err := signature(item)
		signed := bytes.Replace(item, []byte(SignaturePlaceholder), []byte(s), 1)
		r.Body = bytes.Replace(r.Body, item, signed, 1)
		return err
	})
	return err
}

// scalars are the texts at paths, empty where there is none.
func scalars(raw []byte, paths *node, n int) ([]string, error) {
	found := make([]span, n)
	err := scan(raw, paths, found)
	out := make([]string, n)
	if err != nil {
		return out, err
	}
	for i, s := range found {
		out[i], _ = text(raw[s.from:s.to])
	}
	return out, nil
}

// timeAs writes a time.
func timeAs(t time.Time, unit string) string {
	switch unit {
	case unitSeconds:
		return strconv.FormatInt(t.Unix(), 10)
	case unitMillis:
		return strconv.FormatInt(t.UnixMilli(), 10)
	default:
		return t.UTC().Format(time.RFC3339)
	}
}

func encode(b []byte, encoding string) string {
	if encoding == "hex" {
		return hex.EncodeToString(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}
