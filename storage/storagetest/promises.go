package storagetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// promises are the promises of the contract, as far as a backend keeps them.
var promises = []test{
	{"P01/OneOwner", promiseOneOwner},
	{"P01/OneLane", promiseOneLane},
	{"P02/Fenced", promiseFenced},
	{"P03/NothingLost", promiseNothingLost},
	{"P05/SafeToRepeat", promiseSafeToRepeat},
	{"P06/DuplicateIsSuccess", promiseDuplicate},
	{"P07/UnknownIsNotFailed", promiseUnknown},
	{"P08/NewsBeatsOldNews", promiseNews},
	{"P09/ForgedPoisonsNothing", promiseForged},
	{"P10/WallsHold", promiseWalls},
	{"P11/OneBadItemFailsAlone", promiseBadItem},
	{"P12/OneClock", promiseClock},
	{"P13/WrittenCanBeRead", promiseWrittenRead},
	{"P16/FactsAreNeverRefused", promiseFacts},
}

// race lets n callers act at once and gathers what they were told.
func race[R any](n int, act func(i int) R) []R {
	out := make([]R, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			out[i] = act(i)
		})
	}
	start.Done()
	done.Wait()
	return out
}

// claims lets all claims happen at once, and reports how often each outcome was given.
func (s *site) claims(cs []*idem.Claim) (outcomes map[idem.Outcome]int, granted []*idem.ClaimAnswer) {
	s.Helper()
	outcomes = map[idem.Outcome]int{}
	results := race(len(cs), func(i int) any {
		res := s.b.Apply(s.Context(), []idem.Command{cs[i]})
		if res[0].Err != nil {
			return res[0].Err
		}
		return res[0].Answer
	})
	for _, r := range results {
		switch r := r.(type) {
		case *idem.ClaimAnswer:
			outcomes[r.Outcome]++
			if r.Outcome == idem.OutcomeClaimed {
				granted = append(granted, r)
			}
		default:
			s.Errorf("claim: %v", r)
		}
	}
	return outcomes, granted
}

// promiseOneOwner: each time a claim becomes free, exactly one of many gets it.
func promiseOneOwner(s *site) {
	const callers, rounds = 8, 4
	var fence int64
	for round := range rounds {
		cs := make([]*idem.Claim, callers)
		for i := range cs {
			cs[i] = s.claim("e")
		}
		outcomes, granted := s.claims(cs)
		if len(granted) != 1 || outcomes[idem.OutcomeInProgress] != callers-1 {
			s.Fatalf("round %d: got %v, want one grant", round, outcomes)
		}
		e := granted[0].Event
		if e.Fence <= fence {
			s.Errorf("fence %d after %d", e.Fence, fence)
		}
		fence = e.Fence
		s.h.Expire(s.T, e.ID())
	}
}

// promiseOneLane: of many events about one resource, one at a time has the lane.
func promiseOneLane(s *site) {
	const callers = 8
	cs := make([]*idem.Claim, callers)
	for i := range cs {
		cs[i] = s.claim(fmt.Sprint("e", i), ordered(s.latest("r", int64(i))))
	}
	outcomes, granted := s.claims(cs)
	if len(granted) != 1 || outcomes[idem.OutcomeResourceBusy] != callers-1 {
		s.Fatalf("got %v, want one grant", outcomes)
	}
	s.h.Expire(s.T, granted[0].Event.ID())
	for i := range cs {
		cs[i].Claimant += "-2"
	}
	outcomes, next := s.claims(cs)
	if len(next) != 1 {
		s.Fatalf("after the owner's lease: got %v, want one grant", outcomes)
	}
	if next[0].LaneFence <= granted[0].LaneFence {
		s.Errorf("lane fence %d after %d", next[0].LaneFence, granted[0].LaneFence)
	}
}

func promiseFenced(s *site) {
	old := s.grant("e", ordered(s.latest("r", 1)))
	old.expire()
	g := s.grant("e")
	if g.Fence <= old.Fence {
		s.Errorf("fence %d after %d", g.Fence, old.Fence)
	}
	for _, c := range append(s.rights(old), &idem.Extend{Token: old.Token}, old.completion("late"),
		old.failure(idem.Retryable, "late"), &idem.Release{Token: old.Token}) {
		s.refused(idem.CodeClaimLost, c)
	}
	e := s.state("e", idem.Processing)
	equal(s, "lease", e.LeaseUntil, g.answer.Event.LeaseUntil)
	equal(s, "fence", e.Fence, g.Fence)
	g.complete("done")
	s.refused(idem.CodeClaimLost, old.completion("late"))
	equal(s, "result", string(s.state("e", idem.Processed).Result), "done")
}

