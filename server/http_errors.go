package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// callHTTP stands for the method, in the log and the metrics, where a request was refused
// before it was known to be a call.
const callHTTP = "HTTP"

// fail answers a refused call. Its status is the gRPC one with all details; what the
// connection in between says for itself takes the same form first.
func (g *gateway) fail(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	st := status.Convert(err)
	info := infoOf(st)
	if info == nil {
		st = g.bare(ctx, st).GRPCStatus()
		info = infoOf(st)
	}
	code := runtime.HTTPStatusFromCode(st.Code())
	if info.GetReason() == reasonName(pb.ErrorReason_ERROR_REASON_TOO_LARGE) {
		code = http.StatusRequestEntityTooLarge
	}
	writeStatus(w, code, st)
}

// infoOf is what the contract attaches to each of its refusals.
func infoOf(st *status.Status) *errdetails.ErrorInfo {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info
		}
	}
	return nil
}

// bare is the refusal that a status without details stands for: one that was made on this
// side of the connection.
func (g *gateway) bare(ctx context.Context, st *status.Status) *refusal {
	switch st.Code() {
	case codes.DeadlineExceeded:
		return refuse(ctx, g.core.log, context.DeadlineExceeded)
	case codes.Canceled:
		return refuse(ctx, g.core.log, context.Canceled)
	case codes.Unavailable:
		return &refusal{reason: pb.ErrorReason_ERROR_REASON_UNAVAILABLE, message: "the server is stopping", retry: retryUnavailable}
	default:
		return internal(ctx, g.core.log, st.Err())
	}
}

// unrouted answers a request that no path or method fits.
func (g *gateway) unrouted(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	if code == http.StatusMethodNotAllowed {
		method := http.MethodGet
		if strings.Contains(r.URL.Path, ":") { // what has a verb
			method = http.MethodPost
		}
		g.refuse(w, r, code, wrongMethod(w, method))
		return
	}
	g.refuse(w, r, http.StatusNotFound, &refusal{
		reason: pb.ErrorReason_ERROR_REASON_UNIMPLEMENTED, message: "the server does not know this path: " + pathOpenAPI + " has all that it knows",
	})
}

func wrongMethod(w http.ResponseWriter, method string) *refusal {
	w.Header().Set("Allow", method)
	return &refusal{reason: pb.ErrorReason_ERROR_REASON_UNIMPLEMENTED, message: "this path takes " + method}
}

// refuse answers a request that never became a call.
func (g *gateway) refuse(w http.ResponseWriter, r *http.Request, code int, why *refusal) {
	g.core.tellRefusal(r.Context(), callHTTP, nil, why, 0)
	writeStatus(w, code, why.GRPCStatus())
}

// writeStatus writes a google.rpc.Status, and what HTTP has headers for.
func writeStatus(w http.ResponseWriter, code int, st *status.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	for _, d := range st.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			h.Set("Retry-After", retryAfter(retry.GetRetryDelay().AsDuration()))
		}
	}
	text, err := jsonForm{}.Marshal(st.Proto())
	if err != nil { // its texts are printable and its details are known
		code, text = http.StatusInternalServerError, []byte(`{"code":13,"message":"internal error"}`)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text) // a caller that has gone misses nothing
}

// retryAfter is a time in whole seconds, rounded up, as the header has it.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
