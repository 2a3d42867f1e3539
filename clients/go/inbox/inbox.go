package inbox

import (
	"context"
	"fmt"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// commitTimeout bounds a commit or a rollback, which the end of the caller's context does not
// cut short: half a commit is one whose outcome nobody knows.
const commitTimeout = 10 * time.Second

// Inbox keeps the markers of one consumer in a table of the consumer's own database, whose
// transactions are of type Tx. It is safe for concurrent use; one per process is enough.
type Inbox[Tx any] struct {
	db        Driver[Tx]
	namespace string
	consumer  string
	config
}

// Option says what the service has to do with the marker: each is a rung of a ladder, and the
// last one given holds. Without any of them the marker alone decides, and no service is asked.
type Option func(*config)

type config struct {
	table  string
	rung   rung
	client *idemsvc.Client
	after  time.Duration
}

// rung is who decides in [Inbox.Process].
type rung int

const (
	alone rung = iota
	observed
	enforced
	enforcedOrLocal
)

// WithTable names the table, "name" or "schema.name"; default: idemsvc_inbox. Several
// consumers may share one.
func WithTable(name string) Option { return func(c *config) { c.table = name } }

// Observe lets the marker decide and the service look on: it is asked and told as if it
// decided, one second before and after the work at most, and what it answers changes nothing.
// [idemsvc.Client.Observations] counts where the two disagree, and the client logs it.
func Observe(client *idemsvc.Client) Option {
	return func(c *config) { c.rung, c.client = observed, client }
}

// Enforce lets the service decide, and the marker see to it that what it granted is committed
// once. While the service is away nothing is processed, and senders are told to repeat.
func Enforce(client *idemsvc.Client) Option {
	return func(c *config) { c.rung, c.client = enforced, client }
}

// EnforceOrLocal is [Enforce] as long as the service is there. After it could not be asked for
// the given time, the marker alone decides, and [Inbox.Report] tells the service afterwards.
//
// Only what the marker knows is known then: that an event was processed. That the service
// holds it for a person, has dead-lettered it, or knows something newer is not. Events that
// are ordered therefore wait for the service.
func EnforceOrLocal(client *idemsvc.Client, after time.Duration) Option {
	return func(c *config) { c.rung, c.client, c.after = enforcedOrLocal, client, after }
}

// Over makes an inbox over a driver of one's own; [New] and pgxinbox.New are what is usually
// wanted. The error names what is wrong with the namespace, the consumer or an option.
func Over[Tx any](db Driver[Tx], namespace, consumer string, opts ...Option) (*Inbox[Tx], error) {
	b := &Inbox[Tx]{db: db, namespace: namespace, consumer: consumer, config: config{table: defaultTable}}
	for _, o := range opts {
		o(&b.config)
	}
	if err := checkPart("namespace", namespace); err != nil {
		return nil, err
	}
	if err := checkPart("consumer", consumer); err != nil {
		return nil, err
	}
	if err := checkTable(b.table); err != nil {
		return nil, err
	}
	switch {
	case b.rung != alone && b.client == nil:
		return nil, fmt.Errorf("inbox: the service is to be asked, and there is no client for it")
	case b.rung == enforcedOrLocal && b.after <= 0:
		return nil, fmt.Errorf("inbox: the time after which the service counts as away is %v, it has to be above 0", b.after)
	}
	return b, nil
}

// inTx runs f in a transaction, which is committed if f returns nil and has left no trace if
// it returns an error or does not return. After an error of the commit itself nobody knows.
func (b *Inbox[Tx]) inTx(ctx context.Context, f func(Tx) error) error {
	tx, err := b.db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("inbox: begin: %w", err)
	}
	ended := false
	defer func() {
		if !ended {
			end, cancel := ending(ctx)
			defer cancel()
			_ = b.db.Rollback(end, tx) // the connection is broken: the server rolls back
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("inbox: not committed: %w", context.Cause(ctx))
	}
	ended = true
	end, cancel := ending(ctx)
	defer cancel()
	if err := b.db.Commit(end, tx); err != nil {
		return fmt.Errorf("inbox: commit, whose outcome the next attempt finds out: %w", err)
	}
	return nil
}

func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
}
