package idem_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// grant is what an observer knows of a claim that was given: from answers alone, never
// from the record.
type grant struct {
	ev       int
	fence    int64
	nonce    idem.ID
	claimant string

	expired bool  // its lease is over
	lost    bool  // an operator decided over it, or a lane of it was given on
	retried bool  // an operator ordered a retry after its lease was over
	began   bool  // it began an effect
	before  uint8 // of a signal: the events that had been stored when it was given, a bit each

	end      string // the call that ended it
	endState idem.State
	endDue   idem.Instant
	lanes    []grantLane
}

type grantLane struct {
	res   int
	v     idem.Version
	fence int64
}

// What an observer knows of an event key, a resource and an effect.
type (
	eventWatch struct {
		counted int32 // grants of this round that count
		hold    bool  // a claim's owner vanished under HOLD, and nobody has decided since
		done    bool  // a completion was acknowledged, or an operator said so
		stored  bool  // a receipt or claim was answered with a record of it
		carried bool  // a signal: a grant that came after it was completed
		passes  bool  // an operator has decided that it runs out of turn
		round   int32
		decided action // by an operator, the last time, and the request that did
		request string
	}
	resourceWatch struct {
		done  bool
		max   idem.Version // newest completed version; of signals, newest fetched one
		fence int64
	}
	effectWatch struct {
		running, unknown, done, not bool
		generation                  int32
		value, downstream           string
	}
)

// node is a state of the world and what the observer knows.
type node struct {
	store
	grants  []grant
	evw     [maxEvents]eventWatch
	resw    [maxResources]resourceWatch
	fxw     [maxEffects]effectWatch
	acts    int
	extends int
}

func (n *node) clone() *node {
	c := *n
	c.grants = append([]grant(nil), n.grants...)
	return &c
}

// standing of a grant as semantics section 1 defines it.
func (n *node) standing(g int) string {
	gr := &n.grants[g]
	switch {
	case gr.end != "":
		return "ended"
	case gr.lost:
		return "lost"
	}
	for _, o := range n.grants[g+1:] {
		if o.ev == gr.ev {
			return "lost"
		}
	}
	if gr.expired {
		return "expired"
	}
	return "alive"
}

func (n *node) lastGrant(ev int) int {
	for g, gr := range slices.Backward(n.grants) {
		if gr.ev == ev {
			return g
		}
	}
	return -1
}

func (n *node) settled(ev int) *idem.Event {
	if n.ev[ev] == nil {
		return nil
	}
	return idem.Settled(n.ev[ev], clock, n.dom.policy)
}

// told is the state that a duplicate is told.
func (n *node) told(ev int) idem.State {
	e := n.settled(ev)
	switch {
	case e == nil:
		return idem.Absent
	case e.Replay:
		return e.SettledAs
	default:
		return e.State
	}
}

// laneHolder is the grant that holds the lane by what was answered: its claim is alive,
// or its event is held and keeps its lanes.
func (n *node) laneHolder(res int) int {
	for g := range n.grants {
		for _, l := range n.grants[g].lanes {
			if l.res != res || l.fence != n.resw[res].fence {
				continue
			}
			switch n.standing(g) {
			case "alive":
				return g
			case "expired":
				if n.evw[n.grants[g].ev].hold && n.dom.policy.HeldLanes {
					return g
				}
			}
		}
	}
	return -1
}

// action is one thing that can happen to a world.
type action uint8

const (
	doClaim action = iota // by a new claimant
	doClaimClient
	doClaimReplay
	doClaimAgain // by the claimant of a grant
	doReceive
	doBackfill
	doAcquire // a claim of the service itself
	doComplete
	doCompleteOther
	doCompleteUnknown
	doFetched // a completion that names the version that was fetched
	doFail
	doTerminal
	doNotYet
	doExtend
	doRelease
	doUndelivered
	doCheck
	doCheckFree
	doBegin
	doBeginAgain
	doRecord
	doDone
	doDoneOther
	doNotDone
	doUnknown
	doSettle
	doProcessed
	doRetry
	doEnd
	doDecideAgain // what was decided last, by the same request
	doDecideOtherwise
	doReplay
	doForge // a completion whose token has the right fence and another random part
	stepExpire
	stepDue
	stepEffect
	stepGap
)

