package server

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// tellRefusal counts a refused call and writes its line in the log: at info, since most
// are the caller's doing, and at warn where the service is to blame. What the request
// names is in it as far as it is short enough to be true; it was not validated.
func (c *core) tellRefusal(ctx context.Context, call string, req proto.Message, r *refusal, took time.Duration) {
	c.meters.refused(call, r)
	level := slog.LevelInfo
	if blame(r.reason) {
		level = slog.LevelWarn
	}
	if !c.log.Enabled(ctx, level) {
		return
	}
	out := append(namedIn(req), slog.String(logReason, reasonName(r.reason)), slog.Float64(logDuration, milliseconds(took)))
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		out = append(out, slog.String(logTraceID, sc.TraceID().String()))
	}
	if f := r.field(); f != "" {
		out = append(out, slog.String("field", printable(f)))
	}
	if level == slog.LevelWarn && r.cause != nil {
		out = append(out, slog.Any("error", r.cause))
	}
	c.log.LogAttrs(ctx, level, call, out...)
}

// blame reports whether a refusal is the service's fault.
func blame(r pb.ErrorReason) bool {
	switch r {
	case pb.ErrorReason_ERROR_REASON_INTERNAL, pb.ErrorReason_ERROR_REASON_UNAVAILABLE, pb.ErrorReason_ERROR_REASON_STORAGE_FULL,
		pb.ErrorReason_ERROR_REASON_SCHEMA_OUTDATED, pb.ErrorReason_ERROR_REASON_RESTORE_DETECTED, pb.ErrorReason_ERROR_REASON_OVERLOADED:
		return true
	default:
		return false
	}
}

// namedIn is what a request names.
func namedIn(req proto.Message) []slog.Attr {
	var out []slog.Attr
	add := func(name, value string) {
		if value != "" && len(value) <= maxTokenPart {
			out = append(out, slog.String(name, printable(value)))
		}
	}
	if m, ok := req.(interface{ GetNamespace() string }); ok {
		add(logNamespace, m.GetNamespace())
	}
	if m, ok := req.(interface{ GetConsumer() string }); ok {
		add(logConsumer, m.GetConsumer())
	}
	if m, ok := req.(interface{ GetEvent() *pb.Event }); ok {
		add(logSource, m.GetEvent().GetSource())
		add(logEventID, m.GetEvent().GetEventId())
		add(logEventType, m.GetEvent().GetType())
	}
	return out
}
