package server

import (
	"bufio"
	"crypto/rand"
	"io"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// nonces draws the random part of tokens. It reads ahead, because a claim should not
// cost a system call for it.
type nonces struct {
	mu  sync.Mutex
	src *bufio.Reader
}

func newNonces() *nonces { return &nonces{src: bufio.NewReaderSize(rand.Reader, 4096)} }

func (n *nonces) next() idem.ID {
	n.mu.Lock()
	defer n.mu.Unlock()
	var id idem.ID
	if _, err := io.ReadFull(n.src, id[:]); err != nil {
		panic("server: no random numbers: " + err.Error())
	}
	return id
}
