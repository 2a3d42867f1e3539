package linear_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
)

// replica is a memory store as a replica.
type replica struct{ *storage.Service }

func (replica) Broken() int64 { return 0 }

var _ linear.Replica = replica{}

func TestX(t *testing.T) {
	_ = sync.Mutex{}
	_ = context.Background
	_ = time.Second
	_ = idem.ID{}
	_ = memory.Options{}
}
