// Package logs writes the program's log: lines as slog makes them, gathered so that a busy
// server is not kept by writing them one by one.
package logs

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// New makes a log in slog's text or JSON form, whose lines begin with ts. Lines below a
// warning are written together, at most a tenth of a second late; a warning or an error is
// written at once, with all that came before it. The function that is returned writes what
// is left.
func New(to io.Writer, level slog.Level, json bool) (log *slog.Logger, flush func()) {
	o := &slog.HandlerOptions{Level: level}
	w := &gathered{to: to, time: "time=", ts: "ts="}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if json {
		w.time, w.ts = `{"time":`, `{"ts":`
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(&handler{Handler: h, w: w, form: formOf(json)}), w.flush
}

// Write writes one line, as [slog.Logger.LogAttrs] does without looking up who calls it.
// The attributes are not kept.
//
// To a log made by [New], lines of plain values cost a third of what slog's handlers take
// for them, which matters where there are two for each event.
func Write(ctx context.Context, log *slog.Logger, level slog.Level, msg string, attrs ...slog.Attr) {
	h := log.Handler()
	if !h.Enabled(ctx, level) {
		return
	}
	now := time.Now()
	if own, ok := h.(*handler); ok && own.plain(now, level, msg, attrs) {
		return
	}
	r := slog.NewRecord(now, level, msg, 0)
	r.AddAttrs(attrs...)
	_ = h.Handle(ctx, r) // as slog does: a log that cannot be written stops nobody
}

// handler writes out what must not wait.
type handler struct {
	slog.Handler
	w    *gathered
	form *form // of lines that need no more than their own attributes; else nil
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.w.flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), w: h.w}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), w: h.w}
}
