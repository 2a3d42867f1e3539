package server

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// heldEvent claims an event under HOLD, records an effect, and lets the lease end.
func (f *fixture) heldEvent(t *testing.T, id string) *pb.Claim {
	t.Helper()
	req := claimOf(id)
	req.StaleClaim, req.Lease = pb.StaleClaim_STALE_CLAIM_HOLD, durationpb.New(2*time.Second)
	r, err := f.client(t, "consumer").ClaimEvent(t.Context(), req)
	if err != nil || r.GetClaim() == nil {
		t.Fatalf("%v %v", r, err)
	}
	_, err = f.client(t, "consumer").RecordSideEffect(t.Context(), &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: r.GetClaim().GetToken()},
		Phase:   &pb.RecordSideEffectRequest_Record{Record: &pb.EffectRecord{Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "payout", Result: []byte("po_1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(3 * time.Second)
	return r.GetClaim()
}

func decisionOn(id, request string) *pb.ResolveEventRequest {
	return &pb.ResolveEventRequest{
		Namespace: shop, Consumer: "billing", Event: &pb.EventRef{Source: "stripe", EventId: id}, RequestId: request, Why: "asked the bank",
		Decision: &pb.ResolveEventRequest_Retry{Retry: &pb.ResolveAsRetry{}},
	}
}

func asProcessed(id, request, result string) *pb.ResolveEventRequest {
	r := decisionOn(id, request)
	r.Decision = &pb.ResolveEventRequest_Processed{Processed: &pb.ResolveAsProcessed{Result: []byte(result), ContentType: "text/plain"}}
	return r
}

func (f *fixture) outcome(t *testing.T, req *pb.ClaimEventRequest, want pb.ClaimOutcome) *pb.ClaimEventResponse {
	t.Helper()
	r, err := f.client(t, "consumer").ClaimEvent(t.Context(), req)
	if err != nil || r.GetOutcome() != want {
		t.Fatalf("claim of %s: %v %v, want %v", req.GetEvent().GetEventId(), r, err, want)
	}
	return r
}

// O-08: a withdrawal whose owner vanished is held, never granted; it is listed with its
// age, owner and effects; an operator decides.
func TestO08_HeldListedResolved(t *testing.T) {
	t.Parallel()
	f := start(t)
	held := pb.ClaimOutcome_CLAIM_OUTCOME_HELD
	first := f.heldEvent(t, "withdrawal-1")
	second := f.heldEvent(t, "withdrawal-2")
	for range 5 {
		f.outcome(t, claimOf("withdrawal-1"), held)
	}
	f.clock.Advance(time.Hour)
	list := f.listed(t, inStates(pb.EventState_EVENT_STATE_HELD), 0)
	if len(list) != 2 {
		t.Fatalf("%d held", len(list))
	}
	for _, x := range list {
		age := f.clock.Now().Time().Sub(x.GetStandsSince().AsTime())
		e := x.GetProcessing().GetEffects()
		if age < time.Hour || age > 2*time.Hour || !strings.HasPrefix(x.GetOwner(), "consumer ") || len(e) != 1 || e[0].GetKey() != "payout" {
			t.Errorf("held for %v by %q with %v", age, x.GetOwner(), e)
		}
		if x.GetProcessing().GetHeldReason() != pb.HeldReason_HELD_REASON_LEASE_EXPIRED {
			t.Errorf("%v", x.GetProcessing().GetHeldReason())
		}
	}

	// (a) done, with a result; the last token is lost, and what it says is kept.
	ops := f.ops(t, "operator")
	r, err := ops.ResolveEvent(t.Context(), asProcessed("withdrawal-1", "d1", "po_1"))
	if err != nil || r.GetState() != pb.EventState_EVENT_STATE_PROCESSED || r.GetAlreadyResolved() {
		t.Fatalf("%v %v", r, err)
	}
	_, err = f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: first.GetToken(), Result: []byte("late")})
	if toldBy(t, err).reason != "CLAIM_LOST" {
		t.Errorf("a late completion: %v", err)
	}
	shown, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "withdrawal-1"})
	if err != nil {
		t.Fatal(err)
	}
	late := shown.GetEvents()[0].GetConsumers()[0].GetAttempts()[0].GetLateReports()
	if len(late) != 1 || string(late[0].GetCompleted().GetResult()) != "late" || late[0].GetAttempt() != 1 {
		t.Errorf("what came late: %v", late)
	}
	if dup := f.outcome(t, claimOf("withdrawal-1"), pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED); string(dup.GetExisting().GetResult()) != "po_1" {
		t.Errorf("%v", dup)
	}
	// (b) run again: a higher fence, all that was done before comes with it.
	if r, err := ops.ResolveEvent(t.Context(), decisionOn("withdrawal-2", "d2")); err != nil || r.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
		t.Fatalf("%v %v", r, err)
	}
	again := f.outcome(t, claimOf("withdrawal-2"), pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED).GetClaim()
	if again.GetFence() <= second.GetFence() || again.GetAttempt() != 2 || len(again.GetEffects()) != 1 {
		t.Errorf("%v", again)
	}
	if left := f.listed(t, inStates(pb.EventState_EVENT_STATE_HELD), 0); len(left) != 0 {
		t.Errorf("still held: %v", left)
	}
	// Who and why are in the journal.
	found := false
	store, ok := f.backend.Backend.(*memory.Store)
	if !ok {
		t.Fatal("the fixture is not over memory")
	}
	for _, e := range store.Journal() {
		found = found || e.Kind == idem.EntryResolved && e.Who == "operator" && e.Why == "asked the bank" && e.Request == "d1"
	}
	if !found {
		t.Error("the journal does not tell who decided and why")
	}
}

