package logs

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	// delay is how long a line at info may wait for others. A write for each of them would be
	// a fifth of the server's CPU under load.
	delay = 100 * time.Millisecond
	// most is how many bytes of lines are gathered at most.
	most = 32 << 10
)

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
			g.timer = time.AfterFunc(delay, g.flush)
		} else {
			g.timer.Reset(delay)
		}
	}
	if rest, ok := bytes.CutPrefix(line, []byte(g.time)); ok {
		g.lines = append(append(g.lines, g.ts...), rest...)
	} else {
		g.lines = append(g.lines, line...)
	}
	if len(g.lines) >= most {
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
