package model

import (
	"bytes"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

// actions are the steps of a history. What is done often is listed more than once.
func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"claim":        m.claim,
		"claim again":  m.claim,
		"ordered":      m.claimOrdered,
		"ordered too":  m.claimOrdered,
		"receive":      m.receive,
		"acquire":      m.acquire,
		"acquire too":  m.acquire,
		"repeat":       m.repeat,
		"complete":     m.complete,
		"complete too": m.complete,
		"fail":         m.failClaim,
		"extend":       m.extend,
		"release":      m.release,
		"check":        m.check,
		"plain check":  m.plainCheck,
		"begin":        m.begin,
		"record":       m.record,
		"report":       m.report,
		"report too":   m.report,
		"time":         m.time,
		"time too":     m.time,
		"operator":     m.operator,
		"effect's end": m.operatorOnEffect,
	}
}

func pick[V any](t *rapid.T, what string, from []V) V {
	if len(from) == 0 {
		t.Skip("no ", what)
	}
	return rapid.SampledFrom(from).Draw(t, what)
}

// pickGrant draws one of the grants so far, mostly one that has not ended.
func (m *model) pickGrant(t *rapid.T) (index int, key idem.EventKey, text string) {
	all := make([]int, len(m.granted))
	var current []int
	for i, k := range m.granted {
		all[i] = i
		if v := m.view(m.oracle, k); v.Event.State == idem.Processing && v.Event.Fence == m.oracle.grants[i].Fence {
			current = append(current, i)
		}
	}
	if len(current) > 0 && rapid.IntRange(0, 3).Draw(t, "any") < 3 {
		all = current
	}
	index = pick(t, "grant", all)
	key = m.granted[index]
	return index, key, fmt.Sprintf("grant %d of %s", index, eventName(key))
}

func (m *model) claim(t *rapid.T)        { m.claims(t, false) }
func (m *model) claimOrdered(t *rapid.T) { m.claims(t, true) }

func (m *model) claims(t *rapid.T, ordered bool) {
	key := pick(t, "event", m.events)
	c := idem.Claim{
		Key: key, Holder: "h", Nonce: m.id(), Lease: aLease,
		Stale:        rapid.SampledFrom([]idem.StaleClaim{idem.StaleByPolicy, idem.Reclaim, idem.Hold}).Draw(t, "stale"),
		AcceptReplay: rapid.Bool().Draw(t, "accept replay"),
	}
	c.Claimant = fmt.Sprint("p", len(m.claimants))
	if len(m.claimants) > 0 && rapid.IntRange(0, 5).Draw(t, "claimant") == 5 {
		c.Claimant = pick(t, "earlier claimant", m.claimants)
	}
	m.claimants = append(m.claimants, c.Claimant)
	c.Facts = idem.Facts{
		Type: "t", RequestID: fmt.Sprint("r", len(m.commands)),
		Kind:        rapid.SampledFrom([]idem.DeliveryKind{idem.ProviderFirst, idem.ProviderRetry, idem.ConsumerRequeue}).Draw(t, "kind"),
		PayloadHash: []byte(rapid.SampledFrom([]string{"", "A", "A", "B"}).Draw(t, "hash")),
		Origin:      rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "", "us"}).Draw(t, "origin"),
		Signature: rapid.SampledFrom([]idem.Signature{
			idem.NotChecked, idem.NotChecked, idem.Verified, idem.Verified, idem.Verified, idem.VerifiedLate, idem.SignatureFailed,
		}).Draw(t, "signature"),
	}
	text := fmt.Sprintf("claim %s by %s, kind %d, signature %d, hash %q", eventName(key), c.Claimant, c.Facts.Kind, c.Facts.Signature, c.Facts.PayloadHash)
	if c.Facts.Origin != "" {
		text += ", origin " + c.Facts.Origin
	}
	if c.Stale != idem.StaleByPolicy {
		text += fmt.Sprintf(", stale %d", c.Stale)
	}
	if c.AcceptReplay {
		text += ", accepts replays"
	}
	if ordered {
		o, words := m.ordering(t, key.Consumer)
		c.Ordering = &o
		text += ", ordered by " + words
	}
	m.do(key.ID(), text, func(*side) idem.Command {
		own := c
		apart(&own.Facts, &own.Ordering)
		return &own
	})
}

// apart makes copies of what a command points to, so that the two sides share nothing.
func apart(f *idem.Facts, o **idem.Ordering) {
	f.PayloadHash = bytes.Clone(f.PayloadHash)
	if *o != nil {
		c := **o
		*o = &c
	}
}

