package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// sendgridPair is a key of this run.
var sendgridPair = sync.OnceValue(func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
})

func sendgridKey() string {
	der, err := x509.MarshalPKIXPublicKey(&sendgridPair().PublicKey)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func signSendGrid(t testing.TB, r *webhook.Request) {
	t.Helper()
	at := strconv.FormatInt(time.Now().Unix(), 10)
	digest := sha256.Sum256(append([]byte(at), r.Body...))
	sig, err := ecdsa.SignASN1(rand.Reader, sendgridPair(), digest[:])
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Twilio-Email-Event-Webhook-Timestamp", at)
	r.Header.Set("X-Twilio-Email-Event-Webhook-Signature", base64.StdEncoding.EncodeToString(sig))
}
