// Package idemsvc is the Go client of idemsvc, the service that tells a fleet of
// consumers which of them may process an event now.
//
//	client, err := idemsvc.Dial("127.0.0.1:7443", idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
//	...
//	answer, err := client.Claim(ctx, &idemsvc.Event{Source: "stripe", EventId: "evt_123"})
//	if err != nil {
//		return err // says nothing about the event: answer the provider 503
//	}
//	switch answer.Advice() {
//	case idemsvc.Process:
//		// work under answer.Claim, then Complete, Fail or Release it
//	case idemsvc.Acknowledge:
//		// a duplicate, or nothing left to do: answer 2xx
//	default:
//		// not now: answer 503 with Retry-After: answer.RetryAfter()
//	}
//
// # Errors
//
// Answers such as duplicate, stale or in progress are no errors. Every error of a call
// is an [*Error], whose reason can be asked for with errors.Is(err, [ErrClaimLost]) and
// the like. An error never means that an event is new: after one the change may or may
// not have been made, and the same call with the same identity finds out.
//
// # Repeats
//
// A call that was turned away (overload, a server that stops, a broken connection) is
// repeated by the client with the same identity, after the time the server asks for and
// as long as the context allows. This is safe, because the service answers a repeated
// identity as it did the first time. What is left reaches the caller with [RetryAfter].
//
// # Weight
//
// The package imports the generated contract and grpc, and neither a database driver nor
// the server.
package idemsvc
