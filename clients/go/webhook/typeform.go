package webhook

// Typeform sends responses, which never change.
func Typeform(secrets ...string) *Provider {
	return provider("typeform", credentials{secrets: secrets}, byRecipe)
}
