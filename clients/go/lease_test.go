package idemsvc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/idem"
)

// A handler may take many leases' time: the claim is extended at about a third of each.
func TestALongHandlerKeepsItsClaim(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
			time.Sleep(30 * time.Minute)
			return ctx.Err()
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		if n := f.count("ExtendClaim"); n < 90 || n > 121 { // a lease is 60 s; each beat is up to a quarter early
			t.Errorf("extended %d times in 30 leases", n)
		}
		if v := consumer(t, client, "evt_1"); v.GetAttemptsTotal() != 1 {
			t.Errorf("%v", v)
		}
	})
}

// Extensions that fail say nothing about the claim: they are tried again as long as it is
// known to live, and the handler goes on.
func TestAClaimOutlivesAShortOutage(t *testing.T) {
	for _, how := range []string{lostCall, lostAnswer, hanging} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t scene, service *idemtest.Server) {
				f := newFaults()
				client := service.Client(f.option())
				a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
					time.Sleep(time.Minute)
					f.set("ExtendClaim", how)
					time.Sleep(35 * time.Second)
					f.set("ExtendClaim", "")
					time.Sleep(5 * time.Minute)
					return context.Cause(ctx)
				})
				if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
					t.Errorf("%+v %v", a, err)
				}
			})
		})
	}
}

// Even where a try may take longer than the lease, one replica that hangs costs no claim.
func TestAShortLeaseOutlivesAHangingReplica(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		f.next("ExtendClaim", hanging, 1)
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
			time.Sleep(time.Minute)
			return context.Cause(ctx)
		}, idemsvc.WithLease(6*time.Second))
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// When the lease is over by the client's own clock, and nobody could say whether the
// claim lives, the handler is stopped.
func TestAHandlerStopsWhenItsLeaseIsOver(t *testing.T) {
	for _, how := range []string{lostCall, hanging} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t scene, service *idemtest.Server) {
				f := newFaults()
				client := service.Client(f.option())
				f.set("ExtendClaim", how)
				started := time.Now()
				a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), idemsvc.ErrClaimLost) {
						t.Errorf("the cause is %v", context.Cause(ctx))
					}
					took(t, started, 59*time.Second, 61*time.Second)
					return ctx.Err()
				})
				if !errors.Is(err, idemsvc.ErrClaimLost) || a.Acknowledge() || a.State != pb.EventState_EVENT_STATE_FAILED_RETRYABLE {
					t.Errorf("%+v %v", a, err)
				}
				if e := lastError(t, client, "evt_1"); !strings.Contains(e.GetMessage(), "the lease is over") {
					t.Errorf("%v", e)
				}
			})
		})
	}
}

// A handler that finishes although its lease is over has done the work: its completion
// counts as long as nobody else has taken the event, and only then.
func TestALateCompletion(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option())
		f.set("ExtendClaim", lostCall)
		late := func(context.Context, *idemsvc.Claim) error { time.Sleep(2 * time.Minute); return nil }
		a, err := client.Process(t.Context(), event("evt_1"), late)
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		other := service.Client()
		a, err = client.Process(t.Context(), event("evt_2"), func(ctx context.Context, c *idemsvc.Claim) error {
			time.Sleep(2 * time.Minute)
			claimed(t, other, "evt_2")
			return nil
		})
		if !errors.Is(err, idemsvc.ErrClaimLost) || a.Acknowledge() || a.State != 0 {
			t.Errorf("never a success: %+v %v", a, err)
		}
		if v := consumer(t, other, "evt_2"); v.GetState() != pb.EventState_EVENT_STATE_PROCESSING || v.GetAttemptsTotal() != 2 {
			t.Errorf("%v", v)
		}
	})
}

