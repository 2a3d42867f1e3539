package webhook_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// A forged request is refused before anything in it is read, takes no event's key, and is
// told to the service, which keeps a few of each minute.
func TestForgedRequestsPoisonNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"))
	r := signed(t, webhook.Stripe("another secret"), invoice("evt_1", 1, 1), nil)
	s.expect(s.send(r), 401, "a forged request")
	s.expect(s.send(request(invoice("evt_1", 1, 1), nil)), 401, "an unsigned request")
	r = signed(t, webhook.Stripe("another secret"), "{not even JSON", nil)
	s.expect(s.send(r), 401, "a forged request that is not JSON")
	if len(s.items) != 0 {
		t.Error("it was worked on")
	}
	s.expect(s.deliver(invoice("evt_1", 1, 1), nil), 200, "the genuine one")
	if n := s.worked("evt_1"); n != 1 {
		t.Errorf("it was worked on %d times", n)
	}
	for _, d := range s.view("stripe", "evt_1").GetDeliveries() {
		if d.GetDisposition() == pb.Disposition_DISPOSITION_REJECTED_SIGNATURE {
			t.Error("the forged request stands in the genuine event's history")
		}
	}
}

// However many forged requests come, the service is told of 20 in a minute.
func TestForgedRequestsAreTold(t *testing.T) {
	t.Parallel()
	seen := make(chan *pb.ClaimEventRequest, 100)
	service := idemtest.New(t)
	client := service.Client(idemsvc.WithConsumer("billing"), spy(func(req any) {
		if c, ok := req.(*pb.ClaimEventRequest); ok {
			seen <- c
		}
	}))
	h, err := webhook.New(client, testProvider("stripe"), func(context.Context, *idemsvc.Claim, *webhook.Item) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(invoice("evt_1", 1, 1)))))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("answered %d", w.Code)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	close(seen)
	n := 0
	for req := range seen {
		n++
		if req.GetDelivery().GetSignature() != pb.SignatureStatus_SIGNATURE_STATUS_FAILED || req.GetEvent().GetBody() != nil || req.GetEvent().GetEventId() != "unverified" {
			t.Errorf("the service was told %v", req)
		}
	}
	if n == 0 || n > 20 {
		t.Errorf("the service was told %d times", n)
	}
}

// A genuine request whose time is long ago, as after an outage, is processed and marked.
func TestLateIsNotForged(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"stripe", "slack", "hubspot", "standard-webhooks", "paddle", "zendesk"} {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			for age, late := range map[time.Duration]bool{time.Minute / 3: false, 48 * time.Hour: true, -time.Hour: true} {
				s := newScene(t, testProvider(p))
				x := sampleOf(t, p)
				r := request(x.Body, x.Header)
				if err := s.p.SignForTest(r, time.Now().Add(-age)); err != nil {
					t.Fatal(err)
				}
				s.expect(s.send(r), 200, "a request")
				if s.worked(x.Want[0].ID) != 1 {
					t.Error("it was not worked on")
				}
				until(t, "the delivery is shown", func() bool { return len(s.view(p, x.Want[0].ID).GetDeliveries()) == 1 })
				d := s.view(p, x.Want[0].ID).GetDeliveries()[0]
				if got := d.GetDelivery().GetSignature() == pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED_LATE; got != late {
					t.Errorf("%v old: %v", age, d.GetDelivery().GetSignature())
				}
			}
		})
	}
}

// The tolerance is the receiver's to choose.
func TestToleranceCanBeChosen(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("stripe"), webhook.WithTolerance(0))
	r := request(invoice("evt_1", 1, 1), nil)
	if err := s.p.SignForTest(r, time.Now().Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.expect(s.send(r), 200, "an old request")
	until(t, "the delivery is shown", func() bool { return len(s.view("stripe", "evt_1").GetDeliveries()) == 1 })
	if got := s.view("stripe", "evt_1").GetDeliveries()[0].GetDelivery().GetSignature(); got != pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED {
		t.Errorf("%v", got)
	}
}

// The ID of a signed request is the signed one, whatever else it carries.
func TestOnlyTheSignedIDCounts(t *testing.T) {
	t.Parallel()
	p := testProvider("svix")
	r := signed(t, p, `{"type":"a"}`, map[string]string{"webhook-id": "msg_1"})
	for _, name := range []string{"id", "timestamp", "signature"} {
		r.Header.Set("svix-"+name, r.Header.Get("webhook-"+name))
		r.Header.Del("webhook-" + name)
	}
	r.Header.Set("webhook-id", "msg_2")
	if err := p.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if items, err := p.Items(r); err != nil || len(items) != 1 || items[0].ID != "msg_1" {
		t.Errorf("%+v %v", items, err)
	}
}

