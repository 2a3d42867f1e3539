package inbox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

const (
	received     = pb.EventState_EVENT_STATE_RECEIVED
	processed    = pb.EventState_EVENT_STATE_PROCESSED
	retryable    = pb.EventState_EVENT_STATE_FAILED_RETRYABLE
	dead         = pb.EventState_EVENT_STATE_DEAD_LETTERED
	newReceipt   = pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED
	duplicate    = pb.ReceiveOutcome_RECEIVE_OUTCOME_DUPLICATE
	forged       = pb.ReceiveOutcome_RECEIVE_OUTCOME_REJECTED_SIGNATURE
	longestPause = 10 * time.Minute
)

// A payment goes from its webhook to the ledger and to a receipt, through all that can
// happen on the way: twelve steps, in the words and numbers that a user sees.
func TestStoryPaymentSucceeded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.ops.ApplyPolicies(t.Context(), &pb.ApplyPoliciesRequest{Namespace: namespace, Policies: []*pb.Policy{{
		Match: &pb.PolicyMatch{Consumer: receipts}, MaxAttempts: proto.Int32(3),
		BackoffBase: durationpb.New(longestPause), BackoffFactor: proto.Float64(2), BackoffCap: durationpb.New(time.Hour),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	story := &story{t: t, s: s, shop: newShop(s)}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a forged delivery is refused and leaves no event", story.signature},
		{"a genuine one is stored for both consumers before it is acknowledged", story.receipt},
		{"the provider's repeat is a duplicate and moves nothing", story.duplicate},
		{"what was received waits in a queue that operators see", story.queue},
		{"a worker that fails after it has booked does not book again", story.ledgerEntryOnce},
		{"another event about the same invoice finds it paid", story.alreadyPaid},
		{"one receipt goes out, whichever events tell of the invoice", story.notificationOnce},
		{"an outage of the notifier fails one consumer and not the other", story.outage},
		{"nobody tries again before the backoff is over", story.backoff},
		{"after the outage the next attempt succeeds", story.recovery},
		{"an event whose attempts are used up is dead and says why", story.deadLetter},
		{"a replay gives one more run, and its request repeated gives none", story.replay},
	} {
		began := time.Now()
		step.do()
		t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), step.name)
		if t.Failed() {
			t.Fatalf("while %s", step.name)
		}
	}
}

type story struct {
	t    *testing.T
	s    *site
	shop *shop
}

const (
	paymentSucceeded = "payment_intent.succeeded"
	invoicePaid      = "invoice.paid"
)

// delivers expects what a delivery is answered.
func (y *story) delivers(request, body, secret string, status int, outcome pb.ReceiveOutcome) {
	y.t.Helper()
	got, outcomes := y.shop.deliver(request, body, secret)
	if got != status || !slices.Equal(outcomes, []pb.ReceiveOutcome{outcome, outcome}) {
		y.t.Fatalf("%s is answered %d %v, want %d %v for both", request, got, outcomes, status, outcome)
	}
}

func first() string { return body("evt_1", paymentSucceeded, "pi_1", "in_42") }

func (y *story) signature() {
	y.delivers("req-forged", first(), "whsec_of_a_thief", http.StatusUnauthorized, forged)
	_, err := y.s.ops.GetEvent(y.t.Context(), &pb.GetEventRequest{Namespace: namespace, Source: source, EventId: "evt_1", IncludeRejectedDeliveries: true})
	if status.Code(err) != codes.NotFound {
		y.t.Errorf("a forged event is known: %v", err)
	}
	y.s.idle(ledger)
}

