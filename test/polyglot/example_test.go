package polyglot_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// One server decides for consumers in all languages: what one has processed is, for
// every other one, a duplicate with its result.
func TestOneAuthorityForAllLanguages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	busy, err := s.dial(t, s.consumer).Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_busy"}, idemsvc.WithLease(time.Hour))
	if err != nil || busy.Claim == nil {
		t.Fatalf("%v %v", busy, err)
	}
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			id := "evt_" + l.name
			l.wantPrint(t, s, id, "processing "+id)
			wantProcessed(t, s, id, "done in "+l.name)
			other := languages[(i+1)%len(languages)]
			t.Run("again in "+other.name, func(t *testing.T) {
				other.wantPrint(t, s, id, "nothing to do for "+id+", its result: done in "+l.name)
				wantProcessed(t, s, id, "done in "+l.name)
			})
			// Neither of these may look like a success.
			l.wantPrint(t, s, "evt_busy", "not now: answer 503 and repeat evt_busy after [1-9][0-9]* s")
			if out, err := l.claim(t, s.address, "not-a-token", "evt_refused"); err == nil || strings.Contains(out, "evt_refused") {
				t.Errorf("with a wrong token it prints %q: %v", out, err)
			}
		})
	}
}

// wantPrint fails unless the example prints one line of that pattern for an event.
func (l *language) wantPrint(t *testing.T, s site, eventID, pattern string) {
	t.Helper()
	out, err := l.claim(t, s.address, s.consumer, eventID)
	if err != nil || !regexp.MustCompile("^"+pattern+"\n$").MatchString(out) {
		t.Fatalf("%s prints %q and not %q: %v", l.name, out, pattern, err)
	}
}

// wantProcessed fails unless an event was processed once, by the examples' consumer.
func wantProcessed(t *testing.T, s site, id, result string) {
	t.Helper()
	resp, err := s.dial(t, s.reader).Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: "dev", EventId: id, IncludeResults: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.GetEvents()) != 1 || len(resp.GetEvents()[0].GetConsumers()) != 1 {
		t.Fatalf("%v", resp)
	}
	event, by := resp.GetEvents()[0].GetEvent(), resp.GetEvents()[0].GetConsumers()[0]
	if event.GetSource() != "stripe" || event.GetType() != "invoice.paid" || by.GetConsumer() != "billing" ||
		by.GetState() != pb.EventState_EVENT_STATE_PROCESSED || by.GetAttemptsTotal() != 1 || string(by.GetResult()) != result {
		t.Errorf("%s: %v", id, resp)
	}
}
