package webhook

// Paddle is Paddle Billing.
func Paddle(secrets ...string) *Provider {
	return provider("paddle", credentials{secrets: secrets}, byRecipe)
}