func (y *story) receipt() {
	sent := first()
	y.delivers("req-1", sent, signingSecret, http.StatusOK, newReceipt)
	e := y.s.event("evt_1")
	if string(e.GetEvent().GetPayload()) != sent || e.GetEvent().GetType() != paymentSucceeded || len(e.GetConsumers()) != 2 {
		y.t.Errorf("stored is %v", e)
	}
	for _, c := range e.GetConsumers() {
		if c.GetState() != received || c.GetAttemptsTotal() != 0 || c.GetRound() != 1 || c.GetNextAttemptAt() != nil {
			y.t.Errorf("%s: %v", c.GetConsumer(), c)
		}
	}
	hs := e.GetDeliveries()[0].GetDelivery().GetHeaders()
	if len(hs) != 1 || hs[0].GetName() != "User-Agent" || hs[0].GetValue() != "Stripe/1.0" {
		y.t.Errorf("headers kept, without the signature: %v", hs)
	}
}

func (y *story) duplicate() {
	before := y.s.of("evt_1", ledger)
	y.delivers("req-2", first(), signingSecret, http.StatusOK, duplicate)
	after := y.s.of("evt_1", ledger)
	if before.GetRowVersion() != after.GetRowVersion() || after.GetState() != received {
		y.t.Errorf("a duplicate moved it: %v", after)
	}
	y.timeline("evt_1", "req-1 ACCEPTED", "req-2 IGNORED_DUPLICATE", "req-forged REJECTED_SIGNATURE")
}

// timeline waits for the deliveries of an event; those of duplicates are written down
// within a second.
func (y *story) timeline(id string, want ...string) {
	y.t.Helper()
	var got []string
	y.s.await(func() bool {
		got = nil
		for _, d := range y.s.event(id).GetDeliveries() {
			got = append(got, d.GetDelivery().GetRequestId()+" "+strings.TrimPrefix(d.GetDisposition().String(), "DISPOSITION_"))
		}
		slices.Sort(got) // those of one second are written down in any order
		return slices.Equal(got, want)
	}, func() string { return "the deliveries of " + id + " are " + strings.Join(got, ", ") })
}

func (y *story) queue() {
	list := y.s.listed(received)
	slices.Sort(list)
	if !slices.Equal(list, []string{"evt_1 ledger", "evt_1 receipts"}) {
		y.t.Errorf("waiting are %q", list)
	}
	if y.shop.booked() != "" {
		y.t.Errorf("booked before a worker ran: %q", y.shop.booked())
	}
	y.shop.crash["evt_1"] = true
	y.s.work(y.shop.client.Worker(y.shop.book, idemsvc.WorkerConsumer(ledger)))
	y.s.work(y.shop.client.Worker(y.shop.notify, idemsvc.WorkerConsumer(receipts)))
}

func (y *story) ledgerEntryOnce() {
	v := y.s.until("evt_1", ledger, 1, retryable)
	a := v.GetAttempts()[0]
	if a.GetEnd() != pb.AttemptEnd_ATTEMPT_END_FAILED_RETRYABLE || a.GetError().GetCode() != "database_away" || !a.GetCounted() {
		y.t.Errorf("the first attempt: %v", a)
	}
	if due := v.GetNextAttemptAt().AsTime().Sub(a.GetEndedAt().AsTime()); due != time.Minute {
		y.t.Errorf("due after %v, want what the handler asked for", due)
	}
	y.s.advance(time.Minute)
	v = y.s.until("evt_1", ledger, 2, processed)
	if string(v.GetResult()) != "entry/1" || v.GetAttempts()[1].GetEnd() != pb.AttemptEnd_ATTEMPT_END_COMPLETED || !slices.Equal(v.GetOutputs(), []string{"invoice/in_42"}) {
		y.t.Errorf("the second attempt: %v", v)
	}
	y.effect(v, "book:in_42", pb.EffectState_EFFECT_STATE_DONE, "entry/1", 1)
	if got := y.shop.booked(); got != "in_42" {
		y.t.Errorf("the ledger holds %q", got)
	}
}

