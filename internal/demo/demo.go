// Package demo lets a provider's storm of webhooks loose on a naive handler and on one
// that asks idemsvc, and counts in the tables of the business what each has done.
//
// Everything is real and on this machine: a PostgreSQL, idemsvc in a process of its own,
// and consumer processes that take deliveries over HTTP and are killed by their process
// ID in the middle of their work, then started again. Only the outside world is played:
// a mail and a payment service that write down what they are asked to do.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"
)

// ConsumerArgs are the arguments with which the program becomes a consumer: it then
// calls [Consume].
var ConsumerArgs = []string{"demo", "consumer"}

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed count.sql
	countSQL string
)

// Options say what happens.
type Options struct {
	// DatabaseURL is an empty database to use; what happens stays in it. Empty: a
	// PostgreSQL of its own in a temporary directory.
	DatabaseURL string
	// Program is the command of this program, without its arguments. It is run with
	// "serve" and with [ConsumerArgs], in processes of their own.
	Program []string
	// Payloads are what the events carry.
	Payloads []Payload
	// Events is the number of events. Deliveries are about twice as many.
	Events int
	// Kills is how often a consumer is killed in each run.
	Kills int
	// Consumers is the number of consumer processes.
	Consumers int
	// Seed makes the storm: which events come when, how often, and when a consumer dies.
	Seed uint64
	// Progress shows how far it is. nil: nothing is shown.
	Progress io.Writer
	// Terminal says that Progress is a terminal, where a bar can move.
	Terminal bool
}

func (o *Options) check() error {
	if len(o.Program) == 0 || len(o.Payloads) == 0 || o.Events < 1 || o.Kills < 0 || o.Consumers < 1 {
		return errors.New("demo: program, payloads, events and consumers are required")
	}
	return nil
}

// Run lets the storm loose on both handlers.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := newProgress(o.Progress, o.Terminal)
	defer p.close()
	p.say("starting PostgreSQL and idemsvc")
	s, err := openSite(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-s.server.Done():
			cancel(fmt.Errorf("idemsvc ended by itself%s", s.said.String()))
		}
	}()
	storm := plan(o.Payloads, o.Events, o.Kills, o.Seed)
	report = &Report{Seed: o.Seed, Payloads: len(o.Payloads), Consumers: o.Consumers}
	if report.Naive, err = s.run(ctx, o, storm, p, "naive handler", task{Schema: schemaNaive}); err != nil {
		return nil, err
	}
	if report.Guarded, err = s.run(ctx, o, storm, p, "with idemsvc", task{Schema: schemaGuarded, Service: s.server.Addr}); err != nil {
		return nil, err
	}
	return report, nil
}

// run lets the storm loose on one handler, and counts.
func (s *site) run(ctx context.Context, o Options, st *storm, p *progress, name string, t task) (c Column, err error) {
	begin := time.Now()
	db, err := poolOf(ctx, s.url, t.Schema, outsidePool)
	if err != nil {
		return c, err
	}
	defer db.Close()
	if err := st.publish(ctx, db); err != nil {
		return c, err
	}
	world, err := openOutside(ctx, db)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, world.close()) }()
	t.Database, t.Outside = s.url, world.url
	p.begin(name, len(st.deliveries))
	running, f, err := startFleet(ctx, o.Program, t, o.Consumers)
	if err != nil {
		return c, err
	}
	provider := newProvider(st, f, p)
	err = provider.run(running)
	// What was taken is finished: only those that were killed may have lost something.
	if failed := f.close(); failed != nil {
		return c, failed // the cause of the other, if there is one
	}
	if err != nil {
		return c, err
	}
	if err := provider.writeLog(ctx, db); err != nil {
		return c, err
	}
	c.Killed, c.Seconds = int(f.kills.Load()), time.Since(begin).Seconds()
	p.end(c.Killed)
	if err := c.count(ctx, db); err != nil {
		return c, err
	}
	if t.Service != "" && !c.Clean() {
		p.say("something went wrong" + f.said.String())
	}
	return c, nil
}
