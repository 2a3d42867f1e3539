package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	barWidth   = 24
	barRefresh = 80 * time.Millisecond
	// parts is how many lines a run has where no bar can move.
	parts = 4
)

// progress shows how far a run is: as a bar on a terminal, else in a few lines.
type progress struct {
	out      io.Writer
	terminal bool

	mu     sync.Mutex
	name   string // empty: no run
	total  int
	done   int
	killed int64
	since  time.Time
	drawn  time.Time
	open   bool // the line on the terminal is not ended
}

func newProgress(out io.Writer, terminal bool) *progress {
	if out == nil {
		out = io.Discard
	}
	return &progress{out: out, terminal: terminal}
}

// say shows what is going on where nothing can be counted.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(text + " …")
}

// begin starts a run of so many deliveries.
func (p *progress) begin(name string, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.total, p.done, p.killed, p.since, p.drawn = name, total, 0, 0, time.Now(), time.Time{}
	if p.terminal {
		p.draw()
	}
}

// step counts a delivery that was answered.
func (p *progress) step(killed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.killed = max(p.killed, killed)
	if p.terminal && time.Since(p.drawn) >= barRefresh {
		p.draw()
	}
	if !p.terminal && p.done*parts/p.total > (p.done-1)*parts/p.total && p.done < p.total {
		p.draw()
	}
}

// end closes a run in which so many consumers were killed.
func (p *progress) end(killed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = int64(killed)
	p.draw()
	p.name = ""
	p.newline()
}

// close ends a line that was left open.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newline()
}

func (p *progress) draw() {
	p.drawn = time.Now()
	took := time.Since(p.since).Seconds()
	if !p.terminal {
		p.line(fmt.Sprintf("%s: %s of %s deliveries, %s killed, %.1f s", p.name, grouped(int64(p.done)), grouped(int64(p.total)), some(p.killed, "consumer"), took))
		return
	}
	full := barWidth * p.done / p.total
	p.line(fmt.Sprintf("%-13s  %s%s  %s/%s  %d killed  %.1f s", p.name, strings.Repeat("█", full), strings.Repeat("░", barWidth-full),
		grouped(int64(p.done)), grouped(int64(p.total)), p.killed, took))
}

// line shows a line, in the place of the one before on a terminal.
func (p *progress) line(text string) {
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprint(p.out, "\r\x1b[K", text)
	p.open = true
}

func (p *progress) newline() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
