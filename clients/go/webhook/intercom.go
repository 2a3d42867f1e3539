package webhook

// Intercom signs with the app's client secret.
func Intercom(secrets ...string) *Provider {
	return provider("intercom", credentials{secrets: secrets}, byRecipe)
}
