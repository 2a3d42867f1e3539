package server

import (
	"context"
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
)

// replay is a run of replays in the making.
type replay struct {
	*operations
	req  *pb.ReplayEventsRequest
	kind replayKind
	page *tokenKeys

	run    storage.ReplayRun
	chosen map[idem.ID]bool         // what the run is about, by what its results name
	known  map[idem.ID]storage.View // the records of the run's events, as far as they were read
	keys   map[idem.ID]idem.EventKey
	resp   *pb.ReplayEventsResponse
	left   int // bytes for results
}

// replayKind is what a run does to its events.
type replayKind interface {
	// window is the filter as it is meant.
	window(f *pb.EventFilter, now idem.Instant) *pb.EventFilter
	// eligible says which events of a page of a list are taken into the run.
	eligible(ctx context.Context, views []storage.View) ([]eligibility, error)
	// command is what is done to an event; v is its record, nil where there is none.
	command(ctx context.Context, id idem.ID, v *storage.View) (idem.Command, *idem.Error)
	// key is what is told as the event of a result.
	key(k idem.EventKey) idem.EventKey
	// world is what a dry run decides on, and under which policy.
	world(ctx context.Context, v *storage.View) (*idem.World, *idem.Policy, error)
}

// eligibility is whether an event that a filter has found is taken into the run.
type eligibility uint8

const (
	ineligible eligibility = iota
	eligible
	passedOver // what the run would do is done
)

