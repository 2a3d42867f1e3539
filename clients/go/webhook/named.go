package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shared is what a provider and its receiver share, for [Named]. Which fields a provider
// takes is said by its function.
type Shared struct {
	Secrets     []string // secrets, tokens or public keys; several while they change
	URL         string   // the public one, for providers that sign it
	VerifyToken string   // for the check of the URL (Meta)
	WebhookIDs  []string // PayPal
	Audience    string   // Google Pub/Sub
	Email       string   // Google Pub/Sub
	Origins     []string // CloudEvents; see [CloudEventsConfig]
}

// The names of the fields in a [SharedError], which are also those of configuration files.
const (
	fieldSecrets  = "secrets"
	fieldURL      = "url"
	fieldVerify   = "verify_token"
	fieldIDs      = "webhook_ids"
	fieldAudience = "audience"
	fieldEmail    = "email"
	fieldOrigins  = "origins"
)

// SharedError is why [Named] makes no provider.
type SharedError struct {
	Field string // such as "url"; empty for the name, or where no single field is to blame
	Why   string
}

// Error implements error.
func (e *SharedError) Error() string { return e.Why }

// maker makes a provider of what is shared.
type maker struct {
	needs []string
	takes []string // beside those
	make  func(Shared) *Provider
}

func bySecrets(f func(...string) *Provider) maker {
	return maker{needs: []string{fieldSecrets}, make: func(s Shared) *Provider { return f(s.Secrets...) }}
}

func bySecretsAndURL(f func(string, ...string) *Provider) maker {
	return maker{needs: []string{fieldSecrets, fieldURL}, make: func(s Shared) *Provider { return f(s.URL, s.Secrets...) }}
}

var makers = map[string]maker{
	"stripe": bySecrets(Stripe), "github": bySecrets(GitHub), "shopify": bySecrets(Shopify), "slack": bySecrets(Slack),
	"adyen": bySecrets(Adyen), "adyen-platform": bySecrets(AdyenPlatform), "gitlab": bySecrets(GitLab), "gitlab-signed": bySecrets(GitLabSigned),
	"bitbucket": bySecrets(Bitbucket), "zendesk": bySecrets(Zendesk), "intercom": bySecrets(Intercom), "sendgrid": bySecrets(SendGrid),
	"mailgun": bySecrets(Mailgun), "standard-webhooks": bySecrets(StandardWebhooks), "svix": bySecrets(Svix), "resend": bySecrets(Resend),
	"clerk": bySecrets(Clerk), "paddle": bySecrets(Paddle), "linear": bySecrets(Linear), "typeform": bySecrets(Typeform),
	"midtrans": bySecrets(Midtrans), "xendit": bySecrets(Xendit),
	"twilio": bySecretsAndURL(Twilio), "square": bySecretsAndURL(Square), "hubspot": bySecretsAndURL(HubSpot), "hubspot-legacy": bySecretsAndURL(HubSpotLegacy),
	"meta": {needs: []string{fieldSecrets}, takes: []string{fieldVerify}, make: func(s Shared) *Provider { return Meta(s.VerifyToken, s.Secrets...) }},
	"paypal": {needs: []string{fieldIDs}, make: func(s Shared) *Provider {
		return PayPal(PayPalConfig{WebhookIDs: s.WebhookIDs})
	}},
	"google-pubsub": {needs: []string{fieldAudience, fieldEmail}, make: func(s Shared) *Provider {
		return PubSub(PubSubConfig{Audience: s.Audience, Email: s.Email})
	}},
	"cloudevents": {takes: []string{fieldSecrets, fieldOrigins}, make: func(s Shared) *Provider {
		return CloudEventsFrom(CloudEventsConfig{Tokens: s.Secrets, Origins: s.Origins})
	}},
}

// Names are the names that [Named] knows, sorted: those of the table of providers, and
// "gitlab-signed" and "hubspot-legacy" for the functions of those names.
func Names() []string { return slices.Sorted(maps.Keys(makers)) }

// Named makes a provider by its name, for programs whose configuration says which. The
// error is a [*SharedError]: the name is not known, or something that the provider needs is
// missing, has no use, or cannot be read.
func Named(name string, s Shared) (*Provider, error) {
	m, ok := makers[name]
	if !ok {
		return nil, &SharedError{Why: fmt.Sprintf("there is no provider %q: there are %s", name, strings.Join(Names(), ", "))}
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{fieldSecrets, len(s.Secrets) > 0},
		{fieldURL, s.URL != ""},
		{fieldVerify, s.VerifyToken != ""},
		{fieldIDs, len(s.WebhookIDs) > 0},
		{fieldAudience, s.Audience != ""},
		{fieldEmail, s.Email != ""},
		{fieldOrigins, len(s.Origins) > 0},
	} {
		needed := slices.Contains(m.needs, f.name)
		switch {
		case needed && !f.given:
			return nil, &SharedError{f.name, fmt.Sprintf("%s needs %s", name, f.name)}
		case f.given && !needed && !slices.Contains(m.takes, f.name):
			return nil, &SharedError{f.name, fmt.Sprintf("%s has no use for %s", name, f.name)}
		}
	}
	p := m.make(s)
	if p.err != nil {
		return nil, &SharedError{"", strings.TrimPrefix(p.err.Error(), "webhook: ")}
	}
	return p, nil
}