// ordering draws a resource of the consumer and a version of it.
func (m *model) ordering(t *rapid.T, consumer string) (idem.Ordering, string) {
	var mine []idem.ResourceKey
	for _, r := range m.resources {
		if r.Consumer == consumer && (!m.onlySignals || r.Name == "signal") {
			mine = append(mine, r)
		}
	}
	o := idem.Ordering{Resource: pick(t, "resource", mine), Mode: idem.LatestWins}
	o.Version = idem.Version{
		Kind:  idem.Sequence,
		Epoch: rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1}).Draw(t, "epoch"),
		Value: rapid.Int64Range(1, 4).Draw(t, "version"),
	}
	switch o.Resource.Name {
	case "moment":
		o.Version.Kind = idem.Moment
	case "seq":
		o.Mode = idem.Sequential
	case "signal", "signal at":
		words := m.signal(t, &o)
		return o, words
	}
	if rapid.IntRange(0, 40).Draw(t, "other kind") == 40 {
		o.Version.Kind = idem.Moment + idem.Sequence - o.Version.Kind
	}
	words := fmt.Sprintf("%s/%s version %d.%d kind %d", consumer, o.Resource.Name, o.Version.Epoch, o.Version.Value, o.Version.Kind)
	if to := rapid.SampledFrom([]string{"", "", "", "new", "paid", "sent"}).Draw(t, "to state"); to != "" {
		o.Transition = &idem.Transition{Machine: "m", To: to}
		words += " to " + to
	}
	return o, words
}

// signal makes the order that of a signal, which may tell of a version.
func (m *model) signal(t *rapid.T, o *idem.Ordering) string {
	o.Mode = idem.Signal
	words := o.Resource.Consumer + "/" + o.Resource.Name
	if o.Resource.Name == "signal at" {
		o.Version.Kind = idem.Moment
	}
	if rapid.Bool().Draw(t, "tells no version") {
		o.Version = idem.Version{}
		return words
	}
	return fmt.Sprintf("%s version %d.%d kind %d", words, o.Version.Epoch, o.Version.Value, o.Version.Kind)
}

// repeat carries out an earlier command once more, with the same identity.
func (m *model) repeat(t *rapid.T) {
	c := pick(t, "earlier command", m.commands)
	m.carryOut(c.subject, "repeat: "+c.text, c.build)
}

func (m *model) complete(t *rapid.T) {
	i, key, text := m.pickGrant(t)
	c := idem.Complete{
		Result:       []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "result")),
		AllowUnknown: rapid.Bool().Draw(t, "allow unknown"),
	}
	if v := rapid.Int64Range(0, 12).Draw(t, "applied version"); v > 8 {
		c.Applied = &idem.Version{Kind: rapid.SampledFrom([]idem.VersionKind{idem.Sequence, idem.Sequence, idem.Moment}).Draw(t, "applied kind"), Value: v - 8}
	}
	text = fmt.Sprintf("complete %s with %q", text, c.Result)
	if c.AllowUnknown {
		text += ", unknown effects allowed"
	}
	if c.Applied != nil {
		text += fmt.Sprintf(", applied version %d kind %d", c.Applied.Value, c.Applied.Kind)
	}
	m.do(key.ID(), text, func(sd *side) idem.Command {
		own := c
		own.Token = sd.grants[i]
		own.Result = append([]byte(nil), c.Result...)
		return &own
	})
}

func (m *model) failClaim(t *rapid.T) {
	i, key, text := m.pickGrant(t)
	c := idem.Fail{
		Error: idem.Failure{
			Kind:    rapid.SampledFrom([]idem.FailureKind{idem.Retryable, idem.Retryable, idem.Terminal, idem.NotYet}).Draw(t, "failure"),
			Message: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "message"),
		},
		RetryAfter: rapid.SampledFrom([]time.Duration{0, rest}).Draw(t, "retry after"),
	}
	m.do(key.ID(), fmt.Sprintf("fail %s: kind %d, %q, retry after %v", text, c.Error.Kind, c.Error.Message, c.RetryAfter), func(sd *side) idem.Command {
		own := c
		own.Token = sd.grants[i]
		return &own
	})
}

func (m *model) extend(t *rapid.T) {
	i, key, text := m.pickGrant(t)
	m.do(key.ID(), "extend "+text, func(sd *side) idem.Command { return &idem.Extend{Token: sd.grants[i], Lease: aLease} })
}

func (m *model) release(t *rapid.T) {
	i, key, text := m.pickGrant(t)
	undelivered := rapid.IntRange(0, 3).Draw(t, "undelivered") == 3
	if undelivered {
		text += " as undelivered"
	}
	m.do(key.ID(), "release "+text, func(sd *side) idem.Command {
		return &idem.Release{Token: sd.grants[i], Why: "w", Undelivered: undelivered}
	})
}

func (m *model) check(t *rapid.T) {
	i, key, text := m.pickGrant(t)
	o, words := m.ordering(t, key.Consumer)
	m.do(key.ID(), "check "+words+" under "+text, func(sd *side) idem.Command {
		token := sd.grants[i]
		return &idem.Check{Token: &token, Ordering: o}
	})
}