// A token of Mailgun, whose signature does not cover the event, is good for one event.
func TestAMailgunTokenIsForOneEvent(t *testing.T) {
	t.Parallel()
	p := testProvider("mailgun")
	x := sampleOf(t, "mailgun")
	r := signed(t, p, x.Body, x.Header)
	for range 2 {
		if err := p.Check(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	other := *r
	other.Body = bytes.Replace(r.Body, []byte("Ase7i2zsRYeDXztHGENqRA"), []byte("another-event"), 1)
	mustBeForged(t, p, &other, "another event beside the signature")
	said := regexp.MustCompile(`"timestamp": ?"?(\d+)(\d)"?, ?"token": ?"`)
	if !said.Match(other.Body) {
		t.Fatalf("the sample is another: %s", other.Body)
	}
	other.Body = said.ReplaceAll(other.Body, []byte(`"timestamp": "$1", "token": "$2`))
	mustBeForged(t, p, &other, "what is signed, cut elsewhere into time and token, beside another event")
}

// New secrets do not free what tokens of Mailgun were taken for.
func TestRenewingKeepsMailgunsTokens(t *testing.T) {
	t.Parallel()
	s := newScene(t, testProvider("mailgun"))
	x := sampleOf(t, "mailgun")
	r := signed(t, s.p, x.Body, x.Header)
	send := func(body []byte) int {
		w := httptest.NewRecorder()
		hr := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		hr.Header = r.Header
		s.handler.ServeHTTP(w, hr)
		return w.Code
	}
	if code := send(r.Body); code != 200 {
		t.Fatal(code)
	}
	if err := s.handler.Renew(testProvider("mailgun")); err != nil {
		t.Fatal(err)
	}
	if code := send(bytes.Replace(r.Body, []byte("Ase7i2zsRYeDXztHGENqRA"), []byte("another-event"), 1)); code != 401 && code != 406 {
		t.Errorf("another event beside the signature was answered %d", code)
	}
}

// The signed ID is the event's: with another header beside it a captured delivery is no new
// event.
func TestTheSignedIDIsTheEvents(t *testing.T) {
	t.Parallel()
	p := testProvider("gitlab-signed")
	x := sampleOf(t, "gitlab-signed")
	r := signed(t, p, x.Body, x.Header)
	r.Header.Set("Idempotency-Key", "another")
	if items, err := p.Items(r); err != nil || p.Check(t.Context(), r) != nil || len(items) != 1 || items[0].ID != "k1" {
		t.Errorf("%v %v", items, err)
	}
}

// Different events about one thing have different keys.
func TestEventsAboutOneThingDiffer(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ provider, from, to string }{
		{"adyen-platform", `{"type":"balancePlatform.accountHolder.updated","data":{"id":"AH1"},"timestamp":"2026-01-02T03:04:05Z"}`, `{"type":"balancePlatform.accountHolder.updated","data":{"id":"AH1"},"timestamp":"2026-01-02T03:05:05Z"}`},
		{"xendit", `{"event":"refund.succeeded","data":{"id":"rfd-1","payment_id":"py-1","status":"SUCCEEDED"}}`, `{"event":"refund.succeeded","data":{"id":"rfd-2","payment_id":"py-1","status":"SUCCEEDED"}}`},
	} {
		p := testProvider(x.provider)
		id := func(body string) string {
			t.Helper()
			items, err := p.Items(&webhook.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)})
			if err != nil || len(items) != 1 || items[0].ID == "" {
				t.Fatalf("%s: %v %v", x.provider, items, err)
			}
			return items[0].ID
		}
		if a, b := id(x.from), id(x.to); a == b || a != id(x.from) {
			t.Errorf("%s: two events are both %s", x.provider, a)
		}
	}
	p := webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"header:X-A", "order?"}})
	if items, err := p.Items(&webhook.Request{Header: http.Header{"X-A": {" "}}, Body: []byte(`{}`)}); err == nil {
		t.Errorf("a key of nothing: %v", items[0].ID)
	}
}

