package bench

import (
	"context"
	"fmt"
	"io"
	"time"
)

// IdleRun is what a server uses whose clients ask nothing.
type IdleRun struct {
	Machine []string      `json:"machine"`
	Clients int           `json:"clients"`
	Over    time.Duration `json:"over_ns"`
	// Shares of one core. What could not be told is -1.
	Server   float64 `json:"server_share"`
	Postgres float64 `json:"postgres_share"`
	// Memory of the server's process in bytes.
	Memory int64 `json:"memory"`
}

const (
	idleClients = 8
	idleGoal    = 0.005
)

// Idle lets clients connect, each with an open session, and measures what is used while
// they ask nothing. It uses a PostgreSQL of its own, whatever the options say.
func Idle(ctx context.Context, o Options, d time.Duration) (r *IdleRun, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx, d)
	defer cancel()
	c := &cluster{}
	defer func() { err = o.cleared(ctx, err, c.close()) }()
	db, err := c.open(ctx, "", ownSettings())
	if err != nil {
		return nil, err
	}
	v, err := serve(ctx, o.Program, db.url)
	if v != nil {
		c.later(v.close)
	}
	if err != nil {
		return nil, err
	}
	for i := range idleClients {
		x := &service{addr: v.addr}
		c.later(x.close)
		if err := x.dial(ctx, 1); err != nil {
			return nil, err
		}
		for _, event := range []func(context.Context, *service, int) (int, error){unaryEvent, sessionEvent} {
			if _, err := event(ctx, x, i); err != nil {
				return nil, err
			}
		}
	}
	if err := caughtUp(ctx, v, recordsBehind); err != nil {
		return nil, err
	}
	o.say("idle for %s", d)
	before, err := used(ctx, db, c.postmaster, v.pid())
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := pause(ctx, d); err != nil {
		return nil, err
	}
	after, err := used(ctx, db, c.postmaster, v.pid())
	if err != nil {
		return nil, err
	}
	took := time.Since(started)
	u := after.minus(before)
	r = &IdleRun{Machine: machine(c.dir), Clients: idleClients, Over: took, Server: -1, Postgres: -1, Memory: memory(v.pid())}
	if accounted() {
		r.Server, r.Postgres = float64(u.server)/float64(took.Microseconds()), float64(u.postgres)/float64(took.Microseconds())
	}
	return r, nil
}

// Text writes the report for people.
func (r *IdleRun) Text(out io.Writer) error {
	percent := func(share float64) string {
		if share < 0 {
			return "?"
		}
		return fmt.Sprintf("%.2f %%", 100*share)
	}
	_, err := fmt.Fprintf(out, "Idle with %d clients over %s: the server used %s of a core (goal: under %.1f %%, reached: %s), PostgreSQL %s; the server's process had %s in memory.\n",
		r.Clients, r.Over.Round(time.Second), percent(r.Server), 100*idleGoal, reached(r.Server >= 0 && r.Server < idleGoal), percent(r.Postgres), megabytes(r.Memory))
	return err
}
