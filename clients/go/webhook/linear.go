package webhook

// Linear tells the time of a try inside the signed body.
func Linear(secrets ...string) *Provider {
	return provider("linear", credentials{secrets: secrets}, byRecipe)
}
