package webhook

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// PayPalConfig is what is needed for PayPal's webhooks.
type PayPalConfig struct {
	// WebhookIDs are the webhooks' own IDs, which are signed along.
	WebhookIDs []string
	// HTTP fetches PayPal's certificates. Default: a client of its own.
	HTTP *http.Client
	// Roots are who may vouch for them. Default: the system's.
	Roots *x509.CertPool
}

// PayPal signs with a certificate, which is fetched from paypal.com and nowhere else, and
// kept for a day.
func PayPal(cfg PayPalConfig) *Provider {
	return provider("paypal", credentials{secrets: cfg.WebhookIDs}, func(a *authenticity, c credentials) (verification, error) {
		if _, err := keysOf(c.secrets, "text"); err != nil {
			return nil, fmt.Errorf("webhook IDs: %w", err)
		}
		p := &paypal{ids: cfg.WebhookIDs, roots: cfg.Roots, fetch: newFetcher(cfg.HTTP), a: a}
		return p.verify, nil
	})
}

type paypal struct {
	ids   []string
	roots *x509.CertPool
	fetch *fetcher
	keys  cache[*rsa.PublicKey]
	a     *authenticity
}

const paypalKeep = 24 * time.Hour

func (p *paypal) verify(ctx context.Context, r *Request) (time.Time, error) {
	sig, err := base64.StdEncoding.DecodeString(r.Header.Get("PAYPAL-TRANSMISSION-SIG"))
	if err != nil || len(sig) == 0 {
		return time.Time{}, forged("the header PAYPAL-TRANSMISSION-SIG holds no signature")
	}
	if algo := r.Header.Get("PAYPAL-AUTH-ALGO"); algo != "SHA256withRSA" {
		return time.Time{}, forged("it is made by %q and not by SHA256withRSA", algo)
	}
	key, err := p.key(ctx, r.Header.Get("PAYPAL-CERT-URL"))
	if err != nil {
		return time.Time{}, err
	}
	at := r.Header.Get("PAYPAL-TRANSMISSION-TIME")
	for _, id := range p.ids {
		digest := sha256.Sum256([]byte(paypalSigned(r.Header.Get("PAYPAL-TRANSMISSION-ID"), at, id, r.Body)))
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], sig) == nil {
			return p.a.time(at)
		}
	}
	return time.Time{}, forged("no webhook's ID fits")
}

// paypalSigned is what is signed.
func paypalSigned(id, at, webhook string, body []byte) string {
	return fmt.Sprintf("%s|%s|%s|%d", id, at, webhook, crc32.ChecksumIEEE(body))
}

// key is the public key of a certificate. The request names its address, which must be
// PayPal's.
func (p *paypal) key(ctx context.Context, address string) (*rsa.PublicKey, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Port() != "" || u.User != nil || !strings.HasSuffix("."+u.Hostname(), ".paypal.com") {
		return nil, forged("its certificate is not at paypal.com")
	}
	if key, ok := p.keys.get(address); ok {
		return key, nil
	}
	b, err := p.fetch.get(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("PayPal's certificate: %w", err)
	}
	key, until, err := p.trusted(b)
	if err != nil {
		return nil, forged("its certificate: %v", err)
	}
	p.keys.put(address, key, until)
	return key, nil
}

func (p *paypal) trusted(b []byte) (*rsa.PublicKey, time.Time, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, time.Time{}, err
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, time.Time{}, errors.New("there is none")
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	opts := x509.VerifyOptions{Roots: p.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := certs[0].Verify(opts); err != nil {
		return nil, time.Time{}, err
	}
	key, ok := certs[0].PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, time.Time{}, errors.New("its key is none of RSA")
	}
	until := time.Now().Add(paypalKeep)
	if end := certs[0].NotAfter; end.Before(until) {
		until = end
	}
	return key, until, nil
}
