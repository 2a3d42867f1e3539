package idemsvc

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// observeTimeout bounds each of the two calls of an observation.
const observeTimeout = time.Second

// Observations counts what [Client.Observe] has seen since the client was made.
type Observations struct {
	// Agreed: old code and service did, or would have done, the same.
	Agreed uint64
	// Extra: the old code processed what the service would not have let it process, or not at
	// that time. A duplicate may have had its effects twice.
	Extra uint64
	// Missed: the old code took for a duplicate what the service had never seen processed.
	// Events from before the first observation belong here, too.
	Missed uint64
	// Unanswered: the service gave no answer in time; there is nothing to compare.
	Unanswered uint64
	// Unrecorded: what the old code did could not be told to the service. Later deliveries of
	// the event may count as Missed or Extra.
	Unrecorded uint64
}

type observer struct{ agreed, extra, missed, unanswered, unrecorded atomic.Uint64 }

// Observations are the counts so far.
func (c *Client) Observations() Observations {
	return Observations{
		Agreed: c.watch.agreed.Load(), Extra: c.watch.extra.Load(), Missed: c.watch.missed.Load(),
		Unanswered: c.watch.unanswered.Load(), Unrecorded: c.watch.unrecorded.Load(),
	}
}

// Observe runs old code beside the service, for the time before the service decides: it
// claims and records, never refuses, and counts where the two disagree; see
// [Client.Observations]. Disagreements are logged; see [WithLogger].
//
// old decides by itself, as before, and says whether it processed the event (or tried to,
// with an error) or took it for a duplicate. It always runs, exactly once and under the
// caller's context. Observe returns its error and no other. The service takes one second of
// time at most before it and after it.
func (c *Client) Observe(ctx context.Context, event *Event, old func(ctx context.Context) (processed bool, err error), opts ...ClaimOption) error {
	return c.ObserveClaim(ctx, event, func(ctx context.Context, _ *ClaimAnswer) (bool, error) { return old(ctx) }, opts...)
}

// ObserveClaim is [Client.Observe] for old code that wants to see what the service answered,
// nil if that was nothing in time, or to say with which result the claim is to be completed:
// give that to [Claim.CompleteWith].
func (c *Client) ObserveClaim(
	ctx context.Context, event *Event, old func(ctx context.Context, claimed *ClaimAnswer) (processed bool, err error), opts ...ClaimOption,
) error {
	claimed, err := c.observed(ctx, event, opts)
	if err != nil || claimed.Advice() != Process {
		processed, olds := old(ctx, claimed)
		c.compare(ctx, event, claimed, err, processed || olds != nil)
		return olds
	}
	var olds error
	r := run{claim: claimed.Claim, end: observeTimeout, handle: func(ctx context.Context, _ *Claim) error {
		var processed bool
		processed, olds = old(ctx, claimed)
		c.compare(ctx, event, claimed, nil, processed || olds != nil)
		return olds
	}}
	if a, err := r.do(ctx); a.State == 0 { // nothing was told
		c.watch.unrecorded.Add(1)
		claimed.Claim.warn(ctx, "observation not recorded", err)
	}
	return olds
}

// observed asks the service, briefly.
func (c *Client) observed(ctx context.Context, event *Event, opts []ClaimOption) (*ClaimAnswer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), observeTimeout)
	defer cancel()
	return c.Claim(ctx, event, opts...)
}

// compare counts what the old code did against what the service would have let it do.
func (c *Client) compare(ctx context.Context, event *Event, claimed *ClaimAnswer, unanswered error, processed bool) {
	var what string
	switch {
	case unanswered != nil:
		c.watch.unanswered.Add(1)
		c.cfg.log.LogAttrs(ctx, slog.LevelWarn, "observation unanswered", slog.Any("error", unanswered))
		return
	case processed == (claimed.Advice() == Process):
		c.watch.agreed.Add(1)
		return
	case processed:
		c.watch.extra.Add(1)
		what = "the old code processed what the service would not have let it process now"
	default:
		c.watch.missed.Add(1)
		what = "the old code took for a duplicate what the service had not seen processed"
	}
	c.cfg.log.LogAttrs(ctx, slog.LevelWarn, "observation: "+what,
		slog.String("source", event.GetSource()), slog.String("event_id", event.GetEventId()), slog.String("outcome", claimed.GetOutcome().String()))
}
