package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// gate stands between a server and its database. Shut, it lets nothing through either
// way: to the server, the database hangs. If this process dies, it is gone.
type gate struct {
	lis         net.Listener
	network, to string
	mu          sync.Mutex
	open        chan struct{} // closed while it is open
	conns       map[net.Conn]bool
	closed      bool
	going       sync.WaitGroup
}

// newGate listens in a directory, as PostgreSQL does in its own.
func newGate(ctx context.Context, dir string, to *pgconn.Config) (*gate, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		return nil, err
	}
	g := &gate{lis: lis, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	g.network, g.to = pgconn.NetworkAddress(to.Host, to.Port)
	close(g.open)
	g.going.Go(g.accept)
	return g, nil
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) close() error {
	g.unlock()
	g.mu.Lock()
	g.closed = true
	for c := range g.conns {
		_ = c.Close()
	}
	g.mu.Unlock()
	err := g.lis.Close()
	g.going.Wait()
	return err
}

// keep remembers a connection, to close it at the end; false: that has come.
func (g *gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = c.Close()
		return false
	}
	g.conns[c] = true
	return true
}

func (g *gate) drop(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	_ = c.Close()
}

func (g *gate) accept() {
	for {
		c, err := g.lis.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if g.keep(c) {
			g.going.Go(func() { g.carry(c) })
		}
	}
}

// carry joins a connection with one of its own to the database.
func (g *gate) carry(c net.Conn) {
	defer g.drop(c)
	g.pass()
	d, err := (&net.Dialer{}).DialContext(context.Background(), g.network, g.to)
	if err != nil || !g.keep(d) {
		return
	}
	defer g.drop(d)
	g.going.Go(func() {
		g.stream(d, c)
		_ = d.Close()
		_ = c.Close()
	})
	g.stream(c, d)
}

// stream copies until either end is closed.
func (g *gate) stream(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			g.pass()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the gate is open.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}