// effect expects the one side effect of an event.
func (y *story) effect(v *pb.ConsumerView, key string, state pb.EffectState, result string, attempt int32) {
	y.t.Helper()
	if len(v.GetEffects()) != 1 {
		y.t.Errorf("side effects: %v", v.GetEffects())
		return
	}
	e := v.GetEffects()[0]
	if e.GetKey() != key || e.GetState() != state || string(e.GetResult()) != result || e.GetAttempt() != attempt || e.GetGeneration() != 1 {
		y.t.Errorf("want %s %v %q after %d tries: %v", key, state, result, attempt, e)
	}
}

func (y *story) alreadyPaid() {
	y.delivers("req-3", body("evt_2", invoicePaid, "in_42", ""), signingSecret, http.StatusOK, newReceipt)
	v := y.s.until("evt_2", ledger, 1, processed)
	if string(v.GetResult()) != "in_42 is already paid" || len(v.GetEffects()) != 0 {
		y.t.Errorf("%v", v)
	}
	if got := y.shop.booked(); got != "in_42" {
		y.t.Errorf("the ledger holds %q", got)
	}
}

func (y *story) notificationOnce() {
	for id, effects := range map[string]int{"evt_1": 1, "evt_2": 0} {
		v := y.s.until(id, receipts, 1, processed)
		if string(v.GetResult()) != "mail/1" || len(v.GetEffects()) != effects {
			y.t.Errorf("%s: %v", id, v)
		}
	}
	y.delivers("req-4", first(), signingSecret, http.StatusOK, duplicate)
	y.timeline("evt_1", "req-1 ACCEPTED", "req-2 IGNORED_DUPLICATE", "req-4 IGNORED_DUPLICATE", "req-forged REJECTED_SIGNATURE")
	if mails, keys := y.shop.notifier.sent(); mails != "in_42" || len(keys) != 1 || keys[0] == "" {
		y.t.Errorf("mails %q by calls %q", mails, keys)
	}
}

func (y *story) outage() {
	y.shop.notifier.set(true, "600")
	y.delivers("req-5", body("evt_3", paymentSucceeded, "pi_3", "in_43"), signingSecret, http.StatusOK, newReceipt)
	y.s.until("evt_3", ledger, 1, processed)
	v := y.s.until("evt_3", receipts, 1, retryable)
	if e := v.GetLastError(); e.GetCode() != "notifier_away" || !strings.Contains(e.GetMessage(), "503") || e.GetKind() != pb.FailureKind_FAILURE_KIND_RETRYABLE {
		y.t.Errorf("%v", e)
	}
	if due := v.GetNextAttemptAt().AsTime().Sub(v.GetAttempts()[0].GetEndedAt().AsTime()); due != 10*time.Minute {
		y.t.Errorf("due after %v, want the 600 s that the notifier asked for", due)
	}
	y.effect(v, "mail:in_43", pb.EffectState_EFFECT_STATE_NOT_DONE, "", 1)
}

func (y *story) backoff() {
	y.shop.notifier.set(true, "")
	y.s.advance(9 * time.Minute)
	y.s.idle(receipts)
	if v := y.s.of("evt_3", receipts); v.GetAttemptsTotal() != 1 || v.GetState() != retryable {
		y.t.Errorf("a minute before it is due: %v", v)
	}
	y.s.advance(time.Minute)
	v := y.s.until("evt_3", receipts, 2, retryable)
	due := v.GetNextAttemptAt().AsTime().Sub(v.GetAttempts()[1].GetEndedAt().AsTime())
	if due <= 0 || due > 2*longestPause {
		y.t.Errorf("due after %v, the policy says up to %v", due, 2*longestPause)
	}
	y.effect(v, "mail:in_43", pb.EffectState_EFFECT_STATE_NOT_DONE, "", 2)
}

