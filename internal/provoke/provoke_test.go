package provoke_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/internal/provoke"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(asReceiver); kind != "" {
		receive(kind)
	}
	goleak.VerifyTestMain(m)
}

// run provokes and returns how the cases went, by name.
func run(t *testing.T, o provoke.Options) []provoke.Result {
	t.Helper()
	var results []provoke.Result
	if err := provoke.Run(t.Context(), o, func(r provoke.Result) { results = append(results, r) }); err != nil {
		t.Fatal(err)
	}
	return results
}

// failed are the cases that did not pass.
func failed(results []provoke.Result) (names []string) {
	for _, r := range results {
		if !r.Pass {
			names = append(names, r.Case)
		}
	}
	return names
}

// The middleware passes, for every provider that can be played, and works once on each
// event.
func TestTheMiddlewarePasses(t *testing.T) {
	t.Parallel()
	for _, name := range provoke.Providers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := "secret"
			switch name {
			case "standard-webhooks", "svix", "resend", "clerk", "gitlab-signed":
				secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
			case "adyen", "adyen-platform":
				secret = strings.Repeat("0F", 32)
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
			results := run(t, provoke.Options{URL: server.URL, Provider: name, Secret: secret, Public: public})
			if len(results) != 6 || len(failed(results)) > 0 {
				t.Error(results)
			}
			if len(works) != 15 {
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

// A receiver fails in just the cases that it is not up to.
func TestABadReceiverFails(t *testing.T) {
	t.Parallel()
	const (
		same, atOnce, shuffled, cut = "a new event, then the same again", "8 copies at once", "10 events, each twice, shuffled", "a connection that is cut before the answer"
		gateway, forged             = "a gateway that turns 200 into 502", "forged deliveries before the genuine one"
	)
	for name, c := range map[string]struct {
		answer func(id string, times int) int
		fails  []string
	}{
		"it believes everybody": {func(string, int) int { return http.StatusOK }, []string{forged}},
		"duplicates are errors": {func(_ string, times int) int {
			return map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[times == 1]
		}, []string{same, atOnce, shuffled, cut, gateway, forged}},
		"duplicates have another 2xx": {func(_ string, times int) int {
			return map[bool]int{true: http.StatusOK, false: http.StatusAccepted}[times == 1]
		}, []string{same, gateway, forged}},
		"the third is an error": {func(_ string, times int) int {
			return map[bool]int{true: http.StatusOK, false: http.StatusGone}[times < 3]
		}, []string{atOnce, gateway, forged}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seen := map[string]int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				id := r.Header.Get("X-GitHub-Delivery")
				seen[id]++
				w.WriteHeader(c.answer(id, seen[id]))
			}))
			defer server.Close()
			results := run(t, provoke.Options{URL: server.URL, Provider: "github", Secret: "secret"})
			// Whether what was hung up on arrived is for the network to say.
			without := func(names []string) string { return strings.ReplaceAll(strings.Join(names, "\n"), cut+"\n", "") }
			if without(failed(results)) != without(c.fails) {
				t.Errorf("%q failed: %v", failed(results), results)
			}
		})
	}
}

// A receiver that checks signatures only where there are any does not pass.
func TestUnsignedIsForged(t *testing.T) {
	t.Parallel()
	genuine := provoke.Provider("github", "", "secret")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Hub-Signature-256") != "" && genuine.Check(r.Context(), &webhook.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: body}) != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	results := run(t, provoke.Options{URL: server.URL, Provider: "github", Secret: "secret"})
	last := results[len(results)-1]
	if len(failed(results)) != 1 || last.Pass || !strings.Contains(last.Saw, "another secret 401, unsigned 200, with a changed body 401") {
		t.Error(results)
	}
}

// A provider's later tries look as they do.
func TestRetriesAreMarked(t *testing.T) {
	t.Parallel()
	for name, marks := range map[string]func(*webhook.Request) string{
		"slack": func(r *webhook.Request) string {
			return r.Header.Get("X-Slack-Retry-Num") + r.Header.Get("X-Slack-Retry-Reason")
		},
		"bitbucket": func(r *webhook.Request) string { return r.Header.Get("X-Attempt-Number") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seen := map[string]bool{}
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				seen[marks(&webhook.Request{Header: r.Header})] = true
			}))
			defer server.Close()
			run(t, provoke.Options{URL: server.URL, Provider: name, Secret: "secret"})
			want := map[string][]string{"slack": {"", "1http_error", "3http_error"}, "bitbucket": {"1", "2", "4"}}[name]
			for _, w := range want {
				if !seen[w] {
					t.Errorf("no delivery was marked %q: %v", w, seen)
				}
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
		{URL: "http://127.0.0.1:1", Provider: "stripe", Secret: "s", Command: []string{"/nowhere/receiver"}},
		{URL: "http://127.0.0.1:1", Provider: "stripe", Secret: "s", Patience: -1},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v can be used", o)
		}
	}
	if err := provoke.Run(t.Context(), provoke.Options{URL: "http://127.0.0.1:1", Provider: "stripe", Secret: "s"}, func(provoke.Result) {}); err == nil {
		t.Error("nobody was reached, and it is no error")
	}
}
