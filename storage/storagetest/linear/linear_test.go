package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/wrongrules"
	"github.com/idemsvc/idemsvc/storage"
)

// core is a store of one record after the other, with rules that can be wrong and a
// network that can be bad.
type core struct {
	decide wrongrules.Decider
	bad    bool // answers get lost, before or after the deed, and deeds are done twice
	early  bool // some answers are given for deeds that are then forgotten
	coarse bool // many deeds are of one moment, as those of one trip to a database are

	mu     sync.Mutex
	rng    *rand.Rand
	s      *state
	rows   []Row
	leases []Lease
	fence  int64
	broken int64
}

func newCore(seed uint64) *core {
	return &core{decide: idem.Decide, s: newState(), rng: rand.New(rand.NewPCG(seed, 9))} //nolint:gosec // chances, not secrets
}

func (c *core) now() idem.Instant {
	if c.coarse {
		return idem.InstantOf(time.Now().Truncate(2 * time.Millisecond))
	}
	return idem.InstantOf(time.Now())
}

var errLost = errors.New("the connection broke")

// Do implements [Replica].
func (c *core) Do(_ context.Context, cmd idem.Command) storage.Result {
	time.Sleep(rand.N(300 * time.Microsecond)) // on the way
	c.mu.Lock()
	defer c.mu.Unlock()
	chance := c.rng.IntN(10)
	if c.bad && chance < 3 {
		c.broken++
		if chance == 0 {
			return storage.Result{Err: errLost}
		}
		r := c.do(cmd)
		if chance == 1 {
			return storage.Result{Err: errLost}
		}
		if r.Err != nil {
			return r
		}
		time.Sleep(time.Millisecond)
	}
	return c.do(cmd)
}

func (c *core) do(cmd idem.Command) storage.Result {
	p := PolicyOf(idem.EventKey{EventRef: idem.EventRef{Namespace: namespaceOf(c.s, cmd)}}, "")
	now := c.now()
	d := c.decide(c.s.world(cmd, p, now), cmd, p)
	if d.Reread {
		panic("asked for more than all")
	}
	var fence int64
	if d.Draws() {
		c.fence++
		fence = c.fence
	}
	if d.Writes() {
		before, rows := c.s, c.rows
		for i := range d.Entries {
			e := &d.Entries[i]
			c.rows = append(c.rows, Row{ID: e.ID, Seq: e.Seq, At: now, Fence: fence, Kind: e.Kind, State: uint8(e.To)})
		}
		c.s = c.s.apply(&d, now, fence)
		if c.early && c.rng.IntN(10) == 0 {
			c.s, c.rows = before, rows
		}
	}
	if w := d.Event; w != nil && len(d.Entries) == 0 {
		if e := c.s.events[w.New.ID()]; e.LeaseUntil != w.Old.LeaseUntil {
			c.leases = append(c.leases, Lease{ID: e.ID(), Version: e.Version, Until: e.LeaseUntil, At: now})
		}
	}
	d.Finish(now, fence)
	if d.Err != nil {
		return storage.Result{Err: d.Err}
	}
	return storage.Result{Answer: d.Answer}
}

// namespaceOf is the namespace of a command, that of a record for one that names none.
func namespaceOf(s *state, c idem.Command) string {
	switch c := c.(type) {
	case *idem.Claim:
		return c.Key.Namespace
	case *idem.Check:
		return c.Ordering.Resource.Namespace
	case *idem.ReportEffect:
		return c.Token.Namespace
	case *idem.BeginEffect:
		return c.Key.Namespace
	case *idem.RecordEffect:
		return c.Key.Namespace
	}
	if e := s.events[c.Subject()]; e != nil {
		return e.Key.Namespace
	}
	return ""
}

// Claim implements [Replica].
func (c *core) Claim(ctx context.Context, cmd *idem.Claim, _ time.Duration) storage.Result {
	return c.Do(ctx, cmd)
}

// Broken implements [Replica].
func (c *core) Broken(idem.Command) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// move is a [Mover].
func (c *core) move(_ context.Context, id idem.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	n := c.s.clone()
	if e := n.events[id]; e != nil && e.State == idem.Processing {
		x := *e
		x.LeaseUntil = min(x.LeaseUntil, now)
		n.events[id], c.s = &x, n
		c.leases = append(c.leases, Lease{ID: id, Version: x.Version, Until: x.LeaseUntil, At: now, Moved: true})
		return
	}
	if f := n.effects[id]; f != nil && f.State == idem.EffectBegun {
		x := *f
		x.LeaseUntil = min(x.LeaseUntil, now)
		n.effects[id], c.s = &x, n
		c.leases = append(c.leases, Lease{ID: id, Version: x.Version, Until: x.LeaseUntil, At: now, Moved: true})
		return
	}
}