// ReplayEvents implements the contract's method.
func (s *operations) ReplayEvents(ctx context.Context, req *pb.ReplayEventsRequest) (*pb.ReplayEventsResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys, err := s.tokens.load(ctx)
	if err != nil {
		return nil, err
	}
	r := &replay{
		operations: s, req: req, page: keys, chosen: map[idem.ID]bool{}, keys: map[idem.ID]idem.EventKey{},
		resp: &pb.ReplayEventsResponse{DryRun: req.GetDryRun()}, left: replyBytes - pageExtras,
		run: storage.ReplayRun{Namespace: req.GetNamespace(), RequestID: req.GetRequestId(), Request: selectionHash(req)},
	}
	if r.kind = (&again{r}); req.GetToConsumer() != "" {
		r.kind = &backfill{replay: r}
	}
	if req.GetDryRun() {
		err = r.dry(ctx)
	} else {
		err = r.do(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.resp.AlreadyReceived += int32(r.run.Received) //nolint:gosec // bounded by the pages of a search
	if r.run.More {
		r.resp.MoreMatch, r.resp.NextPageToken = true, keys.sealPage(replayBinding(req), r.run.Next)
	}
	return r.resp, r.nothing()
}

// selectionHash names what a run is about.
func selectionHash(req *pb.ReplayEventsRequest) idem.ID {
	return hashOf(&pb.ReplayEventsRequest{
		Selection: req.GetSelection(), MaxEvents: req.GetMaxEvents(), IncludeProcessed: req.GetIncludeProcessed(),
		ToConsumer: req.GetToConsumer(), PageToken: req.GetPageToken(),
	})
}

// do finds the run of the request, or selects its events and stores it, and carries it out.
func (r *replay) do(ctx context.Context) error {
	run, known, err := r.store.ReplayRun(ctx, r.req.GetNamespace(), r.req.GetRequestId())
	if err != nil {
		return err
	}
	if !known {
		if err := r.choose(ctx); err != nil {
			return err
		}
		if wait, ok := r.replays.take(r.req.GetNamespace(), len(r.run.Events)); !ok {
			return &refusal{
				reason: pb.ErrorReason_ERROR_REASON_OVERLOADED, retry: wait,
				message: fmt.Sprintf("at most %d events a minute are replayed in a namespace", replaysPerMinute),
			}
		}
		if run, err = r.store.StoreReplayRun(ctx, r.run); err != nil {
			return err
		}
	}
	if run.Request != r.run.Request {
		return invalid("request_id", "value names a run of another selection")
	}
	r.run = run
	if err := r.read(ctx); err != nil {
		return err
	}
	return r.carryOut(ctx)
}

// read reads the records of the run's events.
func (r *replay) read(ctx context.Context) (err error) {
	for _, t := range r.req.GetEvents().GetTargets() { // a repeat names also those that are not there
		k := keyOf(r.req.GetNamespace(), t.GetConsumer(), t.GetEvent())
		r.keys[k.ID()] = k
	}
	r.known, err = r.store.Records(ctx, r.run.Events)
	for id, v := range r.known {
		r.keys[id] = v.Event.Key
	}
	return err
}

// record is what was read of an event, nil where there is none.
func (r *replay) record(id idem.ID) *storage.View {
	v, ok := r.known[id]
	if !ok {
		return nil
	}
	return &v
}

// carryOut does the run's events, each for itself.
func (r *replay) carryOut(ctx context.Context) error {
	var cmds []idem.Command
	refused := make([]*idem.Error, len(r.run.Events))
	for i, id := range r.run.Events {
		c, no := r.kind.command(ctx, id, r.record(id))
		if refused[i] = no; no == nil {
			cmds = append(cmds, c)
		}
	}
	started := time.Now()
	results := r.store.DoAll(ctx, cmds)
	var failed error
	n := 0
	for i, id := range r.run.Events {
		if refused[i] != nil {
			_ = r.result(ctx, id, false, refused[i]) // the rules refuse it
			continue
		}
		already, err := r.answered(ctx, cmds[n], results[n], started)
		failed = errors.Join(failed, r.result(ctx, id, already, err))
		n++
	}
	if r.resp.GetStarted()+r.resp.GetAlreadyStarted()+r.resp.GetAlreadyReceived()+r.resp.GetRefused() == 0 {
		return failed
	}
	return nil
}

// answered is whether this run had done it before.
func (r *replay) answered(ctx context.Context, c idem.Command, res storage.Result, started time.Time) (already bool, err error) {
	if _, fill := c.(*idem.Receive); fill {
		a, err := decided[*idem.ReceiveAnswer](ctx, r.core, c, res, started)
		return err == nil && a.Repeated, err
	}
	a, err := decided[*idem.EndAnswer](ctx, r.core, c, res, started)
	return err == nil && a.Already, err
}

// result tells what became of one event. It returns the error of one that could not be
// reached.
func (r *replay) result(ctx context.Context, id idem.ID, already bool, err error) error {
	x := &pb.ReplayResult{Event: fromKey(r.kind.key(r.keys[id]))}
	var rule *idem.Error
	var failed error
	switch {
	case err == nil && already:
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
		if x.GetReason() == idem.ReplayReceived {
			x.Outcome, x.Reason = pb.ReplayOutcome_REPLAY_OUTCOME_ALREADY_RECEIVED, ""
			r.resp.AlreadyReceived++
			break
		}
		r.resp.Refused++
	default:
		failed = err
		r.resp.Failed++
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
	if r.resp.GetDryRun() || r.resp.GetStarted()+r.resp.GetAlreadyStarted() > 0 || r.resp.GetRefused()+r.resp.GetAlreadyReceived() == 0 {
		return nil
	}
	counts := map[string]int{}
	for _, x := range r.resp.GetResults() {
		if x.GetOutcome() == pb.ReplayOutcome_REPLAY_OUTCOME_REFUSED {
			counts[x.GetReason()]++
		}
	}
	if n := int(r.resp.GetAlreadyReceived()); n > 0 {
		counts[idem.ReplayReceived] = n
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
	return r.further(no)
}

// dry says what a run would do.
func (r *replay) dry(ctx context.Context) error {
	if err := r.choose(ctx); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	for _, id := range r.run.Events {
		v := r.record(id)
		c, no := r.kind.command(ctx, id, v)
		already := false
		if no == nil {
			w, p, err := r.kind.world(ctx, v)
			if err != nil {
				return err
			}
			d := idem.Decide(w, c, p)
			if no = d.Err; no == nil {
				a, ok := d.Answer.(*idem.EndAnswer)
				fill, _ := d.Answer.(*idem.ReceiveAnswer)
				already = ok && a.Already || fill != nil && fill.Repeated
			}
		}
		var err error
		if no != nil {
			err = no
		}
		_ = r.result(ctx, id, already, err) // the rules alone refuse it
	}
	return nil
}
