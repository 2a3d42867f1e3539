package idem_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// dice makes random worlds and commands, reachable or not, from few values, so that they
// often meet.
type dice struct{ *rand.Rand }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func (d dice) coin() bool { return d.IntN(2) == 0 }

func (d dice) id() idem.ID {
	return pick(d, idem.ID{}, eventKey(0).ID(), eventKey(1).ID(), number(1), number(2))
}

func (d dice) fence() int64 { return pick[int64](d, 0, 1, 2, 3) }

func (d dice) instant() idem.Instant {
	return pick(d, 0, 1, clock-1, clock, clock+1, clock.Add(time.Hour))
}

func (d dice) blob() []byte { return pick(d, nil, []byte{}, []byte("a"), []byte("b")) }

func (d dice) version() idem.Version {
	return idem.Version{Kind: pick(d, idem.NoVersion, idem.Sequence, idem.Moment), Epoch: d.Int64N(2), Value: d.Int64N(5) - 1}
}

func (d dice) resourceKey() idem.ResourceKey { return resourceKey(d.IntN(2)) }

func (d dice) ordering() *idem.Ordering {
	o := &idem.Ordering{Resource: d.resourceKey(), Version: d.version(), Mode: pick(d, idem.NoMode, idem.LatestWins, idem.Sequential)}
	if d.IntN(4) == 0 {
		o.Transition = &idem.Transition{Machine: pick(d, "m", "none"), To: pick(d, "a", "b", "")}
	}
	return o
}

func (d dice) facts() idem.Facts {
	return idem.Facts{
		Origin: pick(d, "", "me"), PayloadHash: d.blob(), Fingerprint: d.blob(), OccurredAt: d.Int64N(3), ReceivedAt: d.Int64N(3),
		Kind: idem.DeliveryKind(d.IntN(7)), Signature: idem.Signature(d.IntN(6)), //nolint:gosec // small
	}
}

func (d dice) failure() idem.Failure {
	return idem.Failure{Kind: idem.FailureKind(d.IntN(5)), Code: pick(d, "", "X")} //nolint:gosec // small
}

func (d dice) small() int32 { return int32(d.IntN(4)) } //nolint:gosec // small

func (d dice) event(k idem.EventKey) *idem.Event {
	e := &idem.Event{
		Key: k, Facts: d.facts(), Version: d.Int64N(5) + 1, State: pick(d, idem.States...), ByExpiry: d.coin(), Stale: pick(d, idem.StaleByPolicy, idem.Reclaim, idem.Hold),
		Fence: d.fence(), Nonce: d.id(), Claimant: pick(d, "", "a", "b"), Lease: time.Minute, LeaseUntil: d.instant(), GrantedAt: d.instant(),
		Reentries: d.small(), Tied: d.coin(), Waived: d.coin(), Round: d.small(), Attempts: d.small(), Total: d.small(), Releases: d.small(),
		Replay: d.coin(), ReplayFailed: d.coin(), SettledAs: pick(d, idem.States...), End: idem.EndKind(d.IntN(9)), EndHash: d.id(), //nolint:gosec // small
		EndState: pick(d, idem.States...), EndedAt: d.instant(), DueAt: d.instant(), Result: d.blob(), Error: d.failure(),
		Waiting: idem.Waiting{Kind: idem.WaitKind(d.IntN(4)), Event: d.id(), Expected: d.version()}, WaitingSince: d.instant(), NotYetSince: d.instant(), //nolint:gosec // small
		Effects: d.small(), Began: d.coin(),
	}
	if d.coin() {
		e.Ordering = d.ordering()
	}
	for range d.IntN(3) {
		e.Lanes = append(e.Lanes, idem.Lane{Resource: d.resourceKey().ID(), Version: d.version(), Machine: pick(d, "", "m"), To: "a"})
	}
	for range d.IntN(2) {
		e.LateReports = append(e.LateReports, idem.LateReport{Fence: d.fence(), Hash: d.id()})
	}
	return e
}

func (d dice) effect(k idem.EffectKey) *idem.Effect {
	f := &idem.Effect{
		Key: k, Version: d.Int64N(3) + 1, Generation: 1 + d.small(), State: idem.EffectState(1 + d.IntN(4)), OnUnknown: idem.OnUnknown(d.IntN(3)), //nolint:gosec // small
		RequestHash: d.blob(), LeaseUntil: d.instant(), Result: d.blob(), Event: d.id(), Fence: d.fence(),
	}
	for i := range d.IntN(3) {
		f.Tries = append(f.Tries, idem.Try{Number: int32(i) + 1, Nonce: d.id(), Begin: pick(d, "b1", "b2"), Open: d.coin()}) //nolint:gosec // small
	}
	return f
}

