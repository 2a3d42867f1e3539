package linear

import (
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// script is a history written by hand: what is decided, written and answered at which
// millisecond of it.
type script struct {
	t     *testing.T
	h     History
	s     *state
	fence int64
	base  idem.Instant
	n     byte // of nonces
}

func newScript(t *testing.T, change func(p *idem.Policy)) *script {
	t.Helper()
	p := idem.DefaultPolicy()
	p.Signature = idem.SignatureOptional
	if change != nil {
		change(p)
	}
	return &script{t: t, s: newState(), h: History{Name: "script", Policy: p}, base: idem.InstantOf(time.Unix(1_800_000_000, 0))}
}

func (x *script) at(ms int) idem.Instant { return x.base.Add(time.Duration(ms) * time.Millisecond) }

// decide asks the rules on what is stored now.
func (x *script) decide(c idem.Command, ms int) *idem.Decision {
	x.t.Helper()
	d := idem.Decide(x.s.world(c, x.h.Policy, x.at(ms)), c, x.h.Policy)
	if d.Reread || d.Err != nil {
		x.t.Fatalf("the rules refuse it: %+v", d)
	}
	return &d
}

// write writes what was decided, if the records that it changes allow it.
func (x *script) write(d *idem.Decision, ms int) idem.Answer {
	x.t.Helper()
	if !d.Writes() {
		d.Finish(x.at(ms), 0)
		return d.Answer
	}
	if !x.s.unchanged(d) || d.Event != nil && !onTime(x.s, d.Event, x.at(ms)) {
		x.t.Fatalf("a store would not write it: %+v", d)
	}
	var fence int64
	if d.Draws() {
		x.fence++
		fence = x.fence
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		x.h.Journal = append(x.h.Journal, Row{ID: e.ID, Seq: e.Seq, At: x.at(ms), Fence: fence, Kind: e.Kind, State: uint8(e.To)})
	}
	x.s = x.s.apply(d, x.at(ms), fence)
	d.Finish(x.at(ms), fence)
	return d.Answer
}

// heard is a call that was answered.
func (x *script) heard(client int, c idem.Command, from, to int, a idem.Answer) *Call {
	x.h.Calls = append(x.h.Calls, Call{
		Client: client, Command: c, Answer: a, InvokedAt: x.at(from), ReturnedAt: x.at(to),
		Invoked: time.Duration(from) * time.Millisecond, Returned: time.Duration(to) * time.Millisecond,
	})
	return &x.h.Calls[len(x.h.Calls)-1]
}

// done is a call that is decided, written and answered at once.
func (x *script) done(client int, c idem.Command, ms int) idem.Answer {
	x.t.Helper()
	a := x.write(x.decide(c, ms), ms)
	x.heard(client, c, ms-5, ms+5, a)
	return a
}

func (x *script) claim(event int, o *idem.Ordering) *idem.Claim {
	x.n++
	return &idem.Claim{Key: keyIn(x.h.Name, event), Claimant: "claimant-" + string('a'+rune(x.n)), Nonce: idem.ID{x.n}, Ordering: o}
}

// granted is a claim that is given at once.
func (x *script) granted(client, event int, o *idem.Ordering, ms int) idem.Token {
	x.t.Helper()
	a, ok := x.done(client, x.claim(event, o), ms).(*idem.ClaimAnswer)
	if !ok || !a.Granted {
		x.t.Fatalf("not granted: %+v", a)
	}
	return tokenOf(a.Event)
}

func (x *script) ordering(mode idem.Mode, v int64) *idem.Ordering {
	return &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: x.h.Name, Consumer: "worker", Type: "thing", Name: "r"},
		Version:  idem.Version{Kind: idem.Sequence, Value: v}, Mode: mode,
	}
}

func (x *script) terminal(tok idem.Token) *idem.Fail {
	return &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Terminal, Code: "X"}}
}

