package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// backfillWindow is how far back a backfill looks where nothing is said.
const backfillWindow = 7 * 24 * time.Hour

// backfill is a run that has another consumer work on events which the service has. Its
// events are the records that they are taken from.
type backfill struct {
	*replay
	has   map[idem.ID]storage.View // what the consumer has of the run's events, for a dry run
	rules *idem.Rulebook
}

func (b *backfill) window(f *pb.EventFilter, now idem.Instant) *pb.EventFilter {
	w, _ := proto.Clone(f).(*pb.EventFilter)
	if w.GetFirstSeenUntil() == nil {
		w.FirstSeenUntil = timestamppb.New(now.Time().Add(time.Microsecond)) // with what came just now
	}
	if w.GetFirstSeenFrom() == nil {
		w.FirstSeenFrom = timestamppb.New(w.GetFirstSeenUntil().AsTime().Add(-backfillWindow))
	}
	return w
}

func (b *backfill) key(k idem.EventKey) idem.EventKey {
	k.Consumer = b.req.GetToConsumer()
	return k
}

func (b *backfill) eligible(ctx context.Context, views []storage.View) ([]eligibility, error) {
	ids := make([]idem.ID, len(views))
	for i := range views {
		ids[i] = b.key(views[i].Event.Key).ID()
	}
	has, err := b.store.Records(ctx, ids)
	list := make([]eligibility, len(views))
	for i, id := range ids {
		_, known := has[id]
		switch {
		case views[i].Event.Key.Consumer == b.req.GetToConsumer(): // its own record, not another's
		case known:
			list[i] = passedOver
		default: // also what cannot be read: it is refused by itself
			list[i] = eligible
		}
	}
	return list, err
}

func (b *backfill) command(ctx context.Context, _ idem.ID, v *storage.View) (idem.Command, *idem.Error) {
	if v == nil || v.Damaged {
		return nil, &idem.Error{Code: idem.CodeNotFound, Detail: "no such event"}
	}
	c := &idem.Receive{
		Key: b.key(v.Event.Key), Facts: v.Event.Facts, Holder: identityOf(ctx).Name(),
		Backfill: &idem.Backfill{RequestID: b.req.GetRequestId(), Who: identityOf(ctx).Name(), Why: b.req.GetWhy()},
	}
	if v.Event.Ordering != nil {
		o := *v.Event.Ordering
		o.Resource.Consumer = c.Key.Consumer
		c.Ordering = &o
	}
	return c, nil
}

// world is made of what the consumer has and of its policies. What its resources are is
// found out by storing it.
func (b *backfill) world(ctx context.Context, v *storage.View) (*idem.World, *idem.Policy, error) {
	if b.rules == nil {
		if err := b.look(ctx); err != nil {
			return nil, nil, err
		}
	}
	k := b.key(v.Event.Key)
	w := &idem.World{Now: v.Now}
	if has, known := b.has[k.ID()]; known {
		w.Event = has.Event
	}
	return w, b.rules.Policy(k, v.Event.Facts.Type), nil
}

func (b *backfill) look(ctx context.Context) error {
	ids := make([]idem.ID, 0, len(b.run.Events))
	for _, v := range b.known {
		ids = append(ids, b.key(v.Event.Key).ID())
	}
	has, err := b.store.Records(ctx, ids)
	if err != nil {
		return err
	}
	set, err := b.store.Policies(ctx, b.req.GetNamespace(), 0)
	if err != nil {
		return err
	}
	b.has, b.rules = has, idem.NewRulebook().With(set.Namespace, set.Version, set.Rules)
	return nil
}