func (d dice) world() *idem.World {
	w := &idem.World{Now: pick(d, clock, clock, clock, 0), Resources: map[idem.ID]*idem.Resource{}, Owners: map[idem.ID]*idem.Event{}, SeenVerified: d.coin(), EpochStart: pick(d, 0, clock)}
	if d.IntN(4) > 0 {
		w.Event = d.event(eventKey(0))
		if d.coin() {
			w.Past = &idem.Attempt{Event: w.Event.ID(), Fence: d.fence(), Nonce: d.id(), Claimant: pick(d, "a", "b"), End: idem.EndKind(d.IntN(9)), EndHash: d.id(), State: pick(d, idem.States...)} //nolint:gosec // small
		}
		for range d.IntN(3) {
			f := d.effect(d.effectKey())
			f.Event = w.Event.ID()
			w.Effects = append(w.Effects, f)
		}
	}
	for i := range 2 {
		r := &idem.Resource{
			Key: resourceKey(i), Version: 1 + d.Int64N(3), Kind: pick(d, idem.NoVersion, idem.Sequence, idem.Sequence, idem.Moment), Mode: pick(d, idem.NoMode, idem.LatestWins, idem.Sequential),
			Applied: d.coin(), Epoch: d.Int64N(2), Value: d.Int64N(4), AppliedBy: d.id(), Start: d.Int64N(3), State: pick(d, "", "a", "b"), Print: d.blob(),
			Owned: d.coin(), Owner: d.id(), OwnerFence: d.fence(), LaneFence: d.fence(), GapSince: d.instant(),
		}
		if d.IntN(4) > 0 {
			w.Resources[r.Key.ID()] = r
		}
		if o := eventKey(1); r.Owner == o.ID() && d.IntN(4) > 0 {
			w.Owners[r.Owner] = d.event(o)
		}
		if w.Event != nil && r.Owner == w.Event.ID() {
			w.Owners[r.Owner] = w.Event
		}
	}
	for v := range int64(4) {
		if d.coin() {
			w.Members = append(w.Members, idem.MemberEvent{Member: idem.Member{Resource: resourceKey(0).ID(), Epoch: d.Int64N(2), Value: v, Event: d.id()}, State: idem.State(d.IntN(11))}) //nolint:gosec // small
		}
	}
	return w
}

func (d dice) effectKey() idem.EffectKey {
	return idem.EffectKey{Scope: idem.Scope(1 + d.IntN(3)), Namespace: "ns", Consumer: "billing", Event: eventKey(0).ID(), Key: pick(d, "k", "l")}.Scoped() //nolint:gosec // small
}

func (d dice) token() idem.Token {
	return idem.Token{Namespace: pick(d, "ns", "ns", "ns", "other"), Consumer: "billing", Event: eventKey(0).ID(), Fence: d.fence(), Nonce: d.id()}
}

// command makes a command on the world, with a token that often fits.
func (d dice) command(w *idem.World) idem.Command {
	tok := d.token()
	if w.Event != nil && d.IntN(3) > 0 {
		tok.Fence, tok.Nonce = w.Event.Fence, w.Event.Nonce
	}
	maybe := &tok
	if d.IntN(4) == 0 {
		maybe = nil
	}
	switch d.IntN(12) {
	case 0, 1:
		c := &idem.Claim{Key: eventKey(0), Facts: d.facts(), Claimant: pick(d, "a", "b", "c"), Nonce: d.id(), Stale: idem.StaleClaim(d.IntN(3)), AcceptReplay: d.coin(), ArrivedAt: d.instant()} //nolint:gosec // small
		if d.coin() {
			c.Ordering = d.ordering()
		}
		return c
	case 2:
		c := &idem.Complete{Token: tok, Result: d.blob(), AllowUnknown: d.coin()}
		if d.IntN(3) == 0 {
			v := d.version()
			c.Applied = &v
		}
		return c
	case 3:
		return &idem.Fail{Token: tok, Error: d.failure(), RetryAfter: pick(d, 0, -time.Second, time.Hour), Draw: d.Float64()*3 - 1}
	case 4:
		return &idem.Extend{Token: tok, Lease: pick(d, 0, -time.Second, time.Hour)}
	case 5:
		return &idem.Release{Token: tok, Undelivered: d.coin()}
	case 6:
		return &idem.Settle{Event: eventKey(0).ID()}
	case 7:
		return &idem.Check{Token: maybe, Ordering: *d.ordering(), By: d.id(), Event: d.coin()}
	case 8:
		k := d.effectKey()
		if d.IntN(4) > 0 {
			w.Effect = d.effect(k)
		}
		return &idem.BeginEffect{Token: maybe, Key: k, BeginID: pick(d, "b1", "b2", "b3"), RequestHash: d.blob(), OnUnknown: idem.OnUnknown(d.IntN(3)), Nonce: d.id(), Lease: pick(d, 0, time.Hour)} //nolint:gosec // small
	case 9:
		k := d.effectKey()
		t := idem.EffectToken{Namespace: "ns", Effect: k.ID(), Generation: 1 + d.small(), Number: d.small(), Nonce: d.id()}
		if d.IntN(4) > 0 {
			w.Effect = d.effect(k)
			t.Generation = w.Effect.Generation
			if n := len(w.Effect.Tries); n > 0 {
				try := w.Effect.Tries[d.IntN(n)]
				t.Number, t.Nonce = try.Number, try.Nonce
			}
		}
		return &idem.ReportEffect{Token: t, State: idem.EffectState(d.IntN(7)), Result: d.blob()} //nolint:gosec // small
	case 10:
		k := d.effectKey()
		if d.IntN(4) > 0 {
			w.Effect = d.effect(k)
		}
		return &idem.RecordEffect{Token: maybe, Key: k, RequestHash: d.blob(), Result: d.blob()}
	default:
		if d.coin() {
			return &idem.Replay{Event: eventKey(0).ID(), RequestID: pick(d, "", "r1", "r2")}
		}
		return &idem.Resolve{Event: eventKey(0).ID(), To: idem.ResolveTo(d.IntN(5)), Result: d.blob()} //nolint:gosec // small
	}
}

