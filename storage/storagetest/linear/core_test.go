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
	apart  bool // deeds are decided some time before they are written

	forgets bool // what acquisitions were granted

	moment time.Time // the last one

	behind sync.WaitGroup // what is still done after its caller was told

	mu     sync.Mutex
	rng    *rand.Rand
	s      *state
	rows   []Row
	leases []Lease
	fence  int64
	broken int64

	acquired map[string][]*idem.Event // what acquisitions were granted, by claimant
}

func newCore(seed uint64) *core {
	return &core{decide: idem.Decide, s: newState(), rng: rand.New(rand.NewPCG(seed, 9))} //nolint:gosec // chances, not secrets
}

// now is a moment for what was asked for at another: never an earlier one.
func (c *core) now(asked time.Time) idem.Instant {
	if !c.coarse || c.moment.Before(asked) || time.Since(c.moment) > 2*time.Millisecond {
		c.moment = time.Now()
	}
	return idem.InstantOf(c.moment)
}

var errLost = errors.New("the connection broke")

// Do implements [Replica].
func (c *core) Do(_ context.Context, cmd idem.Command) storage.Result {
	time.Sleep(rand.N(300 * time.Microsecond)) // on the way
	switch chance := c.chance(15); {
	case !c.bad || chance > 2:
		return c.do(cmd)
	case chance == 0:
		c.breaks()
		return storage.Result{Err: errLost}
	case chance == 1:
		r := c.do(cmd)
		c.breaks()
		if a, ok := r.Answer.(*idem.ClaimAnswer); ok && a.Granted && c.chance(2) == 0 { // it is given back
			c.behind.Go(func() { c.do(&idem.Release{Undelivered: true, Token: tokenOf(a.Event)}) })
		}
		return storage.Result{Err: errLost}
	default:
		r := c.do(cmd)
		c.breaks()
		if r.Err != nil {
			return r
		}
		time.Sleep(time.Millisecond)
		return c.do(cmd)
	}
}

func (c *core) chance(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *core) breaks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken++
}

func (c *core) do(cmd idem.Command) storage.Result {
	asked := time.Now()
	for {
		c.mu.Lock()
		now := c.now(asked)
		d := c.decision(cmd, now)
		if c.apart && d.Writes() && len(d.Entries) > 0 {
			c.mu.Unlock()
			time.Sleep(rand.N(2 * time.Millisecond))
			c.mu.Lock()
			now = c.now(asked)
			if !c.passes(d, now) {
				c.mu.Unlock()
				continue
			}
			d = c.s.rebased(d)
		}
		r := c.written(d, now)
		c.mu.Unlock()
		return r
	}
}

func (c *core) decision(cmd idem.Command, now idem.Instant) *idem.Decision {
	p := PolicyOf(idem.EventKey{EventRef: idem.EventRef{Namespace: namespaceOf(c.s, cmd)}}, "")
	d := c.decide(c.s.world(cmd, p, now), cmd, p)
	if d.Reread {
		panic("asked for more than all")
	}
	return &d
}

// passes is the test that a write makes: of the records which it changes, and no others.
func (c *core) passes(d *idem.Decision, now idem.Instant) bool {
	if !c.s.unchanged(d) || d.Event != nil && !onTime(c.s, d.Event, now) {
		return false
	}
	return !slices.ContainsFunc(d.Owners, func(w *idem.EventWrite) bool { return !onTime(c.s, w, now) })
}

// written carries a decision out, and answers.
func (c *core) written(d *idem.Decision, now idem.Instant) storage.Result {
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
		c.s = c.s.apply(d, now, fence)
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
	case *idem.Receive:
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

// Acquire implements [Replica].
func (c *core) Acquire(ctx context.Context, q storage.AcquireQuery) (got []storage.Acquired, err error) {
	for _, e := range c.pending(q) {
		claim := &idem.Claim{
			Key: e.Key, Facts: e.Facts, Ordering: e.Ordering, Claimant: q.Claimant, Holder: q.Holder, Nonce: q.Nonce(), AcceptReplay: true,
			Acquisition: idem.Digest("acquisition", q.Namespace, q.Consumer, q.Claimant),
		}
		claim.Facts.Kind = idem.ConsumerRequeue
		r := c.Do(ctx, claim)
		if a, ok := r.Answer.(*idem.ClaimAnswer); ok && a.Outcome == idem.OutcomeClaimed {
			got = append(got, storage.Acquired{Claim: claim, Result: r})
			c.keep(q.Claimant, e)
		} else if r.Err != nil && !isRule(r.Err) {
			err = r.Err
		}
	}
	if len(got) > 0 {
		err = nil
	}
	return got, err
}

// keep remembers what an acquisition was granted, unless the store forgets it.
func (c *core) keep(claimant string, e *idem.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acquired == nil {
		c.acquired = map[string][]*idem.Event{}
	}
	if !c.forgets {
		c.acquired[claimant] = append(c.acquired[claimant], e)
	}
}

// pending are some events that may be due.
func (c *core) pending(q storage.AcquireQuery) (list []*idem.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if granted := c.acquired[q.Claimant]; len(granted) > 0 { // it comes again
		return granted
	}
	for _, e := range c.s.events {
		if e.Key.Namespace == q.Namespace && e.State < idem.Processed && len(list) < q.Max {
			list = append(list, e)
		}
	}
	return list
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
	now := c.now(time.Now())
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
	c.behind.Wait()
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
