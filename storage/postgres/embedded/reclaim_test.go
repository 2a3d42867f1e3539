package embedded

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// A server whose parent died unnoticed, so that only the lock is gone, is
// stopped before another is started.
func TestOrphanIsStopped(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "idemsvc-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	opts := Options{DataDir: filepath.Join(parent, "pg")}
	orphan, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = orphan.proc.Signal(os.Kill) })
	if err := orphan.lock.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-orphan.Done():
	default:
		t.Error("the orphan still runs")
	}
	if err := next.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
