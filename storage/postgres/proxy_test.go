package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// proxy stands between a pool and its server and cuts connections at a message of the
// protocol, in either direction.
type proxy struct{ *wire.Proxy }

func newProxy(t testing.TB) *proxy {
	t.Helper()
	p := &proxy{wire.Through(1)}
	t.Cleanup(p.Close)
	return p
}

// dial makes a pool go through the proxy.
func (p *proxy) dial(c *pgxpool.Config) { c.ConnConfig.DialFunc = p.Dial }

// cutAfter lets n whole messages pass and then cuts the connection; sticky lets nobody get
// through until healed.
func (p *proxy) cutAfter(n int, toServer, sticky bool) {
	side := wire.ToClient
	if toServer {
		side = wire.ToServer
	}
	p.CutAt(wire.Cut{Side: side, After: n, Stay: sticky})
}

// heal lets everything through, and reports whether a connection was cut.
func (p *proxy) heal() (fired bool) { return p.Heal() }

func (p *proxy) delayAnswers(d time.Duration) { p.Latency(d) }
