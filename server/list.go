package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

const (
	defaultPage = 50
	listedTries = 8   // attempts that a list shows of one event
	pageExtras  = 512 // bytes of a page beside its events
)

// unservedFilter says what a filter needs.
const unservedFilter = "no index serves this filter: it needs states that all stand for unfinished work (RECEIVED, PROCESSING, FAILED_RETRYABLE, " +
	"FAILED_TERMINAL, DEAD_LETTERED, HELD, BLOCKED_LOOP), stuck, replay_failed, resource, correlation_id, or first_seen_from and first_seen_until at most 31 days apart"

// ListEvents implements the contract's method.
func (s *operations) ListEvents(ctx context.Context, req *pb.ListEventsRequest) (*pb.ListEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys, err := s.tokens.load(ctx)
	if err != nil {
		return nil, err
	}
	q := listQuery(req.GetNamespace(), req.GetFilter())
	if q.Limit = int(req.GetPageSize()); q.Limit == 0 {
		q.Limit = defaultPage
	}
	if q.After, err = keys.openPage(listBinding(req), req.GetPageToken()); err != nil {
		return nil, err
	}
	page, err := s.store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	resp := &pb.ListEventsResponse{IndexLag: durationpb.New(page.Lag), DatabaseTime: instant(page.Now)}
	next, more := page.Next, page.More
	left := replyBytes - pageExtras
	for i := range page.Views {
		x := listedEvent(&page.Views[i])
		makePrintable(x.ProtoReflect())
		if left -= proto.Size(x) + 8; left < 0 && i > 0 { // the first one always fits
			next, more = page.Cursors[i-1], true
			break
		}
		resp.Events = append(resp.Events, x)
	}
	if more {
		resp.NextPageToken = keys.sealPage(listBinding(req), next)
	}
	return resp, nil
}

// listQuery is the question that a filter asks.
func listQuery(namespace string, f *pb.EventFilter) storage.ListQuery {
	q := storage.ListQuery{
		Namespace: namespace, Consumer: f.GetConsumer(), Source: f.GetSource(), Type: f.GetType(), Correlation: f.GetCorrelationId(),
		ResourceType: f.GetResource().GetType(), ResourceID: f.GetResource().GetId(), ReplayFailed: f.GetReplayFailed(),
		Stuck: f.GetStuck(), StuckAfter: f.GetStuckAfter().AsDuration(),
		From: fromTime(f.GetFirstSeenFrom()), Until: fromTime(f.GetFirstSeenUntil()),
	}
	for _, st := range f.GetStates() {
		q.States = append(q.States, idem.State(st)) //nolint:gosec // validated
	}
	return q
}

// fromTime is a time as an instant; one that is told is never none.
func fromTime(t *timestamppb.Timestamp) idem.Instant {
	if t == nil {
		return 0
	}
	if i := idem.InstantOf(t.AsTime()); i != 0 {
		return i
	}
	return 1
}

// checkFilter refuses what no index serves.
func checkFilter(namespace string, f *pb.EventFilter) *refusal {
	q := listQuery(namespace, f)
	switch {
	case f.GetStuckAfter() != nil && (f.GetStuckAfter().AsDuration() < idem.MinStuck || f.GetStuckAfter().AsDuration() > idem.MaxStuck):
		return invalid("filter.stuck_after", "value must be between 1 s and 31 days")
	case f.GetStuckAfter() != nil && !f.GetStuck():
		return invalid("filter.stuck_after", "value is only for stuck")
	case q.From != 0 && q.Until != 0 && q.From >= q.Until:
		return invalid("filter.first_seen_until", "value must be later than first_seen_from")
	case q.Way() == storage.NoWay:
		return invalid("filter", unservedFilter)
	}
	return nil
}

// listedEvent is a list's line about an event.
func listedEvent(v *storage.View) *pb.ListedEvent {
	e := v.Event
	x := &pb.ListedEvent{
		Event: fromFacts(e.Key, &e.Facts), Processing: consumerView(v), StateSince: instant(v.Since), StandsSince: instant(v.StandsSince()),
		Deliveries: 1, Damaged: v.Damaged,
	}
	x.Event.PayloadHash, x.Event.Fingerprint = nil, nil
	if e.Claimant != "" {
		x.Owner = owner(e.Holder, e.Claimant)
	}
	for i := range v.Deliveries {
		if v.Deliveries[i].IsAnswer() {
			continue
		}
		x.Deliveries++
		if v.Deliveries[i].Disposition == idem.DispositionDuplicate {
			x.Duplicates++
		}
	}
	for _, f := range v.Effects {
		y := fromEffect(f, v.Now)
		y.Result, y.Intent, y.ResultOmitted = nil, nil, len(f.Result) > 0
		x.Processing.Effects = append(x.Processing.Effects, y)
	}
	addHistory(x, attemptViews(v))
	return x
}

// addHistory tells of the attempts, oldest first.
func addHistory(x *pb.ListedEvent, attempts []*pb.AttemptView) {
	for _, a := range attempts {
		switch a.GetEnd() {
		case pb.AttemptEnd_ATTEMPT_END_FAILED_RETRYABLE, pb.AttemptEnd_ATTEMPT_END_FAILED_TERMINAL, pb.AttemptEnd_ATTEMPT_END_LEASE_EXPIRED:
		default:
			continue
		}
		if x.Failures++; x.Failures == 1 {
			x.FirstFailedAt = a.GetEndedAt()
		}
		x.LastFailedAt = a.GetEndedAt()
	}
	omitted := max(0, len(attempts)-listedTries)
	x.Processing.Attempts, x.Processing.AttemptsOmitted = attempts[omitted:], int32(omitted) //nolint:gosec // at most 200
}

// listBinding is what a list's page token is good for.
func listBinding(req *pb.ListEventsRequest) *pb.ListEventsRequest {
	return &pb.ListEventsRequest{Namespace: req.GetNamespace(), Filter: req.GetFilter()}
}

// hashOf is the hash of a message that was valid a moment ago.
func hashOf(m proto.Message) idem.ID {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	sum := sha256.Sum256(b)
	return idem.ID(sum[:16])
}

// sealPage is the text of a page's token, which is good for what it is bound to.
func (k *tokenKeys) sealPage(bound proto.Message, c storage.Cursor) []byte {
	binding := hashOf(bound)
	b := append([]byte{tokenVersion}, binding[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At)) //nolint:gosec // the bits are read back as they are
	return k.page.seal(append(b, c.ID[:]...))
}

// openPage reads the place at which a page begins.
func (k *tokenKeys) openPage(bound proto.Message, token []byte) (c storage.Cursor, err error) {
	if len(token) == 0 {
		return c, nil
	}
	r := reader{rest: k.page.unseal(token)}
	var binding idem.ID
	r.id(&binding)
	c.At = idem.Instant(r.uint64()) //nolint:gosec // the bits as they were written
	r.id(&c.ID)
	if !r.whole() || binding != hashOf(bound) {
		return c, invalid("page_token", "value is no token of a page of this namespace and filter")
	}
	return c, nil
}
