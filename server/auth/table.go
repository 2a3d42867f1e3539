package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// PollInterval is how often [Table.Watch] looks at the file.
const PollInterval = 2 * time.Second

// Table answers which token is whose. It is safe for concurrent use.
type Table struct {
	path   string
	byHash atomic.Pointer[map[[32]byte]*Identity]

	mu   sync.Mutex // one reload at a time
	seen stamp
}

// stamp tells whether a file has changed.
type stamp struct {
	mod  time.Time
	size int64
}

// Load reads the table from a file.
func Load(path string) (*Table, error) {
	t := &Table{path: path}
	if err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the file again. When that fails the table stays as it is.
func (t *Table) Reload() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := t.stat()
	if err != nil {
		return err
	}
	_, byHash, err := read(t.path)
	if _, gone := errors.AsType[*fs.PathError](err); !gone {
		t.seen = now // also when it does not parse: one complaint per change
	}
	if err != nil {
		return err
	}
	t.byHash.Store(&byHash)
	return nil
}

// Watch reloads the table when the file changes, until the context ends. A file that
// cannot be read is reported and the table stays as it is.
func (t *Table) Watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.reloadIfChanged(ctx, log)
		}
	}
}

func (t *Table) reloadIfChanged(ctx context.Context, log *slog.Logger) {
	now, err := t.stat()
	if err == nil {
		t.mu.Lock()
		same := now == t.seen
		t.mu.Unlock()
		if same {
			return
		}
		err = t.Reload()
	}
	if err != nil {
		log.ErrorContext(ctx, "token table not reloaded, the old one stays in force", "error", err)
		return
	}
	log.InfoContext(ctx, "token table reloaded")
}

func (t *Table) stat() (stamp, error) {
	info, err := os.Stat(t.path)
	if err != nil {
		return stamp{}, fmt.Errorf("token table: %w", err)
	}
	return stamp{mod: info.ModTime(), size: info.Size()}, nil
}

// Identify is the identity that the token's text stands for; ok is false for an
// unknown or expired one. The text is compared by its hash alone, so that the time it
// takes tells nothing about other tokens.
func (t *Table) Identify(token string, now time.Time) (id *Identity, ok bool) {
	id = (*t.byHash.Load())[sha256.Sum256([]byte(token))]
	if id == nil || id.expired(now) {
		return nil, false
	}
	return id, true
}
