package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// environment is what OpenTelemetry's standard variables ask for. Those that are not named
// here are read by the exporters and the SDK themselves: endpoints, headers, certificates,
// timeouts, intervals, limits, and the attributes of the resource.
type environment struct {
	traces, metrics signal
}

// signal is one of traces and metrics.
type signal struct {
	on  bool
	web bool // OTLP over HTTP, not over gRPC
}

// The values that are understood.
const (
	exporterOTLP = "otlp"
	exporterNone = "none"

	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// Variables are the standard variables that switch something on here, for the documentation.
var Variables = []string{
	"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
	"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
	"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
}

// environmentOf reads the variables. A signal is on where its exporter is «otlp», or where
// that is not set and there is an endpoint for it.
func environmentOf(get func(string) string) (environment, error) {
	var e environment
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return e, nil
	}
	var faults []error
	for _, s := range []struct {
		name string
		to   *signal
	}{{"TRACES", &e.traces}, {"METRICS", &e.metrics}} {
		exporter := get("OTEL_" + s.name + "_EXPORTER")
		endpoint := get("OTEL_EXPORTER_OTLP_ENDPOINT") + get("OTEL_EXPORTER_OTLP_"+s.name+"_ENDPOINT")
		switch {
		case exporter == exporterOTLP, exporter == "" && endpoint != "":
			s.to.on = true
		case exporter != "" && exporter != exporterNone:
			faults = append(faults, fmt.Errorf("OTEL_%s_EXPORTER: %q is none of %s, %s", s.name, exporter, exporterOTLP, exporterNone))
		}
		protocol := get("OTEL_EXPORTER_OTLP_" + s.name + "_PROTOCOL")
		if protocol == "" {
			protocol = get("OTEL_EXPORTER_OTLP_PROTOCOL")
		}
		if !slices.Contains([]string{"", protocolGRPC, protocolHTTP}, protocol) {
			faults = append(faults, fmt.Errorf("OTEL_EXPORTER_OTLP_%s_PROTOCOL or OTEL_EXPORTER_OTLP_PROTOCOL: %q is none of %s, %s", s.name, protocol, protocolGRPC, protocolHTTP))
		}
		s.to.web = protocol != protocolGRPC // as OpenTelemetry's default
	}
	return e, errors.Join(faults...)
}
