// Package idemsvc is the Go client of idemsvc, the service that tells a fleet of
// consumers which of them may process an event now.
//
//	client, err := idemsvc.Dial("dns:///idemsvc.internal:7443", idemsvc.WithNamespace("shop-live"), idemsvc.WithConsumer("billing"), ...)
//	...
//	event := &idemsvc.Event{Source: "stripe", EventId: "evt_123"}
//	answer, err := client.Process(ctx, event, func(ctx context.Context, claim *idemsvc.Claim) error {
//		// the work
//		return nil
//	})
//	if answer.Acknowledge() {
//		// tell the provider 2xx
//	} else {
//		// tell it 503 with Retry-After: answer.RetryAfter
//	}
//
// [Client.Process] claims the event, runs the handler if the event is the caller's to
// process, keeps the claim alive meanwhile, stops the handler when the claim is lost, and
// ends the claim by what the handler returns; see [Handler]. [Claim.SideEffect] does what
// must not happen twice, [Claim.CheckVersion] keeps older states from overwriting newer
// ones. [Client.Claim] and the methods of [Claim] are the same step by step, and
// [Client.Idempotency] is the contract as it is.
//
// # Receive now, work later
//
// [Client.Receive] keeps an event, so that the provider can be answered at once; a [Worker]
// acquires what is due and runs a handler for each event, as Process does.
//
// # Errors
//
// Every error of a call is an [*Error], whose reason can be asked for with
// errors.Is(err, [ErrClaimLost]) and the like. An error never means that an event is new:
// after one the change may or may not have been made, and the same call with the same
// identity finds out. Answers such as duplicate, stale or in progress are no errors of a
// call; [Client.Process] alone turns those that are not settled into [ErrNotNow], so that
// nobody acknowledges them by looking at the error only.
//
// # Repeats
//
// A call that was turned away (overload, a server that stops, a broken connection) or that
// gets no answer in time is repeated by the client with the same identity, after the time
// the server asks for and as long as the context allows. This is safe, because the service
// answers a repeated identity as it did the first time. What is left reaches the caller;
// see [Repeatable]. Replicas may come and go meanwhile.
//
// # Claimants
//
// The service takes two calls with one claimant for one execution. The client makes a
// claimant at random for each claim, and refuses one in a raw call that names an event, a
// delivery, a consumer or a host.
//
// # Weight
//
// The package imports the generated contract and grpc, and neither a database driver, nor
// the server, nor OpenTelemetry. Tracing is in the package otelidemsvc, a service for
// tests in idemtest.
package idemsvc
