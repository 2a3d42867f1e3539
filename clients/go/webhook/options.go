package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	defaultMaxBody = 26 << 20 // no provider that is known here sends more than 25 MB
	maxClaimTime   = 5 * time.Second
)

// Option changes how a [Handler] works.
type Option func(*config)

type config struct {
	log         *slog.Logger
	tolerance   *time.Duration
	patience    time.Duration
	claimTime   time.Duration
	maxBody     int64
	concurrency int
	ordering    bool
	noPayload   bool
	claim       []idemsvc.ClaimOption
	receiving   bool // nothing is claimed
	receive     []idemsvc.ReceiveOption
	consumers   int // that the receipts name
	spool       *spoolConfig
	local       *LocalFunc
}

// WithLogger logs each delivery: "received", "near_timeout" when 80 % of the provider's
// patience are used up, "answered" with the HTTP status. Default: discard.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithTolerance is how far the time of a genuine signature may be from now before the
// delivery is marked as late. It is processed all the same. Default: by provider, mostly 5
// minutes; 0: any time.
func WithTolerance(d time.Duration) Option { return func(c *config) { c.tolerance = &d } }

// WithPatience is how long the provider waits for an answer, if it is not what the table of
// providers says.
func WithPatience(d time.Duration) Option { return func(c *config) { c.patience = d } }

// WithClaimTimeout bounds how long the service is asked before it counts as away. Default:
// a quarter of the provider's patience, half of it with [NewReceiver], at most 5 s.
func WithClaimTimeout(d time.Duration) Option { return func(c *config) { c.claimTime = d } }

// WithMaxBody is the largest body that is read, in bytes; a larger one is answered 413.
// Default: 26 MiB.
func WithMaxBody(n int64) Option { return func(c *config) { c.maxBody = n } }

// WithConcurrency is how many events of one request are handled at once. Default: 1, so
// that those about one resource keep their order. [NewReceiver] does not take it: it handles
// none.
func WithConcurrency(n int) Option { return func(c *config) { c.concurrency = n } }

// WithOrdering orders the events about a resource by the provider's hint, see
// [Item.Version]: one at a time, and an older one that comes after a newer one was
// processed is skipped. Only for events that carry the full state of their resource. Those
// without a hint are processed as they come.
func WithOrdering() Option { return func(c *config) { c.ordering = true } }

// WithoutPayload keeps bodies out of the service, which is sent their hashes alone. It
// cannot show them then, and workers of what a [NewReceiver] keeps are given none.
func WithoutPayload() Option { return func(c *config) { c.noPayload = true } }

// WithClaimOptions applies to every claim, such as [idemsvc.WithLease] or
// [idemsvc.ForConsumer].
func WithClaimOptions(opts ...idemsvc.ClaimOption) Option {
	return func(c *config) { c.claim = append(c.claim, opts...) }
}

func (c *config) check(p *Provider) error {
	var errs []error
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"the patience", c.patience}, {"the claim timeout", c.claimTime}} {
		if d.d <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v and must be above 0", d.name, d.d))
		}
	}
	if c.tolerance != nil && *c.tolerance < 0 {
		errs = append(errs, fmt.Errorf("the tolerance is %v and must not be below 0", *c.tolerance))
	}
	if c.maxBody <= 0 {
		errs = append(errs, fmt.Errorf("the largest body is %d bytes and must be above 0", c.maxBody))
	}
	if c.concurrency < 1 && !c.receiving {
		errs = append(errs, fmt.Errorf("the concurrency is %d and must be at least 1", c.concurrency))
	}
	errs = append(errs, c.checkReceipts(), c.checkLocal())
	asked := &pb.ClaimEventRequest{}
	for _, o := range c.claim {
		o(asked)
	}
	if asked.GetWait() != nil {
		errs = append(errs, errors.New("a request can bring many events, and those of a batch do not wait: leave WithWait out"))
	}
	if asked.GetOrdering() != nil || asked.GetDelivery() != nil {
		errs = append(errs, errors.New("ordering and delivery are taken from the request: leave WithOrdering and WithDelivery out of the claim's options"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("webhook: %s: %w", p.Name(), err)
	}
	return nil
}
