package childproc

import (
	"strings"
	"sync"
)

// tailBytes is how much a [Tail] keeps.
const tailBytes = 2048

// Tail keeps the end of what is written to it, for the error of a child that failed. It
// is safe for concurrent use; the zero value is empty.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(len(p)-tailBytes, 0):]...)
	t.text = t.text[max(len(t.text)-tailBytes, 0):]
	return len(p), nil
}

// String is what was said last, on lines of its own; empty if nothing was.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")); text != "" {
		return "; the last that was said:\n" + text
	}
	return ""
}
