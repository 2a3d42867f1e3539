package webhook

// GitLab sends a secret token. It does not repeat by itself: give its [Handler] a
// [Spool].
func GitLab(tokens ...string) *Provider {
	return provider("gitlab", credentials{secrets: tokens}, byRecipe)
}

// GitLabSigned is GitLab with a signing token, as in Standard Webhooks. That a secret is
// written as there is not confirmed.
func GitLabSigned(secrets ...string) *Provider {
	p := provider("gitlab", credentials{secrets: secrets}, nil)
	like, err := recipeOf("standard-webhooks")
	if err == nil {
		own := *p.recipe
		own.Authenticity = like.Authenticity
		p.recipe = &own
		p.verify, err = standardScheme(&own.Authenticity, p.creds)
	}
	if err != nil {
		p.fail(err)
	}
	return p
}
