package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// logDelay is how long a line at info may wait for others. A write for each of them
	// would be a fifth of the server's CPU under load.
	logDelay = 100 * time.Millisecond
	// logBuffer is how many bytes of lines are gathered at most.
	logBuffer = 32 << 10
)

// logger makes the log of the level and form that were asked for. Lines at info are
// written together, at most logDelay late; a warning or an error is written at once, with
// all that came before it. The function that is returned writes what is left.
func (c *cli) logger(level, format string) (log *slog.Logger, flush func()) {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // checked; else: info
	o := &slog.HandlerOptions{Level: l}
	w := &gathered{to: c.stderr, time: "time=", ts: "ts="}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if format == "json" {
		w.time, w.ts = `{"time":`, `{"ts":`
		h = slog.NewJSONHandler(w, o)
	}
	return slog.New(&prompt{Handler: h, w: w}), w.flush
}

// prompt writes out what must not wait.
type prompt struct {
	slog.Handler
	w *gathered
}

func (h *prompt) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.w.flush()
	}
	return err
}

func (h *prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &prompt{Handler: h.Handler.WithAttrs(attrs), w: h.w}
}

func (h *prompt) WithGroup(name string) slog.Handler {
	return &prompt{Handler: h.Handler.WithGroup(name), w: h.w}
}

// gathered is a writer that gathers whole lines. It gives a line's time the name that the
// contract has for it: slog's own way, ReplaceAttr, is asked about every attribute and makes
// a line twice as dear.
type gathered struct {
	to       io.Writer
	time, ts string // what a line begins with, and what it shall

	mu    sync.Mutex
	lines []byte
	timer *time.Timer
}

// Write never fails: a log that cannot be written stops nobody.
func (g *gathered) Write(line []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.lines) == 0 {
		if g.timer == nil {
			g.timer = time.AfterFunc(logDelay, g.flush)
		} else {
			g.timer.Reset(logDelay)
		}
	}
	if rest, ok := bytes.CutPrefix(line, []byte(g.time)); ok {
		g.lines = append(append(g.lines, g.ts...), rest...)
	} else {
		g.lines = append(g.lines, line...)
	}
	if len(g.lines) >= logBuffer {
		g.write()
	}
	return len(line), nil
}

func (g *gathered) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.write()
}

func (g *gathered) write() {
	if len(g.lines) == 0 {
		return
	}
	g.timer.Stop()
	_, _ = g.to.Write(g.lines)
	g.lines = g.lines[:0]
}