// promiseNothingLost: whatever happens to its owner, an event ends as processed or where
// an operator sees it and can have it done again.
func promiseNothingLost(s *site) {
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 1 })
	s.grant("dead").expire()
	s.grant("held", stale(idem.Hold)).expire()
	s.grant("failed").fail(idem.Retryable)
	s.grant("terminal").fail(idem.Terminal)
	for event, want := range map[string]idem.State{
		"dead": idem.DeadLettered, "held": idem.Held, "failed": idem.DeadLettered, "terminal": idem.FailedTerminal,
	} {
		s.state(event, want)
		s.resolve(event, idem.ResolveRetry)
		s.grant(event).complete("done")
		s.state(event, idem.Processed)
	}
	s.policy(func(p *idem.Policy) { p.MaxAttempts = 2 })
	s.grant("crashed").expire()
	s.grant("crashed").complete("done")
}

// promiseSafeToRepeat: every call again, with the same identity, after an answer that
// never arrived.
func promiseSafeToRepeat(s *site) {
	twice := func(c idem.Command) {
		s.Helper()
		first, second := s.apply(c), s.apply(c)
		if first.Err != nil || second.Err != nil {
			s.Fatalf("%T: %v, again %v", c, first.Err, second.Err)
		}
		switch a := second.Answer.(type) {
		case *idem.EndAnswer:
			b := first.Answer.(*idem.EndAnswer) //nolint:errcheck,forcetypeassert // one command, one type
			equal(s, fmt.Sprintf("%T: state", c), a.State, b.State)
			equal(s, fmt.Sprintf("%T: due", c), a.Due, b.Due)
			equal(s, fmt.Sprintf("%T: already", c), a.Already, true)
			equal(s, fmt.Sprintf("%T: row version", c), a.Event.Version, b.Event.Version)
		case *idem.CheckAnswer:
			b := first.Answer.(*idem.CheckAnswer) //nolint:errcheck,forcetypeassert // one command, one type
			equal(s, "verdict", a.Verdict, b.Verdict)
			equal(s, "lane fence", a.LaneFence, b.LaneFence)
		case *idem.EffectAnswer:
			b := first.Answer.(*idem.EffectAnswer) //nolint:errcheck,forcetypeassert // one command, one type
			equal(s, "token", a.Token, b.Token)
			equal(s, "row version", a.Effect.Version, b.Effect.Version)
		case *idem.ExtendAnswer: // monotone, not repeat-equal
		default:
			s.Fatalf("%T: %T", c, a)
		}
	}
	g := s.grant("e", ordered(s.latest("r", 1)))
	twice(&idem.Extend{Token: g.Token, Lease: theLease})
	twice(g.checking(s.latest("r", 1)))
	twice(g.checking(s.latest("q", 1)))
	twice(s.plain(s.latest("p", 1)))
	begin := s.beginning(g, s.effect(idem.EventScope, "e", "k"), "h")
	twice(begin)
	token := s.begin(idem.EffectPerform, begin).Token
	twice(report(token, idem.EffectDone, "v"))
	twice(s.recording(g, s.effect(idem.EventScope, "e", "r"), "h", "v"))
	twice(g.completion("done"))
	twice(&idem.Replay{Event: g.Event, RequestID: "r1"})
	twice(s.grant("f").failure(idem.Retryable, "no"))
	twice(s.grant("g").failure(idem.Terminal, "no"))
	twice(&idem.Release{Token: s.grant("h").Token})
	equal(s, "attempts", s.state("f", idem.FailedRetryable).Attempts, 1)

	c := s.claim("c")
	first, second := s.granted(c), s.granted(c)
	equal(s, "token", second.Token, first.Token)
	equal(s, "attempts", second.answer.Event.Attempts, 1)
}

// promiseDuplicate: a duplicate carries the result and moves nothing.
func promiseDuplicate(s *site) {
	s.grant("e", ordered(s.latest("r", 1))).complete("done")
	before := s.view("e")
	for range 5 {
		a := s.outcome(idem.OutcomeAlreadyProcessed, s.claim("e", kind(idem.ProviderRetry), ordered(s.latest("r", 1))))
		equal(s, "advice", a.Advice, idem.AdviceAcknowledge)
		equal(s, "result", string(a.Event.Result), "done")
		equal(s, "disposition", a.Disposition(), idem.DispositionDuplicate)
	}
	after := s.view("e")
	equal(s, "row version", after.Event.Version, before.Event.Version)
	equal(s, "ended at", after.Event.EndedAt, before.Event.EndedAt)
	equal(s, "resource", after.Resources[0].Version, before.Resources[0].Version)
}

