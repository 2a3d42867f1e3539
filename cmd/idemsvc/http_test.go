package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// getHTTP is an answer over HTTP. A nil pool: plain text.
func getHTTP(ctx context.Context, t *testing.T, url, token string, roots *x509.CertPool) (code int, proto, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	c := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Proto, string(body)
}

func TestServeJSONOverHTTP(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "--ephemeral", "--http-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	if !strings.HasPrefix(p.http, "http://127.0.0.1:") || !strings.HasPrefix(p.metrics, "http://127.0.0.1:") {
		t.Fatalf("HTTP at %q, metrics at %q", p.http, p.metrics)
	}
	code, _, text := getHTTP(t.Context(), t, p.http+"/v1/serverInfo", "", nil)
	var info map[string]any
	if err := json.Unmarshal([]byte(text), &info); code != 200 || err != nil || info["version"] == nil {
		t.Errorf("%d %s %v", code, text, err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr)
	}
	off := startProgram(t, "--ephemeral")
	if off.http != "" || strings.Contains(off.stderr.String(), "JSON over HTTP") {
		t.Errorf("it is served unasked at %q", off.http)
	}
}

func TestServeJSONOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	made := idemsvcRun(t, nil, "token", "create", "--tokens", tokens, "--name", "billing", "--namespaces", "dev")
	p := startProgram(t, "--ephemeral", "--http-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tokens", tokens)
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for token, want := range map[string]int{strings.TrimSpace(made.stdout): 200, "": 401} {
		if code, proto, text := getHTTP(t.Context(), t, p.http+"/v1/serverInfo", token, roots); code != want || proto != "HTTP/2.0" {
			t.Errorf("%q: %d over %s: %s", token, code, proto, text)
		}
	}
	if code, _, _ := getHTTP(t.Context(), t, "http"+strings.TrimPrefix(p.http, "https")+"/v1/serverInfo", "", nil); code != http.StatusBadRequest {
		t.Errorf("plain text is answered %d", code)
	}
}

func TestHTTPListenIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"reachable": {[]string{"--http-listen", "0.0.0.0:0"}, "--http-listen: other machines can reach 0.0.0.0:0"},
		"ephemeral": {[]string{"--ephemeral", "--http-listen", "0.0.0.0:0"}, "--ephemeral serves loopback addresses only, and 0.0.0.0:0 is none"},
		"no port":   {[]string{"--http-listen", "127.0.0.1"}, "--http-listen: "},
		"the same":  {[]string{"--listen", "127.0.0.1:7000", "--http-listen", "127.0.0.1:7000"}, "--http-listen: 127.0.0.1:7000 is the address of --listen"},
	} {
		if o := idemsvcRun(t, nil, append([]string{"serve"}, c.args...)...); o.code != exitUsage || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
