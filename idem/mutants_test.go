package idem_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/idemsvc/idemsvc/idem"
)

// update rewrites the generated pages instead of comparing them.
var update = os.Getenv("IDEM_UPDATE") != ""

// mutantStates bounds the states in which a wrong rule has to be caught, per domain.
const mutantStates = 400

// mutant is a wrong rule: Decide, with what it sees or says altered.
type mutant struct {
	rule   string
	decide decider
}

// altered runs Decide on an altered world, and gives the decision back as one on the
// stored records.
func altered(w *idem.World, c idem.Command, p *idem.Policy, alter func(w *idem.World)) idem.Decision {
	v := *w
	v.Resources = map[idem.ID]*idem.Resource{}
	resources := map[*idem.Resource]*idem.Resource{}
	for id, r := range w.Resources {
		x := *r
		v.Resources[id] = &x
		resources[&x] = r
	}
	v.Owners = map[idem.ID]*idem.Event{}
	events := map[*idem.Event]*idem.Event{}
	for id, e := range w.Owners {
		x := *e
		v.Owners[id] = &x
		events[&x] = e
	}
	if w.Event != nil {
		x := *w.Event
		v.Event = &x
		events[&x] = w.Event
	}
	v.Members = append([]idem.MemberEvent(nil), w.Members...)
	effects := map[*idem.Effect]*idem.Effect{}
	if w.Effect != nil {
		x := *w.Effect
		v.Effect = &x
		effects[&x] = w.Effect
	}
	alter(&v)
	d := idem.Decide(&v, c, p)
	if w.Event != nil && len(d.Entries) > 0 && d.Entries[0].ID == w.Event.ID() {
		d.Entries[0].From = w.Event.State
	}
	fix := func(ew *idem.EventWrite) {
		if ew != nil && events[ew.Old] != nil {
			ew.Old = events[ew.Old]
		}
	}
	fix(d.Event)
	for _, o := range d.Owners {
		fix(o)
	}
	for _, r := range d.Resources {
		if old := resources[r.Old]; old != nil {
			r.Old = old
		}
	}
	for _, f := range d.Effects {
		if old := effects[f.Old]; old != nil {
			f.Old = old
		}
	}
	return d
}

// withToken is the command with its claim token altered.
func withToken(c idem.Command, alter func(*idem.Token)) idem.Command {
	switch c := c.(type) {
	case *idem.Complete:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Fail:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Extend:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Release:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Check:
		if c.Token == nil {
			return c
		}
		x, t := *c, *c.Token
		alter(&t)
		x.Token = &t
		return &x
	case *idem.BeginEffect:
		x, t := *c, *c.Token
		alter(&t)
		x.Token = &t
		return &x
	}
	return c
}

func isGrant(d *idem.Decision) bool {
	a, ok := d.Answer.(*idem.ClaimAnswer)
	return ok && a.Granted
}

