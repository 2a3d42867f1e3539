package webhook_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// shared is what a provider of that name needs.
func shared(name string) webhook.Shared {
	s := webhook.Shared{Secrets: []string{testSecret}}
	switch name {
	case "standard-webhooks", "svix", "resend", "clerk", "gitlab-signed":
		s.Secrets = []string{testWhsec}
	case "adyen", "adyen-platform":
		s.Secrets = []string{testHex}
	case "twilio", "square", "hubspot", "hubspot-legacy":
		s.URL = testURL
	case "sendgrid":
		s.Secrets = []string{sendgridKey()}
	case "paypal":
		s = webhook.Shared{WebhookIDs: []string{"1JE4291016473214C"}}
	case "google-pubsub":
		s = webhook.Shared{Audience: testURL, Email: "push@shop.example"}
	}
	return s
}

// Every provider of the table can be made by its name.
func TestNamed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("providers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Providers []struct{ Name string } }
	if err := json.Unmarshal(b, &table); err != nil || len(table.Providers) == 0 {
		t.Fatal(err)
	}
	want := []string{"gitlab-signed", "hubspot-legacy"}
	for _, r := range table.Providers {
		want = append(want, r.Name)
	}
	slices.Sort(want)
	if !slices.Equal(webhook.Names(), want) {
		t.Errorf("the names are %v and those of the table %v", webhook.Names(), want)
	}
	for _, name := range webhook.Names() {
		p, err := webhook.Named(name, shared(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Name() != name && name != p.Name()+"-signed" && name != p.Name()+"-legacy" {
			t.Errorf("%s makes %s", name, p.Name())
		}
	}
}

// What is missing, useless or unreadable is refused with the name of its field.
func TestNamedRefuses(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		name, field string
		s           webhook.Shared
	}{
		"no such provider": {"nobody", "", webhook.Shared{}},
		"no secret":        {"stripe", "secrets", webhook.Shared{}},
		"no URL":           {"twilio", "url", webhook.Shared{Secrets: []string{"a"}}},
		"a URL too many":   {"stripe", "url", webhook.Shared{Secrets: []string{"a"}, URL: testURL}},
		"no IDs":           {"paypal", "webhook_ids", webhook.Shared{}},
		"a secret":         {"paypal", "secrets", webhook.Shared{Secrets: []string{"a"}, WebhookIDs: []string{"a"}}},
		"no e-mail":        {"google-pubsub", "email", webhook.Shared{Audience: "a"}},
		"an empty secret":  {"stripe", "", webhook.Shared{Secrets: []string{""}}},
		"a token to check": {"slack", "verify_token", webhook.Shared{Secrets: []string{"a"}, VerifyToken: "a"}},
		"origins":          {"stripe", "origins", webhook.Shared{Secrets: []string{"a"}, Origins: []string{"*"}}},
	} {
		_, err := webhook.Named(c.name, c.s)
		if e, ok := errors.AsType[*webhook.SharedError](err); !ok || e.Field != c.field {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// A sender of CloudEvents is let in when it asks, if it is one of those that may, and what
// comes without a token is forged where one is needed.
func TestCloudEventsFromSomebody(t *testing.T) {
	t.Parallel()
	s := newScene(t, webhook.CloudEventsFrom(webhook.CloudEventsConfig{Tokens: []string{"old", "new"}, Origins: []string{"emitter.example"}}))
	for origin, want := range map[string]int{"emitter.example": 200, "Emitter.Example": 200, "other.example": 403, "": 403} {
		r := request("", map[string]string{"WebHook-Request-Origin": origin, "WebHook-Request-Rate": "120", "WebHook-Request-Callback": "http://192.0.2.1/"})
		r.Method = http.MethodOptions
		w := s.send(r)
		if w.Code != want || (w.Header().Get("WebHook-Allowed-Origin") == origin && w.Header().Get("WebHook-Allowed-Rate") == "*") != (want == 200) {
			t.Errorf("%q: %d %v", origin, w.Code, w.Header())
		}
	}
	x := sampleOf(t, "cloudevents")
	for token, want := range map[string]int{"Bearer old": 204, "Bearer new": 204, "Bearer ": 401, "": 401, "old": 401, "Bearer another": 401} {
		r := request(x.Body, x.Header)
		r.Header.Set("Authorization", token)
		s.expect(s.send(r), want, "a delivery with "+token)
	}
	s.expect(s.deliver(x.Body, x.Header), 204, "a signed delivery")
	nobody := newScene(t, webhook.CloudEvents())
	r := request("", map[string]string{"WebHook-Request-Origin": "emitter.example"})
	r.Method = http.MethodOptions
	nobody.expect(nobody.send(r), 405, "a question where nobody is let in by asking")
}
