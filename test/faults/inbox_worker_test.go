//go:build linux

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"syscall"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// inboxJob is what a worker process is told.
type inboxJob struct {
	inboxPlan
	Servers []string
	Ledger  string
	Calm    bool // nothing goes wrong by chance
}

// inboxWorker is a process that works on what was received.
type inboxWorker struct {
	inboxJob
	led *ledger
}

var errByChance = errors.New("it failed by chance")

// runInboxWorker is a worker process: a worker of the Go client at each server.
func runInboxWorker(text string) error {
	w := &inboxWorker{}
	if err := json.Unmarshal([]byte(text), &w.inboxJob); err != nil {
		return err
	}
	var err error
	if w.led, err = openLedger(w.Ledger); err != nil {
		return err
	}
	ended := make(chan error)
	for _, addr := range w.Servers {
		c, err := idemsvc.Dial(addr, idemsvc.WithNamespace(namespace), idemsvc.WithConsumer(inboxConsumer))
		if err != nil {
			return err
		}
		worker := c.Worker(w.handle, idemsvc.WorkerConcurrency(4), idemsvc.WorkerLease(lease), idemsvc.WorkerProgress(0), idemsvc.WorkerAnswered(w.answered))
		go func() { ended <- worker.Run(context.Background()) }()
	}
	return <-ended // only what trying again cannot mend ends a worker
}

func (w *inboxWorker) note(claim *idemsvc.Claim, op string, x line) {
	x.Op, x.Event, x.Fence = op, numberOf(claim.Event().GetEventId()), claim.GetFence()
	w.led.write(x)
}

func (w *inboxWorker) handle(ctx context.Context, claim *idemsvc.Claim) error {
	event := numberOf(claim.Event().GetEventId())
	granted := claim.GetLeaseExpiresAt().AsTime().Add(-claim.GetLease().AsDuration())
	w.note(claim, opRun, line{Attempt: claim.GetAttempt(), Asked: granted.UnixMicro()})
	if got := string(claim.GetPayload()); got != w.payload(event) {
		w.note(claim, opBad, line{Note: fmt.Sprintf("its payload is %q", got)})
	}
	time.Sleep(mrand.N(10 * time.Millisecond)) // the work
	if err := w.charge(ctx, claim); err != nil {
		return err
	}
	again := claim.GetIsReplay() || claim.GetRound() > 1
	switch f := w.fate(event); {
	case f == rejected, f == curable && !again:
		return idemsvc.Reject(errors.New("it is not acceptable"))
	case f == failing:
		return errors.New("it never works")
	}
	if n := mrand.IntN(100); !w.Calm && w.sort(event) != onHold {
		switch {
		case n < 6:
			return errByChance
		case n < 9:
			return idemsvc.NotYet(errByChance)
		case n < 11:
			return idemsvc.Release(errByChance)
		}
	}
	result := fmt.Sprintf("%s by fence %d", w.id(event), claim.GetFence())
	claim.CompleteWith(idemsvc.WithResult([]byte(result), "text/plain"))
	w.note(claim, opEnding, line{Result: result})
	return nil
}

func (w *inboxWorker) answered(claim *idemsvc.Claim, a *idemsvc.Answer, err error) {
	if err == nil && a.State == pb.EventState_EVENT_STATE_PROCESSED {
		w.note(claim, opComplete, line{})
	}
}

// charge performs the event's operation, if it has one and that is to be performed.
func (w *inboxWorker) charge(ctx context.Context, claim *idemsvc.Claim) (err error) {
	event := numberOf(claim.Event().GetEventId())
	asked, performed := micros(), ""
	perform := func(_ context.Context, try idemsvc.Try) ([]byte, error) {
		n := mrand.IntN(200)
		if !w.Calm && n < 6 {
			return nil, idemsvc.NotDone(errByChance)
		}
		w.note(claim, opPerform, line{Attempt: int32(try.Attempt), Asked: asked, Note: try.IdempotencyKey}) //nolint:gosec // few
		time.Sleep(mrand.N(5 * time.Millisecond))
		switch {
		case w.Calm:
		case n < 8: // crashes after the operation, before its report
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {}
		case n < 14:
			return nil, errByChance // and so nobody knows
		}
		performed = fmt.Sprintf("charged under fence %d, try %d", claim.GetFence(), try.Attempt)
		return []byte(performed), nil
	}
	var result []byte
	switch w.sort(event) {
	case performOnce:
		result, err = claim.SideEffect(ctx, w.effectKey(event), perform, idemsvc.WithEffectLease(time.Second))
	case performAgain:
		result, err = claim.BusinessEffect(ctx, w.effectKey(event), []byte("the same"), perform, idemsvc.WithEffectLease(time.Second), idemsvc.RetryWhenUnknown())
	default:
		return nil
	}
	switch {
	case err != nil:
		return err
	case string(result) == performed:
		w.note(claim, opDone, line{Result: performed})
	default:
		w.note(claim, opKnown, line{Result: string(result), Asked: asked})
	}
	return nil
}