// A decision is carried out once, whatever happens between its repeats.
func TestP5_DecisionsAreSafeToRepeat(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	f.heldEvent(t, "e")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r, err := ops.ResolveEvent(t.Context(), decisionOn("e", "d")); err != nil || r.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	wg.Wait()
	c := f.outcome(t, claimOf("e"), pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED).GetClaim()
	if c.GetRound() != 2 {
		t.Errorf("round %d", c.GetRound())
	}
	if r, err := ops.ResolveEvent(t.Context(), decisionOn("e", "d")); err != nil || !r.GetAlreadyResolved() || r.GetState() != pb.EventState_EVENT_STATE_RECEIVED {
		t.Errorf("%v %v", r, err)
	}
	f.stillMine(t, c.GetToken())
	if _, err := ops.ResolveEvent(t.Context(), asProcessed("e", "d", "x")); toldBy(t, err) != (told{codes.FailedPrecondition, "NOT_RESOLVABLE", "request_id"}) {
		t.Errorf("another decision under one request: %v", err)
	}
	if _, err := ops.ResolveEvent(t.Context(), asProcessed("e", "d2", "x")); toldBy(t, err) != (told{codes.FailedPrecondition, "NOT_RESOLVABLE", "decision"}) {
		t.Errorf("a live claim: %v", err)
	}
	if _, err := ops.ResolveEvent(t.Context(), decisionOn("missing", "d")); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
	for field, change := range map[string]func(*pb.ResolveEventRequest){
		"why":        func(r *pb.ResolveEventRequest) { r.Why = " " },
		"request_id": func(r *pb.ResolveEventRequest) { r.RequestId = "" },
		"decision":   func(r *pb.ResolveEventRequest) { r.Decision = nil },
		"event":      func(r *pb.ResolveEventRequest) { r.Event = nil },
		"consumer":   func(r *pb.ResolveEventRequest) { r.Consumer = "" },
		"processed.result": func(r *pb.ResolveEventRequest) {
			r.Decision = &pb.ResolveEventRequest_Processed{Processed: &pb.ResolveAsProcessed{Result: make([]byte, 64<<10+1)}}
		},
	} {
		r := decisionOn("e", "d3")
		change(r)
		if _, err := ops.ResolveEvent(t.Context(), r); toldBy(t, err) != (told{codes.InvalidArgument, "INVALID_ARGUMENT", field}) {
			t.Errorf("%s: %v", field, err)
		}
	}
	long := decisionOn("e", "d4")
	long.Why = strings.Repeat("y", 1025)
	if _, err := ops.ResolveEvent(t.Context(), long); toldBy(t, err).field != "why" {
		t.Errorf("%v", err)
	}
}

