package webhook

import (
	"errors"
	"slices"
)

// GitLab sends a secret token. It does not repeat by itself: give its [Handler] a
// [Spool].
func GitLab(tokens ...string) *Provider {
	return provider("gitlab", credentials{secrets: tokens}, byRecipe)
}

// GitLabSigned is GitLab with a signing token, as in Standard Webhooks. That a secret is
// written as there is not confirmed. The event's ID is the one that is signed.
func GitLabSigned(secrets ...string) *Provider {
	own, err := recipeOf("gitlab")
	like, likeErr := recipeOf("standard-webhooks")
	if err = errors.Join(err, likeErr); err != nil {
		return &Provider{recipe: &recipe{Name: "gitlab"}, source: "gitlab", err: err}
	}
	r := *own
	r.Authenticity = like.Authenticity
	r.Identity.Key = slices.Concat([]keyRecipe{{Of: []string{"header:webhook-id"}, Quality: "PROVIDER_ID"}}, own.Identity.Key)
	return ofRecipe(&r, credentials{secrets: secrets}, byRecipe)
}