// O-02: when another claim was granted the next extension says so, and the handler stops.
func TestALostClaimStopsItsHandler(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client, other := service.Client(f.option()), service.Client()
		started := time.Now()
		a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
			service.Advance(2 * time.Minute) // as if this process had been frozen
			claimed(t, other, "evt_1")
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), idemsvc.ErrClaimLost) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			took(t, started, 15*time.Second, 20*time.Second)
			return ctx.Err()
		})
		if !errors.Is(err, idemsvc.ErrClaimLost) || a.Acknowledge() || !a.Handled {
			t.Errorf("%+v %v", a, err)
		}
		if f.count("FailEvent")+f.count("ReleaseClaim") != 0 { // there is nothing to tell
			t.Errorf("%v", f.calls)
		}
		if r, err := other.Process(t.Context(), event("evt_1"), returning(nil)); !errors.Is(err, idemsvc.ErrNotNow) {
			t.Errorf("the other one's claim was disturbed: %+v %v", r, err)
		}
	})
}

// A claim cannot be kept for longer than the policy allows; its handler is stopped then.
func TestAClaimGrowsTooOld(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		started := time.Now()
		_, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		took(t, started, 10*time.Minute-time.Second, 10*time.Minute+time.Second)
		if !errors.Is(err, idemsvc.ErrClaimLost) {
			t.Error(err)
		}
	}, idemtest.WithPolicy(func(p *idem.Policy) { p.MaxClaimAge = 10 * time.Minute }))
}

// A caller who stops waiting does not stop the heartbeat of a handler that still works.
func TestAHandlerThatDoesNotListenKeepsItsClaim(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		client := service.Client()
		ctx, cancel := context.WithCancel(t.Context())
		a, err := client.Process(ctx, event("evt_1"), func(context.Context, *idemsvc.Claim) error {
			cancel()
			time.Sleep(10 * time.Minute)
			if a, err := client.Process(t.Context(), event("evt_1"), returning(nil)); !errors.Is(err, idemsvc.ErrNotNow) {
				t.Errorf("%+v %v", a, err)
			}
			return nil
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
	})
}

// A claim that came after a long wait has its lease checked before the handler begins:
// by the client's clock it may be nearly over, or over.
func TestAHandlerBeginsWithTimeLeft(t *testing.T) {
	for lease, extended := range map[time.Duration]int{15 * time.Second: 1, 40 * time.Second: 1, time.Hour: 0} {
		t.Run(lease.String(), func(t *testing.T) {
			bubble(t, func(t scene, service *idemtest.Server) {
				f := newFaults()
				client := service.Client(f.option())
				first := claimed(t, client, "evt_1")
				time.AfterFunc(20*time.Second, func() {
					if _, err := first.Release(t.Context(), "test"); err != nil {
						t.Error(err)
					}
				})
				a, err := client.Process(t.Context(), event("evt_1"), func(ctx context.Context, _ *idemsvc.Claim) error {
					if n := f.count("ExtendClaim"); n != extended {
						t.Errorf("extended %d times", n)
					}
					return ctx.Err()
				}, idemsvc.WithWait(30*time.Second), idemsvc.WithLease(lease))
				if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
					t.Errorf("%+v %v", a, err)
				}
			})
		})
	}
}

// The report about a handler is repeated for as long as it may be, and the claim is kept
// meanwhile.
func TestAnEndingOutlivesAnOutage(t *testing.T) {
	bubble(t, func(t scene, service *idemtest.Server) {
		f := newFaults()
		client := service.Client(f.option(), idemsvc.WithMaxRepeats(0), idemsvc.WithEndTimeout(5*time.Minute))
		a, err := client.Process(t.Context(), event("evt_1"), func(context.Context, *idemsvc.Claim) error {
			f.set("CompleteEvent", lostCall)
			time.AfterFunc(4*time.Minute, func() { f.set("CompleteEvent", "") })
			return nil
		})
		if err != nil || a.State != pb.EventState_EVENT_STATE_PROCESSED {
			t.Errorf("%+v %v", a, err)
		}
		f.set("CompleteEvent", hanging)
		started := time.Now()
		a, err = client.Process(t.Context(), event("evt_2"), returning(nil))
		took(t, started, 4*time.Minute, 5*time.Minute)
		if err == nil || a.Acknowledge() || a.State != 0 {
			t.Errorf("nobody knows whether it is completed: %+v %v", a, err)
		}
	})
}