var actionNames = [...]string{"claim", "claim by a client's repeat", "claim of a replay", "claim again", "receive", "backfill", "acquire", "complete", "complete otherwise",
	"complete with unknown effects", "complete with what was fetched", "fail", "fail terminally", "not yet", "extend", "release", "undelivered", "check", "check without a token", "begin",
	"begin again", "record", "done", "done otherwise", "not done", "unknown", "settle", "resolve processed", "resolve retry",
	"resolve terminal", "the same decision again", "another decision by the same request", "replay", "forged completion", "LEASE ENDS", "DUE", "EFFECT LEASE ENDS", "GAP AGES"}

// op is an action with its subjects.
type op struct {
	do          action
	ev, g, a, b int16
}

func (o op) String() string {
	return fmt.Sprintf("%s(event %d, grant %d, %d, %d)", actionNames[o.do], o.ev, o.g, o.a, o.b)
}

func number(n int64) (id idem.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	id[0] = 1
	return id
}

// ops lists everything that can happen.
func (n *node) ops(buf []op) []op {
	d := n.dom
	buf = buf[:0]
	add := func(do action, ev, g, a, b int) {
		buf = append(buf, op{do: do, ev: int16(ev), g: int16(g), a: int16(a), b: int16(b)})
	}
	for i := range d.events {
		e := n.ev[i]
		if e == nil || e.Total < d.grants {
			add(doClaim, i, -1, 0, 0)
			if e != nil && e.DueAt > clock {
				add(doClaimClient, i, -1, 0, 0)
			}
			if e != nil && e.Replay {
				add(doClaimReplay, i, -1, 0, 0)
			}
			if d.receive {
				add(doAcquire, i, -1, 0, 0)
			}
		}
		if d.receive {
			add(doReceive, i, -1, 0, 0)
			add(doBackfill, i, -1, 0, 0)
		}
		if e == nil {
			continue
		}
		if e.State == idem.Processing && e.LeaseUntil > clock {
			add(stepExpire, i, -1, 0, 0)
		}
		if e.DueAt > clock {
			add(stepDue, i, -1, 0, 0)
		}
		add(doSettle, i, -1, 0, 0)
		if n.evw[i].request != "" {
			add(doDecideAgain, i, -1, 0, 0)
			add(doDecideOtherwise, i, -1, 0, 0)
		}
		if n.acts < d.acts {
			add(doProcessed, i, -1, 0, 0)
			add(doRetry, i, -1, 0, 0)
			add(doEnd, i, -1, 0, 0)
			if d.replay {
				add(doReplay, i, -1, 0, 0)
				if len(e.ReplayIDs) > 0 {
					add(doReplay, i, -1, 1, 0)
				}
			}
		}
	}
	for g := range n.grants {
		i := n.grants[g].ev
		e := n.ev[i]
		if d.repeats && (n.standing(g) != "alive" || e.Reentries == 0) {
			add(doClaimAgain, i, g, 0, 0)
		}
		add(doComplete, i, g, 0, 0)
		if d.repeats {
			add(doCompleteOther, i, g, 0, 0)
			add(doForge, i, g, 0, 0)
		}
		if len(d.effects) > 0 {
			add(doCompleteUnknown, i, g, 0, 0)
		}
		for k := range d.fetched {
			add(doFetched, i, g, k, 0)
		}
		add(doFail, i, g, 0, 0)
		if d.terminal {
			add(doTerminal, i, g, 0, 0)
		}
		if d.notYet {
			add(doNotYet, i, g, 0, 0)
		}
		if n.standing(g) != "expired" || n.extends < d.extends {
			add(doExtend, i, g, 0, 0)
		}
		if d.release && (e.Releases < 1 || n.standing(g) != "alive") {
			add(doRelease, i, g, 0, 0)
		}
		if d.undelivered && g == n.lastGrant(i) && (e.Reentries > 0 || e.Total < d.grants) {
			add(doUndelivered, i, g, 0, 0)
		}
		for k := range d.checks {
			if d.checks[k].event == i {
				add(doCheck, i, g, k, 0)
			}
		}
		for k := range d.effects {
			if d.effects[k].only >= 0 && d.effects[k].only != i {
				continue
			}
			for h := range d.effects[k].hashes {
				if n.fx[k] == nil || len(n.fx[k].Tries) < d.begins {
					add(doBegin, i, g, k, h)
				}
				add(doBeginAgain, i, g, k, h)
				add(doRecord, i, g, k, h)
			}
		}
	}
	for k, f := range n.fx {
		if f == nil {
			continue
		}
		for t := range f.Tries {
			add(doDone, -1, -1, k, t)
			add(doDoneOther, -1, -1, k, t)
			add(doNotDone, -1, -1, k, t)
			add(doUnknown, -1, -1, k, t)
		}
		if f.State == idem.EffectBegun && f.LeaseUntil > clock {
			add(stepEffect, -1, -1, k, 0)
		}
	}
	for k, r := range n.res {
		if r != nil && r.GapSince == clock {
			add(stepGap, -1, -1, k, 0)
		}
	}
	if d.tokenless {
		for k := range d.checks {
			add(doCheckFree, -1, -1, k, 0)
		}
	}
	return buf
}

