package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// jsonURL is where the fixture serves JSON over HTTP.
func (f *fixture) jsonURL(t *testing.T) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.url != "" {
		return f.url
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.url, f.json = "http://"+lis.Addr().String(), make(chan error, 1)
	go func() { f.json <- f.srv.ServeJSON(lis) }()
	return f.url
}

// answer is what came over HTTP.
type answer struct {
	code   int
	header http.Header
	text   string
	body   map[string]any
}

// httpRequest is a request of a caller; an unknown caller's name is its token, and an
// empty one has none.
func (f *fixture) httpRequest(ctx context.Context, t *testing.T, caller, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, f.jsonURL(t)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	token, known := f.tokens[caller]
	if !known {
		token = caller
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// noKeepAlive is a client that leaves no connection behind.
var noKeepAlive = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: time.Minute}, Timeout: time.Minute}

// send sends a request and reads the answer.
func send(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp, err := noKeepAlive.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{code: resp.StatusCode, header: resp.Header, text: strings.TrimSpace(string(text))}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s: content type %q", r.Method, r.URL.Path, got)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&a.body); err != nil {
		t.Errorf("%s %s: %v in %q", r.Method, r.URL.Path, err, text)
	}
	return a
}

// post sends a body to a path of the contract.
func (f *fixture) post(t *testing.T, caller, path, body string) answer {
	t.Helper()
	return send(t, f.httpRequest(t.Context(), t, caller, http.MethodPost, path, body))
}

// at is a value inside an answer, by names joined with dots; nil if there is none.
func (a answer) at(path string) any {
	var v any = a.body
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// detail is one of an error's details by the name of its type; nil if there is none.
func (a answer) detail(name string) map[string]any {
	details, _ := a.body["details"].([]any)
	for _, d := range details {
		if m, _ := d.(map[string]any); m["@type"] == "type.googleapis.com/google.rpc."+name {
			return m
		}
	}
	return nil
}

func (a answer) reason() any { return a.detail("ErrorInfo")["reason"] }

func (a answer) field() any {
	fields, _ := a.detail("BadRequest")["fieldViolations"].([]any)
	if len(fields) == 0 {
		fields, _ = a.detail("BadRequest")["field_violations"].([]any)
	}
	if len(fields) == 0 {
		return nil
	}
	m, _ := fields[0].(map[string]any)
	return m["field"]
}

// opened is the gateway, once there is one.
func (s *Server) opened() *gateway {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway
}
