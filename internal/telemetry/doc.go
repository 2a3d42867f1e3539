// Package telemetry is how the service is seen from outside: the table of its metrics, the
// providers that send traces and metrics where OpenTelemetry's environment variables say,
// the page of metrics for Prometheus, and the sampler that keeps what must not be missed.
//
// What is not asked for is off and costs nothing.
package telemetry
