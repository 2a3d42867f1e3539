package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// ingressFile writes a file of sources.
func ingressFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sources.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// deliver sends a signed body, and is the status of the answer; 0 if there was none.
func deliver(t *testing.T, client *http.Client, url string, p *webhook.Provider, body string, header map[string]string) int {
	t.Helper()
	r := &webhook.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(body)}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if err := p.SignForTest(r, time.Now()); err != nil {
		t.Error(err)
		return 0
	}
	hr, err := http.NewRequestWithContext(t.Context(), r.Method, url, bytes.NewReader(r.Body))
	if err != nil {
		t.Error(err)
		return 0
	}
	hr.Header = r.Header
	resp, err := client.Do(hr)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// The service is killed under load, and the ingress is stopped and started again: what was
// answered with success is there once for each consumer, whether a source is refused or
// spooled meanwhile. A forged delivery is recorded apart.
func TestTheIngressLosesNothing(t *testing.T) {
	t.Parallel()
	const senders, each = 4, 25
	database := migrated(t)
	file := ingressFile(t, `
sources:
  - path: /hooks/stripe
    provider: stripe
    secrets: [{env: STRIPE}]
    consumers: [billing, mail]
  - path: /hooks/github
    provider: github
    secrets: [{env: GITHUB}]
    consumers: [billing, mail]
    outage: SPOOL
    spool: {dir: `+t.TempDir()+`}
`)
	server := startProgram(t, "--database-url", database)
	start := func() *program {
		return startCommand(t, []string{"STRIPE=whsec_test", "GITHUB=secret", "IDEMSVC_ADDRESS=" + server.addr}, "ingress", "--config", file, "--listen", "127.0.0.1:0")
	}
	in := start()
	var address atomic.Pointer[string]
	address.Store(&in.addr)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	if code := deliver(t, client, "http://"+in.addr+"/hooks/stripe", webhook.Stripe("a guess"), `{"id":"evt_0","type":"a"}`, nil); code != 401 {
		t.Errorf("a forged delivery was answered %d", code)
	}
	waitUntil(t, "the forged delivery is recorded apart", func() bool { return rejections(t, database) == 1 })
	var accepted, refused, odd atomic.Int64
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for k := range each {
				for _, source := range []string{"stripe", "github"} {
					p, id, header := webhook.Stripe("whsec_test"), fmt.Sprintf("%s-%d-%d", source, i, k), map[string]string(nil)
					if source == "github" {
						p, header = webhook.GitHub("secret"), map[string]string{"X-GitHub-Delivery": id, "X-GitHub-Event": "push"}
					}
					body := fmt.Sprintf(`{"id":%q,"type":"a"}`, id)
					for {
						code := deliver(t, client, "http://"+*address.Load()+"/hooks/"+source, p, body, header)
						if code == 200 {
							accepted.Add(1)
							break
						}
						if code != 0 && (code != 503 || source == "github") {
							odd.Add(1)
						}
						refused.Add(1)
						time.Sleep(20 * time.Millisecond) // as a provider does
					}
				}
			}
		})
	}
	waitUntil(t, "some are kept", func() bool { return accepted.Load() >= senders*each/4 })
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.wait()
	before := refused.Load()
	waitUntil(t, "some are refused, some are spooled", func() bool {
		return refused.Load() > before+10 && strings.Contains(in.stderr.String(), "reason=spooled")
	})
	if err := in.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := in.wait(); err != nil {
		t.Errorf("stopping ended with %v\n%s", err, in.stderr)
	}
	addr := server.addr
	again := start() // while the service is away
	address.Store(&again.addr)
	server = startCommand(t, nil, "serve", "--database-url", database, "--listen", addr)
	sending.Wait()
	if accepted.Load() != 2*senders*each || odd.Load() != 0 {
		t.Errorf("%d of %d were accepted, %d answers were odd\n%s", accepted.Load(), 2*senders*each, odd.Load(), again.stderr)
	}
	asked := dial(t, addr)
	for _, consumer := range []string{"billing", "mail"} {
		wantReceived(t, asked, consumer, 2*senders*each)
	}
}

