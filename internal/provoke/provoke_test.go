package provoke_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/internal/provoke"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The middleware passes, for every provider that can be played, and works once on each
// event.
func TestTheMiddlewarePasses(t *testing.T) {
	t.Parallel()
	for _, name := range provoke.Providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := map[string]string{
				"standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "svix": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
				"resend": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "clerk": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "adyen": strings.Repeat("0F", 32),
			}[name]
			if secret == "" {
				secret = "secret"
			}
			client := idemtest.New(t).Client()
			var mu sync.Mutex
			works := map[string]int{}
			const public = "https://shop.example/hooks"
			h, err := webhook.New(client, provoke.Provider(name, public, secret), func(_ context.Context, _ *idemsvc.Claim, item *webhook.Item) error {
				mu.Lock()
				defer mu.Unlock()
				works[item.ID]++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h)
			defer func() {
				server.Close()
				_ = h.Close()
			}()
			results, err := provoke.Run(t.Context(), provoke.Options{URL: server.URL, Provider: name, Secret: secret, Public: public})
			if err != nil || len(results) != 5 {
				t.Fatalf("%v %v", results, err)
			}
			for _, r := range results {
				if !r.Pass {
					t.Errorf("%s: %s", r.Case, r.Saw)
				}
			}
			if len(works) != 14 {
				t.Errorf("%d events were worked on", len(works))
			}
			for id, n := range works {
				if n != 1 {
					t.Errorf("%s was worked on %d times", id, n)
				}
			}
		})
	}
}

// A receiver that takes everything for genuine, or answers duplicates with an error, does
// not pass.
func TestABadReceiverFails(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		fails   int
	}{
		"it believes everybody": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }, 1},
		"duplicates are errors": {func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if id := r.Header.Get("X-GitHub-Delivery"); seen[id] {
				w.WriteHeader(http.StatusBadRequest)
			} else {
				seen[id] = true
			}
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			defer server.Close()
			results, err := provoke.Run(t.Context(), provoke.Options{URL: server.URL, Provider: "github", Secret: "secret"})
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for _, r := range results {
				if !r.Pass {
					failed++
				}
			}
			if failed < c.fails-1 || failed == 0 || failed > c.fails {
				t.Errorf("%d cases failed: %v", failed, results)
			}
		})
	}
}

// It provokes nobody else.
func TestOnlyThisMachine(t *testing.T) {
	t.Parallel()
	for _, o := range []provoke.Options{
		{URL: "http://example.com/hooks", Provider: "stripe", Secret: "s"},
		{URL: "http://10.0.0.1/hooks", Provider: "stripe", Secret: "s"},
		{URL: "https://127.0.0.1/hooks", Provider: "stripe", Secret: "s"},
		{URL: "http://localhost.evil.example/", Provider: "stripe", Secret: "s"},
		{URL: "", Provider: "stripe", Secret: "s"},
		{URL: "http://127.0.0.1:1", Provider: "nobody", Secret: "s"},
		{URL: "http://127.0.0.1:1", Provider: "stripe", Secret: ""},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v can be used", o)
		}
	}
	if _, err := provoke.Run(t.Context(), provoke.Options{URL: "http://127.0.0.1:1", Provider: "stripe", Secret: "s"}); err == nil {
		t.Error("nobody was reached, and it is no error")
	}
}