func (n *node) token(g int16) idem.Token {
	gr := &n.grants[g]
	k := n.dom.events[gr.ev].key
	return idem.Token{Namespace: k.Namespace, Consumer: k.Consumer, Event: n.dom.ids[gr.ev], Fence: gr.fence, Nonce: gr.nonce}
}

// command is the command of an op, nil for a step of time.
func (n *node) command(o op) idem.Command {
	d := n.dom
	switch o.do {
	case doReceive:
		def := d.events[o.ev]
		return &idem.Receive{Key: def.key, Facts: def.facts, Stale: def.stale, Ordering: def.ordering}
	case doBackfill:
		def := d.events[o.ev]
		return &idem.Receive{Key: def.key, Facts: def.facts, Stale: def.stale, Ordering: def.ordering, Backfill: &idem.Backfill{RequestID: "b", Who: "op", Why: "late"}}
	case doAcquire:
		c := &idem.Claim{Key: d.events[o.ev].key, Acquisition: number(n.seq + 1), Nonce: number(n.seq + 1), Claimant: fmt.Sprintf("c%d", n.seq+1), AcceptReplay: true}
		if e := n.ev[o.ev]; e != nil {
			c.Facts, c.Ordering = e.Facts, e.Ordering
		}
		c.Facts.Kind = idem.ConsumerRequeue
		return c
	case doClaim, doClaimClient, doClaimReplay, doClaimAgain:
		def := d.events[o.ev]
		c := &idem.Claim{Key: def.key, Facts: def.facts, Stale: def.stale, Ordering: def.ordering}
		c.Facts.Kind = idem.ProviderRetry
		if n.ev[o.ev] != nil && def.later != nil {
			c.Ordering = def.later
		}
		c.Nonce = number(n.seq + 1)
		c.Claimant = fmt.Sprintf("c%d", n.seq+1)
		switch o.do {
		case doClaimClient:
			c.Facts.Kind = idem.ClientRepeat
		case doClaimReplay:
			c.AcceptReplay = true
		case doClaimAgain:
			c.Claimant = n.grants[o.g].claimant
		default:
		}
		return c
	case doComplete:
		return &idem.Complete{Token: n.token(o.g), Result: []byte(fmt.Sprintf("r%d", o.g))}
	case doCompleteOther:
		return &idem.Complete{Token: n.token(o.g), Result: []byte("other")}
	case doCompleteUnknown:
		return &idem.Complete{Token: n.token(o.g), Result: []byte(fmt.Sprintf("r%d", o.g)), AllowUnknown: true}
	case doFetched:
		return &idem.Complete{Token: n.token(o.g), Applied: &idem.Version{Kind: idem.Sequence, Value: d.fetched[o.a]}}
	case doForge:
		t := n.token(o.g)
		t.Nonce[1] ^= 1
		return &idem.Complete{Token: t, Result: []byte("forged")}
	case doFail:
		return &idem.Fail{Token: n.token(o.g), Error: idem.Failure{Kind: idem.Retryable, Code: "X"}, Draw: 0.5}
	case doTerminal:
		return &idem.Fail{Token: n.token(o.g), Error: idem.Failure{Kind: idem.Terminal, Code: "T"}}
	case doNotYet:
		return &idem.Fail{Token: n.token(o.g), Error: idem.Failure{Kind: idem.NotYet, Code: "N"}, Draw: 0.5}
	case doExtend:
		return &idem.Extend{Token: n.token(o.g)}
	case doRelease:
		return &idem.Release{Token: n.token(o.g), Why: "stopping"}
	case doUndelivered:
		return &idem.Release{Token: n.token(o.g), Undelivered: true}
	case doCheck:
		t := n.token(o.g)
		return &idem.Check{Token: &t, Ordering: d.checks[o.a].ordering}
	case doCheckFree:
		return &idem.Check{Ordering: d.checks[o.a].ordering, By: number(1000 + int64(o.a))}
	case doBegin, doBeginAgain:
		t := n.token(o.g)
		def := d.effects[o.a]
		c := &idem.BeginEffect{Token: &t, Key: d.effectKey(int(o.a), int(o.ev)), OnUnknown: def.onUnknown, RequestHash: []byte(def.hashes[o.b])}
		tries, gen := 0, int32(1)
		if f := n.fx[o.a]; f != nil {
			tries, gen = len(f.Tries), f.Generation
		}
		if o.do == doBegin {
			tries++
		}
		c.BeginID = fmt.Sprintf("b%d.%d", gen, tries)
		c.Nonce = number(int64(gen)<<8 | int64(tries))
		return c
	case doRecord:
		t := n.token(o.g)
		return &idem.RecordEffect{Token: &t, Key: d.effectKey(int(o.a), int(o.ev)), RequestHash: []byte(d.effects[o.a].hashes[o.b]), Result: []byte("recorded")}
	case doDone, doDoneOther, doNotDone, doUnknown:
		f := n.fx[o.a]
		t := f.Tries[o.b]
		c := &idem.ReportEffect{Token: idem.EffectToken{Namespace: f.Key.Namespace, Effect: f.ID(), Generation: f.Generation, Number: t.Number, Nonce: t.Nonce}}
		switch o.do {
		case doDone:
			c.State, c.Result = idem.EffectDone, []byte("done")
		case doDoneOther:
			c.State, c.Result = idem.EffectDone, []byte("done otherwise")
		case doNotDone:
			c.State = idem.EffectNotDone
		default:
			c.State = idem.EffectUnknown
		}
		return c
	case doSettle:
		return &idem.Settle{Event: d.ids[o.ev]}
	case doProcessed, doRetry, doEnd, doDecideAgain, doDecideOtherwise:
		return n.decision(o)
	case doReplay:
		req := fmt.Sprintf("p%d", n.acts)
		if o.a == 1 {
			req = n.ev[o.ev].ReplayIDs[len(n.ev[o.ev].ReplayIDs)-1]
		}
		return &idem.Replay{Event: d.ids[o.ev], RequestID: req}
	default:
		return nil
	}
}

