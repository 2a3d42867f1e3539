// Package otelidemsvc traces the Go client of idemsvc with OpenTelemetry.
//
//	client, err := idemsvc.Dial(target, otelidemsvc.Telemetry(), ...)
//
// Calls to the service become spans and carry the caller's trace context and baggage, so
// that the service can store which trace a delivery belongs to. Each handler runs in a span
// of its own, of the kind CONSUMER, with links to the event's first delivery and to the
// delivery of its cause. The handler's context carries correlation and cause as baggage,
// which the usual instrumentation of clients sends along.
//
// It needs OpenTelemetry's API and the instrumentation of grpc, and no SDK.
package otelidemsvc
