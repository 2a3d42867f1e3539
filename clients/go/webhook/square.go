package webhook

// Square signs the notification URL, exactly as it was entered there, and the body.
func Square(notificationURL string, keys ...string) *Provider {
	return provider("square", credentials{keys, notificationURL}, func(a *authenticity, c credentials) (verification, error) {
		if _, err := publicURL(c.url); err != nil {
			return nil, err
		}
		return hmacScheme(a, c)
	})
}
