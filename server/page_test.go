package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// library is a backend that finds what it was given.
type library struct {
	storage.Backend
	found   storage.Found
	caused  storage.Found
	payload []byte
}

func (l *library) Events(context.Context, string, string, string) (storage.Found, error) {
	return l.found, nil
}

func (l *library) Lookup(context.Context, storage.Query) (storage.Found, error) {
	return l.caused, nil
}

func (l *library) Payload(context.Context, idem.EventRef) ([]byte, bool, error) {
	return l.payload, l.payload != nil, nil
}

func viewOf(source, consumer string) storage.View {
	e := &idem.Event{
		Key:   idem.EventKey{EventRef: idem.EventRef{Namespace: shop, Source: source, EventID: "e"}, Consumer: consumer},
		State: idem.Processed, Fence: 7, Total: 1, Round: 1, CreatedAt: 1000, Result: []byte("result"), End: idem.EndCompleted,
		Facts: idem.Facts{RequestID: "req-1", PayloadSize: 3, Correlation: "e"},
	}
	return storage.View{Event: e, Now: 2000}
}

func (f *fixture) page(t *testing.T) *pb.GetEventResponse {
	t.Helper()
	r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "e", IncludePayload: true, IncludeResults: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := proto.Size(r); n > replyBytes {
		t.Errorf("%d bytes", n)
	}
	return r
}

func shelf(t *testing.T, l *library) *fixture {
	t.Helper()
	return start(t, func(c *Config) {
		l.Backend = &brokenBackend{Backend: panicking{}}
		c.Store = storage.New(l, storage.Options{})
		c.HealthInterval = time.Hour
	})
}

// O-30, P11: a row that cannot be sent as it is does not break the page.
func TestP11_OneBadRowNeverBreaksAPage(t *testing.T) {
	t.Parallel()
	l := &library{payload: []byte("abc")}
	for i := range 20 {
		l.found.Views = append(l.found.Views, viewOf(fmt.Sprint("source-", i), "billing"))
	}
	bad := viewOf("zz", "bill\xffing")
	bad.Event.Error.Message, bad.Event.Outputs = "cut \xe6\x97", []string{"\xc3("}
	bad.Event.Facts.Headers = []idem.Header{{Name: "h", Value: "\xff"}}
	l.found.Views = append(l.found.Views, bad, storage.View{})
	r := shelf(t, l).page(t)
	if len(r.GetEvents()) != 21 || r.GetTruncated() {
		t.Fatalf("%d events", len(r.GetEvents()))
	}
	if c := r.GetEvents()[20].GetConsumers()[0]; !utf8.ValidString(c.GetConsumer()) || string(c.GetResult()) != "result" {
		t.Errorf("%v", c)
	}
}

func TestConsumersOfOneEventShareItsDeliveries(t *testing.T) {
	t.Parallel()
	l := &library{payload: []byte("abc"), found: storage.Found{Views: []storage.View{viewOf("s", "mail"), viewOf("s", "billing")}, Lag: time.Second}}
	l.found.Views[0].Deliveries = []storage.Delivery{
		{RequestID: "req-2", RecordedAt: 1500, Disposition: idem.DispositionDuplicate, Outcome: idem.OutcomeAlreadyProcessed},
		{RequestID: "req-3", RecordedAt: 1400, Disposition: idem.DispositionRejected},
	}
	r := shelf(t, l).page(t)
	e := r.GetEvents()[0]
	if len(r.GetEvents()) != 1 || len(e.GetConsumers()) != 2 || len(e.GetDeliveries()) != 2 || len(e.GetDeliveries()[0].GetConsumers()) != 2 {
		t.Errorf("%v", r)
	}
	if r.GetIndexLag().AsDuration() != time.Second || string(e.GetEvent().GetPayload()) != "abc" {
		t.Errorf("%v", r)
	}
}

// P13: what cannot be shown is left out and marked; the reply fits.
func TestP13_APageFits(t *testing.T) {
	t.Parallel()
	l := &library{payload: make([]byte, 1<<20), found: storage.Found{Views: []storage.View{viewOf("s", "billing")}}}
	v := &l.found.Views[0]
	headers := make([]idem.Header, 64)
	for i := range headers {
		headers[i] = idem.Header{Name: "h", Value: strings.Repeat("v", 4096)}
	}
	for i := range 30 {
		v.Deliveries = append(v.Deliveries, storage.Delivery{RequestID: fmt.Sprint(i), Headers: headers, RecordedAt: idem.Instant(2000 + i)})
	}
	for i := range 1000 {
		v.Attempts = append(v.Attempts, idem.Attempt{Fence: int64(i), Number: int32(i), Error: idem.Failure{Code: "c", Message: strings.Repeat("m", 4096)}, End: idem.EndFailed})
	}
	for range idem.MaxEffects {
		v.Effects = append(v.Effects, &idem.Effect{Key: idem.EffectKey{Scope: idem.EventScope, Key: "k"}, State: idem.EffectDone, Result: make([]byte, 1024)})
	}
	r := shelf(t, l).page(t)
	c := r.GetEvents()[0].GetConsumers()[0]
	if c.GetAttemptsOmitted() == 0 || len(r.GetEvents()[0].GetDeliveries()) < 5 || r.GetEvents()[0].GetDeliveriesOmitted() == 0 || !r.GetEvents()[0].GetPayloadOmitted() {
		t.Errorf("%d attempts, %d deliveries omitted", c.GetAttemptsOmitted(), r.GetEvents()[0].GetDeliveriesOmitted())
	}
	if last := c.GetAttempts()[len(c.GetAttempts())-1]; last.GetFence() != 7 {
		t.Errorf("the newest attempt is missing: %v", last)
	}
}
