package webhook

// GitHub does not repeat by itself: give a [Handler] for it a spool; see [Spool].
func GitHub(secrets ...string) *Provider {
	return provider("github", credentials{secrets: secrets}, byRecipe)
}