func (m *model) plainCheck(t *rapid.T) {
	consumer := rapid.SampledFrom([]string{"c0", "c1"}).Draw(t, "consumer")
	o, words := m.ordering(t, consumer)
	by := m.id()
	if rapid.Bool().Draw(t, "by an event") {
		key := pick(t, "event", m.events)
		by = key.ID()
		words += " by " + eventName(key)
	}
	m.do(idem.ID{}, "check "+words, func(*side) idem.Command { return &idem.Check{Ordering: o, By: by} })
}

// effect draws an effect for a claim of an event, and says for which grant, -1 for none.
func (m *model) effect(t *rapid.T) (key idem.EffectKey, grant int, event idem.ID, text string) {
	grant = -1
	if len(m.granted) == 0 || rapid.IntRange(0, 5).Draw(t, "without a claim") == 5 {
		key = pick(t, "effect", m.wide)
		text = "without a claim"
	} else {
		var owner idem.EventKey
		grant, owner, text = m.pickGrant(t)
		event, text = owner.ID(), "under "+text
		key = idem.EffectKey{Scope: idem.EventScope, Namespace: m.ns, Consumer: owner.Consumer, Event: event, Key: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")}
		if rapid.Bool().Draw(t, "wider scope") {
			key = pick(t, "effect", m.wide)
			if key.Scope == idem.ConsumerScope {
				key.Consumer = owner.Consumer
			}
		}
	}
	id := key.ID()
	m.effects[id] = true
	m.effectKeys[id] = key
	if m.names[id] == "" {
		m.names[id] = effectName(key, m.names[key.Event])
	}
	return key, grant, event, m.names[id] + " " + text
}

func effectName(k idem.EffectKey, event string) string {
	switch k.Scope {
	case idem.EventScope:
		return "effect " + k.Key + " of " + event
	case idem.ConsumerScope:
		return "effect " + k.Key + " of consumer " + k.Consumer
	default:
		return "effect " + k.Key + " of the namespace"
	}
}

func (m *model) begin(t *rapid.T) {
	key, i, event, text := m.effect(t)
	nonce := m.id()
	c := idem.BeginEffect{
		Key: key, BeginID: "b" + nonce.String(), Nonce: nonce, Lease: aLease, Target: "bank",
		RequestHash: []byte(rapid.SampledFrom([]string{"A", "A", "A", "B"}).Draw(t, "request")),
		Intent:      []byte(rapid.SampledFrom([]string{"i", "j"}).Draw(t, "intent")),
		OnUnknown:   rapid.SampledFrom([]idem.OnUnknown{idem.UnknownByPolicy, idem.UnknownRetry, idem.UnknownHold}).Draw(t, "on unknown"),
	}
	m.do(event, fmt.Sprintf("begin %s, request %s, on unknown %d", text, c.RequestHash, c.OnUnknown), func(sd *side) idem.Command {
		own := c
		own.RequestHash, own.Intent = append([]byte(nil), c.RequestHash...), append([]byte(nil), c.Intent...)
		if i >= 0 {
			token := sd.grants[i]
			own.Token = &token
		}
		return &own
	})
}

func (m *model) record(t *rapid.T) {
	key, i, event, text := m.effect(t)
	c := idem.RecordEffect{
		Key:         key,
		RequestHash: []byte(rapid.SampledFrom([]string{"A", "A", "A", "B"}).Draw(t, "request")),
		Result:      []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "result")),
	}
	m.do(event, fmt.Sprintf("record %s, request %s, result %s", text, c.RequestHash, c.Result), func(sd *side) idem.Command {
		own := c
		own.RequestHash, own.Result = append([]byte(nil), c.RequestHash...), append([]byte(nil), c.Result...)
		if i >= 0 {
			token := sd.grants[i]
			own.Token = &token
		}
		return &own
	})
}

func (m *model) report(t *rapid.T) {
	if len(m.oracle.efforts) == 0 {
		t.Skip("no effect was begun")
	}
	i := rapid.IntRange(0, len(m.oracle.efforts)-1).Draw(t, "effort")
	c := idem.ReportEffect{State: rapid.SampledFrom([]idem.EffectState{idem.EffectDone, idem.EffectNotDone, idem.EffectUnknown}).Draw(t, "state")}
	value := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
	if c.State == idem.EffectDone {
		c.Result = []byte(value)
	} else {
		c.Error = idem.Failure{Kind: idem.Retryable, Message: value}
	}
	text := fmt.Sprintf("report %s %q for effort %d, %s", c.State, value, i, m.names[m.oracle.efforts[i].Effect])
	m.do(idem.ID{}, text, func(sd *side) idem.Command {
		own := c
		own.Token = sd.efforts[i]
		own.Result = append([]byte(nil), c.Result...)
		return &own
	})
}

