// Package otelidemsvc traces the Go client of idemsvc with OpenTelemetry.
//
//	client, err := idemsvc.Dial(target, otelidemsvc.Telemetry(), ...)
//
// Calls to the service become spans and carry the caller's trace context and baggage, so
// that the service can store which trace a delivery belongs to. Each handler runs in a span
// of its own, of the kind CONSUMER. That of a first attempt is a child of the delivery that
// brought it; a later attempt or a replay is the root of a trace of its own, with links to the
// delivery that it runs in, to the event's first delivery, to the attempt before and to the
// cause: a trace that grew with every retry could not be read. The handler's context carries correlation and cause as baggage,
// which the usual instrumentation of clients sends along.
//
// It needs OpenTelemetry's API and the instrumentation of grpc, and no SDK.
package otelidemsvc
