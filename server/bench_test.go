package server

import (
	"fmt"
	"log/slog"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

func BenchmarkValidateClaim(b *testing.B) {
	v, err := newValidator()
	if err != nil {
		b.Fatal(err)
	}
	req := claimOf("evt_1")
	req.Event.Resource = &pb.Resource{Type: "order", Id: "42"}
	b.ReportAllocs()
	for b.Loop() {
		if err := v.request(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnaryClaim(b *testing.B) {
	f := start(b, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
	c := f.client(b, "consumer")
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := c.ClaimEvent(b.Context(), claimOf(fmt.Sprint(claimants.Add(1)))); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkSessionClaim(b *testing.B) {
	f := start(b, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
	stream, err := f.client(b, "consumer").Session(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	window := make(chan struct{}, 256)
	go func() {
		for i := range b.N {
			window <- struct{}{}
			_ = stream.Send(&pb.SessionRequest{Correlation: uint64(i + 1), Command: &pb.SessionRequest_ClaimEvent{
				ClaimEvent: claimOf(fmt.Sprint(claimants.Add(1))),
			}})
		}
	}()
	for range b.N {
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
		<-window
	}
	b.StopTimer()
	_ = stream.CloseSend()
	_, _ = stream.Recv()
}

// BenchmarkSeen is what it costs a claim and its completion to be counted and traced.
func BenchmarkSeen(b *testing.B) {
	for name, change := range map[string]func(*Config){
		"off": func(*Config) {},
		"metrics": func(c *Config) {
			c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		},
		"traces": func(c *Config) {
			c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))))
		},
		"both": func(c *Config) {
			c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
			c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))))
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := start(b, change, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
			c := f.client(b, "consumer")
			b.ReportAllocs()
			for b.Loop() {
				r, err := c.ClaimEvent(b.Context(), claimOf(fmt.Sprint(claimants.Add(1))))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.CompleteEvent(b.Context(), &pb.CompleteEventRequest{Token: r.GetClaim().GetToken()}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