// decision is what an operator decides, by a request of its own or by the last one.
func (n *node) decision(o op) *idem.Resolve {
	c := &idem.Resolve{Event: n.dom.ids[o.ev], RequestID: fmt.Sprintf("d%d", n.acts)}
	do := o.do
	if do == doDecideAgain || do == doDecideOtherwise {
		c.RequestID, do = n.evw[o.ev].request, n.evw[o.ev].decided
	}
	switch do {
	case doProcessed:
		c.To, c.Result = idem.ResolveProcessed, []byte("by operator")
	case doRetry:
		c.To = idem.ResolveRetry
	default:
		c.To = idem.ResolveTerminal
	}
	if o.do == doDecideOtherwise {
		c.Result = []byte("otherwise")
	}
	return c
}

func (d *domain) effectKey(k, ev int) idem.EffectKey {
	key := d.effects[k].key
	if key.Scope == idem.EventScope {
		key.Event = d.ids[ev]
	}
	return key
}

// pass carries out a step of time.
func (n *node) pass(o op) *node {
	c := n.clone()
	switch o.do {
	case stepExpire:
		e := *c.ev[o.ev]
		e.LeaseUntil = clock // expired is lease_until <= now
		c.ev[o.ev] = &e
		g := c.lastGrant(int(o.ev))
		c.grants[g].expired = true
		if e.Stale == idem.Hold {
			c.evw[o.ev].hold = true
		}
	case stepDue:
		e := *c.ev[o.ev]
		e.DueAt = clock
		c.ev[o.ev] = &e
	case stepEffect:
		f := *c.fx[o.a]
		f.LeaseUntil = clock
		c.fx[o.a] = &f
		c.fxw[o.a].running, c.fxw[o.a].unknown = false, true
	case stepGap:
		r := *c.res[o.a]
		r.GapSince = clock - idem.Instant(n.dom.policy.GapAfter.Microseconds()) - 1
		c.res[o.a] = &r
	default:
	}
	return c
}