// wantReceived waits until so many events were acquired for a consumer, fails if one comes
// twice, and if there are more.
func wantReceived(t *testing.T, c *idemsvc.Client, consumer string, n int) {
	t.Helper()
	seen := map[string]int{}
	waitUntil(t, fmt.Sprintf("%s has all of %d events", consumer, n), func() bool {
		resp, err := c.Idempotency().AcquireEvents(t.Context(), &pb.AcquireEventsRequest{Namespace: "dev", Consumer: consumer, Claimant: idemsvc.NewClaimant(), MaxEvents: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetEvents() {
			seen[e.GetEvent().GetSource()+e.GetEvent().GetEventId()]++
		}
		return len(seen) >= n && len(resp.GetEvents()) == 0
	})
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s came %d times for %s", id, times, consumer)
		}
	}
	if len(seen) != n {
		t.Errorf("%s has %d events, and %d were sent", consumer, len(seen), n)
	}
}

// rejections is how many forged deliveries the service has counted.
func rejections(t *testing.T, database string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), "SELECT coalesce(sum(total), 0) FROM idemsvc.rejected").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TLS, metrics and the health of the process.
func TestTheIngressOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	file := ingressFile(t, "sources: [{path: /a, provider: github, secrets: [{env: S}], consumers: [c]}]")
	p := startCommand(t, []string{"S=secret"}, "ingress", "--config", file, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--metrics-listen", "127.0.0.1:0", "--address", "127.0.0.1:1")
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	page := func(url string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	if got := page("https://" + p.addr + "/healthz"); got != "ok\n" {
		t.Errorf("%q", got)
	}
	if code := deliver(t, client, "https://"+p.addr+"/a", webhook.GitHub("a guess"), "{}", nil); code != 401 {
		t.Errorf("a forged delivery was answered %d", code)
	}
	if got := page(p.metrics); !strings.Contains(got, `idemsvc_ingress_answers_total{http_status="401",source="github"} 1`) || !strings.Contains(got, "idemsvc_ingress_spooled") {
		t.Errorf("%s", got)
	}
	if !strings.Contains(p.stderr.String(), "does not repeat what is refused") {
		t.Errorf("nobody was warned of a provider that never repeats:\n%s", p.stderr)
	}
}

// SIGHUP has a secret in a file read again, and ends nothing.
func TestTheIngressTakesNewSecrets(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	file := ingressFile(t, "sources: [{path: /a, provider: stripe, secrets: [{file: "+secret+"}], consumers: [c]}]")
	p := startCommand(t, nil, "ingress", "--config", file, "--listen", "127.0.0.1:0", "--address", "127.0.0.1:1")
	status := func(secret string) int {
		return deliver(t, http.DefaultClient, "http://"+p.addr+"/a", webhook.Stripe(secret), `{"id":"evt_1","type":"a"}`, nil)
	}
	if code := status("new"); code != 401 {
		t.Errorf("the new secret is answered %d before it is there", code)
	}
	write("new")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the new secret is taken", func() bool { return status("new") == 503 }) // genuine, and the service is away
	if code := status("old"); code != 401 {
		t.Errorf("the old secret is answered %d then", code)
	}
	if !strings.Contains(p.stderr.String(), "secrets are read again") || !strings.Contains(p.stderr.String(), "secrets have changed") {
		t.Errorf("%s", p.stderr)
	}
}

// What is wrong ends it before it listens, with the code for that, and names the line.
func TestTheIngressRefuses(t *testing.T) {
	t.Parallel()
	good := ingressFile(t, "sources: [{path: /a, provider: github, secrets: [{env: S}], consumers: [c]}]")
	bad := ingressFile(t, "sources:\n  - path: /a\n    provider: github\n    consumers: [c]\n    secrets: [{env: T}]\n    max_body: 1GiB\n")
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	vars := map[string]string{"S": "secret"}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "--config: a file of sources is needed"},
		{"--config /nowhere", exitUsage, "--config: open /nowhere"},
		{"--config " + bad, exitUsage, bad + ":5: secrets: the variable T is not set\n  " + bad + ":6: max_body: \"1GiB\" must be 1024 to 67108864 bytes"},
		{"--config " + good + " --listen 0.0.0.0:0", exitUsage, "other machines can reach"},
		{"--config " + good + " --tls-cert x", exitUsage, "--tls-cert and --tls-key go together"},
		{"--config " + good + " --listen " + lis.Addr().String(), exitFailed, "another program listens on"},
	} {
		o := idemsvcRun(t, vars, append([]string{"ingress"}, strings.Fields(c.args)...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) || o.stdout != "" {
			t.Errorf("%s: %+v", c.args, o)
		}
	}
	if o := idemsvcRun(t, vars, "ingress", "--config", good, "--check"); o.code != exitOK || !strings.Contains(o.stdout, "is right: 1 source") {
		t.Errorf("%+v", o)
	}
}
