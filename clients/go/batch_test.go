package idemsvc_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func TestABatchIsClaimedAndCompleted(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		if _, err := claimed(t, client, "evt_1").Complete(t.Context()); err != nil {
			t.Fatal(err)
		}
		items := []*idemsvc.ClaimItem{{Event: event("evt_0")}, {Event: event("evt_1")}, {Event: event("")}, {Event: event("evt_3")}}
		answers, err := client.ClaimAll(t.Context(), items)
		if err != nil || len(answers) != 4 {
			t.Fatalf("%v %v", answers, err)
		}
		if answers[1].Advice() != idemsvc.Acknowledge || !errors.Is(answers[2].Err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v %v", answers[1], answers[2].Err)
		}
		if a, err := answers[0].Claim.Process(t.Context(), returning(nil)); err != nil || !a.Acknowledge() {
			t.Errorf("%+v %v", a, err)
		}
		answers[3].Claim.CompleteWith(idemsvc.WithResult([]byte("three"), "text/plain"))
		failed, err := client.CompleteAll(t.Context(), []*idemsvc.Claim{answers[0].Claim, answers[3].Claim})
		if err != nil || failed[0] != nil || failed[1] != nil {
			t.Errorf("%v %v", failed, err)
		}
		if _, err := answers[3].Claim.Process(t.Context(), returning(nil)); !errors.Is(err, idemsvc.ErrAlreadyEnded) {
			t.Errorf("%v", err)
		}
		if v := consumer(t, client, "evt_3"); string(v.GetResult()) != "three" {
			t.Errorf("%v", v)
		}
		if _, err := client.ClaimAll(t.Context(), items, idemsvc.WithWait(1)); !errors.Is(err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
	})
}

// picky turns away some commands of each batch, before or after it has carried them out.
type picky struct {
	storage.Backend
	mu    sync.Mutex
	left  int // commands to turn away
	after bool
}

func (p *picky) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	out := make([]storage.Result, len(batch))
	for i := range batch {
		p.mu.Lock()
		refuse := p.left > 0 && i%3 != 0
		if refuse {
			p.left--
		}
		p.mu.Unlock()
		if !refuse || p.after {
			out[i] = p.Backend.Apply(ctx, batch[i:i+1])[0]
		}
		if refuse {
			out[i] = storage.Result{Err: storage.ErrOverloaded}
			if p.after {
				out[i] = storage.Result{Err: storage.ErrUnavailable}
			}
		}
	}
	return out
}

// Items that were turned away are repeated with their identity, over calls and over a
// session: nothing is claimed twice, and no item ends with an error.
func TestItemsTurnedAwayAreRepeated(t *testing.T) {
	for over, opts := range map[string][]idemsvc.Option{"calls": nil, "a session": {idemsvc.WithSession()}} {
		for _, after := range []bool{false, true} {
			t.Run(over+", after="+strconv.FormatBool(after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { turnedAway(t, after, opts...) })
			})
		}
	}
}

func turnedAway(t *testing.T, after bool, opts ...idemsvc.Option) {
	t.Helper()
	p := &picky{Backend: memory.New(memory.Options{}), after: after}
	_, reach := piped(t, p)
	client := dial(t, "passthrough:///picky", append(opts, reach)...)
	items := make([]*idemsvc.ClaimItem, 30)
	for i := range items {
		items[i] = &idemsvc.ClaimItem{Event: event("evt_" + strconv.Itoa(i))}
	}
	turned := 90 // more often than one claimant's repeats are granted: what was granted stays
	if after {
		turned = 40
	}
	p.refuse(turned)
	answers, err := client.ClaimAll(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	claims := make([]*idemsvc.Claim, len(answers))
	for i, a := range answers {
		if a.Err != nil || a.Claim == nil || a.Claim.GetAttempt() != 1 {
			t.Fatalf("%d: %v %v", i, a.ClaimAnswer, a.Err)
		}
		claims[i] = a.Claim
	}
	p.refuse(turned)
	failed, err := client.CompleteAll(t.Context(), claims)
	if err := errors.Join(append(failed, err)...); err != nil {
		t.Error(err)
	}
}

func (p *picky) refuse(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = n
}

// A claimant that names anything but one execution is refused before it is sent.
func TestAClaimantIsNoJob(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		raw := service.Client(f.option()).Idempotency()
		for _, claimant := range []string{"e", "evt_12345", "job:evt_12345", "billing", "request-1"} {
			req := &pb.ClaimEventRequest{
				Namespace: "test", Consumer: "billing", Claimant: claimant, Event: event("evt_12345"), Delivery: &pb.Delivery{RequestId: "request-1"},
			}
			if claimant == "e" {
				req.Event = event("e")
			}
			_, err := raw.ClaimEvent(t.Context(), req)
			e, _ := errors.AsType[*idemsvc.Error](err)
			if e == nil || e.Field != "claimant" || !errors.Is(err, idemsvc.ErrInvalidArgument) {
				t.Errorf("%s: %v", claimant, err)
			}
			batch := &pb.ClaimEventsRequest{Namespace: "test", Consumer: "billing", Claimant: claimant, Delivery: req.GetDelivery(), Items: []*pb.ClaimItem{{Event: event("fine")}, {Event: req.GetEvent()}}}
			if _, err := raw.ClaimEvents(t.Context(), batch); !errors.Is(err, idemsvc.ErrInvalidArgument) {
				t.Errorf("%s: %v", claimant, err)
			}
		}
		if f.count("ClaimEvent")+f.count("ClaimEvents") != 0 {
			t.Errorf("%v", f.calls)
		}
		if _, err := raw.ClaimEvent(t.Context(), &pb.ClaimEventRequest{Namespace: "test", Consumer: "billing", Claimant: idemsvc.NewClaimant(), Event: event("E")}); err != nil {
			t.Error(err)
		}
	})
}

