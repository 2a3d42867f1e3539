package embedded

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// tailLines is how much of the log an error about a failed start quotes.
const tailLines = 20

// serverLog passes a server's log on to a logger and remembers its end.
type serverLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	tail  []string
	phase phase
}

// phase is what the server is doing.
type phase int

const (
	starting phase = iota // what ends it is in the error of the start
	running
	stopping // sessions are ended on purpose
)

// follow reads r until it ends.
func (l *serverLog) follow(r io.ReadCloser) {
	defer func() { _ = r.Close() }()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			l.add(line)
		}
		if err != nil {
			return
		}
	}
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	l.tail = append(l.tail, line)
	if len(l.tail) > tailLines {
		l.tail = l.tail[1:]
	}
	now := l.phase
	l.mu.Unlock()

	severity, text, ok := strings.Cut(line, ":  ")
	if !ok {
		severity, text = "", line
	}
	level := slog.LevelDebug // an ERROR is the client's, who is told
	switch {
	case text == "the database system is starting up": // what our own probe for readiness is told
	case now == stopping && text == "terminating connection due to administrator command": // a session that has not noticed yet
	case severity == "WARNING":
		level = slog.LevelWarn
	case now != starting && (severity == "FATAL" || severity == "PANIC"):
		level = slog.LevelError
	}
	l.logger.Log(context.Background(), level, "postgres: "+text, "severity", severity)
}

// end is the last lines, for an error message.
func (l *serverLog) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.tail, "\n")
}

// enter says what the server is doing from now on. A start forgets the log before it.
func (l *serverLog) enter(p phase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = p
	if p == starting {
		l.tail = nil
	}
}
