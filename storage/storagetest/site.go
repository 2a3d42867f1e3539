package storagetest

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// site is one test's corner of a backend: a namespace that nobody else uses.
type site struct {
	*testing.T
	h  Harness
	b  storage.Backend
	ns string
}

// Names that most tests use.
const (
	theSource   = "shop"
	theConsumer = "mailer"
	theLease    = 10 * time.Minute // far longer than any test runs
)

func newSite(t *testing.T, open Open) *site {
	t.Helper()
	h := open(t)
	return &site{T: t, h: h, b: h.Backend(), ns: "test-" + rand.Text()}
}

// sub is the same site for a subtest.
func (s *site) sub(name string, f func(s *site)) {
	s.Helper()
	s.Run(name, func(t *testing.T) {
		c := *s
		c.T = t
		f(&c)
	})
}

// policy changes the default policy for the whole namespace.
func (s *site) policy(change func(p *idem.Policy)) {
	s.Helper()
	s.policies(func(_ string, p *idem.Policy) { change(p) })
}

// policies changes the default policy by event type.
func (s *site) policies(change func(eventType string, p *idem.Policy)) {
	s.Helper()
	SetPolicy(s.T, s.ns, func(_ idem.EventKey, eventType string) *idem.Policy {
		p := idem.DefaultPolicy()
		change(eventType, p)
		return p
	})
}

func newID() (id idem.ID) {
	_, _ = rand.Read(id[:])
	return id
}

// Claims.

type option func(*idem.Claim)

func consumer(name string) option           { return func(c *idem.Claim) { c.Key.Consumer = name } }
func from(source string) option             { return func(c *idem.Claim) { c.Key.Source = source } }
func namespace(name string) option          { return func(c *idem.Claim) { c.Key.Namespace = name } }
func kind(k idem.DeliveryKind) option       { return func(c *idem.Claim) { c.Facts.Kind = k } }
func signed(v idem.Signature) option        { return func(c *idem.Claim) { c.Facts.Signature = v } }
func hashed(hash string) option             { return func(c *idem.Claim) { c.Facts.PayloadHash = []byte(hash) } }
func eventType(name string) option          { return func(c *idem.Claim) { c.Facts.Type = name } }
func origin(name string) option             { return func(c *idem.Claim) { c.Facts.Origin = name } }
func stale(d idem.StaleClaim) option        { return func(c *idem.Claim) { c.Stale = d } }
func lease(d time.Duration) option          { return func(c *idem.Claim) { c.Lease = d } }
func acceptReplay() option                  { return func(c *idem.Claim) { c.AcceptReplay = true } }
func arrived(at idem.Instant) option        { return func(c *idem.Claim) { c.ArrivedAt = at } }
func ordered(o idem.Ordering) option        { return func(c *idem.Claim) { c.Ordering = &o } }
func payload(bytes string) option           { return func(c *idem.Claim) { c.Payload = []byte(bytes) } }
func facts(change func(*idem.Facts)) option { return func(c *idem.Claim) { change(&c.Facts) } }

func (s *site) key(event string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: s.ns, Source: theSource, EventID: event}, Consumer: theConsumer}
}

// claim builds a claim by a claimant of its own, for a provider's delivery.
func (s *site) claim(event string, opts ...option) *idem.Claim {
	c := &idem.Claim{
		Key:      s.key(event),
		Facts:    idem.Facts{Type: "order.paid", RequestID: "req-" + rand.Text(), Kind: idem.ProviderFirst},
		Claimant: "claimant-" + rand.Text(),
		Holder:   "host-1",
		Nonce:    newID(),
		Lease:    theLease,
	}
	for _, o := range opts {
		o(c)
	}
	return c
}

// resource is a resource of the usual consumer.
func (s *site) resource(name string) idem.ResourceKey {
	return idem.ResourceKey{Namespace: s.ns, Consumer: theConsumer, Type: "order", Name: name}
}

// latest orders by a sequence under LATEST_WINS.
func (s *site) latest(resource string, value int64) idem.Ordering {
	return idem.Ordering{Resource: s.resource(resource), Mode: idem.LatestWins, Version: idem.Version{Kind: idem.Sequence, Value: value}}
}

// next orders by a sequence under SEQUENTIAL.
func (s *site) next(resource string, value int64) idem.Ordering {
	o := s.latest(resource, value)
	o.Mode = idem.Sequential
	return o
}

// moment orders by an instant under LATEST_WINS.
func (s *site) moment(resource string, value int64) idem.Ordering {
	o := s.latest(resource, value)
	o.Version.Kind = idem.Moment
	return o
}

