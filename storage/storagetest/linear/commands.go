package linear

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// command makes a random command, nil for none.
func (c *client) command() idem.Command {
	g, have := c.last()
	n := c.rng.IntN(100)
	switch {
	case n < 34 || !have || g.over && !c.one(3):
		return c.claim(g, have)
	case n < 52:
		return c.complete(g)
	case n < 64:
		return c.fail(g)
	case n < 70:
		return &idem.Extend{Token: g.token, Lease: time.Duration(1+c.rng.IntN(3)) * time.Second}
	case n < 76:
		return &idem.Release{Token: g.token, Why: "why"}
	case n < 78:
		return &idem.Settle{Event: g.token.Event}
	case n < 86 && c.d.theme.operators:
		return c.operator(g)
	case c.d.theme.effects && (n < 92 || !c.d.theme.ordered):
		return c.effectCommand(g)
	case c.d.theme.ordered && !c.d.theme.signals:
		return c.check(g)
	default:
		return c.claim(g, have)
	}
}

// complete says, of a signal, what was fetched, or not.
func (c *client) complete(g given) idem.Command {
	done := &idem.Complete{Token: g.token, Result: []byte(c.name("result")), AllowUnknown: c.one(2)}
	if c.d.theme.signals && c.one(2) {
		done.Applied = &idem.Version{Kind: idem.Sequence, Value: 1 + c.rng.Int64N(3)}
	}
	return done
}

// claim asks for an event, as a delivery does or as the service's own acquisition of it; or
// it keeps the event for later work.
func (c *client) claim(g given, have bool) idem.Command {
	i := c.rng.IntN(c.d.theme.events)
	cl := &idem.Claim{Claimant: c.name("claimant"), Holder: "host", Nonce: c.nonce(), Lease: 0, AcceptReplay: c.one(3)}
	if have && c.one(6) {
		i, cl.Claimant = g.event, g.claimant // a repeat by a claimant, or a ghost
	}
	cl.Key = c.d.key(i)
	cl.Facts.Kind = idem.DeliveryKind(1 + c.rng.IntN(5)) //nolint:gosec // one of five
	cl.Facts.RequestID = c.name("request")
	cl.Facts.PayloadHash = []byte([]string{"", "A", "A", "B"}[c.rng.IntN(4)])
	if len(cl.Facts.PayloadHash) == 0 {
		cl.Facts.PayloadHash = nil
	}
	if c.one(5) || c.d.theme.operators && c.one(2) {
		cl.Stale = idem.Hold
	}
	if c.d.theme.ordered {
		cl.Ordering = c.d.ordering(int64(i) + 1)
	}
	switch n := c.rng.IntN(3); {
	case !c.d.theme.inbox || n == 0:
	case n == 1:
		return &idem.Receive{Key: cl.Key, Facts: cl.Facts, Holder: cl.Holder, Ordering: cl.Ordering, Stale: cl.Stale}
	default:
		cl.Facts.Kind, cl.Stale, cl.AcceptReplay = idem.ConsumerRequeue, idem.StaleByPolicy, true
		cl.Acquisition = c.acquisition(cl.Claimant)
	}
	return cl
}

func (c *client) acquisition(claimant string) idem.ID {
	return idem.Digest("acquisition", c.d.ns, "worker", claimant)
}

// ordering is a version of the one resource.
func (d *driver) ordering(v int64) *idem.Ordering {
	o := &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: d.ns, Consumer: "worker", Type: "thing", Name: "r"},
		Version:  idem.Version{Kind: idem.Sequence, Value: v}, Mode: idem.LatestWins,
	}
	switch {
	case d.theme.sequential:
		o.Mode = idem.Sequential
	case d.theme.signals:
		o.Mode = idem.Signal
		if o.Version.Value--; o.Version.Value == 0 { // the first tells of no version
			o.Version = idem.Version{}
		}
	}
	return o
}

func (c *client) fail(g given) idem.Command {
	f := &idem.Fail{Token: g.token, Error: idem.Failure{Kind: idem.Retryable, Code: "X", Message: c.name("failure")}, Draw: c.rng.Float64()}
	switch c.rng.IntN(8) {
	case 0:
		f.Error.Kind = idem.Terminal
	case 1:
		f.Error.Kind = idem.NotYet
	case 2, 3:
		f.RetryAfter = time.Microsecond
	}
	return f
}

func (c *client) check(g given) idem.Command {
	k := &idem.Check{Ordering: *c.d.ordering(1 + c.rng.Int64N(4))}
	if c.one(3) && !c.d.theme.sequential {
		k.By = c.nonce()
		return k
	}
	tok := g.token
	k.Token = &tok
	return k
}

func (c *client) effect() idem.EffectKey {
	return idem.EffectKey{Scope: idem.NamespaceScope, Namespace: c.d.ns, Key: "f"}
}

func (c *client) effectCommand(g given) idem.Command {
	tok := g.token
	hash := []byte("h")
	if c.one(8) {
		hash = []byte("other")
	}
	t, have := c.try()
	switch n := c.rng.IntN(10); {
	case n < 5 || n < 9 && !have:
		return &idem.BeginEffect{Token: &tok, Key: c.effect(), BeginID: c.name("begin"), RequestHash: hash, Intent: []byte("intent"), OnUnknown: idem.OnUnknown(c.rng.IntN(3)), Lease: time.Second, Nonce: c.nonce()} //nolint:gosec // small
	case n < 9:
		r := &idem.ReportEffect{Token: t, State: idem.EffectNotDone, Error: idem.Failure{Kind: idem.Retryable, Code: "X"}}
		switch c.rng.IntN(5) {
		case 0, 1:
			r.State, r.Result, r.Error = idem.EffectDone, []byte(c.name("done")), idem.Failure{}
		case 2:
			r.State = idem.EffectUnknown
		}
		return r
	default:
		return &idem.RecordEffect{Token: &tok, Key: c.effect(), RequestHash: hash, Result: []byte(c.name("recorded"))}
	}
}

func (c *client) operator(g given) idem.Command {
	r := &idem.Resolve{Event: g.token.Event, RequestID: []string{"", "d1", "d2", c.name("decision")}[c.rng.IntN(4)], Who: "op"}
	switch c.rng.IntN(4) {
	case 0:
		r.To, r.Result = idem.ResolveProcessed, []byte("decided")
	case 1:
		r.To = idem.ResolveTerminal
	case 2:
		return &idem.Replay{Event: g.token.Event, RequestID: c.name("replay"), Who: "op"}
	default:
		r.To = idem.ResolveRetry
	}
	return r
}