func mutants() []mutant {
	type (
		W = *idem.World
		C = idem.Command
		P = *idem.Policy
		D = idem.Decision
	)
	// on alters the world for commands of one type.
	claims := func(alter func(w W, c *idem.Claim)) decider {
		return func(w W, c C, p P) D {
			if c, ok := c.(*idem.Claim); ok {
				return altered(w, c, p, func(w W) { alter(w, c) })
			}
			return idem.Decide(w, c, p)
		}
	}
	ends := func(alter func(w W)) decider {
		return func(w W, c C, p P) D {
			switch c.(type) {
			case *idem.Complete, *idem.Fail, *idem.Extend, *idem.Release:
				return altered(w, c, p, alter)
			}
			return idem.Decide(w, c, p)
		}
	}
	after := func(change func(w W, c C, d *D)) decider {
		return func(w W, c C, p P) D {
			d := idem.Decide(w, c, p)
			change(w, c, &d)
			return d
		}
	}
	expired := func(e *idem.Event, now idem.Instant) bool {
		return e != nil && e.State == idem.Processing && e.LeaseUntil <= now
	}
	effects := func(alter func(f *idem.Effect)) decider {
		return func(w W, c C, p P) D {
			if c, ok := c.(*idem.BeginEffect); ok {
				return altered(w, c, p, func(w W) {
					if w.Effect != nil {
						alter(w.Effect)
					}
				})
			}
			return idem.Decide(w, c, p)
		}
	}
	return []mutant{
		{"the fence of a token is not compared", func(w W, c C, p P) D {
			if e := w.Event; e != nil {
				c = withToken(c, func(t *idem.Token) {
					if t.Fence != e.Fence {
						t.Fence, t.Nonce = e.Fence, e.Nonce
					}
				})
			}
			return idem.Decide(w, c, p)
		}},
		{"the random part of a token is not compared", func(w W, c C, p P) D {
			if e := w.Event; e != nil {
				c = withToken(c, func(t *idem.Token) {
					if t.Fence == e.Fence {
						t.Nonce = e.Nonce
					}
				})
			}
			return idem.Decide(w, c, p)
		}},
		{"a live claim is taken over", claims(func(w W, _ *idem.Claim) {
			if w.Event != nil {
				w.Event.LeaseUntil = 1
			}
		})},
		{"an expired claim is in progress until it is swept", claims(func(w W, _ *idem.Claim) {
			if expired(w.Event, w.Now) {
				w.Event.LeaseUntil = w.Now + 1
			}
		})},
		{"a claim under HOLD is given again when its lease is over", claims(func(w W, _ *idem.Claim) {
			if expired(w.Event, w.Now) {
				w.Event.Stale = idem.Reclaim
			}
		})},
		{"a held event is given again", claims(func(w W, _ *idem.Claim) {
			if w.Event != nil && w.Event.State == idem.Held {
				w.Event.State = idem.FailedRetryable
			}
		})},
		{"a grant is not counted", after(func(_ W, _ C, d *D) {
			if isGrant(d) {
				d.Event.New.Attempts--
			}
		})},
		{"one more attempt than allowed is given", func(w W, c C, p P) D {
			if _, ok := c.(*idem.Claim); ok {
				q := *p
				q.MaxAttempts++
				p = &q
			}
			return idem.Decide(w, c, p)
		}},
		{"a crash is not counted", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Claim); ok && isGrant(d) && len(d.Entries) == 2 && d.Entries[0].Kind == idem.EntryExpired {
				d.Event.New.Attempts--
			}
		})},
		{"a release is counted", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Release); ok && d.Event != nil && d.Event.New.State == idem.Received {
				d.Event.New.Attempts++
			}
		})},
		{"a reclaim keeps the old fence", after(func(w W, _ C, d *D) {
			if isGrant(d) && w.Event != nil && w.Event.Fence != 0 {
				d.Event.Draw = false
			}
		})},
		{"an ended claimant claims again", claims(func(w W, c *idem.Claim) {
			if w.Event != nil && w.Event.Claimant == c.Claimant && (w.Event.State != idem.Processing || w.Event.LeaseUntil <= w.Now) {
				w.Event.Claimant = ""
			}
			w.Past = nil
		})},
		{"a client's repeat waives the backoff", func(w W, c C, p P) D {
			if k, ok := c.(*idem.Claim); ok {
				x := *k
				x.Facts.Kind = idem.ProviderRetry
				return idem.Decide(w, &x, p)
			}
			return idem.Decide(w, c, p)
		}},
		{"the backoff is waived without limit", claims(func(w W, _ *idem.Claim) {
			if w.Event != nil {
				w.Event.Waived = false
			}
		})},
		{"a processed event is given again", claims(func(w W, _ *idem.Claim) {
			if w.Event != nil && w.Event.State == idem.Processed {
				w.Event.State = idem.FailedRetryable
			}
		})},
		{"a replay is told to duplicates as unprocessed", claims(func(w W, _ *idem.Claim) {
			if w.Event != nil && w.Event.Replay {
				w.Event.SettledAs = idem.FailedTerminal
			}
		})},
		{"the same ending call again is not known", ends(func(w W) {
			if w.Event != nil {
				w.Event.EndHash = idem.ID{}
			}
		})},
		{"a late completion is refused", func(w W, c C, p P) D {
			if _, ok := c.(*idem.Complete); ok && expired(w.Event, w.Now) {
				return D{Err: &idem.Error{Code: idem.CodeClaimLost}}
			}
			return idem.Decide(w, c, p)
		}},
		{"a late report counts though its lane was given on", ends(func(w W) {
			if w.Event == nil {
				return
			}
			for _, l := range w.Event.Lanes {
				if r := w.Resources[l.Resource]; r != nil && r.Owner != w.Event.ID() {
					r.Owner, r.OwnerFence = w.Event.ID(), w.Event.Fence
				}
			}
		})},
		{"a late report counts when its lane is free again, though it was given on", ends(func(w W) {
			if w.Event == nil {
				return
			}
			for _, l := range w.Event.Lanes {
				if r := w.Resources[l.Resource]; r != nil && !r.Owned {
					r.Owner, r.OwnerFence = w.Event.ID(), w.Event.Fence
				}
			}
		})},
		{"an expired claim keeps its rights", func(w W, c C, p P) D {
			switch c.(type) {
			case *idem.Check, *idem.BeginEffect, *idem.RecordEffect:
				return altered(w, c, p, func(w W) {
					if w.Event != nil {
						w.Event.LeaseUntil = w.Now + 1
					}
				})
			}
			return idem.Decide(w, c, p)
		}},
		{"a live lane is given on", func(w W, c C, p P) D {
			return altered(w, c, p, func(w W) {
				switch c.(type) {
				case *idem.Claim, *idem.Check:
					for _, r := range w.Resources {
						r.Owned = false
					}
				}
			})
		}},
		{"a failure keeps its lanes", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Fail); ok {
				d.Resources = nil
			}
		})},
		{"a release keeps its lanes", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Release); ok {
				d.Resources = nil
			}
		})},
		{"the sweeper keeps the lanes of the dead", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Settle); ok {
				d.Resources = nil
			}
		})},
		{"a version counts as applied when it is asked about", after(func(_ W, c C, d *D) {
			if k, ok := c.(*idem.Check); ok && k.Token != nil {
				for _, r := range d.Resources {
					r.New.Applied, r.New.Value = true, k.Ordering.Version.Value
				}
			}
		})},
		{"a claim's version counts as applied at its grant", after(func(_ W, c C, d *D) {
			if k, ok := c.(*idem.Claim); ok && k.Ordering != nil {
				for _, r := range d.Resources {
					r.New.Applied, r.New.Value = true, k.Ordering.Version.Value
				}
			}
		})},
		{"a completion applies nothing", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Complete); ok {
				for _, r := range d.Resources {
					n := *r.Old
					n.Owned = false
					r.New = &n
				}
			}
		})},
		{"the applied version is not looked at", claims(func(w W, _ *idem.Claim) {
			for _, r := range w.Resources {
				r.Applied = false
			}
		})},
		{"an operator's decision lowers a version", after(func(w W, c C, d *D) {
			k, ok := c.(*idem.Resolve)
			if !ok || k.To != idem.ResolveProcessed || d.Event == nil {
				return
			}
			for _, l := range w.Event.Lanes {
				r := w.Resources[l.Resource]
				if r != nil && r.Applied && l.Version.Compare(r.Current()) < 0 && len(d.Resources) == 0 {
					n := *r
					n.Value = l.Version.Value
					d.Resources = append(d.Resources, &idem.ResourceWrite{Old: r, New: &n})
				}
			}
		})},
		{"an unfinished predecessor is passed over", claims(func(w W, _ *idem.Claim) {
			for i := range w.Members {
				w.Members[i].State = idem.Processed
			}
		})},
		{"a dead predecessor is passed over whatever the policy", claims(func(w W, _ *idem.Claim) {
			for i, m := range w.Members {
				if m.State == idem.DeadLettered || m.State == idem.FailedTerminal {
					w.Members[i].State = idem.Processed
				}
			}
		})},
		{"a second PERFORM is given while the first runs", effects(func(f *idem.Effect) {
			if f.State == idem.EffectBegun {
				f.State = idem.EffectNotDone
			}
		})},
		{"an effect is performed again after DONE", effects(func(f *idem.Effect) {
			if f.State == idem.EffectDone {
				f.State = idem.EffectNotDone
			}
		})},
		{"an unknown effect under HOLD is performed again", func(w W, c C, p P) D {
			if k, ok := c.(*idem.BeginEffect); ok && w.Effect != nil {
				x := *k
				x.OnUnknown = idem.UnknownRetry
				return altered(w, &x, p, func(w W) { w.Effect.OnUnknown = idem.UnknownRetry })
			}
			return idem.Decide(w, c, p)
		}},
		{"another request performs under the same key", func(w W, c C, p P) D {
			if k, ok := c.(*idem.BeginEffect); ok && w.Effect != nil {
				x := *k
				x.RequestHash = w.Effect.RequestHash
				return idem.Decide(w, &x, p)
			}
			return idem.Decide(w, c, p)
		}},
		{"the last value of an effect wins", func(w W, c C, p P) D {
			if _, ok := c.(*idem.ReportEffect); ok && w.Effect != nil {
				return altered(w, c, p, func(w W) {
					if w.Effect.State == idem.EffectDone {
						w.Effect.State = idem.EffectBegun
					}
				})
			}
			return idem.Decide(w, c, p)
		}},
		{"a late DONE is refused", func(w W, c C, p P) D {
			if k, ok := c.(*idem.ReportEffect); ok && w.Effect != nil && int(k.Token.Number) < len(w.Effect.Tries) {
				return D{Err: &idem.Error{Code: idem.CodeEffectLost}}
			}
			return idem.Decide(w, c, p)
		}},
		{"NOT_DONE closes an effect over an open earlier try", after(func(_ W, c C, d *D) {
			if k, ok := c.(*idem.ReportEffect); ok && k.State == idem.EffectNotDone {
				for _, f := range d.Effects {
					f.New.State = idem.EffectNotDone
				}
			}
		})},
		{"a completion passes over open effects", func(w W, c C, p P) D {
			if _, ok := c.(*idem.Complete); ok {
				return altered(w, c, p, func(w W) { w.Effects = nil })
			}
			return idem.Decide(w, c, p)
		}},
		{"a transition is not journaled", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Fail); ok && d.Err == nil && len(d.Entries) > 0 {
				d.Entries = d.Entries[:len(d.Entries)-1]
			}
		})},
		{"a refused call ends the claim all the same", after(func(w W, c C, d *D) {
			if _, ok := c.(*idem.Complete); ok && d.Err != nil && d.Event != nil {
				d.Event.New.State = idem.Processed
			}
		})},
		{"a replay drops the stored result", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Replay); ok && d.Event != nil {
				d.Event.New.Result = nil
			}
		})},
	}
}

