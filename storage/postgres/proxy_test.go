package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

var errCut = errors.New("cut by the test")

// proxy stands between a pool and its server and cuts connections at a message of the
// protocol, in either direction.
type proxy struct {
	mu       sync.Mutex
	armed    bool
	toServer bool // the message to cut at is one of the client's
	left     int  // whole messages that still pass
	sticky   bool // nobody gets through until healed
	down     bool
	fired    bool
	delay    time.Duration
}

func newProxy(testing.TB, string) *proxy { return &proxy{} }

// dial makes a pool go through the proxy.
func (p *proxy) dial(c *pgxpool.Config) {
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		p.mu.Lock()
		down := p.down
		p.mu.Unlock()
		if down {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errCut}
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &cutConn{Conn: conn, p: p, out: stream{startup: true}}, nil
	}
}

// cutAfter lets n whole messages pass and then cuts the connection.
func (p *proxy) cutAfter(n int, toServer, sticky bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.toServer, p.left, p.sticky, p.fired, p.down = true, toServer, n, sticky, false, false
}

// heal lets everything through, and reports whether a connection was cut.
func (p *proxy) heal() (fired bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.down = false, false
	return p.fired
}

func (p *proxy) delayAnswers(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// pass asks for leave for one message; false means cut.
func (p *proxy) pass(toServer bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	if !p.armed || p.toServer != toServer {
		return true
	}
	if p.left == 0 {
		p.armed, p.fired, p.down = false, true, p.sticky
		return false
	}
	p.left--
	return true
}

// stream cuts a stream of bytes into messages.
type stream struct {
	startup bool // the first message has no type byte
	buf     []byte
}

// next is the first whole message, nil for none.
func (s *stream) next() []byte {
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
	s.buf, s.startup = s.buf[n:], false
	return m
}

type cutConn struct {
	net.Conn
	p   *proxy
	out stream // of the client

	reading sync.Mutex // a connection that is being closed is drained beside its reader
	in      stream     // of the server
	ready   []byte     // may be read
	cut     bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	c.out.buf = append(c.out.buf, b...)
	for m := c.out.next(); m != nil; m = c.out.next() {
		if !c.p.pass(true) {
			_ = c.Close()
			return 0, errCut
		}
		if _, err := c.Conn.Write(m); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (c *cutConn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.ready) == 0 {
		if c.cut {
			return 0, errCut
		}
		c.p.mu.Lock()
		delay := c.p.delay
		c.p.mu.Unlock()
		buf := make([]byte, 16384)
		n, err := c.Conn.Read(buf)
		if delay > 0 {
			time.Sleep(delay)
		}
		c.in.buf = append(c.in.buf, buf[:n]...)
		for m := c.in.next(); m != nil; m = c.in.next() {
			if !c.p.pass(false) {
				_ = c.Close()
				c.cut = true
				break
			}
			c.ready = append(c.ready, m...)
		}
		if err != nil && len(c.ready) == 0 {
			return 0, err
		}
	}
	n := copy(b, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}