// time passes for one record, alike on both sides.
func (m *model) time(t *rapid.T) {
	var ids []idem.ID
	for _, token := range m.oracle.grants {
		ids = append(ids, token.Event)
	}
	kind := rapid.SampledFrom([]string{"lease", "lease", "due", "hours", "a day", "gap", "effect"}).Draw(t, "what")
	var id idem.ID
	var text string
	var act func(h storagetest.Harness)
	switch kind {
	case "lease":
		id = pick(t, "grant", ids)
		text, act = "the lease ends of ", func(h storagetest.Harness) { h.Expire(m.tb, id) }
	case "due":
		id = pick(t, "grant", ids)
		text, act = "due is ", func(h storagetest.Harness) { h.Due(m.tb, id) }
	case "hours":
		id = pick(t, "grant", ids)
		text, act = "two hours pass for ", func(h storagetest.Harness) { h.Later(m.tb, id, aStep) }
	case "a day":
		id = pick(t, "grant", ids)
		text, act = "more than a day passes for ", func(h storagetest.Harness) { h.Later(m.tb, id, aDay) }
	case "gap":
		id = pick(t, "resource", m.resources).ID()
		text, act = "two hours pass for ", func(h storagetest.Harness) { h.Later(m.tb, id, aStep) }
	case "effect":
		if len(m.oracle.efforts) == 0 {
			t.Skip("no effect was begun")
		}
		id = m.oracle.efforts[rapid.IntRange(0, len(m.oracle.efforts)-1).Draw(t, "effort")].Effect
		text, act = "the lease ends of ", func(h storagetest.Harness) { h.Expire(m.tb, id) }
	}
	m.history = append(m.history, fmt.Sprintf("%d. %s%s", len(m.history), text, m.names[id]))
	act(m.sut.h)
	act(m.oracle.h)
}

func (m *model) operator(t *rapid.T) {
	key := pick(t, "event", m.events)
	id, name := key.ID(), eventName(key)
	switch rapid.SampledFrom([]string{"settle", "processed", "retry", "terminal", "replay", "replay"}).Draw(t, "act") {
	case "settle":
		m.do(id, "settle "+name, func(*side) idem.Command { return &idem.Settle{Event: id} })
	case "processed":
		m.resolve(t, key, idem.ResolveProcessed, "processed")
	case "retry":
		m.resolve(t, key, idem.ResolveRetry, "retry")
	case "terminal":
		m.resolve(t, key, idem.ResolveTerminal, "terminal")
	case "replay":
		request := fmt.Sprint("q", len(m.commands))
		unprocessed := rapid.Bool().Draw(t, "unprocessed only")
		m.do(id, fmt.Sprintf("replay %s by %s, unprocessed only: %v", name, request, unprocessed), func(*side) idem.Command {
			return &idem.Replay{Event: id, RequestID: request, Unprocessed: unprocessed, Who: "op"}
		})
	}
}

// resolve decides about an event, now and then by a request that has decided before.
func (m *model) resolve(t *rapid.T, key idem.EventKey, to idem.ResolveTo, word string) {
	id := key.ID()
	request := rapid.SampledFrom([]string{"", "d1", "d2", fmt.Sprint("d", len(m.commands))}).Draw(t, "request")
	c := idem.Resolve{Event: id, To: to, RequestID: request, Who: "op"}
	if to == idem.ResolveProcessed {
		c.Result = []byte("by hand")
	}
	m.do(id, fmt.Sprintf("resolve as %s %s by %q", word, eventName(key), request), func(*side) idem.Command {
		own := c
		own.Result = append([]byte(nil), c.Result...)
		return &own
	})
}

// operatorOnEffect decides about a side effect that was begun.
func (m *model) operatorOnEffect(t *rapid.T) {
	var ids []idem.ID
	for i := range m.oracle.efforts {
		ids = append(ids, m.oracle.efforts[i].Effect)
	}
	id := pick(t, "effort", ids)
	c := idem.ResolveEffect{
		Key: m.effectKeys[id], To: rapid.SampledFrom([]idem.EffectDecision{idem.EffectWasDone, idem.EffectWasNot, idem.EffectRedo}).Draw(t, "decision"),
		RequestID: rapid.SampledFrom([]string{"", "d1", fmt.Sprint("d", len(m.commands))}).Draw(t, "request"), Who: "op",
	}
	if c.To == idem.EffectWasDone {
		c.Result = []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value"))
	}
	m.do(idem.ID{}, fmt.Sprintf("resolve %s as %d by %q", m.names[id], c.To, c.RequestID), func(*side) idem.Command {
		own := c
		own.Result = append([]byte(nil), c.Result...)
		return &own
	})
}
