package telemetry_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/otlptest"
)

// collectorEnv names the Collector that «make test-collector» has built.
const collectorEnv = "IDEMSVC_TEST_COLLECTOR"

// The story comes out of an OpenTelemetry Collector as it went in, by the configuration that
// is shipped: one correlation, all of it connected, the server's metrics beside it.
func TestAPaymentIsOneStoryInACollector(t *testing.T) {
	t.Parallel()
	program := os.Getenv(collectorEnv)
	if program == "" {
		t.Skipf("%s is not set: run «make test-collector»", collectorEnv)
	}
	sink := otlptest.New(t)
	endpoint := collector(t, program, sink)
	tell(t, sink, endpoint)
	for end := time.Now().Add(30 * time.Second); sink.Metric("idemsvc.claims") == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no metrics came through the collector")
		}
	}
	if got := sink.Resource()["service.name"]; got != "idemsvc" {
		t.Errorf("the metrics are of %q", got)
	}
}

// collector runs the program with the configuration that is shipped, but for what a test has
// to change: addresses, TLS, and tail sampling, which would drop most of the story. It returns
// where it takes OTLP over HTTP.
func collector(t *testing.T, program string, sink *otlptest.Sink) (endpoint string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/monitoring/collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Receivers  map[string]any `yaml:"receivers"`
		Processors map[string]any `yaml:"processors"`
		Exporters  map[string]any `yaml:"exporters"`
		Service    struct {
			Pipelines map[string]map[string][]string `yaml:"pipelines"`
			Telemetry map[string]any                 `yaml:"telemetry"`
		} `yaml:"service"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	grpc, web := freeAddress(t), freeAddress(t)
	config.Receivers["otlp"] = map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": grpc}, "http": map[string]any{"endpoint": web}}}
	exporter, ok := config.Exporters["otlp_grpc"].(map[string]any)
	if !ok {
		t.Fatal("the configuration has no exporter otlp_grpc")
	}
	exporter["tls"] = map[string]any{"insecure": true}
	if _, ok := config.Processors["tail_sampling"]; !ok {
		t.Fatal("the configuration has no tail sampling to leave out")
	}
	delete(config.Processors, "tail_sampling")
	for _, pipeline := range config.Service.Pipelines {
		pipeline["processors"] = slices.DeleteFunc(pipeline["processors"], func(name string) bool { return name == "tail_sampling" })
	}
	config.Service.Telemetry = map[string]any{"metrics": map[string]any{"level": "none"}} // of its own, on a port of its own
	dir, err := os.MkdirTemp("", "idemsvc-collector-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // it runs as another user
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "collector")
	binary, err := os.ReadFile(program) //nolint:gosec // just built
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.Marshal(config); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{copied: binary, filepath.Join(dir, "config.yaml"): text} {
		if err := os.WriteFile(name, content, 0o755); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
	}
	said := &strings.Builder{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), copied, "--config="+filepath.Join(dir, "config.yaml")) //nolint:gosec // just built
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, said, said
	cmd.Env = append(os.Environ(), "TRACES_ENDPOINT="+sink.GRPC, "METRICS_ENDPOINT="+sink.HTTP)
	child, err := childproc.Start(cmd, syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Signal(syscall.SIGTERM)
		<-child.Done()
		if strings.Contains(said.String(), "deprecated") {
			t.Error("the configuration asks for what will go away")
		}
		if t.Failed() {
			t.Log(said)
		}
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", web)
		if err == nil {
			_ = conn.Close()
			return "http://" + web
		}
		select {
		case <-child.Done():
			t.Fatalf("the collector ended: %v", child.Err())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the collector does not listen: %v", err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = lis.Close()
	return lis.Addr().String()
}