// promiseUnknown: what becomes of a vanished owner's claim is stored at the first claim.
// Neither a later policy nor a later claim changes it.
func promiseUnknown(s *site) {
	hold := s.grant("hold", stale(idem.Hold))
	reclaim := s.grant("reclaim", stale(idem.Reclaim))
	byPolicy := s.grant("policy")
	s.policy(func(p *idem.Policy) { p.Stale = idem.Hold })
	heldByPolicy := s.grant("policy2")
	s.policy(func(p *idem.Policy) { p.Stale = idem.Reclaim })
	for _, g := range []*grant{hold, reclaim, byPolicy, heldByPolicy} {
		g.expire()
	}
	s.outcome(idem.OutcomeHeld, s.claim("hold", stale(idem.Reclaim)))
	s.state("hold", idem.Held)
	s.outcome(idem.OutcomeHeld, s.claim("policy2"))
	s.grant("policy")
	again := s.grant("reclaim", stale(idem.Hold))
	again.expire()
	s.grant("reclaim")
}

// promiseNews: a completed newer version is never followed by a granted older one, at no
// kind of grant.
func promiseNews(s *site) {
	older := map[string]*grant{}
	for _, event := range []string{"failed", "expired", "released", "replayed", "retried"} {
		older[event] = s.grant(event, ordered(s.latest(event, 1)))
	}
	older["failed"].fail(idem.Retryable)
	older["expired"].expire()
	older["released"].release()
	older["replayed"].complete("done")
	older["retried"].fail(idem.Terminal)
	for event := range older {
		s.grant(event+"-newer", ordered(s.latest(event, 2))).complete("done")
	}
	s.resolve("retried", idem.ResolveRetry)
	s.replay("replayed", "r1")
	for event := range older {
		s.outcome(idem.OutcomeStale, s.claim(event, acceptReplay()))
		s.applied(event+"-newer", event, 2)
	}
	// A version counts as applied when its claim completes, not when it is asked about.
	g := s.grant("asked", ordered(s.latest("r", 9)))
	g.fail(idem.Terminal)
	s.grant("next", ordered(s.latest("r", 8)))
}

func promiseForged(s *site) {
	s.outcome(idem.OutcomeRejected, s.claim("e", signed(idem.SignatureFailed), hashed("forged"), payload("forged")))
	if _, ok := s.find(s.key("e")); ok {
		s.Error("a forged delivery occupies the event's key")
	}
	g := s.grant("e", signed(idem.Verified), hashed("real"), payload("real"))
	equal(s, "anomalies", len(g.answer.Anomalies), 0)
	before := s.view("e").Event.Version
	s.outcome(idem.OutcomeRejected, s.claim("e", signed(idem.SignatureFailed), hashed("forged")))
	equal(s, "row version", s.view("e").Event.Version, before)
	g.complete("done")
}

func promiseWalls(s *site) {
	g := s.grant("e", ordered(s.latest("r", 5)))
	g.complete("secret")
	other := s.ns + "-2"
	foreign := s.granted(s.claim("e", namespace(other)))
	equal(s, "result", string(foreign.answer.Event.Result), "")
	token := g.Token
	token.Namespace = other
	forged := token
	forged.Event = newID() // the answer for a foreign key is that for a missing one
	for _, t := range []idem.Token{token, forged} {
		s.refused(idem.CodeClaimLost, &idem.Complete{Token: t, Result: []byte("secret")})
		s.refused(idem.CodeClaimLost, &idem.Extend{Token: t})
	}
	o := s.latest("r", 1)
	o.Resource.Namespace = other
	s.verdict(idem.VerdictApply, s.plain(o))

	// Parts of keys are never joined.
	for _, parts := range [][2]string{{"a", "b:c"}, {"a:b", "c"}, {"", ":a"}, {":a", ""}, {"ab", "c"}, {"a", "bc"}} {
		s.grant(parts[1], from(parts[0]))
		s.grant("joined", from(parts[0]), consumer(parts[1]))
	}
}

// promiseBadItem: one command that is refused leaves its neighbours alone.
func promiseBadItem(s *site) {
	g := s.grant("done")
	lost := g.completion("done")
	lost.Token.Nonce = newID()
	unknown := s.latest("x", 1)
	unknown.Transition = &idem.Transition{Machine: "none", To: "x"}
	batch := []idem.Command{
		s.claim("a"), lost, s.claim("b"), s.plain(unknown), s.claim("c"),
		&idem.Replay{Event: newID(), RequestID: "r"}, &idem.Settle{Event: newID()}, s.claim("d", signed(idem.SignatureFailed)), s.claim("e"),
	}
	for i, res := range s.b.Apply(s.Context(), batch) {
		switch c := batch[i].(type) {
		case *idem.Claim:
			if a, ok := res.Answer.(*idem.ClaimAnswer); res.Err != nil || !ok || a.Outcome == idem.OutcomeClaimed != (c.Key.EventID != "d") {
				s.Errorf("%d: claim of %s: got %+v, %v", i, c.Key.EventID, res.Answer, res.Err)
			}
		case *idem.Settle:
			if res.Err != nil {
				s.Errorf("%d: %v", i, res.Err)
			}
		default:
			if res.Err == nil {
				s.Errorf("%d: %T was answered with %+v", i, c, res.Answer)
			}
		}
	}
	g.complete("done")
	if got := s.b.Apply(s.Context(), nil); len(got) != 0 {
		s.Errorf("an empty batch has %d results", len(got))
	}
}

