// Package telemetry_test follows events from outside: consumers in processes of their own,
// the program as it is shipped, and an OTLP receiver.
package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"go.opentelemetry.io/otel/attribute"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/otelidemsvc"
	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/otlptest"
)

// asConsumer makes the test binary behave as a consumer: it holds the consumer's name.
const asConsumer = "RUN_AS_CONSUMER"

func TestMain(m *testing.M) {
	if name := os.Getenv(asConsumer); name != "" {
		if err := consume(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// stages are the consumers of the story: what each handles and what that causes.
var stages = map[string]struct{ source, event, causeSource, cause string }{
	"payments":  {"stripe", "evt_paid", "", ""},
	"invoicing": {"payments", "order-7-paid", "stripe", "evt_paid"},
	"mailing":   {"invoicing", "invoice-9-made", "payments", "order-7-paid"},
}

// consume handles the consumer's one event. The payment's handler fails twice.
func consume(name string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))
	defer func() { err = errors.Join(err, provider.Shutdown(context.WithoutCancel(ctx))) }()
	client, err := idemsvc.Dial(os.Getenv("IDEMSVC_ADDRESS"), idemsvc.WithNamespace("dev"), idemsvc.WithConsumer(name),
		otelidemsvc.Telemetry(otelidemsvc.WithTracerProvider(provider)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	stage := stages[name]
	failures := 0
	if name == "payments" {
		failures = 2
	}
	for {
		event := &idemsvc.Event{Source: stage.source, EventId: stage.event}
		if stage.cause == "" {
			event.CorrelationId = "cart 3"
		} else {
			event.Causation = idemsvc.CausedBy(stage.causeSource, stage.cause)
		}
		dctx, delivery := provider.Tracer("test").Start(ctx, "POST /hooks")
		answer, err := client.Process(dctx, event, func(context.Context, *idemsvc.Claim) error {
			if failures > 0 {
				failures--
				return idemsvc.RetryAfter(time.Second, errors.New("the bank is away"))
			}
			return nil
		})
		delivery.End()
		if err == nil && answer.Acknowledge() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// A payment goes through three consumers in processes of their own, and what they and the
// server tell is one connected story: every span of it is reached from the first delivery's
// trace over parents and links, and all of it has one correlation.
func TestAPaymentIsOneStory(t *testing.T) {
	t.Parallel()
	sink := otlptest.New(t)
	tell(t, sink, sink.HTTP)
}

// tell has the story told to the endpoint, and judges what comes to the sink.
func tell(t *testing.T, sink *otlptest.Sink, endpoint string) {
	t.Helper()
	addr := serve(t, endpoint)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"payments", "invoicing", "mailing"} {
		cmd := exec.CommandContext(t.Context(), self) //nolint:gosec // this program
		cmd.Env = append(os.Environ(), asConsumer+"="+name, "IDEMSVC_ADDRESS="+addr, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	// The handlers: the payment's three times, each of the others once; and the server's calls.
	spans := sink.Await(t, "story", func(spans []*otlptest.Span) bool {
		handlers, completed := 0, 0
		for _, s := range spans {
			if strings.HasPrefix(s.GetName(), "process ") {
				handlers++
			}
			if s.Attribute("idemsvc.outcome") == "PROCESSED" {
				completed++
			}
		}
		return handlers == 5 && completed == 3
	})
	reached := reach(spans)
	services := map[string]bool{}
	for _, s := range spans {
		if s.Attribute("idemsvc.event_ref") == "" || s.Attribute("idemsvc.outcome") == "RETRY_SCHEDULED" {
			continue // the latter came too early, and led to nothing
		}
		services[s.Resource["service.name"]] = true
		if !reached[s.Trace()] {
			t.Errorf("%s of %s (%s) is not connected", s.GetName(), s.Resource["service.name"], s.Attribute("idemsvc.event_ref"))
		}
		if got := s.Attribute("idemsvc.correlation_id"); got != "cart 3" {
			t.Errorf("%s of %s has the correlation %q", s.GetName(), s.Attribute("idemsvc.event_ref"), got)
		}
	}
	if len(services) != 4 {
		t.Errorf("the story is told by %v", services)
	}
	links(t, spans)
}

// links checks what the handlers' spans lead to: a later attempt to its delivery, to the
// first delivery and to the attempt before, a caused event to its cause.
func links(t *testing.T, spans []*otlptest.Span) {
	t.Helper()
	handler := func(source, attempt string) *otlptest.Span {
		for _, s := range spans {
			if s.GetName() == "process "+source && s.Attribute("idemsvc.attempt") == attempt {
				return s
			}
		}
		t.Fatalf("there is no attempt %s of the event from %s", attempt, source)
		return nil
	}
	first, second, third := handler("stripe", "1"), handler("stripe", "2"), handler("stripe", "3")
	for _, want := range []struct {
		from     *otlptest.Span
		what, to string
	}{
		{second, "first_delivery", first.Trace()},
		{third, "first_delivery", first.Trace()}, {third, "previous_attempt", second.Linked()["delivery"]},
		{handler("payments", "1"), "cause", first.Trace()},
		{handler("invoicing", "1"), "cause", handler("payments", "1").Trace()},
	} {
		if got := want.from.Linked()[want.what]; got != want.to || want.to == "" {
			t.Errorf("attempt %s of %s has the link %s to %q, want %q", want.from.Attribute("idemsvc.attempt"), want.from.Attribute("idemsvc.event_ref"), want.what, got, want.to)
		}
	}
}

// reach are the traces that are connected by links, whichever way they point, with the one
// of the first delivery.
func reach(spans []*otlptest.Span) map[string]bool {
	next := map[string][]string{}
	first := ""
	for _, s := range spans {
		if first == "" && s.GetName() == "process stripe" && s.Attribute("idemsvc.attempt") == "1" {
			first = s.Trace()
		}
		for _, l := range s.GetLinks() {
			to := fmt.Sprintf("%x", l.GetTraceId())
			next[s.Trace()] = append(next[s.Trace()], to)
			next[to] = append(next[to], s.Trace())
		}
	}
	reached := map[string]bool{first: true}
	for queue := []string{first}; len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	return reached
}

// serve runs the program in memory, sending its traces and metrics to the endpoint.
func serve(t *testing.T, endpoint string) (addr string) {
	t.Helper()
	program := t.TempDir() + "/idemsvc"
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/idemsvc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(context.Background(), program, "serve", "--ephemeral") //nolint:gosec // just built
	cmd.Env = append(os.Environ(), "IDEMSVC_LISTEN=127.0.0.1:0", "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=500")
	p, err := childproc.StartListener(cmd, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(30 * time.Second); err != nil {
			t.Error(err)
		}
	})
	return p.Addr
}
