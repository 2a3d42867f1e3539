// Package linear judges what concurrent callers of several replicas were answered: is there
// an order of their calls, each within its time, in which the rules themselves (idem.Decide)
// give every one of those answers and leave what is stored in the end? The search is
// porcupine's; the records and the rules are stepped one call at a time.
//
// Time and fences are not guessed: an answer tells its moment and what was drawn, and the
// rules are asked as of that moment. What nobody heard of (a call whose answer was lost, a
// batch that was tried again inside, the sweeper) is found in the journal, whose entries
// say that something happened; it counts only where the rules, at that row version, make
// just that entry of one of the calls that may have come through. Heartbeats leave no
// entry: the database is watched for leases that get another end.
package linear

import (
	"fmt"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Call is what one caller asked and was answered.
type Call struct {
	Client  int
	Command idem.Command
	Waits   bool // it waited for another claim to end: it may have been decided anew

	// One of the three, or none for a call that was not tried.
	Answer  idem.Answer
	Err     *idem.Error // the rules refused it
	Unknown error       // whether it took effect is not known

	// Vain: an acquisition may have tried it, and nobody was told. Its facts and order are
	// those that are stored.
	Vain bool

	// Disturbed: a trip to the database failed meanwhile, so that it may have been carried
	// out more than once.
	Disturbed bool

	Invoked, Returned     time.Duration // since the history began, by a clock that never jumps
	InvokedAt, ReturnedAt idem.Instant  // by the clock that the database has, too
}

// Row is an entry of the journal.
type Row struct {
	ID    idem.ID
	Seq   int64 // the record's row version after it
	At    idem.Instant
	Fence int64 // of the write: the drawn one where one was drawn
	Kind  idem.EntryKind
	State uint8
}

// History is what happened to a few records that no other history touches.
type History struct {
	Name    string
	Policy  *idem.Policy
	Calls   []Call
	Journal []Row
	Leases  []Lease
	// Acquired is what acquisitions were answered, besides the claims that they were granted.
	Acquired []Acquisition
	// Final is what is stored after the last call, for all event keys.
	Final                       []storage.View
	FinalInvoked, FinalReturned time.Duration
}

// String describes the call for people.
func (c *Call) String() string {
	what := "not tried"
	switch {
	case c.Vain:
		what = "tried by an acquisition, if at all"
	case c.Unknown != nil:
		what = "unknown: " + c.Unknown.Error()
	case c.Err != nil:
		what = string(c.Err.Code)
	case c.Answer != nil:
		what = describe(c.Answer)
	}
	if c.Disturbed {
		what += " (disturbed)"
	}
	return fmt.Sprintf("[%8.3f %8.3f] client %d: %s -> %s", ms(c.Invoked), ms(c.Returned), c.Client, name(c.Command), what)
}

func (r *Row) String() string {
	return fmt.Sprintf("journal: %v #%d %v -> state %d at %d, fence %d", short(r.ID), r.Seq, r.Kind, r.State, r.At, r.Fence)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func short(id idem.ID) string { return id.String()[:8] }

func tokenText(t *idem.Token) string {
	if t == nil {
		return "without a claim"
	}
	return fmt.Sprintf("%s fence %d", short(t.Event), t.Fence)
}

func name(c idem.Command) string {
	switch c := c.(type) {
	case *idem.Claim:
		what := "Claim"
		if !c.Acquisition.IsZero() {
			what = "Acquire"
		}
		return fmt.Sprintf("%s %s (%s) by %s", what, c.Key.EventID, short(c.Key.ID()), c.Claimant) + orderText(c.Ordering)
	case *idem.Receive:
		return fmt.Sprintf("Receive %s (%s)", c.Key.EventID, short(c.Key.ID())) + orderText(c.Ordering)
	case *idem.Complete:
		s := fmt.Sprintf("Complete %s with %q", tokenText(&c.Token), c.Result)
		if c.Applied != nil {
			s += fmt.Sprintf(", fetched v%d", c.Applied.Value)
		}
		return s
	case *idem.Fail:
		return fmt.Sprintf("Fail %s kind %d %q", tokenText(&c.Token), c.Error.Kind, c.Error.Message)
	case *idem.Extend:
		return fmt.Sprintf("Extend %s by %v", tokenText(&c.Token), c.Lease)
	case *idem.Release:
		return "Release " + tokenText(&c.Token)
	case *idem.Check:
		return fmt.Sprintf("Check %s v%d, %s", c.Ordering.Resource.Name, c.Ordering.Version.Value, tokenText(c.Token))
	case *idem.BeginEffect:
		return fmt.Sprintf("Begin %s (%s) %s, %s", c.Key.Key, short(c.Key.ID()), c.BeginID, tokenText(c.Token))
	case *idem.ReportEffect:
		return fmt.Sprintf("Report %s %v try %d with %q", short(c.Token.Effect), c.State, c.Token.Number, c.Result)
	case *idem.RecordEffect:
		return fmt.Sprintf("Record %s (%s) with %q, %s", c.Key.Key, short(c.Key.ID()), c.Result, tokenText(c.Token))
	case *idem.Resolve:
		return fmt.Sprintf("Resolve %s to %d by %q", short(c.Event), c.To, c.RequestID)
	case *idem.Replay:
		return fmt.Sprintf("Replay %s %s", short(c.Event), c.RequestID)
	case *idem.Settle:
		return "Settle " + short(c.Event)
	}
	return fmt.Sprintf("%T", c)
}

func orderText(o *idem.Ordering) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf(" %s v%d", o.Resource.Name, o.Version.Value)
}

func record(e *idem.Event) string {
	if e == nil {
		return "no record"
	}
	s := fmt.Sprintf("#%d %v fence %d until %d, attempts %d, result %q", e.Version, e.State, e.Fence, e.LeaseUntil, e.Attempts, e.Result)
	if w := e.Waiting; w.Kind != idem.NotWaiting {
		s += fmt.Sprintf(", waits (%d) for %s, version %d", w.Kind, short(w.Event), w.Expected.Value)
	}
	return s
}

func describe(a idem.Answer) string {
	switch a := a.(type) {
	case *idem.ClaimAnswer:
		s := fmt.Sprintf("%v at %d, %s", a.Outcome, a.Now, record(a.Event))
		if a.Blocker != (idem.EventKey{}) {
			s += ", behind " + a.Blocker.EventID
		}
		if a.LaneFence != 0 {
			s += fmt.Sprintf(", lane fence %d", a.LaneFence)
		}
		return s
	case *idem.ReceiveAnswer:
		return fmt.Sprintf("%v at %d fresh=%v repeated=%v, %s", a.Outcome, a.Now, a.Fresh, a.Repeated, record(a.Event))
	case *idem.EndAnswer:
		return fmt.Sprintf("%v at %d already=%v late=%v, %s", a.State, a.Now, a.Already, a.Late, record(a.Event))
	case *idem.ExtendAnswer:
		return fmt.Sprintf("until %d at %d rearmed=%v", a.LeaseUntil, a.Now, a.Rearmed)
	case *idem.CheckAnswer:
		return fmt.Sprintf("%v at %d, lane fence %d, current %v", a.Verdict, a.Now, a.LaneFence, a.Current)
	case *idem.EffectAnswer:
		s := fmt.Sprintf("%v at %d try %d repeat=%v", a.Verdict, a.Now, a.Attempt, a.Repeat)
		if f := a.Effect; f != nil {
			s += fmt.Sprintf(", #%d generation %d %v %q until %d", f.Version, f.Generation, f.State, f.Result, f.LeaseUntil)
		}
		return s
	}
	return fmt.Sprintf("%T", a)
}
