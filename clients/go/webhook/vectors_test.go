package webhook_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// vector is a request whose signature its provider has published as an example.
type vector struct {
	Provider, Name, Source, Secret, Method, URL, Body string
	Header                                            map[string]string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (v *vector) request(t *testing.T) *webhook.Request {
	t.Helper()
	r := request(v.Body, v.Header)
	r.Method = v.Method
	if v.URL != "" {
		u, err := url.Parse(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		r.URL = &url.URL{Path: u.Path, RawQuery: u.RawQuery} // as a server sees it
	}
	return r
}

// What providers publish as signed is genuine, also while secrets are rotated, and is
// forged with another secret or after any change of it.
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, v := range vectors(t) {
		seen[v.Provider]++
		t.Run(v.Provider+" "+v.Name, func(t *testing.T) {
			t.Parallel()
			genuine := sharing(v.Provider, v.URL, v.Secret)
			if err := genuine.Check(t.Context(), v.request(t)); err != nil {
				t.Errorf("it is genuine: %v", err)
			}
			other := testSecret + "!"
			switch v.Provider {
			case "sendgrid":
				other = sendgridKey()
			case "standard-webhooks":
				other = "whsec_" + strings.Repeat("A", 32)
			case "adyen", "adyen-platform":
				other = strings.Repeat("AB", 32)
			}
			if err := sharing(v.Provider, v.URL, other, v.Secret).Check(t.Context(), v.request(t)); err != nil {
				t.Errorf("the older of two secrets: %v", err)
			}
			mustBeForged(t, sharing(v.Provider, v.URL, other), v.request(t), "another secret")
			if v.Body != "" {
				changed := v.request(t)
				at := strings.LastIndexAny(v.Body, "0123456789abcdefghijklmnopqrstuvwxyz")
				changed.Body[at] ^= 1
				if v.Provider != "adyen" && v.Provider != "midtrans" { // they sign some fields only
					mustBeForged(t, genuine, changed, "a changed body")
				}
			}
			for name, value := range v.Header {
				if strings.EqualFold(name, "Content-Type") || strings.HasSuffix(name, "Signature-Version") {
					continue
				}
				missing := v.request(t)
				missing.Header.Del(name)
				mustBeForged(t, genuine, missing, "without "+name)
				changed := v.request(t)
				changed.Header.Set(name, changeIn(value))
				mustBeForged(t, genuine, changed, "a changed "+name)
			}
		})
	}
	for _, name := range []string{"stripe", "github", "bitbucket", "standard-webhooks", "shopify", "twilio", "slack", "hubspot", "hubspot-legacy", "square", "adyen", "adyen-platform", "paddle", "midtrans", "sendgrid"} {
		if seen[name] == 0 {
			t.Errorf("there is no vector of %s", name)
		}
	}
}

// changeIn changes one letter or digit in the middle of a text.
func changeIn(s string) string {
	b := []byte(s)
	for i := len(b) / 2; i < len(b); i++ {
		switch c := b[i]; {
		case c == '9', c == 'z', c == 'Z':
			b[i] = c - 1
		case c >= '0' && c < '9', c >= 'a' && c < 'z', c >= 'A' && c < 'Z':
			b[i] = c + 1
		default:
			continue
		}
		return string(b)
	}
	return s + "x"
}

func mustBeForged(t *testing.T, p *webhook.Provider, r *webhook.Request, why string) {
	t.Helper()
	err := p.Check(t.Context(), r)
	if _, ok := errors.AsType[webhook.Forged](err); !ok {
		t.Errorf("%s: %v", why, err)
	}
}
