package server

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// page is a reply of GetEvent in the making. What matters most takes its bytes first;
// what finds no room is left out and marked.
type page struct {
	ctx  context.Context
	core *core
	req  *pb.GetEventRequest
	resp *pb.GetEventResponse
	left int
}

func newPage(ctx context.Context, c *core, req *pb.GetEventRequest) *page {
	return &page{ctx: ctx, core: c, req: req, resp: &pb.GetEventResponse{}, left: replyBytes}
}

// fits takes the bytes of a part if there is room for it. Texts are made printable
// first: one bad row must not break the page.
func (p *page) fits(m proto.Message) bool {
	makePrintable(m.ProtoReflect())
	return p.takes(proto.Size(m) + 16)
}

func (p *page) takes(n int) bool {
	if n > p.left {
		return false
	}
	p.left -= n
	return true
}

// add shows the records, those of one sender as one event.
func (p *page) add(views []storage.View) {
	views = slices.DeleteFunc(slices.Clone(views), func(v storage.View) bool { return v.Event == nil })
	slices.SortStableFunc(views, func(a, b storage.View) int {
		return cmp.Or(cmp.Compare(a.Event.Key.Source, b.Event.Key.Source), cmp.Compare(a.Event.Key.Consumer, b.Event.Key.Consumer))
	})
	for len(views) > 0 {
		n := 1
		for n < len(views) && views[n].Event.Key.Source == views[0].Event.Key.Source {
			n++
		}
		if !p.addEvent(views[:n]) {
			p.resp.Truncated = true
			return
		}
		views = views[n:]
	}
}

func (p *page) addEvent(views []storage.View) bool {
	oldest := slices.MinFunc(views, func(a, b storage.View) int { return cmp.Compare(a.Event.CreatedAt, b.Event.CreatedAt) }).Event
	x := &pb.EventView{
		Event: fromFacts(oldest.Key, &oldest.Facts), PayloadSize: int64(oldest.Facts.PayloadSize),
		FirstSeenAt: instant(oldest.CreatedAt), FirstDeliveryTrace: oldest.Facts.TraceParent,
	}
	if !p.fits(x) {
		return false
	}
	p.resp.Events = append(p.resp.Events, x)
	for i := range views {
		p.addConsumer(x, &views[i])
	}
	p.addDeliveries(x, views)
	p.addConsequences(x, oldest.Key.EventRef)
	if p.req.GetIncludeResults() {
		for i := range x.GetConsumers() {
			p.addResults(x.GetConsumers()[i], &views[i])
		}
	}
	if p.req.GetIncludePayload() {
		p.addPayload(x, oldest.Key.EventRef)
	}
	return true
}

func (p *page) addConsumer(x *pb.EventView, v *storage.View) {
	c := consumerView(v)
	if !p.fits(c) {
		p.resp.Truncated = true
		return
	}
	x.Consumers = append(x.Consumers, c)
	p.addEffects(c, v)
	p.half(func() { p.addAttempts(c, v) })
}

// half lets a part have at most half of what is left, so that something remains for the
// rest.
func (p *page) half(add func()) {
	rest := p.left - p.left/2
	p.left /= 2
	add()
	p.left += rest
}

func (p *page) addEffects(c *pb.ConsumerView, v *storage.View) {
	for i, f := range v.Effects {
		e := fromEffect(f, v.Now)
		e.Result, e.ResultOmitted = nil, len(f.Result) > 0
		if !p.fits(e) {
			c.EffectsOmitted = int32(len(v.Effects) - i) //nolint:gosec // at most idem.MaxEffects
			return
		}
		c.Effects = append(c.Effects, e)
	}
}

// addAttempts shows the attempts; where room is short the newest are kept.
func (p *page) addAttempts(c *pb.ConsumerView, v *storage.View) {
	c.Attempts = attemptViews(v)
	all := max(v.Event.Total, int32(len(c.GetAttempts()))) //nolint:gosec // far below
	for i, a := range slices.Backward(c.Attempts) {
		if !p.fits(a) {
			c.Attempts = c.GetAttempts()[i+1:]
			break
		}
	}
	c.AttemptsOmitted = all - int32(len(c.GetAttempts())) //nolint:gosec // far below
}

func (p *page) addDeliveries(x *pb.EventView, views []storage.View) {
	for i := range views {
		x.DeliveriesOmitted = max(x.GetDeliveriesOmitted(), views[i].DeliveriesOmitted) // each consumer has a record of each
	}
	all := deliveryViews(views, p.req.GetIncludeRejectedDeliveries())
	for i, d := range all {
		if !p.fits(d) {
			x.DeliveriesOmitted += int64(len(all) - i)
			return
		}
		x.Deliveries = append(x.Deliveries, d)
	}
}

// maxConsequences bounds the consequences that are shown of one event.
const maxConsequences = 50

// addConsequences shows the events that name this one as their cause, each once however
// many consumers it has.
func (p *page) addConsequences(x *pb.EventView, ref idem.EventRef) {
	found, err := p.core.store.Lookup(p.ctx, storage.Query{
		Namespace: ref.Namespace, Kind: storage.ByCause, Value: ref.Source, Name: ref.EventID, Limit: maxConsequences,
	})
	if err != nil {
		p.core.log.WarnContext(p.ctx, "consequences not shown", "error", err)
	}
	x.ConsequencesOmitted = found.Truncated || err != nil
	seen := map[idem.EventRef]bool{}
	for i := range found.Views {
		of := found.Views[i].Event.Key.EventRef
		if seen[of] {
			continue
		}
		seen[of] = true
		r := &pb.EventRef{Source: of.Source, EventId: of.EventID}
		if !p.fits(r) {
			x.ConsequencesOmitted = true
			return
		}
		x.Consequences = append(x.Consequences, r)
	}
}

func (p *page) addResults(c *pb.ConsumerView, v *storage.View) {
	if len(v.Event.Result) > 0 {
		if p.takes(len(v.Event.Result)) {
			c.Result = v.Event.Result
		} else {
			c.ResultOmitted = true
		}
	}
	for i, e := range c.GetEffects() {
		if result := v.Effects[i].Result; len(result) > 0 && p.takes(len(result)) {
			e.Result, e.ResultOmitted = result, false
		}
	}
}

func (p *page) addPayload(x *pb.EventView, ref idem.EventRef) {
	payload, ok, err := p.core.store.Payload(p.ctx, ref)
	switch {
	case err != nil:
		p.core.log.WarnContext(p.ctx, "payload not shown", "error", err)
		x.PayloadOmitted = true
	case !ok:
		x.PayloadGone = x.GetPayloadSize() > 0
	case p.takes(len(payload)):
		x.Event.Body = &pb.Event_Payload{Payload: payload}
	default:
		x.PayloadOmitted = true
	}
}
