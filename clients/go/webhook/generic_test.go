package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// A sender that is described by headers and paths is received like the others.
func TestGeneric(t *testing.T) {
	t.Parallel()
	p := webhook.Generic(webhook.GenericConfig{
		Name: "warehouse", Items: "data.events[]", Key: []string{"site", "number"}, Type: []string{"kind", "step?"},
		ResourceType: "=parcel", ResourceID: []string{"parcel.id"}, Order: "parcel.revision", OrderUnit: "sequence",
		OccurredAt: "at", TimeUnit: "ms", Attempt: "header:X-Try", FirstAttempt: 1, Replay: "header:X-Replay", Volatile: []string{"sent"},
		Secrets: []string{testSecret}, SignatureHeader: "X-Signature", SignaturePrefix: "v1:", Hash: "sha512", Encoding: "base64",
		Signed: "{timestamp}.{url}.{body}", URL: testURL, TimestampHeader: "X-Timestamp", TimestampUnit: "ms", Success: http.StatusAccepted,
	})
	s := newScene(t, p)
	body := `{"data":{"events":[{"site":"a","number":9007199254740993,"kind":"parcel","step":"sent","at":1700000000123,"parcel":{"id":7,"revision":3},"sent":1}]}}`
	header := map[string]string{"X-Try": "2", "X-Replay": "true"}
	s.expect(s.deliver(body, header), 202, "a delivery")
	s.expect(s.deliver(body, header), 202, "a duplicate")
	if len(s.items) != 1 {
		t.Fatalf("%d events were worked on", len(s.items))
	}
	i := s.items[0]
	want := wanted{ID: "1:a16:9007199254740993", Quality: "COMPOSITE", Type: "parcel.sent", Resource: "parcel 7", At: "2023-11-14T22:13:20.123Z", Version: "3", Attempt: 2, Fingerprint: true}
	if got := asWanted(i); got != want || !i.Replay {
		t.Errorf("got  %+v %v\nwant %+v", got, i.Replay, want)
	}
	mustBeForged(t, p, request(body, header), "an unsigned delivery")
}

// Without a key the body is it, whatever it is, without what differs between two tries.
func TestGenericByTheBodysHash(t *testing.T) {
	t.Parallel()
	text := webhook.Generic(webhook.GenericConfig{Name: "feed", Unsigned: true})
	a, err := text.Items(request("<xml/>", nil))
	if err != nil || len(a) != 1 || a[0].Quality != webhook.PayloadHash || a[0].ID == "" {
		t.Fatalf("%+v %v", a, err)
	}
	if b, _ := text.Items(request("<xml />", nil)); b[0].ID == a[0].ID {
		t.Error("another body has the same key")
	}
	volatile := webhook.Generic(webhook.GenericConfig{Name: "feed", Unsigned: true, Volatile: []string{"sent"}})
	one, _ := volatile.Items(request(`{"n":1,"sent":1}`, nil))
	two, _ := volatile.Items(request(`{"n":1,"sent":22}`, nil))
	other, _ := volatile.Items(request(`{"n":2,"sent":1}`, nil))
	if one[0].ID != two[0].ID || one[0].ID == other[0].ID {
		t.Errorf("%s %s %s", one[0].ID, two[0].ID, other[0].ID)
	}
}

// A sender whose deliveries carry no signature is received, and marked, until a signed one
// came under the same source.
func TestUnsignedAndAsAnotherSource(t *testing.T) {
	t.Parallel()
	p := testProvider("stripe").As("stripe-eu")
	if p.Source() != "stripe-eu" || p.Name() != "stripe" {
		t.Error(p.Source(), p.Name())
	}
	s := newScene(t, p)
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "a signed delivery")
	unsigned := webhook.Generic(webhook.GenericConfig{Name: "stripe-eu", Key: []string{"id"}, Unsigned: true})
	h, err := webhook.New(s.client, unsigned, s.work)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	s.handler = h
	s.expect(s.send(request(invoice("evt_2", 1, 1), nil)), 401, "an unsigned delivery of a source that signs")
	if s.worked("evt_2") != 0 {
		t.Error("it was worked on")
	}
}

// A request's time is judged by the clock of its arrival.
func TestSignedTimesInUnits(t *testing.T) {
	t.Parallel()
	p := testProvider("zendesk")
	r := request(`{"id":"1"}`, nil)
	if err := p.SignForTest(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Zendesk-Webhook-Signature-Timestamp", "no time")
	mustBeForged(t, p, r, "a time that is none")
}
