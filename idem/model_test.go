package idem_test

import (
	"fmt"
	"sort"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// decider is the function under test: Decide itself, or a deliberately wrong one.
type decider func(*idem.World, idem.Command, *idem.Policy) idem.Decision

// The model's clock stands still. A lease, a delay or a gap's patience ends by a step of
// its own, which moves the stored instant instead: leases may have any length, so every
// order of such steps is an order that a real clock can produce.
const clock idem.Instant = 1_800_000_000_000_000

// Bounds of the model's worlds.
const (
	maxEvents    = 3
	maxResources = 2
	maxEffects   = 1
)

// store is a store of records in its smallest form. Records are never changed in place, so
// that a copy of the struct is a copy of the store.
type store struct {
	blind bool // completions of signals are shown no others
	dom   *domain

	ev      [maxEvents]*idem.Event
	past    [maxEvents][]idem.Attempt
	res     [maxResources]*idem.Resource
	fx      [maxEffects]*idem.Effect
	members []idem.Member
	seq     int64 // the source of fences
}

// at is the index of an event in the store, -1 for none.
func (s *store) at(id idem.ID) int {
	for i, k := range s.dom.ids {
		if k == id {
			return i
		}
	}
	return -1
}

func (s *store) resAt(id idem.ID) int {
	for i, k := range s.dom.resIDs {
		if k == id {
			return i
		}
	}
	return -1
}

// world loads what Decide may look at for a command.
func (s *store) world(c idem.Command) *idem.World {
	w := &idem.World{Now: clock, Resources: map[idem.ID]*idem.Resource{}, Owners: map[idem.ID]*idem.Event{}}
	i := s.at(c.Subject())
	load := func(id idem.ID) {
		r := s.resAt(id)
		if r < 0 || s.res[r] == nil {
			return
		}
		w.Resources[id] = s.res[r]
		if o := s.at(s.res[r].Owner); o >= 0 && s.ev[o] != nil {
			w.Owners[s.res[r].Owner] = s.ev[o]
		}
	}
	if i >= 0 && s.ev[i] != nil {
		w.Event = s.ev[i]
		w.Past = s.attempt(i, c)
		for _, l := range w.Event.Lanes {
			load(l.Resource)
		}
		if o := w.Event.Ordering; o != nil {
			load(o.Resource.ID())
		}
		for _, f := range s.fx {
			if f != nil && f.Event == w.Event.ID() {
				w.Effects = append(w.Effects, f)
			}
		}
	}
	if _, ok := c.(*idem.Complete); ok && w.Event != nil && w.Event.Signals() && !s.blind {
		for _, e := range s.ev {
			if e != nil && e != w.Event {
				w.Signals = append(w.Signals, e)
			}
		}
	}
	key, named := idem.ResourceOf(c)
	if named {
		load(key.ID())
	} else if w.Event != nil && w.Event.Ordering != nil {
		key, named = w.Event.Ordering.Resource, true
	}
	for _, o := range w.Owners {
		for _, l := range o.Lanes {
			if r := s.resAt(l.Resource); r >= 0 && s.res[r] != nil {
				w.Resources[l.Resource] = s.res[r]
			}
		}
	}
	if named {
		for _, m := range s.members {
			if m.Resource != key.ID() {
				continue
			}
			me := idem.MemberEvent{Member: m}
			if j := s.at(m.Event); j >= 0 && s.ev[j] != nil {
				me.Key = s.ev[j].Key
				me.State = idem.Settled(s.ev[j], clock, s.dom.policy).State
			}
			w.Members = append(w.Members, me)
		}
		sort.Slice(w.Members, func(a, b int) bool { return w.Members[a].Value < w.Members[b].Value })
	}
	if id, ok := idem.EffectOf(c); ok {
		for _, f := range s.fx {
			if f != nil && f.ID() == id {
				w.Effect = f
			}
		}
	}
	return w
}

// attempt is the earlier attempt that the command's token or claimant names.
func (s *store) attempt(i int, c idem.Command) *idem.Attempt {
	var tok *idem.Token
	claimant := ""
	switch c := c.(type) {
	case *idem.Claim:
		claimant = c.Claimant
	case *idem.Complete:
		tok = &c.Token
	case *idem.Fail:
		tok = &c.Token
	case *idem.Extend:
		tok = &c.Token
	case *idem.Release:
		tok = &c.Token
	case *idem.Check:
		tok = c.Token
	case *idem.BeginEffect:
		tok = c.Token
	case *idem.RecordEffect:
		tok = c.Token
	}
	for j := len(s.past[i]) - 1; j >= 0; j-- {
		a := &s.past[i][j]
		if (tok != nil && a.Fence == tok.Fence) || (claimant != "" && a.Claimant == claimant) {
			return a
		}
	}
	return nil
}

// apply writes a decision. It refuses what a real store would refuse: a write on another
// row version, or on a record that is not the stored one.
func (s *store) apply(d *idem.Decision) error {
	var fence int64
	if d.Draws() {
		s.seq++
		fence = s.seq
	}
	put := func(w *idem.EventWrite) error {
		i := s.at(w.New.ID())
		if i < 0 {
			return fmt.Errorf("a write of an event outside the world")
		}
		if s.ev[i] != w.Old {
			return fmt.Errorf("a write on another record than the stored one")
		}
		s.ev[i] = w.Apply(clock, fence)
		return nil
	}
	if d.Event != nil {
		if err := put(d.Event); err != nil {
			return err
		}
	}
	for _, o := range d.Owners {
		if err := put(o); err != nil {
			return err
		}
	}
	for _, w := range d.Resources {
		r := s.resAt(w.New.Key.ID())
		switch {
		case r < 0:
			return fmt.Errorf("a write of a resource outside the world")
		case s.res[r] != nil && s.res[r] != w.Old, s.res[r] == nil && w.Old.Version != 0:
			return fmt.Errorf("a write on another resource record than the stored one")
		}
		s.res[r] = w.Apply(clock, fence)
	}
	for _, w := range d.Effects {
		found := -1
		for i, f := range s.fx {
			if (f == nil && w.Old.Version == 0) || f == w.Old {
				found = i
			}
		}
		if found < 0 {
			return fmt.Errorf("a write on another effect record than the stored one")
		}
		s.fx[found] = w.Apply(clock)
	}
	for _, a := range d.Attempts {
		i := s.at(a.Event)
		s.past[i] = append(append([]idem.Attempt(nil), s.past[i]...), a)
	}
	if d.Member != nil {
		s.members = append(append([]idem.Member(nil), s.members...), *d.Member)
	}
	d.Finish(clock, fence)
	return nil
}

// domain is a small world to explore: its records, its rules, and what may happen in it.
type domain struct {
	name   string
	policy *idem.Policy

	events    []eventDef
	resources []idem.ResourceKey
	effects   []effectDef
	checks    []checkDef

	grants  int32 // at most that many grants of an event
	acts    int   // at most that many acts of operators
	extends int   // at most that many claims armed again
	begins  int   // at most that many tries of an effect

	release, notYet, undelivered, terminal, replay, tokenless, repeats, receive bool

	fetched []int64 // the versions that completions of signals may name

	start func(*store) // fills the store before the first step

	ids    []idem.ID
	resIDs []idem.ID
}

type eventDef struct {
	key      idem.EventKey
	ordering *idem.Ordering
	later    *idem.Ordering // carried by the redeliveries only
	stale    idem.StaleClaim
	facts    idem.Facts
}

type effectDef struct {
	key       idem.EffectKey
	onUnknown idem.OnUnknown
	hashes    []string
	only      int // begun under this event only; -1 for all
}

// checkDef is a version that the claim of an event may ask about.
type checkDef struct {
	event    int
	ordering idem.Ordering
}

func (d *domain) prepare() *domain {
	d.ids, d.resIDs = nil, nil
	for _, e := range d.events {
		d.ids = append(d.ids, e.key.ID())
	}
	for _, r := range d.resources {
		d.resIDs = append(d.resIDs, r.ID())
	}
	return d
}

func eventKey(n int) idem.EventKey {
	return idem.EventKey{
		EventRef: idem.EventRef{Namespace: "ns", Source: "src", EventID: fmt.Sprintf("e%d", n)},
		Consumer: "billing",
	}
}

func resourceKey(n int) idem.ResourceKey {
	return idem.ResourceKey{Namespace: "ns", Consumer: "billing", Type: "order", Name: fmt.Sprintf("r%d", n)}
}

func ordering(r int, mode idem.Mode, value int64) *idem.Ordering {
	return &idem.Ordering{
		Resource: resourceKey(r), Mode: mode,
		Version: idem.Version{Kind: idem.Sequence, Value: value},
	}
}

// smallPolicy is the default policy with the fewest attempts that still tell a first run,
// a retry and the end apart.
func smallPolicy(change func(*idem.Policy)) *idem.Policy {
	p := idem.DefaultPolicy()
	p.Version = 7
	p.MaxAttempts = 2
	p.Backoff = idem.Backoff{Base: time.Second, Factor: 2, Cap: time.Minute}
	if change != nil {
		change(p)
	}
	return p
}
