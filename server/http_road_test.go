package server

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const jsonAcquire = `{"namespace":"shop-live","consumer":"billing","claimant":"worker","max_events":1,"wait":"%"}`

// A caller's trace and baggage reach the event, the spans and the log.
func TestTracesPassThroughHTTP(t *testing.T) {
	t.Parallel()
	f, spans, _ := observed(t)
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	r := f.httpRequest(t.Context(), t, "consumer", http.MethodPost, "/v1/events:claim", jsonClaimBy("c"))
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	r.Header.Set("Baggage", "idemsvc.correlation_id=order-42")
	if a := send(t, r); a.at("claim.correlation_id") != "order-42" {
		t.Errorf("%s", a.text)
	}
	found := false
	eventually(t, func() bool {
		for _, s := range spans.Ended() {
			found = found || ofCaller(s, trace, parent)
		}
		return found
	})
	if !strings.Contains(f.log.String(), `"trace_id":"`+trace+`"`) {
		t.Errorf("the log does not name the trace: %s", f.log)
	}
	seen, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "evt_json"})
	if err != nil || !strings.Contains(seen.GetEvents()[0].GetFirstDeliveryTrace(), trace) {
		t.Errorf("%v %v", seen, err)
	}
}

func ofCaller(s sdktrace.ReadOnlySpan, trace, parent string) bool {
	return s.Name() == "idemsvc.v1.IdempotencyService/ClaimEvent" && s.SpanContext().TraceID().String() == trace && s.Parent().SpanID().String() == parent
}

// eventually waits for a condition.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatal("it does not come true")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestADeadlineOverHTTP(t *testing.T) {
	t.Parallel()
	inner := start(t)
	g := &gate{Backend: inner.backend, entered: make(chan struct{}, 8), open: make(chan struct{})}
	f := start(t, gated(g))
	r := f.httpRequest(t.Context(), t, "consumer", http.MethodPost, "/v1/events:claim", jsonClaimBy("c"))
	r.Header.Set("Grpc-Timeout", "50m")
	if a := send(t, r); a.code != http.StatusGatewayTimeout || a.reason() != "DEADLINE_EXCEEDED" || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.code, a.text)
	}
	close(g.open)
}

// A worker that waits and goes away is noticed at once, however long it had wanted to wait.
func TestALongPollEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	f := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := f.httpRequest(ctx, t, "consumer", http.MethodPost, "/v1/events:acquire", strings.Replace(jsonAcquire, "%", "60s", 1))
	done := make(chan error, 1)
	go func() {
		resp, err := noKeepAlive.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		done <- err
	}()
	eventually(t, func() bool { return f.store.Stats().Acquiring == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, func() bool { return f.store.Stats().Acquiring == 0 })
	eventually(t, func() bool { return strings.Contains(f.log.String(), `"error_reason":"CANCELLED"`) })
}

// A worker that waits gets what comes, and waiting has nothing to do with how long a body
// may take to arrive.
func TestALongPollOutlivesTheTimeForABody(t *testing.T) {
	t.Parallel()
	f := start(t)
	url := f.jsonURL(t)
	eventually(t, func() bool { return f.srv.opened() != nil })
	f.srv.opened().body = 100 * time.Millisecond
	began := time.Now()
	if a := f.post(t, "consumer", "/v1/events:acquire", strings.Replace(jsonAcquire, "%", "0.4s", 1)); a.code != 200 || a.text != "{}" {
		t.Errorf("%d %s after %s", a.code, a.text, time.Since(began))
	}
	got := make(chan answer, 1)
	go func() {
		got <- f.post(t, "consumer", "/v1/events:acquire", strings.Replace(jsonAcquire, "%", "30s", 1))
	}()
	eventually(t, func() bool { return f.store.Stats().Acquiring == 1 })
	if a := f.post(t, "consumer", "/v1/events:receive", `{"namespace":"shop-live","consumers":["billing"],
		"event":{"source":"stripe","event_id":"evt_json"},"delivery":{"request_id":"r"}}`); a.code != 200 {
		t.Fatalf("%s", a.text)
	}
	if a := <-got; a.code != 200 || !strings.Contains(a.text, "evt_json") {
		t.Errorf("%d %s", a.code, a.text)
	}
	// A body that does not come is not waited for, whoever sends it.
	for token, want := range map[string]int{f.tokens["consumer"]: http.StatusRequestTimeout, "idk_no": http.StatusUnauthorized} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("POST /v1/events:claim HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token +
			"\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%v %v", resp, err)
		}
	}
}

// A stopping server answers who waits over HTTP, is not ready, and takes nobody any more.
func TestAStopEndsHTTP(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.DrainDelay = 300 * time.Millisecond })
	get := func(path string) answer { return send(t, f.httpRequest(t.Context(), t, "", http.MethodGet, path, "")) }
	eventually(t, func() bool { return get("/readyz").code == 200 })
	if a := get("/livez"); a.code != 200 || a.text != `{"status":"SERVING"}` {
		t.Errorf("%+v", a)
	}
	waiting := make(chan answer, 1)
	go func() {
		waiting <- f.post(t, "consumer", "/v1/events:acquire", strings.Replace(jsonAcquire, "%", "60s", 1))
	}()
	eventually(t, func() bool { return f.store.Stats().Acquiring == 1 })
	stopped := make(chan struct{})
	go func() {
		f.srv.Stop(t.Context())
		close(stopped)
	}()
	eventually(t, func() bool { a := get("/readyz"); return a.code == 503 && a.text == `{"status":"NOT_SERVING"}` })
	if a := <-waiting; a.code != 200 || a.text != "{}" {
		t.Errorf("%d %s", a.code, a.text)
	}
	<-stopped
	if resp, err := noKeepAlive.Do(f.httpRequest(t.Context(), t, "", http.MethodGet, "/readyz", "")); err == nil {
		_ = resp.Body.Close()
		t.Error("it still answers")
	}
}

func TestHTTPKeepsToLoopbackWithoutTokens(t *testing.T) {
	t.Parallel()
	f := start(t)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.srv.ServeJSON(lis); err == nil || !strings.Contains(err.Error(), "is not a loopback address") {
		t.Errorf("%v", err)
	}
}
