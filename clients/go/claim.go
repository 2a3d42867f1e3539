package idemsvc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// ClaimOption says more about one claim.
type ClaimOption func(*pb.ClaimEventRequest)

// ForNamespace claims in another namespace than the client's.
func ForNamespace(namespace string) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Namespace = namespace }
}

// ForConsumer claims for another consumer than the client's.
func ForConsumer(consumer string) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Consumer = consumer }
}

// WithDelivery describes the arrival that led to the claim.
func WithDelivery(d *Delivery) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Delivery = d }
}

// WithLease asks for a lease of the given length, 1 s to 12 h. Policy may cap it.
func WithLease(d time.Duration) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Lease = durationpb.New(d) }
}

// WithWait waits up to 60 s for the end of another claim, and answers with its result.
func WithWait(d time.Duration) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Wait = durationpb.New(d) }
}

// WithOrdering orders events about the event's resource, which is then required.
func WithOrdering(o *Ordering) ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.Ordering = o }
}

// WantPayload asks for the stored payload with the claim.
func WantPayload() ClaimOption { return func(r *pb.ClaimEventRequest) { r.WantPayload = true } }

// AcceptReplay takes a replay that an operator asked for, if one waits.
func AcceptReplay() ClaimOption { return func(r *pb.ClaimEventRequest) { r.AcceptReplay = true } }

// HoldWhenStale leaves the event to a person when its owner vanishes without a word. It
// is stored with the first claim and not changed by later ones.
func HoldWhenStale() ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.StaleClaim = pb.StaleClaim_STALE_CLAIM_HOLD }
}

// ReclaimWhenStale lets another attempt follow when the owner vanishes without a word.
func ReclaimWhenStale() ClaimOption {
	return func(r *pb.ClaimEventRequest) { r.StaleClaim = pb.StaleClaim_STALE_CLAIM_RECLAIM }
}

// Claim asks whether the event is the caller's to process now, with a claimant made at
// random for this execution. An answer that was lost on the way is fetched with the same
// claimant. Act on the answer's advice.
//
// Correlation and cause that the event does not name are those of the context: inside a
// handler, those of the event that it handles; see [Trail].
func (c *Client) Claim(ctx context.Context, event *Event, opts ...ClaimOption) (*ClaimAnswer, error) {
	req := &pb.ClaimEventRequest{
		Namespace: c.cfg.namespace, Consumer: c.cfg.consumer, Event: event, Claimant: NewClaimant(),
	}
	for _, o := range opts {
		o(req)
	}
	req.Event = trailed(ctx, req.GetNamespace(), req.GetEvent())
	asked := time.Now()
	resp, err := c.idem.ClaimEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.claimed(resp, req.GetNamespace(), req.GetConsumer(), req.GetEvent(), asked), nil
}

func (c *Client) claimed(resp *pb.ClaimEventResponse, namespace, consumer string, event *Event, asked time.Time) *ClaimAnswer {
	a := &ClaimAnswer{ClaimEventResponse: resp}
	if resp.GetClaim() != nil {
		a.Claim = &Claim{
			Claim: resp.GetClaim(), client: c, namespace: namespace, consumer: consumer, event: event,
			firstTrace: resp.GetFirstDeliveryTrace(), previousTrace: resp.GetPreviousAttemptTrace(), causeTrace: resp.GetCauseTrace(),
		}
		a.Claim.lease.set(asked, resp.GetClaim().GetLease().AsDuration())
	}
	return a
}

// ClaimAnswer is the answer to a claim: all of the contract's, and the claim as
// something to work with.
type ClaimAnswer struct {
	*pb.ClaimEventResponse
	// Claim is nil unless the event is the caller's.
	Claim *Claim
}

// Advice is what to do: [Process], [Acknowledge] or [RepeatLater]. What this client does
// not know is RepeatLater, and so is a grant without a claim.
func (a *ClaimAnswer) Advice() Advice {
	switch advice := a.GetAdvice(); {
	case advice == Process && a.Claim != nil, advice == Acknowledge:
		return advice
	default:
		return RepeatLater
	}
}

