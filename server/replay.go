package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

const (
	defaultReplays   = 100
	replaysPerMinute = storage.MaxReplayed // for each namespace and server
	replayPages      = 50                  // of a list, that one call looks through
)

// replay is a run of replays in the making.
type replay struct {
	*operations
	req  *pb.ReplayEventsRequest
	hash idem.ID

	ids  []idem.ID
	keys map[idem.ID]idem.EventKey
	more bool
	resp *pb.ReplayEventsResponse
	left int // bytes for results
}

// ReplayEvents implements the contract's method.
func (s *operations) ReplayEvents(ctx context.Context, req *pb.ReplayEventsRequest) (*pb.ReplayEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	r := &replay{operations: s, req: req, hash: selectionHash(req), keys: map[idem.ID]idem.EventKey{}, resp: &pb.ReplayEventsResponse{DryRun: req.GetDryRun()}, left: replyBytes - pageExtras}
	if req.GetDryRun() {
		return r.tell(ctx)
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.carryOut(ctx); err != nil {
		return nil, err
	}
	r.resp.MoreMatch = r.more
	return r.resp, r.nothing()
}

// selectionHash names what a run is about.
func selectionHash(req *pb.ReplayEventsRequest) idem.ID {
	what := &pb.ReplayEventsRequest{Selection: req.GetSelection(), MaxEvents: req.GetMaxEvents(), IncludeProcessed: req.GetIncludeProcessed()}
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(what) // it was a valid message a moment ago
	sum := sha256.Sum256(b)
	return idem.ID(sum[:16])
}

// begin finds the run of the request, or selects its events and stores it.
func (r *replay) begin(ctx context.Context) error {
	run, known, err := r.store.ReplayRun(ctx, r.req.GetNamespace(), r.req.GetRequestId())
	if err != nil {
		return err
	}
	if !known {
		if err := r.choose(ctx); err != nil {
			return err
		}
		if wait, ok := r.replays.take(r.req.GetNamespace(), len(r.ids)); !ok {
			return &refusal{
				reason: pb.ErrorReason_ERROR_REASON_OVERLOADED, retry: wait,
				message: fmt.Sprintf("at most %d events a minute are replayed in a namespace", replaysPerMinute),
			}
		}
		run, err = r.store.StoreReplayRun(ctx, storage.ReplayRun{
			Namespace: r.req.GetNamespace(), RequestID: r.req.GetRequestId(), Request: r.hash, Events: r.ids,
		})
		if err != nil {
			return err
		}
	}
	if run.Request != r.hash {
		return invalid("request_id", "value names a run of another selection")
	}
	if r.ids = run.Events; known {
		r.keys, err = r.store.Keys(ctx, r.ids)
	}
	return err
}

// choose selects the events of a new run.
func (r *replay) choose(ctx context.Context) error {
	if named, ok := r.req.GetSelection().(*pb.ReplayEventsRequest_Events); ok {
		for _, t := range named.Events.GetTargets() {
			r.add(keyOf(r.req.GetNamespace(), t.GetConsumer(), t.GetEvent()))
		}
		if len(r.ids) > r.most() {
			return invalid("max_events", "value is less than the events named")
		}
		return nil
	}
	return r.search(ctx, func(v *storage.View) { r.add(v.Event.Key) })
}

func (r *replay) add(k idem.EventKey) {
	if id := k.ID(); r.keys[id] != k {
		r.ids, r.keys[id] = append(r.ids, id), k
	}
}

// most is how many events the run may have.
func (r *replay) most() int {
	if n := int(r.req.GetMaxEvents()); n != 0 {
		return n
	}
	return defaultReplays
}

// search goes through the list of the filter.
func (r *replay) search(ctx context.Context, found func(*storage.View)) error {
	q := listQuery(r.req.GetNamespace(), r.req.GetFilter())
	n := 0
	for range replayPages {
		page, err := r.store.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Views {
			switch v := &page.Views[i]; {
			case !r.eligible(v.Event):
			case n == r.most():
				r.more = true
				return nil
			default:
				n++
				found(v)
			}
		}
		if r.more = page.More; !page.More {
			break
		}
		q.After = page.Next
	}
	if n == 0 {
		return notReplayable(r.more)
	}
	return nil
}

func notReplayable(more bool) error {
	message := "no event matches that could be replayed"
	if more {
		message += ", among those that one call looks at: narrow the filter"
	}
	return &refusal{reason: pb.ErrorReason_ERROR_REASON_NOT_FOUND, message: message}
}

// eligible reports whether an event that a filter has found is taken into the run.
func (r *replay) eligible(e *idem.Event) bool {
	return e.State.Finished() && !e.Replay && (r.req.GetIncludeProcessed() || e.State != idem.Processed)
}

func (r *replay) command(ctx context.Context, id idem.ID) *idem.Replay {
	return &idem.Replay{
		Event: id, RequestID: r.req.GetRequestId(), Unprocessed: !r.req.GetIncludeProcessed(), Who: identityOf(ctx).Name(), Why: r.req.GetWhy(),
	}
}

// carryOut replays the run's events, each for itself.
func (r *replay) carryOut(ctx context.Context) error {
	cmds := make([]idem.Command, len(r.ids))
	for i, id := range r.ids {
		cmds[i] = r.command(ctx, id)
	}
	started := time.Now()
	results := r.store.DoAll(ctx, cmds)
	var failed error
	for i, res := range results {
		a, err := decided[*idem.EndAnswer](ctx, r.core, cmds[i], res, started)
		failed = errors.Join(failed, r.result(ctx, r.ids[i], a, err))
	}
	if r.resp.GetStarted()+r.resp.GetAlreadyStarted()+r.resp.GetRefused() == 0 {
		return failed
	}
	return nil
}

// result tells what became of one event. It returns the error of one that could not be
// reached.
func (r *replay) result(ctx context.Context, id idem.ID, a *idem.EndAnswer, err error) error {
	x := &pb.ReplayResult{Event: fromKey(r.keys[id])}
	var rule *idem.Error
	var failed error
	switch {
	case err == nil && a.Already:
		x.Outcome = pb.ReplayOutcome_REPLAY_OUTCOME_ALREADY_STARTED
		r.resp.AlreadyStarted++
	case err == nil:
		x.Outcome = pb.ReplayOutcome_REPLAY_OUTCOME_STARTED
		r.resp.Started++
	case errors.As(err, &rule):
		x.Outcome, x.Reason = pb.ReplayOutcome_REPLAY_OUTCOME_REFUSED, string(rule.Code)
		if rule.Code == idem.CodeReplayRefused && len(rule.Names) > 0 {
			x.Reason = rule.Names[0]
		}
		r.resp.Refused++
	default:
		failed = err
		x.Outcome, x.Error = pb.ReplayOutcome_REPLAY_OUTCOME_FAILED, refuse(ctx, r.log, err).item()
		x.Reason = x.GetError().GetReason()
	}
	r.resp.Selected++
	makePrintable(x.ProtoReflect())
	if size := proto.Size(x) + 8; size <= r.left {
		r.resp.Results, r.left = append(r.resp.Results, x), r.left-size
	} else {
		r.resp.ResultsOmitted++
	}
	return failed
}

// nothing is the refusal of a run that started nothing, and had started nothing before.
func (r *replay) nothing() error {
	if r.resp.GetStarted()+r.resp.GetAlreadyStarted() > 0 || r.resp.GetRefused() == 0 {
		return nil
	}
	counts := map[string]int{}
	for _, x := range r.resp.GetResults() {
		counts[x.GetReason()]++
	}
	var said []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	no := &refusal{
		reason: pb.ErrorReason_ERROR_REASON_REPLAY_REFUSED, message: "nothing was replayed: " + strings.Join(said, ", "),
		meta: map[string]string{"names": strings.Join(slices.Sorted(maps.Keys(counts)), ",")},
	}
	if len(counts) == 1 && counts[string(idem.CodeNotFound)] > 0 {
		no.reason = pb.ErrorReason_ERROR_REASON_NOT_FOUND
	}
	return no
}

// tell says what a run would do.
func (r *replay) tell(ctx context.Context) (*pb.ReplayEventsResponse, error) {
	dry := func(id idem.ID, v *storage.View) {
		w := &idem.World{}
		if v != nil {
			w.Now, w.Event = v.Now, v.Event
		}
		d := idem.Decide(w, r.command(ctx, id), idem.DefaultPolicy())
		a, _ := d.Answer.(*idem.EndAnswer)
		var err error
		if d.Err != nil {
			err = d.Err
		}
		_ = r.result(ctx, id, a, err) // the rules alone refuse it
	}
	named, ok := r.req.GetSelection().(*pb.ReplayEventsRequest_Events)
	if !ok {
		err := r.search(ctx, func(v *storage.View) {
			r.add(v.Event.Key)
			dry(v.Event.Key.ID(), v)
		})
		r.resp.MoreMatch = r.more
		return r.resp, err
	}
	for _, t := range named.Events.GetTargets() {
		k := keyOf(r.req.GetNamespace(), t.GetConsumer(), t.GetEvent())
		if r.keys[k.ID()] == k {
			continue
		}
		r.add(k)
		found, err := r.store.Events(ctx, k.Namespace, k.Source, k.EventID)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(found.Views, func(v storage.View) bool { return v.Event != nil && v.Event.Key == k })
		if i < 0 {
			dry(k.ID(), nil)
		} else {
			dry(k.ID(), &found.Views[i])
		}
	}
	return r.resp, nil
}