func (y *story) recovery() {
	y.shop.notifier.set(false, "")
	y.s.advance(2 * longestPause)
	v := y.s.until("evt_3", receipts, 3, processed)
	if string(v.GetResult()) != "mail/2" || v.GetRoundAttempts() != 3 || v.GetNextAttemptAt() != nil {
		y.t.Errorf("%v", v)
	}
	mails, keys := y.shop.notifier.sent()
	if mails != "in_42 in_43" || len(keys) != 4 || keys[1] != keys[2] || keys[2] != keys[3] || keys[0] == keys[1] {
		y.t.Errorf("mails %q by calls %q: want one key for each mail", mails, keys)
	}
}

func (y *story) deadLetter() {
	y.shop.notifier.set(true, "60")
	again := body("evt_4", paymentSucceeded, "pi_4", "in_44")
	y.delivers("req-6", again, signingSecret, http.StatusOK, newReceipt)
	for n := int32(1); n < 3; n++ {
		y.s.until("evt_4", receipts, n, retryable)
		y.s.advance(time.Minute)
	}
	v := y.s.until("evt_4", receipts, 3, dead)
	if v.GetReason() != "ATTEMPTS_EXHAUSTED" || v.GetNextAttemptAt() != nil || v.GetLastError().GetCode() != "notifier_away" {
		y.t.Errorf("%v", v)
	}
	if list := y.s.listed(dead); !slices.Equal(list, []string{"evt_4 receipts"}) {
		y.t.Errorf("dead are %q", list)
	}
	y.delivers("req-7", again, signingSecret, http.StatusOK, duplicate)
	y.s.idle(receipts)
	if v := y.s.of("evt_4", receipts); v.GetState() != dead || v.GetAttemptsTotal() != 3 {
		y.t.Errorf("the provider's repeat woke it: %v", v)
	}
}

func (y *story) replay() {
	y.shop.notifier.set(false, "")
	ask := &pb.ReplayEventsRequest{
		Namespace: namespace, RequestId: "mended-1", Why: "the notifier is back", DryRun: true,
		Selection: &pb.ReplayEventsRequest_Filter{Filter: &pb.EventFilter{States: []pb.EventState{dead}}},
	}
	r, err := y.s.ops.ReplayEvents(y.t.Context(), ask)
	if err != nil || r.GetSelected() != 1 || r.GetStarted() != 1 || y.s.of("evt_4", receipts).GetState() != dead {
		y.t.Fatalf("a dry run: %v %v", r, err)
	}
	ask.DryRun = false
	for _, started := range []int32{1, 0} {
		if r, err = y.s.ops.ReplayEvents(y.t.Context(), ask); err != nil || r.GetSelected() != 1 || r.GetStarted() != started || r.GetAlreadyStarted() != 1-started {
			y.t.Fatalf("%v %v", r, err)
		}
	}
	v := y.s.until("evt_4", receipts, 4, processed)
	a := v.GetAttempts()
	if !a[3].GetIsReplay() || a[3].GetRound() != 2 || a[3].GetEnd() != pb.AttemptEnd_ATTEMPT_END_COMPLETED || v.GetReplays() != 1 || string(v.GetResult()) != "mail/3" {
		y.t.Errorf("%v", v)
	}
	for i, x := range a[:3] {
		if x.GetAttempt() != int32(i+1) || x.GetRound() != 1 || x.GetError().GetCode() != "notifier_away" || x.GetIsReplay() { //nolint:gosec // small
			y.t.Errorf("attempt %d: %v", i+1, x)
		}
	}
	y.timeline("evt_4", "req-6 ACCEPTED", "req-7 IGNORED_DUPLICATE")
	if list := y.s.listed(dead, retryable, received, pb.EventState_EVENT_STATE_HELD); len(list) != 0 {
		y.t.Errorf("left are %q", list)
	}
	if mails, _ := y.shop.notifier.sent(); mails != "in_42 in_43 in_44" || y.shop.booked() != "in_42 in_43 in_44" {
		y.t.Errorf("mails %q, ledger %q", mails, y.shop.booked())
	}
}