// key is the node's canonical form: equal for worlds that differ in nothing that any
// later answer can show. Fences are replaced by their ranks.
func (n *node) key(buf []byte, watch bool) []byte {
	var fences []int64
	note := func(f int64) {
		if f == 0 {
			return
		}
		i := sort.Search(len(fences), func(i int) bool { return fences[i] >= f })
		if i < len(fences) && fences[i] == f {
			return
		}
		fences = append(fences, 0)
		copy(fences[i+1:], fences[i:])
		fences[i] = f
	}
	for i := range n.grants {
		note(n.grants[i].fence)
		for _, l := range n.grants[i].lanes {
			note(l.fence)
		}
	}
	for _, e := range n.ev {
		if e != nil {
			note(e.Fence)
		}
	}
	for _, r := range n.res {
		if r != nil {
			note(r.LaneFence)
			note(r.OwnerFence)
			note(r.Covered)
		}
	}
	rank := func(f int64) byte {
		if f == 0 {
			return 0
		}
		return byte(1 + sort.Search(len(fences), func(i int) bool { return fences[i] >= f }))
	}
	bit := func(bs ...bool) {
		var v byte
		for i, b := range bs {
			if b {
				v |= 1 << i
			}
		}
		buf = append(buf, v)
	}
	when := func(i idem.Instant) {
		switch {
		case i == 0:
			buf = append(buf, 0)
		case i > clock:
			buf = append(buf, 1)
		case i == clock:
			buf = append(buf, 2)
		default:
			buf = append(buf, 3)
		}
	}
	str := func(s []byte) { buf = append(append(buf, byte(len(s))), s...) }
	for i, e := range n.ev {
		if e == nil {
			buf = append(buf, 0)
			continue
		}
		buf = append(buf, byte(e.State)+1, byte(e.Reason), byte(e.Stale), rank(e.Fence), byte(e.Reentries), byte(e.Round), byte(e.Attempts),
			byte(e.Total), byte(e.Releases), byte(e.SettledAs), byte(e.End), byte(e.EndState), byte(e.Effects), byte(e.Waiting.Kind), e.Waiting.Event[7], e.CarriedBy[7])
		bit(e.ByExpiry, e.Tied, e.Waived, e.Replay, e.ReplayFailed, e.EndLate, e.EndFree, e.Began)
		bit(e.Ordering != nil, e.State == idem.Processing && e.LeaseUntil > clock, e.ReplayDied, e.GrantRound == e.Round, e.Backfill, e.LetPass)
		when(e.DueAt)
		when(e.NotYetSince)
		str(e.Result)
		str([]byte(strings.Join(e.ReplayIDs, "\x00")))
		str(e.EndHash[:2])
		buf = append(buf, byte(e.Waiting.Expected.Value), byte(len(e.Lanes)))
		for _, l := range e.Lanes {
			buf = append(buf, l.Resource[0], byte(l.Version.Value))
		}
		for _, a := range n.past[i] {
			buf = append(buf, rank(a.Fence), byte(a.End), byte(a.State))
			when(a.DueAt)
			str(a.EndHash[:2])
		}
	}
	for _, r := range n.res {
		if r == nil {
			buf = append(buf, 0)
			continue
		}
		buf = append(buf, 1, byte(r.Kind), byte(r.Mode), byte(r.Epoch), byte(r.Value), r.AppliedBy[7], byte(r.Start), r.Owner[7], rank(r.OwnerFence), rank(r.LaneFence), rank(r.Covered), r.CoveredBy[7])
		bit(r.Applied, r.Owned)
		when(r.GapSince)
		str([]byte(r.State))
	}
	for _, f := range n.fx {
		if f == nil {
			buf = append(buf, 0)
			continue
		}
		buf = append(buf, byte(f.State)+1, byte(f.Generation), byte(f.OnUnknown), f.Event[7], rank(f.Fence), byte(len(f.Conflicts)))
		when(f.LeaseUntil)
		str(f.Result)
		str(f.RequestHash)
		for _, t := range f.Tries {
			bit(t.Open)
		}
	}
	for _, m := range n.members {
		buf = append(buf, m.Event[7], byte(m.Value))
	}
	if !watch {
		return buf
	}
	buf = append(buf, byte(n.acts), byte(n.extends))
	for _, g := range n.grants {
		buf = append(buf, byte(g.ev), byte(g.endState), g.before)
		bit(g.expired, g.lost, g.retried, g.began)
		when(g.endDue)
		str([]byte(g.end))
		for _, l := range g.lanes {
			buf = append(buf, byte(l.res), byte(l.v.Value), rank(l.fence))
		}
	}
	for _, w := range n.evw {
		buf = append(buf, byte(w.counted), byte(w.decided))
		str([]byte(w.request))
		bit(w.hold, w.done, w.stored, w.carried, w.passes)
	}
	for _, w := range n.resw {
		buf = append(buf, byte(w.max.Value))
		bit(w.done)
	}
	for _, w := range n.fxw {
		bit(w.running, w.unknown, w.done, w.not)
		str([]byte(w.value))
	}
	return buf
}

