// Package wrongrules holds rules of idem made wrong on purpose: what the tests of the
// rules, and of the stores that keep them, must notice. It is for tests.
package wrongrules

import (
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// Decider is what [idem.Decide] is.
type Decider func(*idem.World, idem.Command, *idem.Policy) idem.Decision

// Rule is a wrong rule: Decide, with what it sees or says altered.
type Rule struct {
	Name   string
	Decide Decider
}

// late is a fence that none will reach.
const late = 1 << 62

// All are the wrong rules.
func All() []Rule {
	type (
		W = *idem.World
		C = idem.Command
		P = *idem.Policy
		D = idem.Decision
	)
	// on alters the world for commands of one type.
	claims := func(alter func(w W, c *idem.Claim)) Decider {
		return func(w W, c C, p P) D {
			if c, ok := c.(*idem.Claim); ok {
				return altered(w, c, p, func(w W) { alter(w, c) })
			}
			return idem.Decide(w, c, p)
		}
	}
	ends := func(alter func(w W)) Decider {
		return func(w W, c C, p P) D {
			switch c.(type) {
			case *idem.Complete, *idem.Fail, *idem.Extend, *idem.Release:
				return altered(w, c, p, alter)
			}
			return idem.Decide(w, c, p)
		}
	}
	after := func(change func(w W, c C, d *D)) Decider {
		return func(w W, c C, p P) D {
			d := idem.Decide(w, c, p)
			change(w, c, &d)
			return d
		}
	}
	expired := func(e *idem.Event, now idem.Instant) bool {
		return e != nil && e.State == idem.Processing && e.LeaseUntil <= now
	}
	effects := func(alter func(f *idem.Effect)) Decider {
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
	return []Rule{
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
		{"a refused call ends the claim all the same", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Complete); ok && d.Err != nil && d.Event != nil {
				d.Event.New.State = idem.Processed
			}
		})},
		{"a replay drops the stored result", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Replay); ok && d.Event != nil {
				d.Event.New.Result = nil
			}
		})},
		{"a fetch answers signals that came after it", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Complete); ok {
				for _, r := range d.Resources {
					if r.New.Covered != r.Old.Covered {
						r.New.Covered = late
					}
				}
			}
		})},
		{"a failed grant answers the signals before it", after(func(w W, c C, d *D) {
			if _, ok := c.(*idem.Fail); ok && d.Err == nil && w.Event.Signals() {
				for _, r := range d.Resources {
					r.New.Covered, r.New.CoveredBy = w.Event.Fence, w.Event.ID()
				}
			}
		})},
		{"a fetch answers its own signal alone", after(func(_ W, c C, d *D) {
			if _, ok := c.(*idem.Complete); ok && d.Err == nil {
				for _, r := range d.Resources {
					r.New.Covered, r.New.CoveredBy = r.Old.Covered, r.Old.CoveredBy
				}
				d.Owners = nil
				d.Entries = slices.DeleteFunc(d.Entries, func(e idem.Entry) bool { return e.ID != c.Subject() })
			}
		})},
		{"a signal's own version counts as fetched", func(w W, c C, p P) D {
			if k, ok := c.(*idem.Complete); ok && w.Event != nil && w.Event.Signals() && k.Applied == nil && w.Event.Ordering.Version.Kind != idem.NoVersion {
				x := *k
				x.Applied = &w.Event.Ordering.Version
				return idem.Decide(w, &x, p)
			}
			return idem.Decide(w, c, p)
		}},
		{"a fetch behind a signal's version answers it", claims(func(w W, _ *idem.Claim) {
			if e := w.Event; e != nil && e.Signals() && e.Fence != 0 && e.Total == 0 {
				o := *e.Ordering
				o.Version = idem.Version{}
				e.Ordering = &o
			}
		})},
		{"a receipt is not stored where a signal waits already", func(w W, c C, p P) D {
			d := idem.Decide(w, c, p)
			if k, ok := c.(*idem.Receive); ok && d.Event != nil && k.Ordering != nil && k.Ordering.Mode == idem.Signal {
				if r := w.Resources[k.Ordering.Resource.ID()]; r != nil && r.Owned {
					return D{Answer: d.Answer}
				}
			}
			return d
		}},
		{"a decision forgets its request", func(w W, c C, p P) D {
			if k, ok := c.(*idem.Resolve); ok {
				x := *k
				x.RequestID = ""
				return idem.Decide(w, &x, p)
			}
			return idem.Decide(w, c, p)
		}},
		{"a claim that is acquired takes no lane", func(w W, c C, p P) D {
			d := idem.Decide(w, c, p)
			if k, ok := c.(*idem.Claim); ok && !k.Acquisition.IsZero() && isGrant(&d) {
				for _, r := range d.Resources {
					r.New.Owned = false
				}
			}
			return d
		}},
	}
}
