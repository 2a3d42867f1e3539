package webhook

// Zendesk sends event subscriptions and triggers.
func Zendesk(secrets ...string) *Provider {
	return provider("zendesk", credentials{secrets: secrets}, byRecipe)
}