// RetryAfter is how long to wait at least, with [RepeatLater].
func (a *ClaimAnswer) RetryAfter() time.Duration { return a.GetRetryAfter().AsDuration() }

// Answer is what to tell the sender of a delivery that is not the caller's to process. The
// error is nil if it is settled, and [ErrNotNow] otherwise.
func (a *ClaimAnswer) Answer() (*Answer, error) {
	x := a.GetExisting()
	out := &Answer{Advice: a.Advice(), State: x.GetState(), Result: x.GetResult(), ContentType: x.GetResultContentType(), Claimed: a}
	if out.Acknowledge() {
		return out, nil
	}
	out.RetryAfter = orSoon(a.RetryAfter())
	return out, fmt.Errorf("%w: %v", ErrNotNow, a.GetOutcome())
}

// String is the answer without the claim's token, which is worth a password.
func (a *ClaimAnswer) String() string {
	if a.Claim == nil {
		return fmt.Sprintf("%v, %v", a.GetOutcome(), a.Advice())
	}
	return fmt.Sprintf("%v, %v: %v", a.GetOutcome(), a.Advice(), a.Claim)
}

// Claim is the exclusive right to process an event until its lease ends. Its methods are
// safe for concurrent use and safe to call again.
type Claim struct {
	*pb.Claim
	client        *Client
	namespace     string
	consumer      string
	event         *Event
	firstTrace    string
	causeTrace    string
	previousTrace string
	claimant      string            // of an acquired one
	acquired      *pb.AcquiredEvent // nil unless a worker acquired it

	lease   lease
	busy    atomic.Bool            // a handler runs under it
	ended   atomic.Pointer[Answer] // how it was ended through its own methods
	mu      sync.Mutex
	finish  []CompleteOption
	unheard []func(context.Context) error // reports of effects that did not get through
}

// Event is the event as it was claimed. Do not change it.
func (c *Claim) Event() *Event { return c.event }

// Namespace is the namespace that the claim is in.
func (c *Claim) Namespace() string { return c.namespace }

// Consumer is the consumer that the claim is for.
func (c *Claim) Consumer() string { return c.consumer }

// Delivery is the event's first delivery with the headers that were kept, for an event that a
// [Worker] acquired; nil otherwise. Do not change it.
func (c *Claim) Delivery() *Delivery { return c.acquired.GetDelivery() }

// Ordering is the event's version, for an event that a [Worker] acquired and that is ordered;
// nil otherwise. Do not change it.
func (c *Claim) Ordering() *Ordering { return c.acquired.GetOrdering() }

// Traces are the trace contexts (W3C traceparent) of the event's first delivery and of
// its cause's, for span links. Each is empty if there is none.
func (c *Claim) Traces() (firstDelivery, cause string) { return c.firstTrace, c.causeTrace }

// PreviousTrace is the trace context (W3C traceparent) of the call that got the attempt
// before, for a span link. It is empty for a first attempt.
func (c *Claim) PreviousTrace() string { return c.previousTrace }

// String names the claim without its token, which is worth a password.
func (c *Claim) String() string {
	return fmt.Sprintf("claim on %s/%s for %s, attempt %d, fence %d", c.event.GetSource(), c.event.GetEventId(), c.consumer, c.GetAttempt(), c.GetFence())
}

// LogValue names the claim in a log, without its token.
func (c *Claim) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("namespace", c.namespace), slog.String("consumer", c.consumer),
		slog.String("source", c.event.GetSource()), slog.String("event_id", c.event.GetEventId()), slog.Int64("attempt", int64(c.GetAttempt())),
	)
}

// warn logs what no caller is told.
func (c *Claim) warn(ctx context.Context, what string, err error) {
	c.client.cfg.log.LogAttrs(ctx, slog.LevelWarn, what, append(c.LogValue().Group(), slog.Any("error", err))...)
}
