package storage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// round is one look at what is due: a question to the backend for all who wait, and the
// claims of what comes of it.
type round struct {
	b     *inbox
	query TakeQuery
	fresh map[Group][]*idem.Event
	olds  map[idem.ID]bool // lanes of which all that is not the newest is superseded
	new   []*acquirer      // of whom it is asked whether they are repeats
	rest  []Rest
	wg    sync.WaitGroup
}

// round holds a place in b.rounds, and gives it back when its claims are answered.
func (b *inbox) round(tick bool) {
	r := b.plan(tick)
	if r == nil {
		<-b.rounds
		return
	}
	var taken Taken
	var err error
	if len(r.query.Wanted)+len(r.query.Lanes)+len(r.query.Again) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), takeTimeout)
		taken, err = b.s.backend.Take(ctx, r.query)
		cancel()
	}
	if err != nil {
		b.failed(r, err)
		<-b.rounds
		return
	}
	r.repeats(taken.Again)
	r.match(&taken)
	b.s.wg.Go(func() {
		r.wg.Wait()
		<-b.rounds
	})
}

// plan is what is to be asked now, nil for nothing.
func (b *inbox) plan(tick bool) *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &round{b: b, fresh: map[Group][]*idem.Event{}, olds: map[idem.ID]bool{}}
	room := acquireRound
	for _, g := range b.inTurn() {
		d := b.desks[g]
		want, look := 0, d.dirty || tick
		for _, a := range d.waiting {
			a.sought = look
			want += a.q.Max
			if !a.asked && len(r.query.Again) < acquireRound {
				a.asked = true
				r.new = append(r.new, a)
				r.query.Again = append(r.query.Again, a.id)
			}
		}
		want = min(want, acquireGroup, room)
		if want == 0 || !look {
			continue
		}
		room -= want
		r.query.Wanted = append(r.query.Wanted, Wanted{g, want})
		for id, superseded := range d.lanes {
			r.query.Lanes = append(r.query.Lanes, id)
			r.olds[id] = superseded
		}
		r.fresh[g] = d.fresh
		d.fresh, d.dirty, d.asked, d.used = nil, false, time.Now(), time.Now()
		clear(d.lanes)
	}
	if len(r.query.Wanted)+len(r.new) == 0 {
		return nil
	}
	return r
}

// inTurn are the groups for which somebody waits. Another one is the first each time, so
// that no group takes all the room for ever.
func (b *inbox) inTurn() []Group {
	var list []Group
	for g, d := range b.desks {
		if len(d.waiting) > 0 {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, Group.Compare)
	if len(list) > 0 {
		b.turn = (b.turn + 1) % len(list)
		list = slices.Concat(list[b.turn:], list[:b.turn])
	}
	return list
}

// failed tells everybody who was asked for that the backend cannot be asked.
func (b *inbox) failed(r *round, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	groups := map[Group]bool{}
	for _, w := range r.query.Wanted {
		groups[w.Group] = true
	}
	for _, a := range r.new {
		groups[a.q.Group] = true
	}
	for g := range groups {
		d := b.desks[g]
		if d == nil {
			continue
		}
		for _, a := range d.waiting {
			a.answer(nil, err)
		}
		d.waiting, d.dirty = nil, true
	}
}

// repeats gives acquirers who come again the claims that they have.
func (r *round) repeats(again map[idem.ID][]*idem.Event) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	for _, a := range r.new {
		if list := again[a.id]; len(list) > 0 && a.state == acquirerWaits {
			r.b.remove(a)
			r.grant(a, list, true)
		}
	}
}

// match hands what is due to those who wait, those first who came first.
func (r *round) match(taken *Taken) {
	b := r.b
	b.mu.Lock()
	defer b.mu.Unlock()
	due := map[Group][]*idem.Event{}
	listed := map[idem.ID]bool{}
	full := map[Group]bool{}
	for _, e := range taken.Due {
		due[GroupOf(e.Key)] = append(due[GroupOf(e.Key)], e)
		listed[e.ID()] = true
	}
	for _, g := range taken.Full {
		full[g] = true
	}
	for _, e := range taken.Next {
		due[GroupOf(e.Key)] = append(due[GroupOf(e.Key)], e)
	}
	for _, w := range r.query.Wanted {
		g := w.Group
		d := b.desks[g]
		if d == nil {
			continue
		}
		left := r.candidates(append(due[g], r.fresh[g]...))
		for len(left) > 0 && len(d.waiting) > 0 && d.waiting[0].asked { // else it may be a repeat
			a := d.waiting[0]
			n := share(a, left)
			d.waiting = d.waiting[1:]
			r.grant(a, eventsOf(left[:n]), false)
			left = left[n:]
		}
		for _, c := range left {
			if listed[c.event.ID()] {
				r.rest = append(r.rest, Rest{Event: c.event.ID()})
			}
		}
		d.dirty = d.dirty || full[g] || len(left) > 0
		r.dismiss(d, full[g])
		if d.dirty && len(d.waiting) > 0 {
			b.ring()
		}
	}
	r.giveBack(r.rest)
}

// dismiss tells those that do not want to wait that there is nothing for them. Who came after
// the round was planned has not been looked for yet, and where more may be due nobody knows
// yet: the next round is for them.
func (r *round) dismiss(d *desk, more bool) {
	for _, a := range slices.Clone(d.waiting) {
		hurried := a.late || a.q.Wait <= 0
		switch {
		case !a.sought, more && hurried:
			d.dirty = d.dirty || hurried
		case hurried:
			r.b.remove(a)
			a.answer(nil, nil)
		default:
			a.served, a.sought = true, false
		}
	}
}

