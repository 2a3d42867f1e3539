// Package webhook receives the webhooks of one provider: an [http.Handler] that checks the
// signature over the raw body, takes the events out of it, claims them in one call, runs a
// function for each that is the caller's, completes them, and answers what the provider
// needs.
//
//	receiver, err := webhook.New(client, webhook.Stripe(secret), func(ctx context.Context, claim *idemsvc.Claim, item *webhook.Item) error {
//		// the work
//		return nil
//	})
//	...
//	http.Handle("/hooks/stripe", receiver)
//
// [NewReceiver] makes one that does no work and keeps the events for later.
//
// How providers sign, and what tells their events apart, is in one table, providers.json,
// which docs/providers.md shows. [Generic] describes a sender that is not in it.
//
// Nothing in a request is believed before its signature is checked, except where the
// signature is inside the body. A request is never taken for new without the service:
// while that is away it is refused, or kept; see [Spool].
//
// The package imports the client and the standard library.
package webhook
