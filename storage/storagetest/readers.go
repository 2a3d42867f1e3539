package storagetest

import (
	"fmt"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// readers are the tests of what can be looked up.
var readers = []test{
	{"Readers/Events", readEvents},
	{"Readers/Facts", readFacts},
	{"Readers/Lookup", readLookup},
	{"Readers/Deliveries", readDeliveries},
	{"Readers/NewestDeliveries", readNewestDeliveries},
	{"Readers/Payload", readPayload},
	{"Readers/Attempts", readAttempts},
	{"Readers/Secret", readSecret},
	{"Readers/NothingShared", readNothingShared},
}

func keys(f storage.Found) []idem.EventKey {
	var out []idem.EventKey
	for _, v := range f.Views {
		out = append(out, v.Event.Key)
	}
	return out
}

func readEvents(s *site) {
	s.grant("e")
	s.grant("e", consumer("other"))
	s.grant("e", from("elsewhere"))
	s.grant("e", namespace(s.ns+"-2"))
	for source, want := range map[string]int{theSource: 2, "elsewhere": 1, "": 3, "nowhere": 0} {
		found, err := s.b.Events(s.Context(), s.ns, source, "e")
		if err != nil {
			s.Fatalf("Events: %v", err)
		}
		if source == "" && found.Lag > 0 {
			continue // through an index that may lag
		}
		equal(s, fmt.Sprintf("events of source %q", source), len(found.Views), want)
	}
}

func readFacts(s *site) {
	correlated := func(name string) func(*idem.Claim) {
		return facts(func(f *idem.Facts) { f.Correlation = name })
	}
	s.grant("e", correlated("first"))
	s.grant("e", consumer("other"), correlated("later"))
	s.grant("e", from("elsewhere"), correlated("another"))
	e, f := s.key("e").EventRef, s.key("f").EventRef
	elsewhere := e
	elsewhere.Source = "elsewhere"
	s.grant("f", correlated("second"))
	found, err := s.b.Facts(s.Context(), []idem.EventRef{e, s.key("none").EventRef, f, elsewhere, e})
	if err != nil || len(found) != 3 {
		s.Fatalf("%d facts, %v", len(found), err)
	}
	equal(s, "of the first delivery", found[e].Correlation, "first")
	equal(s, "of another event", found[f].Correlation, "second")
	equal(s, "of another source", found[elsewhere].Correlation, "another")
}

func readLookup(s *site) {
	g := s.grant("e", facts(func(f *idem.Facts) {
		f.RequestID, f.Correlation, f.ResourceType, f.ResourceID = "req-1", "corr-1", "invoice", "7"
	}), ordered(s.latest("r", 1)))
	s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.NamespaceScope, "e", "charge"), "h", "v"))
	c := g.completion("done")
	c.Outputs = []string{"orders/42"}
	do[*idem.EndAnswer](s, c)
	s.grant("noise")

	for _, q := range []storage.Query{
		{Kind: storage.ByEventID, Value: "e"},
		{Kind: storage.ByCorrelation, Value: "corr-1"},
		{Kind: storage.ByRequestID, Value: "req-1"},
		{Kind: storage.ByResource, Value: "invoice", Name: "7"},
		{Kind: storage.ByResource, Value: "order", Name: "r"},
		{Kind: storage.ByOutput, Value: "orders/42"},
		{Kind: storage.ByEffectKey, Value: "charge"},
	} {
		q.Namespace, q.Limit = s.ns, 10
		found, err := s.b.Lookup(s.Context(), q)
		if err != nil {
			s.Fatalf("Lookup: %v", err)
		}
		if got := keys(found); found.Lag == 0 && (len(got) != 1 || got[0] != s.key("e")) {
			s.Errorf("lookup %+v: got %v, want event e", q, got)
		}
		q.Namespace += "-2"
		found, err = s.b.Lookup(s.Context(), q)
		if err != nil || len(found.Views) != 0 {
			s.Errorf("lookup from another namespace: got %v, %v", keys(found), err)
		}
	}
}

