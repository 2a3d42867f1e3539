package memory_test

import (
	"testing"

	"github.com/idemsvc/idemsvc/storage/storagetest"
)

// TestDisputed fails where the rules in force differ from the documented semantics.
func TestDisputed(t *testing.T) {
	t.Parallel()
	storagetest.RunDisputed(t, storagetest.Memory)
}
