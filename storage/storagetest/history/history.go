// Package history records what concurrent callers of the service were answered, and
// judges it against the promises.
//
// The judgement is written from the semantics, not from idem.Decide: it looks at
// answers, at their order in real time, and at the records that are left in the end. What
// it finds is a broken promise whatever the rules say; what it does not see it cannot
// judge, so that a clean history is no proof.
package history

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Call is one call and its answer. Invoked and Returned are numbers of one counter that
// all callers share: a call that returned below another's Invoked came before it in real
// time; any two others overlap.
type Call struct {
	Invoked, Returned int64
	Command           idem.Command
	Answer            idem.Answer // a copy of its own; nil with an error
	Err               *idem.Error // the rules refused it
	Unknown           error       // whether it took effect is not known
}

// String describes the call for people.
func (c *Call) String() string {
	var what string
	switch {
	case c.Unknown != nil:
		what = "unknown: " + c.Unknown.Error()
	case c.Err != nil:
		what = string(c.Err.Code)
	default:
		what = describe(c.Answer)
	}
	return fmt.Sprintf("[%d..%d] %s -> %s", c.Invoked, c.Returned, name(c.Command), what)
}

// History is what was called and what is stored in the end.
type History struct {
	Calls []Call
	Max   int32 // attempts allowed in a round; 0: not judged

	// Final is what was stored after the last call, one view of each event key. Without it
	// only answers are judged.
	Final []storage.View
}

// Recorder writes down the calls that go through it. It is safe for concurrent use.
type Recorder struct {
	apply func(ctx context.Context, c idem.Command) storage.Result
	clock atomic.Int64

	mu    sync.Mutex
	calls []Call
}

// NewRecorder records the calls of a function that carries out one command.
func NewRecorder(apply func(ctx context.Context, c idem.Command) storage.Result) *Recorder {
	return &Recorder{apply: apply}
}

// Do carries out a command and writes down what it was answered.
func (r *Recorder) Do(ctx context.Context, c idem.Command) storage.Result {
	call := Call{Command: c, Invoked: r.clock.Add(1)}
	res := r.apply(ctx, c)
	call.Returned = r.clock.Add(1)
	if res.Err != nil {
		if e, ok := res.Err.(*idem.Error); ok { //nolint:errorlint // a refusal is never wrapped
			call.Err = e
		} else {
			call.Unknown = res.Err
		}
	} else {
		call.Answer = snapshot(res.Answer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return res
}

// History is what has been recorded so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Calls: append([]Call(nil), r.calls...)}
}

// snapshot copies an answer and the records it points to.
func snapshot(a idem.Answer) idem.Answer {
	event := func(e *idem.Event) *idem.Event {
		if e == nil {
			return nil
		}
		c := *e
		c.Result = append([]byte(nil), e.Result...)
		return &c
	}
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		c := *a
		c.Event = event(a.Event)
		return &c
	case *idem.ReceiveAnswer:
		c := *a
		c.Event = event(a.Event)
		return &c
	case *idem.EndAnswer:
		c := *a
		c.Event = event(a.Event)
		return &c
	case *idem.ExtendAnswer:
		c := *a
		c.Event = event(a.Event)
		return &c
	case *idem.CheckAnswer:
		c := *a
		return &c
	case *idem.EffectAnswer:
		c := *a
		if a.Effect != nil {
			f := *a.Effect
			f.Result = append([]byte(nil), a.Effect.Result...)
			c.Effect = &f
		}
		return &c
	}
	return a
}

func name(c idem.Command) string {
	switch c := c.(type) {
	case *idem.Claim:
		if !c.Acquisition.IsZero() {
			return fmt.Sprintf("Acquire %s by %s", c.Key.EventID, c.Claimant)
		}
		return fmt.Sprintf("Claim %s by %s", c.Key.EventID, c.Claimant)
	case *idem.Receive:
		return fmt.Sprintf("Receive %s by %s", c.Key.EventID, c.Facts.RequestID)
	case *idem.Resolve:
		return fmt.Sprintf("Resolve to %d by %q", c.To, c.RequestID)
	case *idem.Complete:
		return fmt.Sprintf("Complete fence %d with %q", c.Token.Fence, c.Result)
	case *idem.Fail:
		return fmt.Sprintf("Fail fence %d", c.Token.Fence)
	case *idem.Extend:
		return fmt.Sprintf("Extend fence %d", c.Token.Fence)
	case *idem.Release:
		return fmt.Sprintf("Release fence %d", c.Token.Fence)
	case *idem.Check:
		if c.Token == nil {
			return fmt.Sprintf("Check %s v%d", c.Ordering.Resource.Name, c.Ordering.Version.Value)
		}
		return fmt.Sprintf("Check %s v%d fence %d", c.Ordering.Resource.Name, c.Ordering.Version.Value, c.Token.Fence)
	case *idem.BeginEffect:
		return fmt.Sprintf("Begin %s %s", c.Key.Key, c.BeginID)
	case *idem.ReportEffect:
		return fmt.Sprintf("Report %v try %d with %q", c.State, c.Token.Number, c.Result)
	case *idem.RecordEffect:
		return fmt.Sprintf("Record %s with %q", c.Key.Key, c.Result)
	}
	return fmt.Sprintf("%T", c)
}

func describe(a idem.Answer) string {
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		if a.Event == nil {
			return a.Outcome.String()
		}
		return fmt.Sprintf("%v fence %d %v result %q lane %d", a.Outcome, a.Event.Fence, a.Event.State, a.Event.Result, a.LaneFence)
	case *idem.ReceiveAnswer:
		return fmt.Sprintf("%v fresh=%v repeated=%v", a.Outcome, a.Fresh, a.Repeated)
	case *idem.EndAnswer:
		return fmt.Sprintf("%v already=%v late=%v", a.State, a.Already, a.Late)
	case *idem.ExtendAnswer:
		return fmt.Sprintf("until %d rearmed=%v", a.LeaseUntil, a.Rearmed)
	case *idem.CheckAnswer:
		return fmt.Sprintf("%v lane %d", a.Verdict, a.LaneFence)
	case *idem.EffectAnswer:
		s := fmt.Sprintf("%v try %d repeat=%v", a.Verdict, a.Attempt, a.Repeat)
		if a.Effect != nil {
			s += fmt.Sprintf(" %v %q", a.Effect.State, a.Effect.Result)
		}
		return s
	}
	return fmt.Sprintf("%T", a)
}
