// Package otlptest receives OTLP in tests, over gRPC and over HTTP, and keeps the spans
// and the names of metrics that come.
package otlptest

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Span is a span with the resource that it came from.
type Span struct {
	*traces.Span
	Resource map[string]string
}

// Trace is the span's trace ID in hexadecimal digits.
func (s *Span) Trace() string { return fmt.Sprintf("%x", s.GetTraceId()) }

// ID is the span's ID in hexadecimal digits.
func (s *Span) ID() string { return fmt.Sprintf("%x", s.GetSpanId()) }

// Parent is the parent's ID in hexadecimal digits, empty for a root.
func (s *Span) Parent() string { return fmt.Sprintf("%x", s.GetParentSpanId()) }

// Attribute is the text of an attribute, empty for none.
func (s *Span) Attribute(key string) string { return texts(s.GetAttributes())[key] }

// Linked are the trace IDs that the span's links lead to, by what idemsvc says of each.
func (s *Span) Linked() map[string]string {
	all := map[string]string{}
	for _, l := range s.GetLinks() {
		all[texts(l.GetAttributes())["idemsvc.link"]] = fmt.Sprintf("%x", l.GetTraceId())
	}
	return all
}

// Sink receives.
type Sink struct {
	collectortrace.UnimplementedTraceServiceServer
	collectormetrics.UnimplementedMetricsServiceServer

	GRPC string // host:port
	HTTP string // URL

	mu       sync.Mutex
	spans    []*Span
	metrics  map[string]*metrics.Metric
	resource map[string]string // of metrics
}

// New starts a sink that ends with the test.
func New(t testing.TB) *Sink {
	t.Helper()
	s := &Sink{metrics: map[string]*metrics.Metric{}}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(srv, s)
	collectormetrics.RegisterMetricsServiceServer(srv, &metricsService{Sink: s})
	go func() { _ = srv.Serve(lis) }()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		receive(t, w, r, &collectortrace.ExportTraceServiceRequest{}, &collectortrace.ExportTraceServiceResponse{}, s.keepSpans)
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		receive(t, w, r, &collectormetrics.ExportMetricsServiceRequest{}, &collectormetrics.ExportMetricsServiceResponse{}, s.keepMetrics)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.Close()
		srv.Stop()
	})
	s.GRPC, s.HTTP = lis.Addr().String(), web.URL
	return s
}

func receive[Q proto.Message](t testing.TB, w http.ResponseWriter, r *http.Request, req Q, resp proto.Message, keep func(Q)) {
	t.Helper()
	body, err := read(r)
	if err == nil {
		err = proto.Unmarshal(body, req)
	}
	if err != nil {
		t.Errorf("%s: %v", r.URL, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	keep(req)
	out, err := proto.Marshal(resp)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

// read reads a body, which collectors compress.
func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Export implements the trace service.
func (s *Sink) Export(_ context.Context, req *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	s.keepSpans(req)
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

type metricsService struct {
	collectormetrics.UnimplementedMetricsServiceServer
	*Sink
}

// Export implements the metrics service.
func (m *metricsService) Export(_ context.Context, req *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	m.keepMetrics(req)
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

func (s *Sink) keepSpans(req *collectortrace.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		resource := texts(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.spans = append(s.spans, &Span{Span: span, Resource: resource})
			}
		}
	}
}

func (s *Sink) keepMetrics(req *collectormetrics.ExportMetricsServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range req.GetResourceMetrics() {
		s.resource = texts(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				s.metrics[m.GetName()] = m
			}
		}
	}
}

// Spans are those that came so far.
func (s *Sink) Spans() []*Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Span(nil), s.spans...)
}

// Metric is the newest of the name that came, nil for none.
func (s *Sink) Metric(name string) *metrics.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics[name]
}

// Resource is where the newest metrics came from.
func (s *Sink) Resource() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resource
}

// Await waits until the spans that came satisfy the condition, and fails the test after
// half a minute.
func (s *Sink) Await(t testing.TB, what string, done func([]*Span) bool) []*Span {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		spans := s.Spans()
		if done(spans) {
			return spans
		}
		if time.Now().After(end) {
			for _, x := range spans {
				t.Logf("%s %s<-%s %q %v", x.Trace(), x.ID(), x.Parent(), x.GetName(), texts(x.GetAttributes()))
			}
			t.Fatalf("no %s came", what)
		}
	}
}

func texts(list []*common.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			m[kv.GetKey()] = fmt.Sprint(v.BoolValue)
		}
	}
	return m
}
