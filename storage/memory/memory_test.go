package memory_test

import (
	"testing"

	"github.com/idemsvc/idemsvc/storage/storagetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Memory)
}
