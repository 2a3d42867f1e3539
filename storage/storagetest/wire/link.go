package wire

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection: a client's half and a server's half.
type link struct {
	p              *Proxy
	client, server net.Conn
	once           sync.Once
	up, down       stream

	mu       sync.Mutex
	executes int  // asked for since the last Sync
	held     int  // answers still missing of a batch whose Sync is held back; 0: none is
	bye      bool // the client has said good-bye
	over     bool // what is written now is the last
}

// drop ends the connection on both sides.
func (l *link) drop(count *atomic.Int64) {
	l.once.Do(func() {
		l.mu.Lock()
		bye := l.bye
		l.mu.Unlock()
		if !bye {
			l.p.broken.Add(1)
		}
		if count != nil {
			count.Add(1)
		}
		_, _ = l.client.Close(), l.server.Close()
	})
}

func (l *link) end() {
	l.drop(nil)
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	delete(l.p.links, l)
}

// stream cuts a stream of bytes into messages.
type stream struct {
	startup bool // the first message has no type byte
	raw     bool // no messages: a request to cancel
	buf     []byte
}

// next is the first whole message, nil for none.
func (s *stream) next() []byte {
	if s.raw && len(s.buf) > 0 {
		m := s.buf
		s.buf = nil
		return m
	}
	head := 1
	if s.startup {
		head = 0
	}
	if len(s.buf) < head+4 {
		return nil
	}
	n := head + int(binary.BigEndian.Uint32(s.buf[head:]))
	if len(s.buf) < n {
		return nil
	}
	m := s.buf[:n:n]
	s.buf = s.buf[n:]
	if s.startup {
		s.startup = false
		s.raw = n == 16 && binary.BigEndian.Uint32(m[4:]) == 80877102
	}
	return m
}

// Types of messages that matter here.
const (
	msgParse      = 'P'
	msgQuery      = 'Q'
	msgExecute    = 'E' // of the client
	msgSync       = 'S'
	msgTerminate  = 'X'
	msgError      = 'E' // of the server
	msgComplete   = 'C'
	msgEmptyQuery = 'I'
)

var (
	flush     = []byte{'H', 0, 0, 0, 4}
	endBatch  = []byte{msgSync, 0, 0, 0, 4}
	readyIdle = []byte{'Z', 0, 0, 0, 5, 'I'}
)

// carry reads from one half, judges each message and hands it to put, which says what is
// written on the other half.
func (l *link) carry(side Side, s *stream, from, to net.Conn, put func(m []byte) []byte) {
	defer l.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if d := l.p.lag(side); d > 0 {
			time.Sleep(d)
		}
		s.buf = append(s.buf, buf[:n]...)
		var out []byte
		for m := s.next(); m != nil; m = s.next() {
			v := l.p.pass(side)
			if v.wait > 0 {
				if len(out) > 0 {
					if _, err := to.Write(out); err != nil {
						return
					}
					out = nil
				}
				time.Sleep(v.wait)
			}
			if v.cut {
				if v.torn {
					out = append(out, m[:len(m)/2]...)
				}
				_, _ = to.Write(out)
				l.drop(&l.p.cuts)
				return
			}
			out = append(out, put(m)...)
		}
		if len(out) > 0 {
			if _, err := to.Write(out); err != nil {
				return
			}
		}
		if err != nil || l.isOver() {
			return
		}
	}
}

func (l *link) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *link) toServer() {
	l.carry(ToServer, &l.up, l.client, l.server, func(m []byte) []byte {
		switch m[0] {
		case msgParse, msgQuery:
			return l.statement(m)
		case msgExecute:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.executes++
		case msgSync:
			l.mu.Lock()
			defer l.mu.Unlock()
			n := l.executes
			l.executes = 0
			if n > 0 && l.p.answersEarly() {
				l.held = n
				return flush
			}
		case msgTerminate:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.bye = true
		}
		return m
	})
}

// statement changes the text of a statement.
func (l *link) statement(m []byte) []byte {
	body := m[5:]
	var name []byte
	if m[0] == msgParse {
		end := bytes.IndexByte(body, 0)
		if end < 0 {
			return m
		}
		name, body = body[:end+1], body[end+1:]
	}
	end := bytes.IndexByte(body, 0)
	if end < 0 {
		return m
	}
	sql := string(body[:end])
	changed := l.p.change(sql)
	if changed == sql {
		return m
	}
	out := append([]byte{m[0], 0, 0, 0, 0}, name...)
	out = append(append(out, changed...), body[end:]...)
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1)) //nolint:gosec // a message
	return out
}

func (l *link) toClient() {
	l.carry(ToClient, &l.down, l.server, l.client, func(m []byte) []byte {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held == 0 {
			return m
		}
		switch m[0] {
		case msgError: // the batch has failed: nothing to be early with
			l.held = 0
			_, _ = l.server.Write(endBatch)
		case msgComplete, msgEmptyQuery:
			l.held--
			if l.held > 0 {
				break
			}
			// The client hears that all is well, and the server never hears of it.
			l.p.early.Add(1)
			l.over = true
			return append(bytes.Clone(m), readyIdle...)
		}
		return m
	})
}
