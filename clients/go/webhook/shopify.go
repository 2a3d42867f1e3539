package webhook

// Shopify signs with the app's client secret. Its patience is 5 s in all.
func Shopify(secrets ...string) *Provider {
	return provider("shopify", credentials{secrets: secrets}, byRecipe)
}
