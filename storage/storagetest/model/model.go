// Package model tests a [storage.Backend] against the rules themselves: it carries out
// random histories of commands on the backend and on the pure rules (the memory store,
// whose clock stands still) and compares every answer and every record, field by field.
//
// No backend's clock has to be moved. Time passes for one record at a time, by a
// [storagetest.Harness], on both sides alike, and in steps far longer than a test
// takes; instants are then compared by whether they lie ahead. Fences differ in value
// and must agree in their order.
//
// A history that fails is shrunk and printed as a list of steps in words.
package model

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/storagetest"
)

// Check compares a backend with the rules on random histories. The flags of
// [rapid.Check] say on how many and how long ones.
func Check(t *testing.T, open storagetest.Open) {
	t.Helper()
	rapid.Check(t, property(t, open(t)))
}

// property is one history on one harness, in a namespace of its own.
func property(tb testing.TB, h storagetest.Harness) func(*rapid.T) {
	tb.Helper()
	return func(t *rapid.T) {
		m := newModel(tb, t, h)
		t.Repeat(m.actions())
		m.compareAll("at the end")
	}
}

// Lengths of time. What a history waits for takes an hour or more, and what it holds on
// to lasts for at least ten minutes: the time that the test itself takes decides nothing.
const (
	aLease = 10 * time.Minute
	rest   = time.Hour
	aStep  = 2 * time.Hour
	aDay   = 25 * time.Hour // longer than the longest claim
)

// side is one of the two backends that live through a history.
type side struct {
	h       storagetest.Harness
	b       storage.Backend
	grants  []idem.Token
	efforts []idem.EffectToken
}

// build makes a command for a side: its tokens are the side's own, all else is the same.
type build func(sd *side) idem.Command

// model is one history.
type model struct {
	t  *rapid.T
	tb testing.TB
	ns string

	sut, oracle *side
	events      []idem.EventKey
	granted     []idem.EventKey // the events of the grants
	resources   []idem.ResourceKey
	wide        []idem.EffectKey // effects that belong to no event
	onlySignals bool             // of all orders
	effects     map[idem.ID]bool // all that were named
	effectKeys  map[idem.ID]idem.EffectKey
	claimants   []string
	commands    []call
	names       map[idem.ID]string
	fences      map[int64]int64 // of the backend → of the rules
	back        map[int64]int64
	history     []string
	drawn       int
}

// call is a command that was carried out and may be repeated.
type call struct {
	text    string
	subject idem.ID
	build   build
}

func newModel(tb testing.TB, t *rapid.T, h storagetest.Harness) *model {
	tb.Helper()
	oracle := storagetest.Memory(tb)
	m := &model{
		t: t, tb: tb, ns: "model-" + rand.Text(),
		sut: &side{h: h, b: h.Backend()}, oracle: &side{h: oracle, b: oracle.Backend()},
		effects: map[idem.ID]bool{}, effectKeys: map[idem.ID]idem.EffectKey{}, names: map[idem.ID]string{},
		fences: map[int64]int64{0: 0}, back: map[int64]int64{0: 0},
	}
	for _, name := range []struct{ event, consumer string }{{"e0", "c0"}, {"e1", "c0"}, {"e2", "c0"}, {"e0", "c1"}} {
		key := idem.EventKey{EventRef: idem.EventRef{Namespace: m.ns, Source: "shop", EventID: name.event}, Consumer: name.consumer}
		m.events = append(m.events, key)
		m.names[key.ID()] = eventName(key)
	}
	for c := range 2 {
		consumer := fmt.Sprint("c", c)
		for _, name := range []string{"latest", "moment", "seq", "signal", "signal at"} {
			key := idem.ResourceKey{Namespace: m.ns, Consumer: consumer, Type: "order", Name: name}
			m.resources = append(m.resources, key)
			m.names[key.ID()] = consumer + "/" + name
		}
		m.wide = append(m.wide, idem.EffectKey{Scope: idem.ConsumerScope, Namespace: m.ns, Consumer: consumer, Key: "k"})
	}
	m.wide = append(m.wide, idem.EffectKey{Scope: idem.NamespaceScope, Namespace: m.ns, Key: "k"})
	p := drawPolicy(t)
	m.history = append(m.history, "policy: "+policyText(p))
	if m.onlySignals = rapid.IntRange(0, 2).Draw(t, "only signals") == 2; m.onlySignals {
		m.history = append(m.history, "all orders are signals")
	}
	storagetest.SetPolicy(t, m.ns, func(idem.EventKey, string) *idem.Policy { return p })
	return m
}

func eventName(k idem.EventKey) string { return k.EventID + "@" + k.Consumer }