// Credentials that would let everybody in are refused when the handler is made.
func TestMistakesAreToldAtTheStart(t *testing.T) {
	t.Parallel()
	client := idemtest.New(t).Client()
	handle := func(context.Context, *idemsvc.Claim, *webhook.Item) error { return nil }
	for why, p := range map[string]*webhook.Provider{
		"no secret":             webhook.Stripe(),
		"an empty secret":       webhook.Stripe(""),
		"one of them empty":     webhook.GitHub("a", ""),
		"no base64":             webhook.StandardWebhooks("whsec_%"),
		"only the prefix":       webhook.Svix("whsec_"),
		"no hex":                webhook.Adyen("xyz"),
		"no URL":                webhook.Twilio("/hooks", "secret"),
		"no public key":         webhook.SendGrid("secret"),
		"no webhook ID":         webhook.PayPal(webhook.PayPalConfig{}),
		"no audience":           webhook.PubSub(webhook.PubSubConfig{Email: "a@b"}),
		"nothing signed":        webhook.Generic(webhook.GenericConfig{Name: "x", SignatureHeader: "X"}),
		"no header":             webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}}),
		"an unknown hash":       webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", Hash: "md5"}),
		"an order of nothing":   webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Order: "n", OrderUnit: "sequence"}),
		"an unknown unit":       webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, TimeUnit: "days"}),
		"a status of failure":   webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Success: 503}),
		"no header's name":      webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"header:"}}),
		"a key of a literal":    webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"=x", "id?"}}),
		"a header that differs": webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"id"}, Volatile: []string{"header:X-Try"}}),
		"the body that differs": webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"id"}, Volatile: []string{"body:sent_at"}}),
		"no body is signed":     webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", Signed: "v1"}),
		"a misspelt body":       webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", Signed: "{Body}"}),
		"a time of no header":   webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", Signed: "{timestamp}.{body}"}),
		"an unsigned time":      webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", TimestampHeader: "T"}),
		"a URL of nobody":       webhook.Generic(webhook.GenericConfig{Name: "x", Secrets: []string{"s"}, SignatureHeader: "X", Signed: "{url}{body}"}),
		"a path with no step":   webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Key: []string{"a..b"}}),
		"secrets of no one":     webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Secrets: []string{"s"}}),
		"a name that is blank":  webhook.Generic(webhook.GenericConfig{Name: " ", Unsigned: true}),
		"a status that is none": webhook.Generic(webhook.GenericConfig{Name: "x", Unsigned: true, Success: 20}),
	} {
		if _, err := webhook.New(client, p, handle); err == nil {
			t.Errorf("%s: it was made", why)
		}
		if err := p.Check(t.Context(), request("{}", nil)); err == nil {
			t.Errorf("%s: everything is genuine", why)
		}
	}
	for why, o := range map[string]webhook.Option{
		"a patience below 0":  webhook.WithPatience(-1),
		"a claim timeout":     webhook.WithClaimTimeout(-1),
		"a tolerance below 0": webhook.WithTolerance(-1),
		"no body":             webhook.WithMaxBody(0),
		"no concurrency":      webhook.WithConcurrency(0),
		"a batch that waits":  webhook.WithClaimOptions(idemsvc.WithWait(time.Second)),
		"an order of its own": webhook.WithClaimOptions(idemsvc.WithOrdering(idemsvc.LatestWins(idemsvc.Sequence(1)))),
		"a spool of nothing":  webhook.Spool(t.TempDir(), webhook.MaxSpool(1)),
	} {
		if _, err := webhook.New(client, testProvider("stripe"), handle, o); err == nil {
			t.Errorf("%s: it was made", why)
		}
	}
}

// Challenges are answered for those who know the secret only.
func TestChallenges(t *testing.T) {
	t.Parallel()
	slack := newScene(t, testProvider("slack"))
	challenge := `{"type":"url_verification","token":"t","challenge":"3eZbrw1aB"}`
	if w := slack.deliver(challenge, nil); w.Code != 200 || w.Body.String() != "3eZbrw1aB" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	slack.expect(slack.send(request(challenge, nil)), 401, "a challenge that is not signed")
	meta := newScene(t, testProvider("meta"))
	for query, want := range map[string]int{
		"hub.mode=subscribe&hub.verify_token=verify+me&hub.challenge=1158201444": 200,
		"hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1158201444":     403,
		"hub.mode=subscribe&hub.challenge=1158201444":                            403,
	} {
		r := request("", nil)
		r.Method, r.URL.RawQuery = http.MethodGet, query
		w := meta.send(r)
		if w.Code != want || (w.Body.String() == "1158201444") != (want == 200) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