func TestABatchIsReceived(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		if _, err := client.Receive(t.Context(), event("evt_1")); err != nil {
			t.Fatal(err)
		}
		own := &idemsvc.Delivery{Attempt: 2}
		items := []*idemsvc.ReceiveItem{
			{Event: event("evt_0"), Delivery: own}, {Event: event("evt_1")}, {Event: event("")}, {Event: event("evt_3"), Consumers: []string{"billing", "mail"}},
		}
		answers, err := client.ReceiveAll(t.Context(), items)
		if err != nil || len(answers) != 4 {
			t.Fatalf("%v %v", answers, err)
		}
		if !errors.Is(answers[2].Err, idemsvc.ErrInvalidArgument) || answers[2].Acknowledge() {
			t.Errorf("%v", answers[2].Err)
		}
		for i, want := range map[int]pb.ReceiveOutcome{0: pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED, 1: pb.ReceiveOutcome_RECEIVE_OUTCOME_DUPLICATE, 3: pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED} {
			if r := answers[i].GetResults(); !answers[i].Acknowledge() || r[0].GetReceipt().GetOutcome() != want || len(r) != max(1, len(items[i].GetConsumers())) {
				t.Errorf("%d: %v", i, r)
			}
		}
		if own.GetRequestId() != "" {
			t.Error("the caller's delivery was changed")
		}
		if _, err := client.ReceiveAll(t.Context(), items, idemsvc.ReceiveOrdered(idemsvc.LatestWins(idemsvc.Sequence(1)))); !errors.Is(err, idemsvc.ErrInvalidArgument) {
			t.Errorf("%v", err)
		}
	})
}

// Receipts that were turned away, for some of their consumers or for all, are repeated, and
// every one is told as the first arrival that it is.
func TestReceiptsTurnedAwayAreRepeated(t *testing.T) {
	for over, opts := range map[string][]idemsvc.Option{"calls": nil, "a session": {idemsvc.WithSession()}} {
		for _, after := range []bool{false, true} {
			t.Run(over+", after="+strconv.FormatBool(after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := &picky{Backend: memory.New(memory.Options{}), after: after}
					_, reach := piped(t, p)
					client := dial(t, "passthrough:///picky", append(opts, reach)...)
					items := make([]*idemsvc.ReceiveItem, 30)
					for i := range items {
						items[i] = &idemsvc.ReceiveItem{Event: event("evt_" + strconv.Itoa(i))}
					}
					p.refuse(90)
					answers, err := client.ReceiveAll(t.Context(), items, idemsvc.ReceiveFor("billing", "mail"))
					if err != nil {
						t.Fatal(err)
					}
					for i, a := range answers {
						if !a.Acknowledge() || len(a.GetResults()) != 2 {
							t.Fatalf("%d: %v %v", i, a.ReceiveAnswer, a.Err)
						}
						for _, r := range a.GetResults() {
							if r.GetReceipt().GetOutcome() != pb.ReceiveOutcome_RECEIVE_OUTCOME_RECEIVED {
								t.Errorf("%d: %v", i, r)
							}
						}
					}
				})
			})
		}
	}
}