// history drives one history, and looks at what is stored in the end.
func (c *core) history(t *testing.T, seed uint64) *History {
	t.Helper()
	h := Drive(t.Context(), seed, []Replica{c}, c.move)
	ids := Records(h)
	for _, r := range c.rows {
		if ids[r.ID] {
			h.Journal = append(h.Journal, r)
		}
	}
	for _, l := range c.leases {
		if ids[l.ID] {
			h.Leases = append(h.Leases, l)
		}
	}
	h.FinalInvoked, h.FinalReturned = time.Hour, 2*time.Hour
	now := idem.InstantOf(time.Now())
	for _, k := range Keys(h) {
		e := c.s.events[k.ID()]
		if e == nil {
			continue
		}
		v := storage.View{Event: idem.Settled(e, now, h.Policy), Now: now, Attempts: c.s.attempts[k.ID()], Effects: c.s.effectsOf(k.ID())}
		for _, r := range c.s.resources {
			v.Resources = append(v.Resources, r)
		}
		h.Final = append(h.Final, v)
	}
	return h
}

func TestRightRulesPass(t *testing.T) {
	for i, test := range []struct {
		name        string
		bad, coarse bool
	}{
		{name: "in peace"}, {name: "with lost answers", bad: true}, {name: "with lost answers, many in one moment", bad: true, coarse: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			calls, unheard, open := 0, 0, 0
			from := uint64(i+100) << 32 //nolint:gosec // small
			for seed := from; seed < from+25; seed++ {
				c := newCore(seed)
				c.bad, c.coarse = test.bad, test.coarse
				h := c.history(t, seed)
				v := Check(h, 5*time.Second)
				Forget(h)
				switch {
				case v.Open:
					open++
				case !v.OK:
					t.Fatal(v.Text)
				}
				for i := range h.Calls {
					calls++
					if h.Calls[i].Unknown != nil {
						unheard++
					}
				}
			}
			t.Logf("%d calls, %d unheard, %d histories left open", calls, unheard, open)
			if test.bad == (unheard == 0) || open > 5 {
				t.Errorf("%d of %d calls are unheard, %d histories are left open", unheard, calls, open)
			}
		})
	}
}

// wrong are the rules that show soon; the others take thousands of histories of a store
// that does one thing after the other.
var wrong = []string{
	"the fence of a token is not compared", "a live claim is taken over", "an expired claim is in progress until it is swept", "a held event is given again",
	"a grant is not counted", "one more attempt than allowed is given", "a release is counted", "a reclaim keeps the old fence", "an ended claimant claims again",
	"a processed event is given again", "the same ending call again is not known", "a late completion is refused", "a live lane is given on",
	"a failure keeps its lanes", "a claim's version counts as applied at its grant", "a completion applies nothing", "the applied version is not looked at",
	"an unfinished predecessor is passed over", "a transition is not journaled",
}

// Each wrong rule is noticed, in few histories of a store that is right in all else.
func TestWrongRulesAreNoticed(t *testing.T) {
	tried := 0
	for i, r := range wrongrules.All() {
		if !slices.Contains(wrong, r.Name) {
			continue
		}
		tried++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			noticed(t, uint64(i+3)<<32, func(c *core) { c.decide = r.Decide }) //nolint:gosec // small
		})
	}
	if tried != len(wrong) {
		t.Errorf("%d of %d rules are there", tried, len(wrong))
	}
}

// An answer that is not stored is noticed.
func TestForgottenAnswersAreNoticed(t *testing.T) {
	t.Parallel()
	noticed(t, 1<<48, func(c *core) { c.early = true })
}

func noticed(t *testing.T, from uint64, change func(c *core)) {
	t.Helper()
	for seed := from; seed < from+3000; seed++ {
		c := newCore(seed)
		change(c)
		h := c.history(t, seed)
		v := Check(h, 5*time.Second)
		Forget(h)
		if !v.OK && !v.Open {
			t.Logf("after %d histories: %s", seed-from+1, v.Why)
			if v.Text == "" || v.Why == "" {
				t.Errorf("nothing is said about it: %+v", v)
			}
			return
		}
	}
	t.Error("nothing was noticed")
}
