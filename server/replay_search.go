package server

import (
	"context"
	"encoding/base64"
	"maps"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

const replayPages = 50 // of a list, that one call looks through

// replayBinding is what a run's page token is good for.
func replayBinding(req *pb.ReplayEventsRequest) *pb.ReplayEventsRequest {
	return &pb.ReplayEventsRequest{
		Namespace: req.GetNamespace(), Selection: req.GetSelection(), IncludeProcessed: req.GetIncludeProcessed(), ToConsumer: req.GetToConsumer(),
	}
}

// choose selects the events of a new run.
func (r *replay) choose(ctx context.Context) error {
	named, ok := r.req.GetSelection().(*pb.ReplayEventsRequest_Events)
	if !ok {
		return r.search(ctx)
	}
	for _, t := range named.Events.GetTargets() {
		r.add(keyOf(r.req.GetNamespace(), t.GetConsumer(), t.GetEvent()))
	}
	if len(r.run.Events) > r.most() {
		return invalid("max_events", "value is less than the events named")
	}
	return nil
}

func (r *replay) add(k idem.EventKey) {
	if about := r.kind.key(k).ID(); !r.chosen[about] {
		id := k.ID()
		r.chosen[about], r.keys[id], r.run.Events = true, k, append(r.run.Events, id)
	}
}

// most is how many events the run may have.
func (r *replay) most() int {
	if n := int(r.req.GetMaxEvents()); n != 0 {
		return n
	}
	return defaultReplays
}

// query is the list that the filter means.
func (r *replay) query(ctx context.Context) (q storage.ListQuery, err error) {
	f := r.req.GetFilter()
	if r.req.GetToConsumer() != "" {
		info, err := r.store.Info(ctx)
		if err != nil {
			return q, err
		}
		f = r.kind.window(f, info.Now)
		if no := checkFilter(r.req.GetNamespace(), f); no != nil {
			return q, no
		}
	}
	q = listQuery(r.req.GetNamespace(), f)
	q.After, err = r.page.openPage(replayBinding(r.req), r.req.GetPageToken())
	return q, err
}

// search goes through the list of the filter.
func (r *replay) search(ctx context.Context) error {
	q, err := r.query(ctx)
	if err != nil {
		return err
	}
	for range replayPages {
		page, err := r.store.List(ctx, q)
		if err != nil {
			return err
		}
		list, err := r.kind.eligible(ctx, page.Views)
		if err != nil {
			return err
		}
		for i := range page.Views {
			switch {
			case list[i] == passedOver:
				if about := r.kind.key(page.Views[i].Event.Key).ID(); !r.chosen[about] { // once for each event, however many have it
					r.chosen[about] = true
					r.run.Received++
				}
			case list[i] == ineligible:
			case len(r.run.Events) == r.most():
				r.run.More, r.run.Next = true, q.After
				return nil
			default:
				r.add(page.Views[i].Event.Key)
			}
			q.After = page.Cursors[i]
		}
		q.After = page.Next
		if r.run.More, r.run.Next = page.More, page.Next; !page.More {
			break
		}
	}
	if len(r.run.Events) == 0 && r.run.Received == 0 {
		return r.further(&refusal{reason: pb.ErrorReason_ERROR_REASON_NOT_FOUND, message: "no event matches that could be replayed"})
	}
	return nil
}

// further adds to a refusal where another run goes on.
func (r *replay) further(no *refusal) *refusal {
	if !r.run.More {
		return no
	}
	no.message += "; more may match: go on with the page_token that the error's metadata tells as next_page_token, in base64"
	meta := map[string]string{"next_page_token": base64.StdEncoding.EncodeToString(r.page.sealPage(replayBinding(r.req), r.run.Next))}
	maps.Copy(meta, no.meta)
	no.meta = meta
	return no
}

// again is a run of replays by the consumers that have processed the events.
type again struct{ *replay }

func (r *again) window(f *pb.EventFilter, _ idem.Instant) *pb.EventFilter { return f }

func (r *again) eligible(_ context.Context, views []storage.View) ([]eligibility, error) {
	list := make([]eligibility, len(views))
	for i := range views {
		if e := views[i].Event; e.State.Finished() && !e.Replay && (r.req.GetIncludeProcessed() || e.State != idem.Processed) {
			list[i] = eligible
		}
	}
	return list, nil
}

func (r *again) command(ctx context.Context, id idem.ID, _ *storage.View) (idem.Command, *idem.Error) {
	return &idem.Replay{
		Event: id, RequestID: r.req.GetRequestId(), Unprocessed: !r.req.GetIncludeProcessed(), Who: identityOf(ctx).Name(), Why: r.req.GetWhy(),
	}, nil
}

func (r *again) key(k idem.EventKey) idem.EventKey { return k }

func (r *again) world(_ context.Context, v *storage.View) (*idem.World, *idem.Policy, error) {
	w := &idem.World{}
	if v != nil {
		w.Now, w.Event = v.Now, v.Event
	}
	return w, idem.DefaultPolicy(), nil
}