// judge looks at what is stored, and demands a verdict.
func (x *script) judge(ok bool) {
	x.t.Helper()
	now := x.at(10_000)
	x.h.FinalInvoked, x.h.FinalReturned = time.Hour, 2*time.Hour
	for _, k := range Keys(&x.h) {
		if e := x.s.events[k.ID()]; e != nil {
			v := storage.View{Event: idem.Settled(e, now, x.h.Policy), Now: now, Attempts: x.s.attempts[k.ID()], Effects: x.s.effectsOf(k.ID())}
			for _, r := range x.s.resources {
				v.Resources = append(v.Resources, r)
			}
			x.h.Final = append(x.h.Final, v)
		}
	}
	switch v := Check(&x.h, 10*time.Second); {
	case v.Open:
		x.t.Errorf("no verdict: %s", v.Text)
	case v.OK != ok:
		x.t.Errorf("judged %v, want %v: %s", v.OK, ok, v.Text)
	}
}

// What a call tried before, of which it was told nothing, has two points as well: here the
// note that a first claim waits, written after what it waited for has ended.
func TestEarlierTryIsDecidedBeforeItIsWritten(t *testing.T) {
	for _, test := range []struct {
		name      string
		disturbed bool // its batch ended in an error, and was tried again
		unknown   bool // nobody was told of that
		known     bool // the event has a record already
		from      int  // when the call began; the lane becomes free at 200
		ok        bool
	}{
		{name: "told in the end", disturbed: true, from: 90, ok: true},
		{name: "told in the end, of a known event", disturbed: true, known: true, from: 90, ok: true},
		{name: "never told", unknown: true, from: 90, ok: true},
		{name: "written by a call that was tried once", from: 90},
		{name: "decided before the call began", disturbed: true, from: 210},
		{name: "decided before the call began, never told", unknown: true, from: 210},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := newScript(t, func(p *idem.Policy) { p.ReleaseDelay = 0 })
			if test.known {
				x.done(0, &idem.Release{Token: x.granted(0, 1, x.ordering(idem.LatestWins, 2), 20)}, 40)
			}
			owner := x.granted(0, 0, x.ordering(idem.LatestWins, 1), 60)
			second := x.claim(1, x.ordering(idem.LatestWins, 2))
			note := x.decide(second, 100)
			x.done(0, x.terminal(owner), 200)
			x.write(note, 300)
			if test.unknown {
				x.heard(1, second, test.from, 400, nil).Unknown = errLost
				x.done(1, second, 500)
			} else {
				x.heard(1, second, test.from, 400, x.write(x.decide(second, 350), 350)).Disturbed = test.disturbed
			}
			x.judge(test.ok)
		})
	}
}

// The grant of a version of a series rests on its predecessors, of which its write tests
// none: an operator may have given one back meanwhile.
func TestSequentialGrantIsDecidedBeforeItIsWritten(t *testing.T) {
	for _, test := range []struct {
		name      string
		disturbed bool
		from      int // when the call began; the predecessor is given back at 200
		ok        bool
	}{
		{name: "told", from: 90, ok: true},
		{name: "told as the claim which it is by now", disturbed: true, from: 90, ok: true},
		{name: "decided before the call began", from: 210},
		{name: "decided before the call began, told as the claim which it is by now", disturbed: true, from: 210},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := newScript(t, func(p *idem.Policy) { p.StartAt, p.Dead = 1, idem.DeadSkip })
			first := x.granted(0, 0, x.ordering(idem.Sequential, 1), 20)
			x.done(0, x.claim(1, x.ordering(idem.Sequential, 2)), 40) // it waits for the first
			x.done(0, x.terminal(first), 60)
			second := x.claim(1, x.ordering(idem.Sequential, 2))
			grant := x.decide(second, 100)
			x.done(0, &idem.Resolve{Event: first.Event, To: idem.ResolveRetry, Who: "op"}, 200)
			x.done(0, x.claim(1, x.ordering(idem.Sequential, 2)), 250) // it waits still
			a := x.write(grant, 300)
			if test.disturbed {
				a = x.write(x.decide(second, 350), 350)
			}
			x.heard(1, second, test.from, 400, a).Disturbed = test.disturbed
			x.judge(test.ok)
		})
	}
}
