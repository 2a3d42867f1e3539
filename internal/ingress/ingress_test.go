package ingress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is an ingress before a service in memory.
type site struct {
	t      *testing.T
	client *idemsvc.Client
	in     *Ingress
	log    *bytes.Buffer
	mu     sync.Mutex
	meter  *sdkmetric.ManualReader
}

// Write keeps the log.
func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func newSite(t *testing.T, file string, vars map[string]string) *site {
	t.Helper()
	cfg, err := Read(strings.NewReader(file), variables(vars))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, client: idemtest.New(t, idemtest.WithNamespaces(idemtest.Namespace, "other")).Client(), log: &bytes.Buffer{}, meter: sdkmetric.NewManualReader()}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.meter))
	if s.in, err = New(s.client, cfg, slog.New(slog.NewJSONHandler(s, nil)), provider); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.in.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// send delivers what a provider signs, or what nobody signs for a provider that is nil.
func (s *site) send(p *webhook.Provider, method, target, body string, header map[string]string) *httptest.ResponseRecorder {
	s.t.Helper()
	hr := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	for name, value := range header {
		hr.Header.Set(name, value)
	}
	if p != nil {
		r := &webhook.Request{Method: method, URL: hr.URL, Header: hr.Header, Body: []byte(body)}
		if err := p.SignForTest(r, time.Now()); err != nil {
			s.t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	s.in.ServeHTTP(w, hr)
	return w
}

func (s *site) expect(w *httptest.ResponseRecorder, status int, what string) {
	s.t.Helper()
	if w.Code != status {
		s.t.Errorf("%s was answered %d %s, not %d\n%s", what, w.Code, w.Body, status, s.logged())
	}
}

// kept fails unless an event waits for the consumers.
func (s *site) kept(namespace, source, id string, consumers ...string) {
	s.t.Helper()
	resp, err := s.client.Operations().GetEvent(s.t.Context(), &pb.GetEventRequest{Namespace: namespace, Source: source, EventId: id, IncludePayload: true})
	if err != nil {
		s.t.Errorf("%s: %v", id, err)
		return
	}
	var got []string
	for _, c := range resp.GetEvents()[0].GetConsumers() {
		if c.GetState() == pb.EventState_EVENT_STATE_RECEIVED {
			got = append(got, c.GetConsumer())
		}
	}
	if !slices.Equal(got, consumers) || resp.GetEvents()[0].GetPayloadSize() == 0 {
		s.t.Errorf("%s waits for %v, with %d bytes", id, got, resp.GetEvents()[0].GetPayloadSize())
	}
}

const sources = `
sources:
  - path: /hooks/stripe
    provider: stripe
    secrets: [{env: STRIPE_NEW}, {env: STRIPE_OLD}]
    consumers: [billing, mail]
    max_body: 2KiB
  - path: /hooks/github
    provider: github
    source: github-org
    namespace: other
    secrets: [{env: GITHUB}]
    consumers: [ci]
  - path: /hooks/hubspot
    provider: hubspot
    url: https://shop.example/hooks/hubspot
    secrets: [{env: HUBSPOT}]
    consumers: [crm]
  - {path: /hooks/slack, provider: slack, secrets: [{env: SLACK}], consumers: [bot]}
  - {path: /hooks/meta, provider: meta, secrets: [{env: META}], verify_token: {env: VERIFY}, consumers: [bot]}
  - {path: /hooks/events, provider: cloudevents, secrets: [{env: TOKEN}], origins: [emitter.example], consumers: [events]}
  - path: /hooks/warehouse
    provider: generic
    source: warehouse
    secrets: [{env: WAREHOUSE}]
    consumers: [stock]
    generic: {key: ["header:X-Event-Id"], type: [kind], signature_header: X-Signature, signature_prefix: sha256=}
`

var secrets = map[string]string{
	"STRIPE_NEW": "whsec_new", "STRIPE_OLD": "whsec_old", "GITHUB": "github-secret", "HUBSPOT": "hubspot-secret", "SLACK": "slack-secret",
	"META": "meta-secret", "VERIFY": "verify me", "TOKEN": "a-token", "WAREHOUSE": "warehouse-secret",
}

// What is genuine is kept for each consumer of its source, whatever the provider; what is
// not is refused and takes no key.
func TestWhatArrivesIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, sources, secrets)
	const stripe = `{"id":"evt_1","type":"invoice.paid","created":1700000000,"data":{"object":{"id":"in_1","object":"invoice"}}}`
	s.expect(s.send(webhook.Stripe("a guess"), "POST", "/hooks/stripe", stripe, nil), 401, "a forged delivery")
	if _, err := s.client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: idemtest.Namespace, EventId: "evt_1"}); err == nil {
		t.Error("the forged delivery took the event's key")
	}
	s.expect(s.send(webhook.Stripe("whsec_new"), "POST", "/hooks/stripe", stripe, nil), 200, "a delivery")
	s.expect(s.send(webhook.Stripe("whsec_old"), "POST", "/hooks/stripe", stripe, nil), 200, "a duplicate, signed with the old secret")
	s.kept(idemtest.Namespace, "stripe", "evt_1", "billing", "mail")

	s.expect(s.send(webhook.GitHub("github-secret"), "POST", "/hooks/github", `{"action":"opened","issue":{"id":1},"repository":{"id":2}}`,
		map[string]string{"X-GitHub-Delivery": "guid-1", "X-GitHub-Event": "issues"}), 200, "a delivery of GitHub")
	items, err := webhook.GitHub("github-secret").Items(&webhook.Request{Header: http.Header{"X-Github-Delivery": {"guid-1"}, "X-Github-Event": {"issues"}}, Body: []byte(`{"action":"opened"}`)})
	if err != nil {
		t.Fatal(err)
	}
	s.kept("other", "github-org", items[0].ID, "ci")

	var array []string
	for i := range 3 {
		array = append(array, fmt.Sprintf(`{"eventId":%d,"subscriptionId":1,"portalId":2,"occurredAt":1462216307945,"subscriptionType":"contact.creation","objectId":%d,"attemptNumber":0}`, i, 9007199254740993+i))
	}
	hubspot, body := webhook.HubSpot("https://shop.example/hooks/hubspot", "hubspot-secret"), "["+strings.Join(array, ",")+"]"
	s.expect(s.send(hubspot, "POST", "/hooks/hubspot", body, nil), 200, "an array")
	if items, err = hubspot.Items(&webhook.Request{Header: http.Header{}, Body: []byte(body)}); err != nil || len(items) != 3 {
		t.Fatalf("%v %v", items, err)
	}
	for _, i := range items {
		s.kept(idemtest.Namespace, "hubspot", i.ID, "crm")
	}

	warehouse := webhook.Generic(webhook.GenericConfig{Name: "w", Secrets: []string{"warehouse-secret"}, SignatureHeader: "X-Signature", SignaturePrefix: "sha256="})
	s.expect(s.send(warehouse, "POST", "/hooks/warehouse", `{"kind":"moved"}`, map[string]string{"X-Event-Id": "w1"}), 200, "a sender of one's own")
	s.kept(idemtest.Namespace, "warehouse", "w1", "stock")

	events := webhook.CloudEventsFrom(webhook.CloudEventsConfig{Tokens: []string{"a-token"}})
	event := `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`
	typed := map[string]string{"Content-Type": "application/cloudevents+json"}
	s.expect(s.send(events, "POST", "/hooks/events", event, typed), 204, "a CloudEvent")
	s.expect(s.send(nil, "POST", "/hooks/events", event, typed), 401, "a CloudEvent without a token")
	s.kept(idemtest.Namespace, "cloudevents", "2:/s1:1", "events")
}

