package webhook_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// served is an HTTP client whose other end is this map of addresses and bodies.
type served map[string][]byte

// RoundTrip implements [http.RoundTripper].
func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := s[r.URL.String()]
	if !ok {
		return nil, errors.New("nobody is there")
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// rsaKey is a key of this run.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

const (
	paypalCert = "https://api.paypal.com/v1/notifications/certs/CERT-1"
	googleURL  = "https://www.googleapis.com/oauth2/v3/certs"
	webhookID  = "1JE4291016473214C"
)

// certified is a self-made authority, and a certificate of it in PEM.
func certified(t testing.TB) (roots *x509.CertPool, chain []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &rsaKey().PublicKey, rsaKey())
	if err != nil {
		t.Fatal(err)
	}
	chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(chain)
	return roots, chain
}

func signRSA(t testing.TB, what []byte) []byte {
	t.Helper()
	digest := sha256.Sum256(what)
	sig, err := rsa.SignPKCS1v15(rand.Reader, rsaKey(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func paypalSigned(t testing.TB, body string) (*webhook.Provider, *webhook.Request) {
	t.Helper()
	roots, chain := certified(t)
	p := webhook.PayPal(webhook.PayPalConfig{WebhookIDs: []string{"other", webhookID}, HTTP: &http.Client{Transport: served{paypalCert: chain}}, Roots: roots})
	r := request(body, map[string]string{
		"PAYPAL-TRANSMISSION-ID": "tx-1", "PAYPAL-TRANSMISSION-TIME": time.Now().UTC().Format(time.RFC3339), "PAYPAL-CERT-URL": paypalCert, "PAYPAL-AUTH-ALGO": "SHA256withRSA",
	})
	signed := fmt.Sprintf("tx-1|%s|%s|%d", r.Header.Get("PAYPAL-TRANSMISSION-TIME"), webhookID, crc32.ChecksumIEEE(r.Body))
	r.Header.Set("PAYPAL-TRANSMISSION-SIG", base64.StdEncoding.EncodeToString(signRSA(t, []byte(signed))))
	return p, r
}

// PayPal's certificate comes from paypal.com, is vouched for, and fits the request.
func TestPayPal(t *testing.T) {
	t.Parallel()
	x := sampleOf(t, "paypal")
	p, r := paypalSigned(t, x.Body)
	s := newScene(t, p)
	s.expect(s.send(r), 200, "a genuine request")
	s.expect(s.send(r), 200, "a duplicate")
	if s.worked(x.Want[0].ID) != 1 {
		t.Errorf("%v", s.works)
	}
	for _, address := range []string{
		"http://api.paypal.com/cert", "https://api.paypal.com.evil.example/cert", "https://evilpaypal.com/cert", "https://api.paypal.com:8443/cert", "https://user@api.paypal.com/cert",
		"https://evil.example/?.paypal.com", "", "://",
	} {
		_, r := paypalSigned(t, x.Body)
		r.Header.Set("PAYPAL-CERT-URL", address)
		mustBeForged(t, p, r, address)
	}
	_, r = paypalSigned(t, x.Body)
	r.Body = bytes.Replace(r.Body, []byte("COMPLETED"), []byte("REFUNDED!"), 1)
	mustBeForged(t, p, r, "a changed body")
	_, r = paypalSigned(t, x.Body)
	r.Header.Set("PAYPAL-TRANSMISSION-TIME", "2020-01-01T00:00:00Z")
	mustBeForged(t, p, r, "a changed time")

	_, chain := certified(t)
	strict := webhook.PayPal(webhook.PayPalConfig{WebhookIDs: []string{webhookID}, HTTP: &http.Client{Transport: served{paypalCert: chain}}, Roots: x509.NewCertPool()})
	_, r = paypalSigned(t, x.Body)
	mustBeForged(t, strict, r, "a certificate that nobody vouches for")
}

// When a key cannot be fetched nobody can tell: the provider is to come again.
func TestKeysThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	_, r := paypalSigned(t, sampleOf(t, "paypal").Body)
	s := newScene(t, webhook.PayPal(webhook.PayPalConfig{WebhookIDs: []string{webhookID}, HTTP: &http.Client{Transport: served{}}}))
	s.expect(s.send(r), 503, "a request that cannot be checked now")
}

func token(t testing.TB, change func(head, claims map[string]any)) string {
	t.Helper()
	head := map[string]any{"alg": "RS256", "kid": "k1", "typ": "JWT"}
	claims := map[string]any{
		"aud": testURL, "iss": "https://accounts.google.com", "email": "push@shop.example", "email_verified": true,
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	if change != nil {
		change(head, claims)
	}
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	signed := part(head) + "." + part(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signRSA(t, []byte(signed)))
}

func pubsubSigned(t testing.TB, body string) (*webhook.Provider, *webhook.Request) {
	t.Helper()
	public := rsaKey().PublicKey
	keys := fmt.Sprintf(`{"keys":[{"kid":"k1","kty":"RSA","alg":"RS256","n":%q,"e":%q}]}`,
		base64.RawURLEncoding.EncodeToString(public.N.Bytes()), base64.RawURLEncoding.EncodeToString(big.NewInt(int64(public.E)).Bytes()))
	p := webhook.PubSub(webhook.PubSubConfig{Audience: testURL, Email: "push@shop.example", HTTP: &http.Client{Transport: served{googleURL: []byte(keys)}}})
	return p, request(body, map[string]string{"Authorization": "Bearer " + token(t, nil)})
}

// A push is genuine if Google says that it is our subscription's account, for us, now.
func TestPubSub(t *testing.T) {
	t.Parallel()
	x := sampleOf(t, "google-pubsub")
	p, r := pubsubSigned(t, x.Body)
	s := newScene(t, p)
	s.expect(s.send(r), 204, "a push")
	s.expect(s.send(r), 204, "a duplicate")
	if s.worked(x.Want[0].ID) != 1 {
		t.Errorf("%v", s.works)
	}
	for why, change := range map[string]func(head, claims map[string]any){
		"for another":         func(_, c map[string]any) { c["aud"] = "https://other.example" },
		"by another issuer":   func(_, c map[string]any) { c["iss"] = "https://evil.example" },
		"of another account":  func(_, c map[string]any) { c["email"] = "evil@evil.example" },
		"not verified":        func(_, c map[string]any) { c["email_verified"] = false },
		"expired":             func(_, c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
		"of the future":       func(_, c map[string]any) { c["iat"] = time.Now().Add(time.Hour).Unix() },
		"with another key":    func(h, _ map[string]any) { h["kid"] = "k2" },
		"with no algorithm":   func(h, _ map[string]any) { h["alg"] = "none" },
		"with the HMAC trick": func(h, _ map[string]any) { h["alg"] = "HS256" },
	} {
		r := request(x.Body, map[string]string{"Authorization": "Bearer " + token(t, change)})
		mustBeForged(t, p, r, why)
	}
	for _, v := range []string{"", "Bearer", "Bearer a.b.c", "Basic eA=="} {
		mustBeForged(t, p, request(x.Body, map[string]string{"Authorization": v}), v)
	}
}

// Standard Webhooks can be signed by Ed25519, too.
func TestStandardWebhooksWithEd25519(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := webhook.StandardWebhooks("whpk_" + base64.StdEncoding.EncodeToString(public))
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r := request(`{"type":"a"}`, map[string]string{"webhook-id": "msg_1", "webhook-timestamp": at})
	sig := ed25519.Sign(private, []byte("msg_1."+at+"."+string(r.Body)))
	r.Header.Set("webhook-signature", "v1,AAAA v1a,"+base64.StdEncoding.EncodeToString(sig))
	if err := p.Check(context.Background(), r); err != nil {
		t.Error(err)
	}
	r.Header.Set("webhook-id", "msg_2")
	mustBeForged(t, p, r, "another ID")
	r.Header.Set("webhook-id", "msg_1.1")
	mustBeForged(t, p, r, "an ID with a dot")
}
