package webhook

// Xendit sends a token that is one for the whole account. Whoever knows it can forge
// everything: fetch a payment before acting on it.
func Xendit(tokens ...string) *Provider {
	return provider("xendit", credentials{secrets: tokens}, byRecipe)
}