// to adds a transition of the machine "m".
func to(o idem.Ordering, state string) idem.Ordering {
	o.Transition = &idem.Transition{Machine: "m", To: state}
	return o
}

// Commands and their answers.

func (s *site) apply(c idem.Command) storage.Result {
	s.Helper()
	res := s.b.Apply(s.Context(), []idem.Command{c})
	if len(res) != 1 {
		s.Fatalf("%T: %d results for one command", c, len(res))
	}
	return res[0]
}

// do carries out a command that must be answered.
func do[A idem.Answer](s *site, c idem.Command) A {
	s.Helper()
	res := s.apply(c)
	if res.Err != nil {
		s.Fatalf("%T: %v", c, res.Err)
	}
	a, ok := res.Answer.(A)
	if !ok {
		s.Fatalf("%T: answered with %T", c, res.Answer)
	}
	return a
}

// refused carries out a command that the rules must refuse.
func (s *site) refused(want idem.Code, c idem.Command) {
	s.Helper()
	s.refusal(want, c)
}

// refusal is what the rules say when they refuse a command.
func (s *site) refusal(want idem.Code, c idem.Command) idem.Error {
	s.Helper()
	res := s.apply(c)
	var err *idem.Error
	if !errors.As(res.Err, &err) || err.Code != want {
		s.Fatalf("%T: got %v, %v; want the refusal %s", c, res.Answer, res.Err, want)
	}
	return *err
}

func (s *site) ask(c *idem.Claim) *idem.ClaimAnswer {
	s.Helper()
	return do[*idem.ClaimAnswer](s, c)
}

// outcome carries out a claim and tests its outcome.
func (s *site) outcome(want idem.Outcome, c *idem.Claim) *idem.ClaimAnswer {
	s.Helper()
	a := s.ask(c)
	if a.Outcome != want {
		s.Fatalf("claim of %s by %s: got %s, want %s", c.Key.EventID, c.Claimant, a.Outcome, want)
	}
	return a
}

// grant is a claim that was granted.
type grant struct {
	s *site
	idem.Token
	claim  *idem.Claim
	answer *idem.ClaimAnswer
}

func (s *site) grant(event string, opts ...option) *grant {
	s.Helper()
	return s.granted(s.claim(event, opts...))
}

func (s *site) granted(c *idem.Claim) *grant {
	s.Helper()
	a := s.outcome(idem.OutcomeClaimed, c)
	return &grant{s: s, claim: c, answer: a, Token: idem.Token{
		Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Event: c.Key.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce,
	}}
}

func (g *grant) completion(result string) *idem.Complete {
	return &idem.Complete{Token: g.Token, Result: []byte(result), ContentType: "text/plain"}
}

func (g *grant) failure(k idem.FailureKind, message string) *idem.Fail {
	return &idem.Fail{Token: g.Token, Error: idem.Failure{Kind: k, Code: "BROKEN", Message: message}, RetryAfter: time.Hour}
}

func (g *grant) complete(result string) *idem.EndAnswer {
	g.s.Helper()
	return do[*idem.EndAnswer](g.s, g.completion(result))
}

func (g *grant) fail(k idem.FailureKind) *idem.EndAnswer {
	g.s.Helper()
	return do[*idem.EndAnswer](g.s, g.failure(k, "no"))
}

func (g *grant) extend(d time.Duration) *idem.ExtendAnswer {
	g.s.Helper()
	return do[*idem.ExtendAnswer](g.s, &idem.Extend{Token: g.Token, Lease: d})
}

func (g *grant) release() *idem.EndAnswer {
	g.s.Helper()
	return do[*idem.EndAnswer](g.s, &idem.Release{Token: g.Token, Why: "shutting down"})
}

func (g *grant) checking(o idem.Ordering) *idem.Check {
	return &idem.Check{Token: &g.Token, Ordering: o}
}

func (g *grant) check(want idem.Verdict, o idem.Ordering) *idem.CheckAnswer {
	g.s.Helper()
	return g.s.verdict(want, g.checking(o))
}

// expire ends the claim's lease.
func (g *grant) expire() {
	g.s.Helper()
	g.s.h.Expire(g.s.T, g.Event)
}

// settle writes down what the lease's end means.
func (s *site) settle(id idem.ID) *idem.EndAnswer {
	s.Helper()
	return do[*idem.EndAnswer](s, &idem.Settle{Event: id})
}

