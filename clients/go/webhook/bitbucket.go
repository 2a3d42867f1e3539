package webhook

// Bitbucket is Bitbucket Cloud, and Data Center, which names requests by another header.
func Bitbucket(secrets ...string) *Provider {
	return provider("bitbucket", credentials{secrets: secrets}, byRecipe)
}