func (d dice) policy() *idem.Policy {
	p := smallPolicy(nil)
	p.MaxAttempts = 1 + d.small()
	p.HeldLanes, p.RefuseMismatch, p.IllegalEnds = d.coin(), d.coin(), d.coin()
	p.Signature = idem.SignaturePolicy(d.IntN(3))                                             //nolint:gosec // small
	p.TieSequence, p.TieMoment = idem.TieRule(d.IntN(3)), idem.TieRule(d.IntN(3))             //nolint:gosec // small
	p.Gap, p.Dead, p.StartAt = idem.GapRule(d.IntN(3)), idem.DeadRule(d.IntN(3)), d.Int64N(3) //nolint:gosec // small
	p.OnUnknown = idem.OnUnknown(1 + d.IntN(2))                                               //nolint:gosec // small
	p.SelfOrigins = []string{"me"}
	p.ReleaseDelay = pick(d, 0, time.Minute)
	p.Machines = map[string]idem.Machine{"m": {Initial: "a", Edges: map[string][]string{"a": {"b"}}}}
	return p
}

// TestDecideIsTotal: no command on no record panics; the same arguments give the same
// decision and stay as they were; a refusal changes nothing but late reports; nothing that
// only grows falls, whatever the record.
func TestDecideIsTotal(t *testing.T) {
	seed := uint64(20250601)
	if large {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number is a seed
	}
	t.Logf("seed %d", seed)
	d := dice{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // choices, not secrets
	rounds := 60_000 / slow
	if large {
		rounds = 5_000_000
	}
	kinds := map[string]int{}
	for i := range rounds {
		w, p := d.world(), d.policy()
		c := d.command(w)
		var before idem.World
		var events [2]idem.Event
		if i%16 == 0 { // copying is slow
			before = *w
			if w.Event != nil {
				events[0] = *w.Event
			}
		}
		dec := func() (dec idem.Decision) {
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("round %d: %T panics: %v\nevent %+v", i, c, r, w.Event)
				}
			}()
			return idem.Decide(w, c, p)
		}()
		again := idem.Decide(w, c, p)
		if !reflect.DeepEqual(dec, again) {
			t.Fatalf("round %d: %T is decided in two ways\n%+v\n%+v", i, c, dec, again)
		}
		if i%16 == 0 {
			if !reflect.DeepEqual(before, *w) || w.Event != nil && !reflect.DeepEqual(events[0], *w.Event) {
				t.Fatalf("round %d: %T changes what it was given", i, c)
			}
		}
		kinds[short(&dec)]++
		sane(t, i, w, c, &dec)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kinds of answers", len(kinds))
	if len(kinds) < 40 {
		t.Errorf("the worlds are too much alike: %v", kinds)
	}
}