func drawPolicy(t *rapid.T) *idem.Policy {
	p := idem.DefaultPolicy()
	p.MaxAttempts = rapid.Int32Range(1, 3).Draw(t, "max attempts")
	p.MaxReleases = rapid.Int32Range(0, 2).Draw(t, "max releases")
	p.HeldLanes = rapid.Bool().Draw(t, "held lanes")
	p.Stale = rapid.SampledFrom([]idem.StaleClaim{idem.Reclaim, idem.Hold}).Draw(t, "stale claim")
	p.WaiveInterval = rapid.SampledFrom([]time.Duration{0, rest}).Draw(t, "waive interval")
	p.ReleaseDelay = rapid.SampledFrom([]time.Duration{0, rest}).Draw(t, "release delay")
	p.NotYetBudget = rest
	p.Backoff = idem.Backoff{Base: rest, Factor: 2, Cap: 4 * rest}
	p.RefuseMismatch = rapid.Bool().Draw(t, "refuse mismatch")
	p.Signature = rapid.SampledFrom([]idem.SignaturePolicy{idem.SignatureOptional, idem.SignatureOptional, idem.SignatureLearned}).Draw(t, "signatures")
	p.SelfOrigins = []string{"us"}
	p.TieSequence = rapid.SampledFrom([]idem.TieRule{idem.TieHold, idem.TieApply, idem.TieSkip}).Draw(t, "tie")
	p.TieMoment = p.TieSequence
	p.Gap = rapid.SampledFrom([]idem.GapRule{idem.GapWait, idem.GapSkip, idem.GapHold}).Draw(t, "gap")
	p.GapAfter = rest
	p.Dead = rapid.SampledFrom([]idem.DeadRule{idem.DeadHold, idem.DeadSkip, idem.DeadWait}).Draw(t, "dead")
	p.StartAt = rapid.Int64Range(0, 2).Draw(t, "start at")
	p.Machines = map[string]idem.Machine{"m": {Initial: "new", Edges: map[string][]string{"new": {"paid"}, "paid": {"sent"}}}}
	p.IllegalEnds = rapid.Bool().Draw(t, "illegal ends")
	p.OnUnknown = rapid.SampledFrom([]idem.OnUnknown{idem.UnknownRetry, idem.UnknownHold}).Draw(t, "on unknown")
	return p
}

func policyText(p *idem.Policy) string {
	return fmt.Sprintf("max attempts %d, max releases %d, held lanes %v, stale %d, waive interval %v, release delay %v, refuse mismatch %v, signatures %d, tie %d, gap %d, dead %d, start at %d, illegal ends %v, on unknown %d",
		p.MaxAttempts, p.MaxReleases, p.HeldLanes, p.Stale, p.WaiveInterval, p.ReleaseDelay, p.RefuseMismatch, p.Signature, p.TieSequence, p.Gap, p.Dead, p.StartAt, p.IllegalEnds, p.OnUnknown)
}

// fail ends the history with all that led to it.
func (m *model) fail(what string) {
	m.t.Helper()
	m.t.Fatalf("%s\nhistory:\n  %s", what, strings.Join(m.history, "\n  "))
}

// do carries out a command on both sides and compares what comes of it.
func (m *model) do(subject idem.ID, text string, b build) {
	m.t.Helper()
	m.commands = append(m.commands, call{text, subject, b})
	m.carryOut(subject, text, b)
}

func (m *model) carryOut(subject idem.ID, text string, b build) {
	m.t.Helper()
	got, want := m.sut.apply(b), m.oracle.apply(b)
	text = fmt.Sprintf("%d. %s", len(m.history), text)
	m.history = append(m.history, text+" → "+short(want))
	if diff := m.results(got, want); diff != "" {
		m.fail(fmt.Sprintf("step %s: answered otherwise than by the rules (got %s):\n%s", text, short(got), diff))
	}
	m.remember(got, want)
	switch a, ended := want.Answer.(*idem.EndAnswer); {
	case ended && a.Event != nil && a.Event.Signals():
		m.compareAll(text) // others may have ended with it
	case !subject.IsZero():
		m.compare(text, subject)
	}
}

func (sd *side) apply(b build) storage.Result {
	res := sd.b.Apply(context.Background(), []idem.Command{b(sd)})
	return res[0]
}

// remember keeps the tokens that were handed out, in the order in which both sides
// handed them out.
func (m *model) remember(got, want storage.Result) {
	switch a := want.Answer.(type) {
	case *idem.ClaimAnswer:
		if a.Outcome == idem.OutcomeClaimed && a.Granted {
			m.sut.grant(got.Answer)
			m.oracle.grant(a)
			m.granted = append(m.granted, a.Event.Key)
		}
	case *idem.EffectAnswer:
		if a.Verdict == idem.EffectPerform && !a.Repeat {
			m.sut.effort(got.Answer)
			m.oracle.effort(a)
		}
	}
}

func (sd *side) grant(a idem.Answer) {
	if a, ok := a.(*idem.ClaimAnswer); ok {
		k := a.Event.Key
		sd.grants = append(sd.grants, idem.Token{Namespace: k.Namespace, Consumer: k.Consumer, Event: k.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce})
	}
}

func (sd *side) effort(a idem.Answer) {
	if a, ok := a.(*idem.EffectAnswer); ok {
		sd.efforts = append(sd.efforts, a.Token)
	}
}

// compare compares what both sides have stored about an event.
func (m *model) compare(text string, id idem.ID) {
	m.t.Helper()
	for _, key := range m.events {
		if key.ID() != id {
			continue
		}
		if diff := m.views(m.view(m.sut, key), m.view(m.oracle, key)); diff != "" {
			m.fail(fmt.Sprintf("step %s: the record of %s differs:\n%s", text, eventName(key), diff))
		}
	}
}

func (m *model) compareAll(text string) {
	m.t.Helper()
	for _, key := range m.events {
		m.compare(text, key.ID())
	}
}

func (m *model) view(sd *side, key idem.EventKey) *storage.View {
	m.t.Helper()
	found, err := sd.b.Events(context.Background(), key.Namespace, key.Source, key.EventID)
	if err != nil {
		m.fail("reading " + eventName(key) + ": " + err.Error())
	}
	for i := range found.Views {
		if found.Views[i].Event.Key == key {
			return &found.Views[i]
		}
	}
	return nil
}

// id makes the next random part of a command: unique, and the same on both sides.
func (m *model) id() idem.ID {
	m.drawn++
	return idem.Digest("model", m.ns, fmt.Sprint(m.drawn))
}