// violation is a broken rule, and the shortest way to it.
type violation struct {
	rule string
	key  string // the rule and the action that broke it
	text string
	path []string
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s\n    %s", v.rule, v.text, strings.Join(v.path, "\n    "))
}

// explorer walks every interleaving of a domain, breadth first.
type explorer struct {
	dom    *domain
	decide decider
	limit  int // states; 0: all
	most   int // violations after which it stops

	// ignore holds violations, by rule and action, that are not looked for.
	ignore map[string]bool

	// see is told of each decision; nil for none.
	see func(n *node, c idem.Command, d *idem.Decision)
	// settle checks that no answer depends on whether the sweeper has run.
	settle bool

	states, steps int
	cut           bool // the limit was reached
	found         []violation
	seenRules     map[string]bool
}

type visit struct {
	n      *node
	parent int32
	by     op
}

func (x *explorer) run() {
	if x.most == 0 {
		x.most = 1
	}
	x.seenRules = map[string]bool{}
	first := &node{store: store{dom: x.dom.prepare()}}
	if x.dom.start != nil {
		x.dom.start(&first.store)
	}
	seen := map[[16]byte]struct{}{}
	var buf []byte
	mark := func(n *node) bool {
		buf = n.key(buf[:0], true)
		sum := sha256.Sum256(buf)
		k := [16]byte(sum[:16])
		if _, ok := seen[k]; ok {
			return false
		}
		seen[k] = struct{}{}
		return true
	}
	mark(first)
	queue := []visit{{n: first, parent: -1}}
	var ops []op
	for at := 0; at < len(queue); at++ {
		n := queue[at].n
		x.states++
		ops = n.ops(ops)
		var swept *node
		if x.settle {
			swept = x.sweep(n)
		}
		for _, o := range ops {
			x.steps++
			next, broken := x.step(n, o)
			if broken == nil && swept != nil {
				broken = x.independent(n, swept, next, o)
			}
			if broken != nil {
				if key := broken.rule + " at " + actionNames[o.do]; !x.seenRules[key] && !x.ignore[key] {
					x.seenRules[key] = true
					broken.key = key
					broken.path = x.path(queue, at, o)
					x.found = append(x.found, *broken)
					if len(x.found) >= x.most {
						return
					}
				}
				continue
			}
			if next != nil && mark(next) {
				if x.limit > 0 && len(queue) >= x.limit {
					x.cut = true
					continue
				}
				queue = append(queue, visit{n: next, parent: int32(at), by: o})
			}
		}
		queue[at].n = nil
	}
}

