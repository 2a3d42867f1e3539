package webhook

import "net/http"

// Slack is its Events API. It waits for 3 s only. The challenge by which it checks the URL
// is answered by the [Handler].
func Slack(signingSecrets ...string) *Provider {
	p := provider("slack", credentials{secrets: signingSecrets}, byRecipe)
	p.greet = slackChallenge
	return p
}

func slackChallenge(r *Request) *greeting {
	g := &greeting{signed: true, status: http.StatusOK}
	kind, err := lookup(r.Body, "type")
	if err != nil || kind != "url_verification" {
		return nil
	}
	if g.body, err = lookup(r.Body, "challenge"); err != nil {
		return nil
	}
	return g
}
