package telemetry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Attributes at a span's start that the sampler looks at.
const (
	// AttrAnomaly names the finding of a span that is always kept.
	AttrAnomaly = attribute.Key("idemsvc.anomaly")
	// AttrBatch marks the span of a batch, which is kept when a call is that rode in it.
	AttrBatch = attribute.Key("idemsvc.batch.size")
)

// sampler decides at a span's start, since a span that is not recorded then cannot be had
// later. What makes a call worth keeping is known only when it has been decided: such a
// call gets a further span then, which this sampler always keeps. Whole traces can be kept
// for their ends only where they come together: in a collector.
type sampler struct {
	next        sdktrace.Sampler
	parentBased bool
	ratio       float64 // of the traces that begin here, where parentBased
}

// chosenKey marks the context of a trace that begins here and is to be recorded.
type chosenKey struct{}

// choose reports whether a call's span under the context may be recorded; if so, it is to be
// started under the one returned. Making a span that is not recorded costs more than all else
// that is seen of a call: where that can be known before, none is made.
func (s sampler) choose(ctx context.Context) (context.Context, bool) {
	if !s.parentBased {
		return ctx, true
	}
	if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
		return ctx, parent.IsSampled()
	}
	if s.ratio == 1 {
		return ctx, true
	}
	if rand.Float64() >= s.ratio { //nolint:gosec // chances, not secrets
		return ctx, false
	}
	return context.WithValue(ctx, chosenKey{}, true), true
}

// ShouldSample implements sdktrace.Sampler.
func (s sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	keep := p.ParentContext.Value(chosenKey{}) != nil && !parent.IsValid()
	for _, a := range p.Attributes {
		switch a.Key {
		case AttrAnomaly:
			keep = true
		case AttrBatch:
			keep = sampledLink(p.Links)
			if !keep {
				return sdktrace.SamplingResult{Decision: sdktrace.Drop}
			}
		}
	}
	if !keep {
		return s.next.ShouldSample(p)
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample, Tracestate: parent.TraceState()}
}

// Description implements sdktrace.Sampler.
func (s sampler) Description() string { return "idemsvc{" + s.next.Description() + "}" }

func sampledLink(links []trace.Link) bool {
	for _, l := range links {
		if l.SpanContext.IsSampled() {
			return true
		}
	}
	return false
}

// samplerOf is what OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG ask for. Default:
// parentbased_always_on.
func samplerOf(get func(string) string) (sampler, error) {
	name, arg := strings.ToLower(strings.TrimSpace(get("OTEL_TRACES_SAMPLER"))), strings.TrimSpace(get("OTEL_TRACES_SAMPLER_ARG"))
	ratio := 1.0
	if strings.HasSuffix(name, "traceidratio") && arg != "" {
		var err error
		if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is not a number from 0 to 1", arg)
		}
	}
	var s sdktrace.Sampler
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		s = sdktrace.AlwaysSample()
	case "always_off":
		s, ratio = sdktrace.NeverSample(), 0
	case "traceidratio":
		s = sdktrace.TraceIDRatioBased(ratio)
	default:
		return sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is none of always_on, always_off, traceidratio, with or without parentbased_ before it", name)
	}
	parentBased := name == "" || strings.HasPrefix(name, "parentbased_")
	if parentBased {
		s = sdktrace.ParentBased(s)
	}
	return sampler{s, parentBased, ratio}, nil
}