func (x *explorer) path(queue []visit, at int, last op) []string {
	var ops []op
	for i := int32(at); queue[i].parent >= 0; i = queue[i].parent {
		ops = append(ops, queue[i].by)
	}
	var lines []string
	for _, o := range slices.Backward(ops) {
		lines = append(lines, o.String())
	}
	return append(lines, last.String())
}

// sweep is the world after the sweeper has run, nil when there is nothing to sweep.
func (x *explorer) sweep(n *node) *node {
	var c *node
	for i, e := range n.ev {
		if e == nil || e.State != idem.Processing || e.LeaseUntil > clock {
			continue
		}
		if c == nil {
			c = n.clone()
		}
		cmd := &idem.Settle{Event: n.dom.ids[i]}
		d := x.decide(c.world(cmd), cmd, n.dom.policy)
		if err := c.apply(&d); err != nil {
			panic(err)
		}
	}
	return c
}

// independent compares a step with the same step after a sweep.
func (x *explorer) independent(n, swept, next *node, o op) *violation {
	cmd := swept.command(o)
	if cmd == nil {
		return nil
	}
	// The same command, as the unswept world makes it.
	cmd = n.command(o)
	d1 := x.decide(n.world(cmd), cmd, n.dom.policy)
	a := n.clone()
	if err := a.apply(&d1); err != nil {
		return &violation{rule: "store", text: err.Error()}
	}
	d2 := x.decide(swept.world(cmd), cmd, n.dom.policy)
	b := swept.clone()
	if err := b.apply(&d2); err != nil {
		return &violation{rule: "store", text: err.Error()}
	}
	if _, isSettle := cmd.(*idem.Settle); !isSettle {
		if s1, s2 := signature(&d1), signature(&d2); s1 != s2 {
			return &violation{rule: "settle first", text: fmt.Sprintf("the answer depends on the sweeper: %s unswept, %s swept", s1, s2)}
		}
	}
	if s := x.sweep(a); s != nil {
		a = s
	}
	if s := x.sweep(b); s != nil {
		b = s
	}
	if k1, k2 := a.key(nil, false), b.key(nil, false); !bytes.Equal(k1, k2) {
		return &violation{rule: "settle first", text: fmt.Sprintf("the record depends on the sweeper: %s unswept, %s swept", a.show(), b.show())}
	}
	_ = next
	return nil
}

