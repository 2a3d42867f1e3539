package demo

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

func httpRequest(t *testing.T, h http.Header, body []byte) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/webhooks", bytes.NewReader(body))
	if h != nil {
		r.Header = h
	}
	return r
}

func TestReportForPeople(t *testing.T) {
	t.Parallel()
	r := &Report{
		Payloads: 43, Consumers: 4,
		Naive:   Column{Events: 1800, Deliveries: 4069, RowsDoubled: 1104, Lost: 10, StaleOverwritten: 189, EffectsTwice: 1000000},
		Guarded: Column{Events: 1800, Deliveries: 5314, MarkersMet: 1, KeysMet: 33},
	}
	out := r.Text(false)
	want := `
The same storm twice: 1,800 events of 43 payloads, delivered 1 to 5 times each,
shuffled, in bursts, and again until answered 2xx, to 4 consumer processes
that are killed in the middle of their work.

                            naive handler   with idemsvc
  ──────────────────────────────────────────────────────
  events                            1,800          1,800
  deliveries                        4,069          5,314
  rows doubled                      1,104              0
  lost                                 10              0
  stale overwritten                   189              0
  side effects run twice        1,000,000              0

Counted by SQL in the tables of the business, its mail and its payment service.
Where a process died between doing and saying so, the next attempt met
its row's marker (1 event) or the other side's idempotency key (33 effects).
`
	if out != want {
		t.Errorf("got\n%s", out)
	}
	r.Guarded.MarkersMet, r.Guarded.KeysMet = 999, 99
	for line := range strings.Lines(r.Text(false)) {
		if utf8.RuneCountInString(line) > 80+len("\n") {
			t.Errorf("this line does not fit a terminal: %s", line)
		}
	}
	colours := r.Text(true)
	for _, part := range []string{"\x1b[31m          1,104\x1b[0m\x1b[32m              0\x1b[0m", "          1,800          1,800\n"} {
		if !strings.Contains(colours, part) {
			t.Errorf("%q is not in\n%q", part, colours)
		}
	}
}

// Only four zeros are clean.
func TestClean(t *testing.T) {
	t.Parallel()
	if !(Column{Events: 9, Deliveries: 20, MarkersMet: 2, KeysMet: 1}).Clean() {
		t.Error("four zeros are not clean")
	}
	for _, c := range []Column{{RowsDoubled: 1}, {Lost: 1}, {StaleOverwritten: 1}, {EffectsTwice: 1}} {
		if c.Clean() {
			t.Errorf("%+v is clean", c)
		}
	}
}

// On a terminal the bar stays on its line; elsewhere a run is a few lines.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{false, true} {
		var out strings.Builder
		p := newProgress(&out, terminal)
		p.say("starting")
		p.begin("naive", 1000)
		for range 1000 {
			p.step(3)
		}
		p.end(4)
		p.close()
		if n := strings.Count(out.String(), "\n"); terminal && n != 1 || !terminal && n != 1+parts {
			t.Errorf("terminal %v: %d lines:\n%s", terminal, n, out.String())
		}
		if !strings.Contains(out.String(), "4 ") || !strings.Contains(out.String(), "1,000") || !strings.HasSuffix(out.String(), "\n") || terminal != strings.Contains(out.String(), strings.Repeat("█", barWidth)) {
			t.Errorf("terminal %v:\n%s", terminal, out.String())
		}
	}
}