// candidate is an event that is worth a claim.
type candidate struct {
	event *idem.Event
	old   bool // superseded for all that is known: the claim says so and grants nothing
}

func eventsOf(list []candidate) []*idem.Event {
	out := make([]*idem.Event, len(list))
	for i, c := range list {
		out[i] = c.event
	}
	return out
}

// candidates are the events that are worth a claim: each once, one of each lane with what it
// supersedes, none of which a claim is on its way.
func (r *round) candidates(list []*idem.Event) []candidate {
	seen := map[idem.ID]bool{}
	heads := map[idem.ID]int{}
	var out, olds []candidate
	for _, e := range list {
		id := e.ID()
		if seen[id] || r.b.flying[id] {
			continue
		}
		seen[id] = true
		if e.Ordering == nil {
			out = append(out, candidate{event: e})
			continue
		}
		lane := e.Ordering.Resource.ID()
		at, known := heads[lane]
		switch {
		case !known:
			heads[lane] = len(out)
			out = append(out, candidate{event: e})
			continue
		case Ranks(e, out[at].event):
			out[at].event, e = e, out[at].event
		}
		if r.olds[lane] {
			olds = append(olds, candidate{e, true})
		}
	}
	return append(olds, out...)
}

// share is how many of the events an acquirer gets.
func share(a *acquirer, list []candidate) int {
	granted, bytes := 0, 0
	for i, c := range list {
		if c.old {
			continue
		}
		bytes += sizeOf(c.event)
		if granted == a.q.Max || granted > 0 && bytes > a.q.Bytes {
			return i
		}
		granted++
	}
	return len(list)
}

// grant claims events for an acquirer, or those that it has been granted before. The caller
// holds the lock.
func (r *round) grant(a *acquirer, list []*idem.Event, again bool) {
	a.state = acquirerGranted
	for _, e := range list {
		r.b.flying[e.ID()] = true
	}
	r.wg.Add(1)
	r.b.s.wg.Go(func() {
		defer r.wg.Done()
		r.claim(a, list, again)
	})
}

func (r *round) claim(a *acquirer, list []*idem.Event, again bool) {
	s := r.b.s
	cmds, places, out := make([]idem.Command, len(list)), make([]int, len(list)), make([]Result, len(list))
	for i, e := range list {
		cmds[i], places[i] = a.q.claim(a.id, e), i
	}
	s.together(context.Background(), cmds, places, out)
	var granted []Acquired
	var rest []Rest
	over := map[idem.ID]bool{} // lanes, and whether what is older is superseded
	var failure, own error
	for i, res := range out {
		claim, _ := cmds[i].(*idem.Claim)
		answer, _ := res.Answer.(*idem.ClaimAnswer)
		switch {
		case res.Err != nil && itsOwn(res.Err):
			d := time.Minute
			if errors.Is(res.Err, ErrContended) {
				d = time.Second
			}
			s.opts.Logger.Warn("a stored event cannot be granted and is tried again later", "event", list[i].ID(), "in", d, "error", res.Err)
			rest = append(rest, Rest{list[i].ID(), d})
			own = res.Err
		case res.Err != nil:
			failure = res.Err
			rest = append(rest, Rest{Event: list[i].ID()})
		case answer != nil && answer.Outcome == idem.OutcomeClaimed:
			granted = append(granted, Acquired{claim, res})
		case answer != nil:
			d, ok := pauseOf(answer)
			switch {
			case ok:
				rest = append(rest, Rest{list[i].ID(), d})
			case answer.Outcome != idem.OutcomeInProgress && list[i].Ordering != nil:
				lane := list[i].Ordering.Resource.ID()
				// A signal that was carried says nothing of those which tell of newer versions.
				over[lane] = over[lane] || answer.Outcome == idem.OutcomeStale && !list[i].Signals()
			}
		}
	}
	if again && failure == nil {
		failure = own // it has something: only nobody can tell it now
	}
	r.settle(a, list, over, granted, failure)
	r.giveBack(rest)
}

// settle tells an acquirer what it was granted, or lets it wait on. Where an event turned out
// to be over, what is next about its resource is looked for.
func (r *round) settle(a *acquirer, list []*idem.Event, over map[idem.ID]bool, granted []Acquired, failure error) {
	b := r.b
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.desks[a.q.Group]
	for _, e := range list {
		delete(b.flying, e.ID())
	}
	for lane, superseded := range over {
		if d != nil {
			d.lane(lane, superseded)
			d.dirty = true
		}
	}
	if d != nil && d.dirty && len(d.waiting) > 0 {
		b.ring()
	}
	switch {
	case a.state == acquirerGone:
		for _, g := range granted {
			b.s.undelivered(g.Claim, g.Result)
		}
	case len(granted) > 0:
		a.answer(granted, nil)
	case failure != nil:
		a.answer(nil, failure)
	case a.late || b.closed || d == nil:
		a.answer(nil, nil)
	default:
		a.state = acquirerWaits
		a.served = true
		d.waiting = slices.Insert(d.waiting, 0, a)
		if d.dirty {
			b.ring()
		}
	}
}

// giveBack lets events be offered again.
func (r *round) giveBack(list []Rest) {
	if len(list) == 0 {
		return
	}
	r.b.s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), takeTimeout)
		defer cancel()
		if err := r.b.s.backend.Rest(ctx, list); err != nil {
			r.b.s.opts.Logger.Warn("events are offered again later than they could be", "count", len(list), "error", err)
		}
	})
}
