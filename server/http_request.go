package server

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	api "github.com/idemsvc/idemsvc/api/gateway"
	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Paths beside those of the contract. None of them needs a token.
const (
	pathOpenAPI = "/openapi.json"
	pathReady   = "/readyz"
	pathLive    = "/livez"
)

// headerTimeout is the header with a call's deadline, as gRPC writes it.
const headerTimeout = "Grpc-Timeout"

// passesIn tells which headers of a request become a call's metadata, beside
// Authorization, which always does.
func passesIn(name string) (string, bool) {
	switch name {
	case "Traceparent", "Tracestate", "Baggage":
		return strings.ToLower(name), true
	default:
		return "", false
	}
}

// passesOut keeps a call's metadata from becoming headers: none of it is for callers.
func passesOut(string) (string, bool) { return "", false }

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 { // also where nobody reads it: net/http does, before it sends the answer
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.body)) // it is supported
	}
	switch r.URL.Path {
	case pathOpenAPI:
		g.serveDocument(w, r)
	case pathReady:
		g.serveHealth(w, r, "")
	case pathLive:
		g.serveHealth(w, r, LivenessService)
	default:
		g.serveCall(w, r)
	}
}

// serveCall hands a request to the handlers of the contract, once it has the form of one.
// What is wrong inside the body is told by the call itself, so that a stranger learns
// nothing of it and the log and the metrics see it as they see any refusal.
func (g *gateway) serveCall(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store") // tokens are in there
	ctx, cancel, refused := withTimeout(r)
	if refused != nil {
		g.refuse(w, r, http.StatusBadRequest, refused)
		return
	}
	defer cancel()
	call := r.WithContext(ctx)
	call.Header = callHeaders(r.Header)
	switch {
	case r.URL.RawQuery != "":
		g.refuse(w, r, http.StatusBadRequest, &refusal{
			reason: pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, message: "the address takes no parameters: all that is asked is in the body",
		})
		return
	case r.Method == http.MethodPost:
		if !isJSON(r) {
			g.refuse(w, r, http.StatusUnsupportedMediaType, invalid("Content-Type", "value must be application/json, in UTF-8 and not compressed"))
			return
		}
		if g.strange(call) { // the call itself says so; what the stranger sends is not even read
			call.Body = http.NoBody
			break
		}
		body, err := g.read(w, r)
		if err != nil {
			g.refuse(w, r, http.StatusRequestTimeout, &refusal{
				reason: pb.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, message: "the body did not arrive", retry: retryNow, cause: err,
			})
			return
		}
		call.Body = body
	default:
		call.Body = http.NoBody
	}
	g.mux.ServeHTTP(w, call)
}

// strange reports whether the call will be refused for its token. Reading JSON costs more
// than refusing it, and nobody without a token may ask for that.
func (g *gateway) strange(call *http.Request) bool {
	md := metadata.MD{"authorization": call.Header.Values("Authorization")}
	_, err := g.core.access.identify(metadata.NewIncomingContext(call.Context(), md))
	return err != nil
}

// read takes in a body, up to one byte more than is allowed. It is read here because only
// its arrival has a deadline of its own, and because the server notices a caller that
// goes away only when nothing of it is left to read.
func (g *gateway) read(w http.ResponseWriter, r *http.Request) (io.ReadCloser, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBodyBytes {
		w.Header().Set("Connection", "close") // the rest is not read
	}
	return io.NopCloser(bytes.NewReader(data)), http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// isJSON reports whether the body says that it is what is understood here. A page of
// another site cannot say so without being asked by its browser whether it may.
func isJSON(r *http.Request) bool {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return false
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, told := params["charset"]
	return err == nil && kind == "application/json" && (!told || strings.EqualFold(charset, "utf-8"))
}

// callHeaders are the headers that matter to a call, as far as they may be metadata.
func callHeaders(from http.Header) http.Header {
	to := http.Header{}
	for _, name := range []string{"Authorization", "Traceparent", "Tracestate", "Baggage"} {
		for _, v := range from.Values(name) {
			if isPrintableASCII(v) {
				to.Add(name, v)
			}
		}
	}
	return to
}

func isPrintableASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// withTimeout is the request's context with the deadline that its header asks for.
func withTimeout(r *http.Request) (context.Context, context.CancelFunc, *refusal) {
	text := r.Header.Get(headerTimeout)
	if text == "" {
		return r.Context(), func() {}, nil
	}
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !known || err != nil || len(text) > 9 {
		return nil, nil, invalid(headerTimeout, "value must be up to 8 digits and a unit, of H, M, S, m, u and n: 1500m is a second and a half")
	}
	if n > uint64(unaryDeadline/unit) {
		return r.Context(), func() {}, nil // the server's own comes first
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(n)*unit) //nolint:gosec // bounded above
	return ctx, cancel, nil
}

// serveDocument serves the description of all paths.
func (g *gateway) serveDocument(w http.ResponseWriter, r *http.Request) {
	if !g.onlyGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(api.OpenAPI))
}

// serveHealth tells what the health service tells.
func (g *gateway) serveHealth(w http.ResponseWriter, r *http.Request, service string) {
	if !g.onlyGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	resp, err := g.watch.health.Check(r.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, `{"status":"`+resp.GetStatus().String()+`"}`+"\n")
}

func (g *gateway) onlyGet(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	g.refuse(w, r, http.StatusMethodNotAllowed, wrongMethod(w, http.MethodGet))
	return false
}