func (n *node) show() string {
	var b strings.Builder
	for i := range n.dom.events {
		if e := n.ev[i]; e != nil {
			fmt.Fprintf(&b, "[%d %v star=%v end=%v attempts=%d lanes=%d]", i, e.State, e.ByExpiry, e.End, e.Attempts, len(e.Lanes))
		}
	}
	for i := range n.dom.resources {
		if r := n.res[i]; r != nil {
			fmt.Fprintf(&b, "{%d applied=%v %d owned=%v}", i, r.Applied, r.Value, r.Owned)
		}
	}
	return b.String()
}

// signature is what the caller sees.
func signature(d *idem.Decision) string {
	if d.Err != nil {
		return string(d.Err.Code)
	}
	switch a := d.Answer.(type) {
	case *idem.ClaimAnswer:
		s := fmt.Sprintf("%v %v granted=%v reentered=%v lane=%d blocker=%v previous=%v late=%d retry=%v", a.Outcome, a.Advice, a.Granted, a.Reentered, a.LaneFence, a.Blocker.EventID, a.Previous.Code, len(a.Late), a.RetryIn)
		if a.Expected != nil {
			s += fmt.Sprintf(" expected=%d", a.Expected.Value)
		}
		if a.Event != nil {
			s += fmt.Sprintf(" %v attempt=%d/%d fence=%d", a.Event.State, a.Event.Attempts, a.Event.Total, a.Event.Fence)
		}
		return s
	case *idem.EndAnswer:
		return fmt.Sprintf("%v already=%v late=%v counted=%v due=%v attempt=%d", a.State, a.Already, a.Late, a.Counted, a.Due, a.Attempt)
	case *idem.ExtendAnswer:
		return fmt.Sprintf("until=%v rearmed=%v", a.LeaseUntil, a.Rearmed)
	case *idem.CheckAnswer:
		return fmt.Sprintf("%v lane=%d blocker=%v known=%v", a.Verdict, a.LaneFence, a.Blocker.EventID, a.Known)
	case *idem.EffectAnswer:
		s := fmt.Sprintf("%v attempt=%d repeat=%v conflict=%v", a.Verdict, a.Attempt, a.Repeat, a.Conflict)
		if a.Effect != nil {
			s += fmt.Sprintf(" %v %s", a.Effect.State, a.Effect.Result)
		}
		return s
	}
	return fmt.Sprintf("%T reread=%v", d.Answer, d.Reread)
}

// IDEM_EXPLORE is the number of states to explore in each world, "all" for all of them,
// which is meant for a machine that has hours.
var (
	explore = os.Getenv("IDEM_EXPLORE")
	large   = explore != ""
)

// TestSmallWorlds explores every interleaving of small worlds and checks the promises on
// each step. The invariants are written from the semantics, not from Decide.
func TestSmallWorlds(t *testing.T) {
	all := domains()
	for _, d := range rareDomains() {
		if d.start == nil {
			all = append(all, d)
		}
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			x := &explorer{dom: d, decide: idem.Decide, settle: true, most: 12, limit: stateLimit}
			if large && explore != "all" {
				n, err := strconv.Atoi(explore)
				if err != nil {
					t.Fatalf("IDEM_EXPLORE: %v", err)
				}
				x.limit = n
			} else if large {
				x.limit = 0
			}
			x.run()
			t.Logf("%d states, %d steps, cut=%v", x.states, x.steps, x.cut)
			for _, v := range x.found {
				t.Error(v.String())
			}
		})
	}
}