func readDeliveries(s *site) {
	s.grant("e").complete("done")
	d := storage.Delivery{
		Event: s.key("e").ID(), Key: s.key("e"), Identity: newID(), RequestID: "req-2", Kind: idem.ProviderRetry, Attempt: 2,
		Signature: idem.Verified, Headers: []idem.Header{{Name: "X-Shop-Topic", Value: "paid"}}, ReceivedAt: 1_700_000_000_123_456_789,
		PayloadHash: []byte("A"), TraceParent: "00-1-2-01", Disposition: idem.DispositionDuplicate, Outcome: idem.OutcomeAlreadyProcessed,
		Anomalies: []idem.Anomaly{idem.AnomalyMismatch},
	}
	second := storage.Delivery{
		Event: s.key("e").ID(), Key: s.key("e"), Identity: newID(), RequestID: "req-2", Answered: idem.DeliveryAnswer{HTTPStatus: 503, At: 1_700_000_000_123_456_789},
	}
	for range 2 { // a repeated record is kept once
		if err := s.b.RecordDeliveries(s.Context(), []storage.Delivery{d, second, d}); err != nil {
			s.Fatalf("RecordDeliveries: %v", err)
		}
	}
	v := s.view("e")
	if len(v.Deliveries) != 2 {
		s.Fatalf("%d deliveries, want 2", len(v.Deliveries))
	}
	got := v.Deliveries[slices.IndexFunc(v.Deliveries, func(x storage.Delivery) bool { return x.Identity == d.Identity })]
	if got.RecordedAt == 0 {
		s.Error("nobody knows when it was recorded")
	}
	answer := v.Deliveries[slices.IndexFunc(v.Deliveries, func(x storage.Delivery) bool { return x.Identity == second.Identity })]
	if answer.Answered != second.Answered || !answer.IsAnswer() || got.IsAnswer() || answer.RequestID != "req-2" {
		s.Errorf("the answer: %+v", answer)
	}
	d.RecordedAt = got.RecordedAt
	if fmt.Sprint(got) != fmt.Sprint(d) {
		s.Errorf("delivery:\n got %+v\nwant %+v", got, d)
	}
	equal(s, "row version", v.Event.Version, s.view("e").Event.Version)

	// A redelivery that was granted is part of its grant.
	s.grant("f").fail(idem.Retryable)
	s.grant("f", kind(idem.ProviderRetry), facts(func(f *idem.Facts) { f.RequestID = "second" }))
	v = s.view("f")
	if len(v.Deliveries) != 1 || v.Deliveries[0].RequestID != "second" || v.Deliveries[0].Disposition != idem.DispositionRedeliveredOK {
		s.Errorf("deliveries: got %+v, want the granted redelivery", v.Deliveries)
	}
}

// readNewestDeliveries: of many deliveries the newest are shown, and how many there are
// beside is told.
func readNewestDeliveries(s *site) {
	s.grant("e").complete("done")
	const all = 205
	for i := range all {
		d := storage.Delivery{
			Event: s.key("e").ID(), Key: s.key("e"), Identity: newID(), RequestID: fmt.Sprint("again-", i), Disposition: idem.DispositionDuplicate,
		}
		if err := s.b.RecordDeliveries(s.Context(), []storage.Delivery{d}); err != nil {
			s.Fatalf("RecordDeliveries: %v", err)
		}
	}
	v := s.view("e")
	n := len(v.Deliveries)
	if n < 200 || int64(n)+v.DeliveriesOmitted != all {
		s.Errorf("%d deliveries are shown, %d omitted, of %d", n, v.DeliveriesOmitted, all)
	}
	for i, d := range v.Deliveries {
		if want := fmt.Sprint("again-", all-n+i); d.RequestID != want {
			s.Fatalf("delivery %d of %d is %s, want %s", i, n, d.RequestID, want)
		}
	}
}