// promiseClock: instants of clients and receivers decide nothing about leases.
func promiseClock(s *site) {
	g := s.grant("e", facts(func(f *idem.Facts) { f.ReceivedAt, f.OccurredAt = 1, 1<<62 }))
	equal(s, "lease", g.answer.Event.LeaseUntil.Sub(g.answer.Now), theLease)
	s.outcome(idem.OutcomeInProgress, s.claim("e", facts(func(f *idem.Facts) { f.ReceivedAt = 1 << 62 })))
	g.expire()
	s.grant("e", facts(func(f *idem.Facts) { f.ReceivedAt = 1 }))
}

// promiseWrittenRead: what was accepted comes back byte for byte.
func promiseWrittenRead(s *site) {
	odd := "ä\u202e😀 '\"\\%_;--" + strings.Repeat("x", 400)
	result := string([]byte{0, 1, 0xff}) + strings.Repeat("r", 64<<10-3)
	key := idem.EventKey{EventRef: idem.EventRef{Namespace: s.ns, Source: odd, EventID: odd}, Consumer: odd}
	c := s.claim("", hashed("A"))
	c.Key, c.Claimant, c.Holder = key, odd, odd
	c.Facts.Correlation, c.Facts.Type, c.Facts.CauseText = odd, odd, odd
	c.Facts.OccurredAt, c.Facts.ReceivedAt = -1, 1<<63-1
	o := s.latest("", 1<<63-1)
	o.Resource.Type, o.Resource.Name, o.Version.Epoch = odd, odd, -1<<63
	c.Ordering = &o
	g := s.granted(c)
	fk := idem.EffectKey{Scope: idem.EventScope, Namespace: s.ns, Consumer: odd, Event: key.ID(), Key: odd}
	s.effectIs(idem.EffectRecorded, s.recording(g, fk, odd, result))
	end := g.completion(result)
	end.ContentType, end.Outputs = odd, []string{odd, ""}
	do[*idem.EndAnswer](s, end)

	v, ok := s.find(key)
	if !ok {
		s.Fatal("the record is not found")
	}
	equal(s, "result", string(v.Event.Result), result)
	equal(s, "outputs", strings.Join(v.Event.Outputs, "|"), odd+"|")
	equal(s, "correlation", v.Event.Facts.Correlation, odd)
	equal(s, "occurred", v.Event.Facts.OccurredAt, -1)
	equal(s, "received", v.Event.Facts.ReceivedAt, 1<<63-1)
	if len(v.Effects) != 1 || string(v.Effects[0].Result) != result || v.Effects[0].Key != fk {
		s.Error("the effect came back changed")
	}
	if len(v.Resources) != 1 || v.Resources[0].Value != 1<<63-1 || v.Resources[0].Epoch != -1<<63 || v.Resources[0].Key != o.Resource {
		s.Errorf("resources: got %+v", v.Resources)
	}
	c.Claimant = "another"
	a := s.outcome(idem.OutcomeAlreadyProcessed, c)
	equal(s, "result of a duplicate", string(a.Event.Result), result)
}

// promiseFacts: the outcome of an effect that really happened is recorded, however late.
func promiseFacts(s *site) {
	for name, lose := range map[string]func(g *grant){
		"expired":   func(g *grant) { g.expire() },
		"replaced":  func(g *grant) { g.expire(); g.s.grant(g.claim.Key.EventID) },
		"released":  func(g *grant) { g.release() },
		"failed":    func(g *grant) { g.fail(idem.Retryable) },
		"completed": func(g *grant) { c := g.completion(""); c.AllowUnknown = true; do[*idem.EndAnswer](g.s, c) },
	} {
		g := s.grant(name)
		a := s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.EventScope, name, "k"), "h"))
		b := s.begin(idem.EffectPerform, s.beginning(g, s.effect(idem.NamespaceScope, name, name), "h"))
		s.h.Expire(s.T, b.Token.Effect)
		lose(g)
		s.holds(s.effectIs(idem.EffectReportedDone, report(a.Token, idem.EffectDone, "v")), "v")
		s.holds(s.effectIs(idem.EffectReportedDone, report(b.Token, idem.EffectDone, "w")), "w")
	}
}