// sane holds a decision against what every decision must be.
func sane(t *testing.T, round int, w *idem.World, c idem.Command, d *idem.Decision) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("round %d, %T: "+format, append([]any{round, c}, args...)...)
	}
	switch {
	case d.Reread:
		if w.Now != 0 || d.Err != nil {
			fail("a read world is to be read again")
		}
		return
	case d.Err != nil && d.Answer != nil:
		fail("an answer and a refusal")
	case d.Err == nil && d.Answer == nil:
		fail("neither an answer nor a refusal")
	case d.Err != nil && isGrant(d):
		fail("a refusal and a grant")
	case d.Err != nil && d.Writes():
		if len(d.Entries) != 1 || d.Entries[0].Kind != idem.EntryLateReport || len(d.Resources)+len(d.Effects)+len(d.Owners)+len(d.Attempts) > 0 || d.Member != nil {
			fail("a refusal writes more than a late report: %v", d.Err)
		}
		old, now := *d.Event.Old, *d.Event.New
		old.LateReports, now.LateReports = nil, nil
		if !reflect.DeepEqual(old, now) {
			fail("a late report changes the record")
		}
	}
	for _, ew := range append([]*idem.EventWrite{d.Event}, d.Owners...) {
		if ew == nil {
			continue
		}
		old := ew.Old
		if old == nil {
			old = &idem.Event{Key: ew.New.Key}
		}
		after := ew.Apply(clock, 100)
		if after.Fence < old.Fence || after.Total < old.Total || after.Round < old.Round || after.Version < old.Version {
			fail("fence %d to %d, total %d to %d, round %d to %d", old.Fence, after.Fence, old.Total, after.Total, old.Round, after.Round)
		}
		if (after.Fence != old.Fence) != isGrantOf(d, after) {
			fail("the fence changes without a grant, or does not with one")
		}
		seq := old.Version
		for _, e := range d.Entries {
			if e.Subject == idem.OnEvent && e.ID == after.ID() {
				seq++
				if e.Seq != seq {
					fail("entry %v has number %d after %d", e.Kind, e.Seq, seq-1)
				}
			}
		}
		if seq != after.Version || ew.Rises != seq-old.Version {
			fail("row version %d with entries up to %d", after.Version, seq)
		}
		if after.State == idem.Processing && old.State == idem.Processing && after.LeaseUntil < old.LeaseUntil && after.Fence == old.Fence && ew.Rises == 0 {
			fail("a heartbeat shortens the lease")
		}
	}
	mayTake := false
	switch c.(type) {
	case *idem.Claim, *idem.Check:
		mayTake = true
	}
	for _, rw := range d.Resources {
		after := rw.Apply(clock, 100)
		if rw.Old.Applied && (!after.Applied || after.Current().Compare(rw.Old.Current()) < 0) {
			fail("a version falls from %v to %v", rw.Old.Current(), after.Current())
		}
		if after.LaneFence < rw.Old.LaneFence {
			fail("a lane fence falls")
		}
		if rw.Old.Owned && !after.Owned && !mayTake && w.Event != nil && rw.Old.Owner != w.Event.ID() {
			fail("a lane of another claim is freed")
		}
		if rw.Lane != (after.LaneFence == 100) {
			fail("a lane without its fence")
		}
	}
	for _, fw := range d.Effects {
		after := fw.Apply(clock)
		if after.Generation < fw.Old.Generation || (fw.Old.State == idem.EffectDone && (after.State != idem.EffectDone || string(after.Result) != string(fw.Old.Result))) {
			fail("an effect that is done changes, or its generation falls")
		}
	}
	if len(d.Attempts) > 0 && !isGrant(d) {
		fail("an attempt is archived without a grant")
	}
	if d.Writes() && len(d.Entries) == 0 {
		if _, heartbeat := c.(*idem.Extend); !heartbeat {
			fail("a change without an entry")
		}
	}
}

func isGrantOf(d *idem.Decision, e *idem.Event) bool {
	return isGrant(d) && d.Event != nil && d.Event.New.ID() == e.ID()
}

// TestGuessesAgree: what is decided on remembered records without a clock, for claims
// taken for alive, is what is decided on all that is stored, whenever the write's conditions
// hold. A guess that writes nothing counts for nothing, since no condition tests it.
func TestGuessesAgree(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range domains() {
		x := &explorer{dom: d, decide: idem.Decide, most: 1 << 20, limit: 400 / slow}
		x.see = func(n *node, c idem.Command, _ *idem.Decision) {
			for _, effects := range [][]*idem.Effect{nil, n.world(c).Effects} { // it may know them
				w := n.world(c)
				w.Now = 0
				w.Past, w.Effects, w.Owners, w.Members = nil, effects, nil, nil
				g := idem.Decide(w, c, d.policy)
				if g.Reread || !g.Writes() || g.Err != nil {
					continue
				}
				if g.Event != nil && g.Event.Live && (n.ev[n.at(c.Subject())].LeaseUntil <= clock) {
					continue // the write tests the lease and misses
				}
				r := idem.Decide(n.world(c), c, d.policy)
				g.Finish(clock, 1000)
				r.Finish(clock, 1000)
				if a, b := signature(&g), signature(&r); a != b || g.Writes() != r.Writes() {
					if key := commandName(c) + short(&g); !seen[key] {
						seen[key] = true
						t.Errorf("%s: %T guessed %s, writes=%v; read %s, writes=%v; %s", d.name, c, a, g.Writes(), b, r.Writes(), n.show())
					}
				}
			}
		}
		x.run()
	}
}
