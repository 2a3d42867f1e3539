package server

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc/peer"
)

// agedListener remembers when each connection began, for the sessions on it: a call
// knows its connection by the address of its peer and by nothing else.
type agedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l agedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &agedConn{Conn: c, addr: agedAddr{Addr: c.RemoteAddr(), since: time.Now()}}, nil
}

type agedConn struct {
	net.Conn
	addr agedAddr
}

// RemoteAddr implements net.Conn.
func (c *agedConn) RemoteAddr() net.Addr { return c.addr }

type agedAddr struct {
	net.Addr
	since time.Time
}

// connectionSince is when the call's connection began.
func connectionSince(ctx context.Context) time.Time {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(agedAddr); ok {
			return a.since
		}
	}
	return time.Now()
}

// aging says when a connection is too old for a session. The transport itself tells a
// client to open no more streams on it at age, give or take a tenth, and cuts it off
// after the grace. A session is asked to leave between the two: earlier, its next
// stream would come back over the same connection.
type aging struct{ age, grace time.Duration }

// least is the shortest time between the asking and the cutting off.
func (a aging) least() time.Duration { return a.grace - a.age/5 }

// timer fires when the session should leave, never where connections live for ever.
func (a aging) timer(ctx context.Context) *time.Timer {
	if a.age <= 0 {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	spread := time.Duration(rand.Int64N(int64(a.least()/4) + 1)) //nolint:gosec // jitter
	return time.NewTimer(time.Until(connectionSince(ctx).Add(a.age + a.age/10 + spread)))
}