func (s *site) verdict(want idem.Verdict, c *idem.Check) *idem.CheckAnswer {
	s.Helper()
	a := do[*idem.CheckAnswer](s, c)
	if a.Verdict != want {
		s.Fatalf("check of version %d: got %s, want %s", c.Ordering.Version.Value, a.Verdict, want)
	}
	return a
}

func (s *site) resolve(event string, to idem.ResolveTo) *idem.EndAnswer {
	s.Helper()
	return do[*idem.EndAnswer](s, &idem.Resolve{Event: s.key(event).ID(), To: to, Result: []byte("by hand"), Who: "op", Why: "known to be right"})
}

func (s *site) replay(event, request string) *idem.EndAnswer {
	s.Helper()
	return do[*idem.EndAnswer](s, &idem.Replay{Event: s.key(event).ID(), RequestID: request, Who: "op", Why: "again"})
}

// What is stored.

// view is the stored state of an event for the usual consumer.
func (s *site) view(event string) storage.View {
	s.Helper()
	v, ok := s.find(s.key(event))
	if !ok {
		s.Fatalf("event %s: no record", event)
	}
	return v
}

func (s *site) find(key idem.EventKey) (storage.View, bool) {
	s.Helper()
	found, err := s.b.Events(s.Context(), key.Namespace, key.Source, key.EventID)
	if err != nil {
		s.Fatalf("Events: %v", err)
	}
	for _, v := range found.Views {
		if v.Event.Key == key {
			return v, true
		}
	}
	return storage.View{}, false
}

// state tests the state of an event, and returns its record.
func (s *site) state(event string, want idem.State) *idem.Event {
	s.Helper()
	e := s.view(event).Event
	if e.State != want {
		s.Fatalf("event %s: state %s, want %s", event, e.State, want)
	}
	return e
}

// applied tests the applied version of a resource that an event is about.
func (s *site) applied(event, resource string, want int64) {
	s.Helper()
	for _, r := range s.view(event).Resources {
		if r.Key == s.resource(resource) {
			if !r.Applied || r.Value != want {
				s.Fatalf("resource %s: applied %v, version %d, want %d", resource, r.Applied, r.Value, want)
			}
			return
		}
	}
	s.Fatalf("resource %s: not among those of event %s", resource, event)
}

// Side effects.

func (s *site) effect(scope idem.Scope, event, key string) idem.EffectKey {
	return idem.EffectKey{Scope: scope, Namespace: s.ns, Consumer: theConsumer, Event: s.key(event).ID(), Key: key}.Scoped()
}

// beginning builds a BEGIN with a begin_id of its own, under a claim or under none.
func (s *site) beginning(g *grant, key idem.EffectKey, hash string) *idem.BeginEffect {
	c := &idem.BeginEffect{
		Key: key, BeginID: "begin-" + rand.Text(), RequestHash: []byte(hash), Intent: []byte("intent"),
		Target: "bank", OnUnknown: idem.UnknownRetry, Lease: theLease, Nonce: newID(),
	}
	if g != nil {
		c.Token = &g.Token
	}
	return c
}

func (s *site) begin(want idem.EffectVerdict, c *idem.BeginEffect) *idem.EffectAnswer {
	s.Helper()
	return s.effectIs(want, c)
}

func (s *site) effectIs(want idem.EffectVerdict, c idem.Command) *idem.EffectAnswer {
	s.Helper()
	a := do[*idem.EffectAnswer](s, c)
	if a.Verdict != want {
		s.Fatalf("%T: got %s, want %s", c, a.Verdict, want)
	}
	return a
}

func (s *site) recording(g *grant, key idem.EffectKey, hash, result string) *idem.RecordEffect {
	c := &idem.RecordEffect{Key: key, RequestHash: []byte(hash), Result: []byte(result), ContentType: "text/plain", Target: "bank"}
	if g != nil {
		c.Token = &g.Token
	}
	return c
}

func report(token idem.EffectToken, state idem.EffectState, result string) *idem.ReportEffect {
	c := &idem.ReportEffect{Token: token, State: state}
	if state == idem.EffectDone {
		c.Result, c.ContentType = []byte(result), "text/plain"
	} else {
		c.Error = idem.Failure{Kind: idem.Retryable, Code: "BANK", Message: result}
	}
	return c
}

// holds tests a value of an effect's answer.
func (s *site) holds(a *idem.EffectAnswer, want string) {
	s.Helper()
	if a.Effect == nil || string(a.Effect.Result) != want {
		s.Fatalf("effect: got %+v, want the result %q", a.Effect, want)
	}
}

// equal tests a value.
func equal[T comparable](s *site, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}