// What is no delivery is answered as its sender needs, and the rest is refused.
func TestWhatIsNoDelivery(t *testing.T) {
	t.Parallel()
	s := newSite(t, sources, secrets)
	challenge := `{"type":"url_verification","token":"t","challenge":"3eZbrw1aB"}`
	if w := s.send(webhook.Slack("slack-secret"), "POST", "/hooks/slack", challenge, nil); w.Code != 200 || w.Body.String() != "3eZbrw1aB" {
		t.Errorf("Slack: %d %s", w.Code, w.Body)
	}
	s.expect(s.send(nil, "POST", "/hooks/slack", challenge, nil), 401, "a challenge that is not signed")
	if w := s.send(nil, "GET", "/hooks/meta?hub.mode=subscribe&hub.verify_token=verify+me&hub.challenge=1158", "", nil); w.Code != 200 || w.Body.String() != "1158" {
		t.Errorf("Meta: %d %s", w.Code, w.Body)
	}
	s.expect(s.send(nil, "GET", "/hooks/meta?hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1158", "", nil), 403, "a wrong token")
	if w := s.send(nil, "OPTIONS", "/hooks/events", "", map[string]string{"WebHook-Request-Origin": "emitter.example"}); w.Code != 200 || w.Header().Get("WebHook-Allowed-Origin") != "emitter.example" {
		t.Errorf("CloudEvents: %d %v", w.Code, w.Header())
	}
	s.expect(s.send(nil, "POST", "/hooks/nobody", "", nil), 404, "an unknown path")
	s.expect(s.send(nil, "POST", "/hooks/stripe/", "", nil), 404, "a path with more behind it")
	s.expect(s.send(nil, "GET", "/hooks/stripe", "", nil), 405, "GET")
	large := s.send(webhook.Stripe("whsec_new"), "POST", "/hooks/stripe", `{"id":"evt_2","text":"`+strings.Repeat("x", 2048)+`"}`, nil)
	if s.expect(large, 413, "a large body"); large.Header().Get("Connection") != "close" {
		t.Error("the connection stays open for the rest of a body that is too large")
	}
	if w := s.send(nil, "GET", "/healthz", "", nil); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.expect(s.send(nil, "POST", "/healthz", "", nil), 405, "POST of the health")
	s.in.Stopping()
	s.expect(s.send(nil, "GET", "/healthz", "", nil), 503, "the health of what stops")

	counts := s.counted()
	for series, want := range map[string]int64{"_unknown 404": 2, "stripe 413": 1, "stripe 405": 1, "slack 200": 1, "slack 401": 1, "meta 403": 1} {
		if counts[series] != want {
			t.Errorf("%s was counted %d times: %v", series, counts[series], counts)
		}
	}
	for line := range strings.Lines(s.logged()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil || l["msg"] == "answered" && (l["source"] == nil || l["request_id"] == nil || l["duration_ms"] == nil || l["http_status"] == nil) {
			t.Errorf("%s", line)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(s.logged(), secret) {
			t.Errorf("a secret is in the log:\n%s", s.logged())
		}
	}
}

// counted are the answers by source and status.
func (s *site) counted() map[string]int64 {
	var m metricdata.ResourceMetrics
	if err := s.meter.Collect(s.t.Context(), &m); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, scope := range m.ScopeMetrics {
		for _, x := range scope.Metrics {
			if sum, ok := x.Data.(metricdata.Sum[int64]); ok && x.Name == "idemsvc.ingress.answers" {
				for _, p := range sum.DataPoints {
					source, _ := p.Attributes.Value("source")
					status, _ := p.Attributes.Value("http_status")
					out[source.AsString()+" "+status.AsString()] = p.Value
				}
			}
		}
	}
	return out
}

// Providers that never repeat are warned of where what they send is refused during an
// outage, and senders that sign nothing always.
func TestWarningsAtTheStart(t *testing.T) {
	t.Parallel()
	const file = "sources:\n  - {path: /a, provider: %s, consumers: [c]%s}\n"
	for name, c := range map[string]struct{ provider, more, want string }{
		"GitHub":      {"github", ", secrets: [{env: S}]", "does not repeat"},
		"GitLab":      {"gitlab", ", secrets: [{env: S}]", "does not repeat"},
		"Stripe":      {"stripe", ", secrets: [{env: S}]", ""},
		"with spool":  {"github", ", secrets: [{env: S}], outage: SPOOL, spool: {dir: " + t.TempDir() + "}", ""},
		"CloudEvents": {"cloudevents", ", unsigned: true", "nothing is signed"},
	} {
		s := newSite(t, fmt.Sprintf(file, c.provider, c.more), map[string]string{"S": "s"})
		warned := strings.Contains(s.logged(), `"level":"WARN"`)
		if warned != (c.want != "") || !strings.Contains(s.logged(), c.want) {
			t.Errorf("%s:\n%s", name, s.logged())
		}
	}
}

// A request that is under way when the process is told to stop is answered, and what comes
// later is not taken.
func TestStoppingAnswersWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newSite(t, sources, secrets)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.in.Serve(ctx, NewServer(slog.New(slog.DiscardHandler)), func(h *http.Server) error { return h.Serve(lis) }, 0, 30*time.Second)
	}()
	const body = `{"id":"evt_1","type":"invoice.paid"}`
	r := &webhook.Request{Method: "POST", Header: http.Header{}, Body: []byte(body)}
	if err := webhook.Stripe("whsec_new").SignForTest(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "POST /hooks/stripe HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\nStripe-Signature: %s\r\n\r\n", len(body), r.Header.Get("Stripe-Signature"))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // it is being read
		t.Fatalf("%q %v", line, err)
	}
	_, _ = answers.ReadString('\n')
	stop()
	for !s.in.stopping.Load() {
		time.Sleep(time.Millisecond)
	}
	_, _ = io.WriteString(conn, body)
	resp, err := http.ReadResponse(answers, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.kept(idemtest.Namespace, "stripe", "evt_1", "billing", "mail")
	if late, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String()); err == nil {
		_ = late.Close()
		t.Error("it still listens")
	}
}

// Secrets come from files, too, less the end of the line.
func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-a-file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, "sources: [{path: /a, provider: stripe, consumers: [c], secrets: [{file: "+file+"}]}]", nil)
	s.expect(s.send(webhook.Stripe("from-a-file"), "POST", "/a", `{"id":"evt_1","type":"a"}`, nil), 200, "a delivery")
}