func TestOperatorsAloneDecide(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.heldEvent(t, "e")
	for _, caller := range []string{"reader", "consumer"} {
		if _, err := f.ops(t, caller).ResolveEvent(t.Context(), decisionOn("e", "d")); toldBy(t, err).reason != "PERMISSION_DENIED" {
			t.Errorf("%s: %v", caller, err)
		}
		if _, err := f.ops(t, caller).ReplayEvents(t.Context(), replayOf("r", "e")); toldBy(t, err).reason != "PERMISSION_DENIED" {
			t.Errorf("%s: %v", caller, err)
		}
	}
	r := decisionOn("e", "d")
	r.Namespace = "other-live"
	if _, err := f.ops(t, "operator").ResolveEvent(t.Context(), r); toldBy(t, err).reason != "UNKNOWN_NAMESPACE" {
		t.Errorf("%v", err)
	}
}

// An effect of unknown outcome is settled by a person; one that is done is done again only
// when a person says so.
func TestSideEffectsAreResolved(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	c := f.claimed(t, "e")
	begin := func(id string) *pb.RecordSideEffectResponse {
		t.Helper()
		r, err := f.client(t, "consumer").RecordSideEffect(t.Context(), &pb.RecordSideEffectRequest{
			Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: c.GetToken()},
			Phase: &pb.RecordSideEffectRequest_Begin{Begin: &pb.EffectBegin{
				Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "charge", BeginId: id, OnUnknown: pb.OnUnknown_ON_UNKNOWN_HOLD, Lease: durationpb.New(time.Second),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	resolve := func(request string, change func(*pb.ResolveSideEffectRequest)) (*pb.ResolveSideEffectResponse, error) {
		r := &pb.ResolveSideEffectRequest{
			Namespace: shop, Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "charge", Consumer: "billing", Event: &pb.EventRef{Source: "stripe", EventId: "e"},
			RequestId: request, Why: "asked the bank",
		}
		change(r)
		return ops.ResolveSideEffect(t.Context(), r)
	}
	done := func(r *pb.ResolveSideEffectRequest) {
		r.Decision = &pb.ResolveSideEffectRequest_Done{Done: &pb.ResolveEffectDone{Result: []byte("ch_1")}}
	}
	notDone := func(r *pb.ResolveSideEffectRequest) { r.Decision = &pb.ResolveSideEffectRequest_NotDone{} }
	redo := func(r *pb.ResolveSideEffectRequest) { r.Decision = &pb.ResolveSideEffectRequest_Redo{} }

	first := begin("b1")
	if _, err := resolve("d0", done); toldBy(t, err).reason != "NOT_RESOLVABLE" {
		t.Errorf("while it is under way: %v", err)
	}
	f.clock.Advance(2 * time.Second)
	if r := begin("b2"); r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_OUTCOME_UNKNOWN {
		t.Fatalf("%v", r)
	}
	if r, err := resolve("d1", notDone); err != nil || r.GetState() != pb.EffectState_EFFECT_STATE_NOT_DONE {
		t.Fatalf("%v %v", r, err)
	}
	second := begin("b3")
	if second.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_PERFORM || second.GetDownstreamIdempotencyKey() != first.GetDownstreamIdempotencyKey() {
		t.Fatalf("%v", second)
	}
	f.clock.Advance(2 * time.Second)
	for i := range 2 {
		if r, err := resolve("d2", done); err != nil || r.GetState() != pb.EffectState_EFFECT_STATE_DONE || r.GetAlreadyResolved() != (i == 1) {
			t.Fatalf("%v %v", r, err)
		}
	}
	if r := begin("b4"); r.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_ALREADY_DONE || string(r.GetResult()) != "ch_1" {
		t.Fatalf("%v", r)
	}
	if _, err := resolve("d3", notDone); toldBy(t, err) != (told{codes.FailedPrecondition, "NOT_RESOLVABLE", "decision"}) {
		t.Errorf("%v", err)
	}
	if r, err := resolve("d4", redo); err != nil || r.GetGeneration() != 2 {
		t.Fatalf("%v %v", r, err)
	}
	third := begin("b5")
	if third.GetOutcome() != pb.EffectOutcome_EFFECT_OUTCOME_PERFORM || third.GetDownstreamIdempotencyKey() == first.GetDownstreamIdempotencyKey() {
		t.Errorf("%v", third)
	}
	if _, err := resolve("d5", func(r *pb.ResolveSideEffectRequest) { done(r); r.Key = "other" }); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
	if _, err := resolve("d5", func(r *pb.ResolveSideEffectRequest) { done(r); r.Event = nil }); toldBy(t, err).field != "event" {
		t.Errorf("%v", err)
	}
}

func replayOf(request string, ids ...string) *pb.ReplayEventsRequest {
	sel := &pb.ReplaySelection{}
	for _, id := range ids {
		sel.Targets = append(sel.Targets, &pb.ReplayTarget{Consumer: "billing", Event: &pb.EventRef{Source: "stripe", EventId: id}})
	}
	return &pb.ReplayEventsRequest{Namespace: shop, RequestId: request, Why: "mended", Selection: &pb.ReplayEventsRequest_Events{Events: sel}}
}

func replaying(id string) *pb.ClaimEventRequest {
	r := claimOf(id)
	r.AcceptReplay = true
	return r
}

// O-15: each replay gives one new grant, however often its request is repeated, and a
// replay that would do nothing is refused.
func TestO15_EveryReplayGivesAGrant(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	granted := pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED
	f.failed(t, "e")
	fail := func(c *pb.Claim) {
		t.Helper()
		if _, err := f.client(t, "consumer").FailEvent(t.Context(), &pb.FailEventRequest{Token: c.GetToken(), Error: &pb.ProcessingError{Code: "c", Kind: 2}}); err != nil {
			t.Fatal(err)
		}
	}

	// In parallel, by one request and by two: one run has it.
	var mu sync.Mutex
	outcomes := map[string]int{}
	var wg sync.WaitGroup
	for _, request := range []string{"r1", "r1", "r1", "r2", "r2"} {
		wg.Go(func() {
			r, err := ops.ReplayEvents(t.Context(), replayOf(request, "e"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				outcomes[toldBy(t, err).reason]++
				return
			}
			outcomes[r.GetResults()[0].GetOutcome().String()]++
		})
	}
	wg.Wait()
	if outcomes["REPLAY_OUTCOME_STARTED"] != 1 || outcomes["REPLAY_REFUSED"]+outcomes["REPLAY_OUTCOME_ALREADY_STARTED"] != 4 {
		t.Fatalf("%v", outcomes)
	}
	f.outcome(t, claimOf("e"), pb.ClaimOutcome_CLAIM_OUTCOME_FAILED_TERMINAL) // others are told what it was settled as
	c := f.outcome(t, replaying("e"), granted).GetClaim()
	if !c.GetIsReplay() || c.GetAttempt() != 2 || c.GetRound() != 2 {
		t.Errorf("%v", c)
	}
	f.outcome(t, replaying("e"), pb.ClaimOutcome_CLAIM_OUTCOME_IN_PROGRESS)
	fail(c)

	r, err := ops.ReplayEvents(t.Context(), replayOf("r3", "e"))
	if err != nil || r.GetStarted() != 1 {
		t.Fatalf("%v %v", r, err)
	}
	c = f.outcome(t, replaying("e"), granted).GetClaim()
	if _, err := f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: c.GetToken(), Result: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	if r, err := ops.ReplayEvents(t.Context(), replayOf("r3", "e")); err != nil || r.GetAlreadyStarted() != 1 || r.GetStarted() != 0 {
		t.Errorf("a repeat of the last request: %v %v", r, err)
	}
	f.outcome(t, replaying("e"), pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED)

	// Done: refused, unless it is asked for.
	_, err = ops.ReplayEvents(t.Context(), replayOf("r4", "e"))
	if got := toldBy(t, err); got.reason != "REPLAY_REFUSED" || !strings.Contains(err.Error(), "ALREADY_PROCESSED") {
		t.Errorf("%v", err)
	}
	forced := replayOf("r5", "e")
	forced.IncludeProcessed = true
	if r, err := ops.ReplayEvents(t.Context(), forced); err != nil || r.GetStarted() != 1 {
		t.Fatalf("%v %v", r, err)
	}
	c = f.outcome(t, replaying("e"), granted).GetClaim()
	if _, err := ops.ReplayEvents(t.Context(), replayOf("r6", "e")); toldBy(t, err).reason != "REPLAY_REFUSED" {
		t.Errorf("two live claims: %v", err)
	}
	f.stillMine(t, c.GetToken())
	v, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "e"})
	if err != nil || v.GetEvents()[0].GetConsumers()[0].GetReplays() != 3 {
		t.Errorf("%v %v", v, err)
	}
}

// O-15: however often the same event dies and is replayed, by requests that come twice at the
// same time and by others: one request starts the run, and a repeat of it says so, then and
// ever after. One that was refused has started nothing, then or later, unless it is made
// again while the event is finished.
func TestO15_EachReplayBelongsToItsRequest(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	f.failed(t, "e")
	replay := func(request string) (outcome, reason string) {
		r, err := ops.ReplayEvents(t.Context(), replayOf(request, "e"))
		if err != nil {
			x := toldBy(t, err)
			return x.reason, err.Error()
		}
		x := r.GetResults()[0]
		if n := r.GetStarted() + r.GetAlreadyStarted(); n != 1 || len(r.GetResults()) != 1 {
			t.Errorf("%s: %v", request, r)
		}
		return x.GetOutcome().String(), x.GetReason()
	}
	const started, already, refused = "REPLAY_OUTCOME_STARTED", "REPLAY_OUTCOME_ALREADY_STARTED", "REPLAY_REFUSED"
	var won []string
	for round := range 4 {
		requests := []string{fmt.Sprint("a", round), fmt.Sprint("b", round)}
		got := map[string]map[string]int{requests[0]: {}, requests[1]: {}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				request := requests[i%2]
				outcome, _ := replay(request)
				mu.Lock()
				defer mu.Unlock()
				got[request][outcome]++
			})
		}
		wg.Wait()
		winner, loser := requests[0], requests[1]
		if got[winner][started] == 0 {
			winner, loser = loser, winner
		}
		if got[winner][started] != 1 || got[winner][already] != 2 || got[loser][refused] != 3 {
			t.Fatalf("round %d: %v", round, got)
		}
		won = append(won, winner)
		if outcome, reason := replay(loser); outcome != refused || !strings.Contains(reason, "REPLAY_RUNNING") {
			t.Errorf("round %d: the other request, while the run waits: %s, %s", round, outcome, reason)
		}
		c := f.outcome(t, replaying("e"), pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED).GetClaim()
		if !c.GetIsReplay() || c.GetAttempt() != int32(round+2) || c.GetRound() != int32(round+2) {
			t.Errorf("round %d: %v", round, c)
		}
		if _, err := f.client(t, "consumer").FailEvent(t.Context(), &pb.FailEventRequest{Token: c.GetToken(), Error: &pb.ProcessingError{Code: "c", Kind: 2}}); err != nil {
			t.Fatal(err)
		}
		for _, request := range won { // it is finished, and none of them starts it again
			if outcome, _ := replay(request); outcome != already {
				t.Errorf("round %d: %s once more: %s", round, request, outcome)
			}
		}
		f.outcome(t, replaying("e"), pb.ClaimOutcome_CLAIM_OUTCOME_FAILED_TERMINAL)
		v, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "e"})
		if err != nil || v.GetEvents()[0].GetConsumers()[0].GetReplays() != int32(round+1) {
			t.Errorf("round %d: %v %v", round, v, err)
		}
	}
}