func readPayload(s *site) {
	ref := s.key("e").EventRef
	if _, ok, err := s.b.Payload(s.Context(), ref); ok || err != nil {
		s.Errorf("payload of nothing: %v, %v", ok, err)
	}
	s.outcome(idem.OutcomeRejected, s.claim("e", signed(idem.SignatureFailed), payload("forged"), hashed("F")))
	if _, ok, err := s.b.Payload(s.Context(), ref); ok || err != nil {
		s.Errorf("payload of a forged delivery: %v, %v", ok, err)
	}
	raw := string([]byte{0, 0xff, '{', '}'})
	s.grant("e", payload(raw), hashed("A"))
	got, ok, err := s.b.Payload(s.Context(), ref)
	if err != nil || !ok || string(got) != raw {
		s.Errorf("payload: got %q, %v, %v; want the bytes as sent", got, ok, err)
	}
	ref.Namespace += "-2"
	if _, ok, err := s.b.Payload(s.Context(), ref); ok || err != nil {
		s.Errorf("payload from another namespace: %v, %v", ok, err)
	}
}

func readAttempts(s *site) {
	g := s.grant("e")
	g.fail(idem.Retryable)
	h := s.grant("e")
	h.expire()
	s.grant("e")
	got := s.view("e").Attempts
	if len(got) != 2 {
		s.Fatalf("%d earlier attempts, want 2", len(got))
	}
	for i, want := range []struct {
		g   *grant
		end idem.EndKind
	}{{g, idem.EndFailed}, {h, idem.EndExpired}} {
		a := got[i]
		equal(s, "fence", a.Fence, want.g.Fence)
		equal(s, "claimant", a.Claimant, want.g.claim.Claimant)
		equal(s, "holder", a.Holder, "host-1")
		equal(s, "number", a.Number, int32(i+1))
		equal(s, "end", a.End, want.end)
		if a.GrantedAt == 0 || a.EndedAt == 0 {
			s.Errorf("attempt %d: granted at %v, ended at %v", i+1, a.GrantedAt, a.EndedAt)
		}
	}
}

func readSecret(s *site) {
	a, err := s.b.Secret(s.Context())
	if err != nil || len(a) != 32 {
		s.Fatalf("secret of %d bytes, %v; want 32", len(a), err)
	}
	b, err := s.b.Secret(s.Context())
	if err != nil || string(a) != string(b) {
		s.Errorf("the secret changed, %v", err)
	}
	info, err := s.b.Info(s.Context())
	if err != nil || info.Now == 0 || info.Epoch < 1 || info.Storage == "" {
		s.Errorf("info: got %+v, %v", info, err)
	}
	if s.b.Clock() == 0 {
		s.Error("the clock shows nothing")
	}
}

// readNothingShared: what goes in and what comes out is the caller's own.
func readNothingShared(s *site) {
	c := s.claim("e", hashed("A"), payload("body"), facts(func(f *idem.Facts) { f.Headers = []idem.Header{{Name: "n", Value: "v"}} }))
	g := s.granted(c)
	effect := s.effectIs(idem.EffectRecorded, s.recording(g, s.effect(idem.EventScope, "e", "k"), "h", "v"))
	end := g.completion("done")
	end.Outputs = []string{"out"}
	a := do[*idem.EndAnswer](s, end)
	v := s.view("e")
	p, _, err := s.b.Payload(s.Context(), c.Key.EventRef)
	if err != nil {
		s.Fatalf("Payload: %v", err)
	}

	c.Facts.PayloadHash[0], c.Payload[0], p[0], c.Facts.Headers[0].Value = 'X', 'X', 'X', "X"
	end.Result[0], end.Outputs[0], a.Event.Outputs[0], v.Event.Outputs[0] = 'X', "X", "X", "X"
	effect.Effect.Result[0], v.Effects[0].Result[0] = 'X', 'X'
	a.Event.State, v.Event.State, v.Effects[0].State = idem.Held, idem.Held, idem.EffectUnknown

	e := s.state("e", idem.Processed)
	equal(s, "result", string(e.Result), "done")
	equal(s, "outputs", e.Outputs[0], "out")
	equal(s, "hash", string(e.Facts.PayloadHash), "A")
	equal(s, "header", e.Facts.Headers[0].Value, "v")
	f := s.view("e").Effects[0]
	equal(s, "effect", string(f.Result), "v")
	equal(s, "effect state", f.State, idem.EffectDone)
	p, _, err = s.b.Payload(s.Context(), c.Key.EventRef)
	if err != nil || string(p) != "body" {
		s.Errorf("payload: got %q, %v", p, err)
	}
}
