package webhook

// Stripe sends snapshot and thin events. The secrets are the endpoint's ("whsec_..."),
// more than one while they are rolled.
func Stripe(secrets ...string) *Provider {
	return provider("stripe", credentials{secrets: secrets}, byRecipe)
}