// O-16: what had been done before comes with a replay, however much later it is.
func TestO16_AReplayKnowsWhatWasDone(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.claimed(t, "e")
	_, err := f.client(t, "consumer").RecordSideEffect(t.Context(), &pb.RecordSideEffectRequest{
		Subject: &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: c.GetToken()},
		Phase:   &pb.RecordSideEffectRequest_Record{Record: &pb.EffectRecord{Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "mail", Result: []byte("m_1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.client(t, "consumer").FailEvent(t.Context(), &pb.FailEventRequest{Token: c.GetToken(), Error: &pb.ProcessingError{Code: "c", Kind: 2}}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(20 * 24 * time.Hour)
	if r, err := f.ops(t, "operator").ReplayEvents(t.Context(), replayOf("r", "e")); err != nil || r.GetStarted() != 1 {
		t.Fatalf("%v %v", r, err)
	}
	again := f.outcome(t, replaying("e"), pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED).GetClaim()
	if len(again.GetEffects()) != 1 || string(again.GetEffects()[0].GetResult()) != "m_1" || !again.GetIsReplay() {
		t.Errorf("%v", again)
	}
}

func TestManyAreReplayedByAFilter(t *testing.T) {
	t.Parallel()
	f := start(t)
	ops := f.ops(t, "operator")
	for i := range 7 {
		f.failed(t, fmt.Sprint("e", i))
	}
	f.claimed(t, "live")
	req := &pb.ReplayEventsRequest{
		Namespace: shop, RequestId: "r1", Why: "mended", MaxEvents: 5, DryRun: true,
		Selection: &pb.ReplayEventsRequest_Filter{Filter: inStates(pb.EventState_EVENT_STATE_FAILED_TERMINAL, pb.EventState_EVENT_STATE_PROCESSING)},
	}
	r, err := ops.ReplayEvents(t.Context(), req)
	if err != nil || r.GetStarted() != 5 || !r.GetMoreMatch() || !r.GetDryRun() || len(r.GetResults()) != 5 {
		t.Fatalf("%v %v", r, err)
	}
	if left := f.listed(t, inStates(pb.EventState_EVENT_STATE_FAILED_TERMINAL), 0); len(left) != 7 {
		t.Fatalf("the dry run changed something: %v", left)
	}
	req.DryRun = false
	if r, err = ops.ReplayEvents(t.Context(), req); err != nil || r.GetStarted() != 5 || !r.GetMoreMatch() {
		t.Fatalf("%v %v", r, err)
	}
	// The same request is the same run, though the filter finds others by now.
	if r, err = ops.ReplayEvents(t.Context(), req); err != nil || r.GetStarted() != 0 || r.GetAlreadyStarted() != 5 {
		t.Fatalf("%v %v", r, err)
	}
	for _, x := range r.GetResults() {
		if x.GetEvent().GetConsumer() != "billing" || x.GetEvent().GetEventId() == "" {
			t.Errorf("%v", x)
		}
	}
	req.MaxEvents = 6
	if _, err = ops.ReplayEvents(t.Context(), req); toldBy(t, err) != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "request_id"}) {
		t.Errorf("another selection: %v", err)
	}
	req.RequestId = "r2"
	if r, err = ops.ReplayEvents(t.Context(), req); err != nil || r.GetStarted() != 2 || r.GetMoreMatch() {
		t.Fatalf("%v %v", r, err)
	}
	req.RequestId = "r3"
	if _, err = ops.ReplayEvents(t.Context(), req); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("nothing is left: %v", err)
	}
}

// One event that cannot be replayed fails alone, and says why.
func TestP11_OneRefusedReplayFailsAlone(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.failed(t, "dead")
	f.claimed(t, "live")
	req := replayOf("r", "missing", "dead", "live")
	for _, dry := range []bool{true, false} {
		req.DryRun = dry
		r, err := f.ops(t, "operator").ReplayEvents(t.Context(), req)
		if err != nil || r.GetSelected() != 3 || r.GetStarted() != 1 || r.GetRefused() != 2 {
			t.Fatalf("%v %v", r, err)
		}
		for i, want := range []string{"NOT_FOUND", "", "NOT_FINISHED"} {
			if got := r.GetResults()[i].GetReason(); got != want {
				t.Errorf("dry run %v: %v: %q, want %q", dry, r.GetResults()[i].GetEvent(), got, want)
			}
		}
	}
	if _, err := f.ops(t, "operator").ReplayEvents(t.Context(), replayOf("r2", "missing")); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
}

func TestReplaysAreLimited(t *testing.T) {
	t.Parallel()
	f := start(t)
	now := time.Unix(1_800_000_000, 0)
	l := newLimiter(100, time.Minute)
	l.now = func() time.Time { return now }
	if _, ok := l.take("a", 90); !ok {
		t.Error("the first 90 are refused")
	}
	if wait, ok := l.take("a", 40); ok || wait != 18*time.Second {
		t.Errorf("30 too many: %v %v", wait, ok)
	}
	if _, ok := l.take("b", 100); !ok {
		t.Error("another namespace has a limit of its own")
	}
	now = now.Add(18 * time.Second)
	if wait, ok := l.take("a", 40); !ok {
		t.Errorf("after the wait: %v", wait)
	}

	f.failed(t, "e")
	f.failed(t, "f")
	c, err := newCore(&Config{Store: f.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := &operations{core: c, replays: newLimiter(1, time.Minute)}
	ctx := withIdentity(t.Context(), auth.NewIdentity("operator", auth.Operator, shop))
	_, err = s.ReplayEvents(ctx, replayOf("r", "e", "f"))
	if r, ok := errors.AsType[*refusal](err); !ok || r.reason != pb.ErrorReason_ERROR_REASON_OVERLOADED || r.retry <= 0 {
		t.Errorf("%v", err)
	}
	if left := f.listed(t, inStates(pb.EventState_EVENT_STATE_FAILED_TERMINAL), 0); len(left) != 2 {
		t.Errorf("a refused run started something: %v", left)
	}
}
