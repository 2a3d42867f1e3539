// Package wire stands between clients and a PostgreSQL server and breaks what they say to
// each other: connections are cut at a message of the protocol, in either direction, also
// within a message; messages are held up; statements are changed on their way; and a
// batch's answers are let through before the server has been told to commit. It is for
// tests: what is changed on the wire needs no hook in the program under test.
package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Side is a direction of messages.
type Side uint8

// The directions.
const (
	ToServer Side = iota
	ToClient
)

// ErrDown is why nobody gets through.
var ErrDown = errors.New("wire: no connections are made for now")

// Cut says where a connection is cut.
type Cut struct {
	Side  Side
	After int  // whole messages of that side that still pass, over all connections
	Torn  bool // the first half of the next message passes, too
	Stay  bool // until Heal nobody gets through
}

// Chances are the odds of trouble for each message. The zero value makes none.
type Chances struct {
	Cut   float64
	Torn  float64       // of a cut: half of the message passes
	Delay float64       // of being held up …
	Most  time.Duration // … for at most so long
	Early float64       // of a batch being answered before it is committed, and then lost
}

// Proxy stands in front of one server. All methods are safe for concurrent use.
type Proxy struct {
	dial func(context.Context) (net.Conn, error)

	mu      sync.Mutex
	rng     *rand.Rand
	armed   bool
	cut     Cut
	fired   bool
	down    bool
	chances Chances
	latency time.Duration // of what servers say
	rewrite func(sql string) string
	links   map[*link]bool
	closed  bool

	lis net.Listener
	wg  sync.WaitGroup

	broken  atomic.Int64
	cuts    atomic.Int64
	early   atomic.Int64
	changed atomic.Int64
}

// New makes a proxy whose connections to the server are made by dial. Seed decides all
// chances.
func New(seed uint64, dial func(context.Context) (net.Conn, error)) *Proxy {
	return &Proxy{dial: dial, rng: rand.New(rand.NewPCG(seed, 0x77697265)), links: map[*link]bool{}} //nolint:gosec // chances, not secrets
}

// Through makes a proxy without a server of its own: [Proxy.Dial] makes a pool go through
// it to whatever server the pool names.
func Through(seed uint64) *Proxy { return New(seed, nil) }

// To makes a function for [New] that dials an address.
func To(network, address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) }
}

// Dial is a dial function for pgx: the connection goes through the proxy.
func (p *Proxy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := p.dial
	if dial == nil {
		dial = To(network, address)
	}
	server, err := p.connect(ctx, dial)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	near, far := net.Pipe()
	if !p.relay(far, server) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: ErrDown}
	}
	return near, nil
}

// Listen serves other processes on a Unix socket in the folder, by the name that
// PostgreSQL's clients look for. Close ends it.
func (p *Proxy) Listen(ctx context.Context, folder string) error {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(folder, ".s.PGSQL.5432"))
	if err != nil {
		return err
	}
	p.lis = lis
	p.wg.Go(func() {
		for {
			client, err := lis.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() {
				server, err := p.connect(context.Background(), p.dial)
				if err != nil || !p.relay(client, server) {
					_ = client.Close()
				}
			})
		}
	})
	return nil
}

func (p *Proxy) connect(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	p.mu.Lock()
	down := p.down || p.closed
	p.mu.Unlock()
	if down {
		return nil, ErrDown
	}
	return dial(ctx)
}

func (p *Proxy) relay(client, server net.Conn) bool {
	l := &link{p: p, client: client, server: server}
	l.up.startup = true
	p.mu.Lock()
	ok := !p.closed && !p.down
	if ok {
		p.links[l] = true
		p.wg.Add(2)
	}
	p.mu.Unlock()
	if !ok {
		_, _ = client.Close(), server.Close()
		return false
	}
	go func() { defer p.wg.Done(); l.toServer() }()
	go func() { defer p.wg.Done(); l.toClient() }()
	return true
}

// CutAt arms one cut.
func (p *Proxy) CutAt(c Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.cut, p.fired, p.down = true, c, false, false
}

// Heal lets everything through, and reports whether the cut has been made.
func (p *Proxy) Heal() (fired bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.down = false, false
	return p.fired
}

// Trouble sets the odds of trouble.
func (p *Proxy) Trouble(c Chances) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chances = c
}

// Latency holds up what servers say, once for what comes together.
func (p *Proxy) Latency(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency = d
}

// Rewrite changes the text of statements on their way to the server.
func (p *Proxy) Rewrite(f func(sql string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rewrite = f
}

// CutAll cuts all connections at hand.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.drop(&p.cuts)
	}
}

// Down lets nobody through, or everybody again.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.CutAll()
	}
}

// Broken counts the connections that ended otherwise than by their client's good-bye.
// Where it has not changed during a call, the call's batch was tried once.
func (p *Proxy) Broken() int64 { return p.broken.Load() }

// Cuts counts the connections that were cut.
func (p *Proxy) Cuts() int64 { return p.cuts.Load() }

// Early counts batches that were answered before they were committed.
func (p *Proxy) Early() int64 { return p.early.Load() }

// Changed counts statements that were changed.
func (p *Proxy) Changed() int64 { return p.changed.Load() }

// Close cuts all connections and makes no more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	if p.lis != nil {
		_ = p.lis.Close()
	}
	p.CutAll()
	p.wg.Wait()
}

// verdict is what becomes of a message.
type verdict struct {
	cut, torn bool
	wait      time.Duration
}

// pass judges one message.
func (p *Proxy) pass(side Side) (v verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c := &p.cut; {
	case p.down:
		v.cut = true
	case p.armed && c.Side == side && c.After > 0:
		c.After--
	case p.armed && c.Side == side:
		p.armed, p.fired, p.down = false, true, c.Stay
		v.cut, v.torn = true, c.Torn
	}
	if c := p.chances; !v.cut && c != (Chances{}) {
		v.cut = p.rng.Float64() < c.Cut
		v.torn = v.cut && p.rng.Float64() < c.Torn
		if p.rng.Float64() < c.Delay && c.Most > 0 {
			v.wait += rand.N(c.Most)
		}
	}
	return v
}

// lag is how long what came together is held up.
func (p *Proxy) lag(side Side) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if side == ToServer {
		return 0
	}
	return p.latency
}

func (p *Proxy) answersEarly() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chances.Early > 0 && p.rng.Float64() < p.chances.Early
}

// change is a statement as the server gets it.
func (p *Proxy) change(sql string) string {
	p.mu.Lock()
	f := p.rewrite
	p.mu.Unlock()
	if f == nil {
		return sql
	}
	out := f(sql)
	if out != sql {
		p.changed.Add(1)
	}
	return strings.ReplaceAll(out, "\x00", "")
}