// TestWrongRulesAreCaught runs the exploration with each of many wrong rules and demands
// that an invariant notices. Which one did is written down in mutants.md.
func TestWrongRulesAreCaught(t *testing.T) {
	// What the right rules are found to break is no proof against a wrong one.
	known := map[string]func() map[string]bool{}
	for _, d := range domains() {
		known[d.name] = sync.OnceValue(func() map[string]bool {
			x := &explorer{dom: d, decide: idem.Decide, settle: true, most: 1 << 20, limit: mutantStates}
			x.run()
			keys := map[string]bool{}
			for _, v := range x.found {
				keys[v.key] = true
			}
			return keys
		})
	}
	muts := mutants()
	lines := make([]string, len(muts))
	t.Run("each", func(t *testing.T) {
		for m, mu := range muts {
			t.Run(mu.rule, func(t *testing.T) {
				t.Parallel()
				// First without the comparison of swept and unswept worlds, which notices much
				// but says little.
				for _, settle := range []bool{false, true} {
					for _, d := range worldsOf(mu) {
						x := &explorer{dom: d, decide: mu.decide, settle: settle, limit: mutantStates}
						x.run()
						if len(x.found) == 0 {
							continue
						}
						if keys := known[d.name](); keys[x.found[0].key] {
							x = &explorer{dom: d, decide: mu.decide, settle: settle, limit: mutantStates, ignore: keys}
							x.run()
						}
						if len(x.found) > 0 {
							v := x.found[0]
							lines[m] = fmt.Sprintf("| %s | %s | %s | %d |", mu.rule, v.key, d.name, len(v.path))
							return
						}
					}
				}
				t.Errorf("no invariant caught the wrong rule: %s", mu.rule)
			})
		}
	})
	page := mutantsHead + strings.Join(lines, "\n") + "\n"
	if update {
		if err := os.WriteFile("mutants.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	stored, err := os.ReadFile("mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != page && !t.Failed() {
		t.Errorf("mutants.md is out of date; run the tests of this package with IDEM_UPDATE=1. It should be:\n%s", page)
	}
}

// likely names the world in which a wrong rule shows first, to save the walk through the
// others.
var likely = []struct{ word, world string }{
	{"HOLD is given", "one event held"},
	{"held event", "one event held"},
	{"replay", "replays"},
	{"an expired claim keeps its rights", "three events, two lanes"},
	{"asked about", "three events, two lanes"},
	{"operator's decision lowers", "two versions, held lanes freed"},
	{"predecessor", "a sequence"},
	{"effect under HOLD", "an effect under hold"},
	{"another request", "two requests under one effect key"},
	{"lane", "two versions"},
	{"version", "two versions"},
	{"completion applies", "two versions"},
	{"PERFORM", "an effect of two events"},
	{"DONE", "an effect of two events"},
	{"effect", "an effect of two events"},
}

// worldsOf are all worlds, the likely one first.
func worldsOf(m mutant) []*domain {
	all := domains()
	for _, l := range likely {
		if !strings.Contains(m.rule, l.word) {
			continue
		}
		for i, d := range all {
			if d.name == l.world {
				all[0], all[i] = all[i], all[0]
			}
		}
		break
	}
	return all
}

const mutantsHead = `# Wrong rules, and what catches them

Each line is a rule of this package made wrong on purpose, the invariant of the exploration that noticed, the small world in
which it did, and after how many steps. The page is written by ` + "`IDEM_UPDATE=1 go test -run TestWrongRulesAreCaught ./idem`" + ` and
compared by the same test.

| wrong rule | caught by | in the world | steps |
| --- | --- | --- | --: |
`
