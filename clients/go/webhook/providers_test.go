package webhook_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// What the tests' providers sign with. All of it is made up or published as an example.
const (
	testSecret = "It's a Secret to Everybody"
	testWhsec  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	testHex    = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
	testURL    = "https://shop.example/hooks"
)

// sharing makes a provider with a shared secret, for those that have one.
func sharing(name, address string, secrets ...string) *webhook.Provider {
	plain := map[string]func(...string) *webhook.Provider{
		"stripe": webhook.Stripe, "github": webhook.GitHub, "shopify": webhook.Shopify, "slack": webhook.Slack, "adyen": webhook.Adyen,
		"adyen-platform": webhook.AdyenPlatform, "gitlab": webhook.GitLab, "gitlab-signed": webhook.GitLabSigned, "bitbucket": webhook.Bitbucket,
		"zendesk": webhook.Zendesk, "intercom": webhook.Intercom, "sendgrid": webhook.SendGrid, "mailgun": webhook.Mailgun,
		"standard-webhooks": webhook.StandardWebhooks, "svix": webhook.Svix, "resend": webhook.Resend, "clerk": webhook.Clerk,
		"paddle": webhook.Paddle, "linear": webhook.Linear, "typeform": webhook.Typeform, "midtrans": webhook.Midtrans, "xendit": webhook.Xendit,
	}
	byURL := map[string]func(string, ...string) *webhook.Provider{
		"twilio": webhook.Twilio, "hubspot": webhook.HubSpot, "hubspot-legacy": webhook.HubSpotLegacy, "square": webhook.Square,
		"meta": func(_ string, secrets ...string) *webhook.Provider { return webhook.Meta("verify me", secrets...) },
	}
	switch {
	case plain[name] != nil:
		return plain[name](secrets...)
	case byURL[name] != nil:
		return byURL[name](address, secrets...)
	case name == "cloudevents":
		return webhook.CloudEvents()
	default:
		panic("no provider " + name)
	}
}

// offline reaches nobody: what a fuzzer makes up must not be fetched.
var offline = &http.Client{Transport: nowhere{}}

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is reached")
}

// testProvider makes one with the tests' secrets.
func testProvider(name string) *webhook.Provider {
	switch name {
	case "standard-webhooks", "svix", "resend", "clerk", "gitlab-signed":
		return sharing(name, testURL, testWhsec)
	case "adyen", "adyen-platform":
		return sharing(name, testURL, testHex)
	case "sendgrid":
		return webhook.SendGrid(sendgridKey())
	case "google-pubsub":
		return webhook.PubSub(webhook.PubSubConfig{Audience: testURL, Email: "push@shop.example", HTTP: offline})
	case "paypal":
		return webhook.PayPal(webhook.PayPalConfig{WebhookIDs: []string{"1JE4291016473214C"}, HTTP: offline})
	default:
		return sharing(name, testURL, testSecret)
	}
}

// request is a delivery of the given body.
func request(body string, header map[string]string) *webhook.Request {
	r := &webhook.Request{Method: http.MethodPost, URL: &url.URL{Path: "/hooks"}, Header: http.Header{}, Body: []byte(body), ReceivedAt: time.Now()}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

// signed is a delivery that the provider signs now.
func signed(t testing.TB, p *webhook.Provider, body string, header map[string]string) *webhook.Request {
	t.Helper()
	r := request(body, header)
	if err := p.SignForTest(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	return r
}
