package inbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
)

// clockSchema gives sessions that look there first a clock that can be moved, in place of
// PostgreSQL's own.
const clockSchema = `
CREATE SCHEMA clock;
CREATE TABLE clock.shift (by interval NOT NULL);
INSERT INTO clock.shift VALUES ('0');
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
	AS 'SELECT pg_catalog.clock_timestamp() + s.by FROM clock.shift s';
CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
	AS 'SELECT pg_catalog.statement_timestamp() + s.by FROM clock.shift s';`

// clockPath is the search path of such sessions.
const clockPath = "clock, pg_catalog"

// clock is the database's clock for a server under test: it runs, and can be moved on. The
// server takes a move of more than some seconds for the jump that it is, and begins a new
// epoch of fences.
type clock struct {
	t     *testing.T
	pool  *pgxpool.Pool
	moved func() // tells the server
	mu    sync.Mutex
}

func newClock(t *testing.T, pool *pgxpool.Pool, moved func()) *clock {
	t.Helper()
	if _, err := pool.Exec(t.Context(), clockSchema); err != nil {
		t.Fatal(err)
	}
	return &clock{t: t, pool: pool, moved: moved}
}

// Shows implements the server's TestClock.
func (c *clock) Shows() (now idem.Instant, frozen bool) {
	var at time.Time
	if err := c.pool.QueryRow(context.Background(), "SELECT clock.clock_timestamp()").Scan(&at); err != nil {
		c.t.Error(err)
	}
	return idem.InstantOf(at), false
}

// Advance implements the server's TestClock.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.pool.Exec(context.Background(), "UPDATE clock.shift SET by = by + $1", d); err != nil {
		c.t.Error(err)
	}
	c.moved()
}

// Set implements the server's TestClock for instants that are ahead.
func (c *clock) Set(at idem.Instant, frozen bool) {
	if frozen {
		c.t.Error("this clock does not stand still")
	}
	if now, _ := c.Shows(); at > now {
		c.Advance(at.Sub(now))
	}
}
