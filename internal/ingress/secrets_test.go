package ingress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// put replaces a file at once, as whoever changes secrets should.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// watch has the site's files read as often, and returns what has them read at once.
func (s *site) watch(every time.Duration) chan<- os.Signal {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	hup := make(chan os.Signal)
	var watching sync.WaitGroup
	watching.Go(func() { s.in.Watch(ctx, every, hup) })
	s.t.Cleanup(func() {
		stop()
		watching.Wait()
	})
	return hup
}

func eventOf(id string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"invoice.paid","created":1700000000,"data":{"object":{"id":"in_1","object":"invoice"}}}`, id)
}

// status is what a delivery signed with a secret is answered.
func (s *site) status(secret, id string) int {
	s.t.Helper()
	return s.send(webhook.Stripe(secret), "POST", "/stripe", eventOf(id), nil).Code
}

// Secrets in files change while requests come: none that is signed with one of them is
// refused, and the one that is gone is not taken any more.
func TestSecretsChangeWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newer, older := filepath.Join(dir, "newer"), filepath.Join(dir, "older")
	put(t, newer, "whsec_0\n")
	put(t, older, "whsec_0\n")
	s := newSite(t, fmt.Sprintf("sources: [{path: /stripe, provider: stripe, consumers: [billing], secrets: [{file: %s}, {file: %s}]}]", newer, older), nil)
	s.watch(2 * time.Millisecond)

	var used atomic.Value
	used.Store("whsec_0")
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	var n, refused atomic.Int64
	for i := range 4 {
		sending.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				if s.status(used.Load().(string), fmt.Sprintf("evt_%d_%d", i, k)) != 200 { //nolint:errcheck,forcetypeassert // a text
					refused.Add(1)
				}
				n.Add(1)
			}
		})
	}
	for i := 1; i <= 3; i++ {
		secret := fmt.Sprint("whsec_", i)
		put(t, newer, secret)
		s.until("the new secret is taken", func() bool { return s.status(secret, "probe") == 200 })
		used.Store(secret)
		before := n.Load()
		s.until("requests come", func() bool { return n.Load() > before+8 })
		put(t, older, secret)
		s.until("the old one is not", func() bool { return s.status(fmt.Sprint("whsec_", i-1), "probe") == 401 })
	}
	stop()
	sending.Wait()
	if refused.Load() != 0 {
		t.Errorf("%d of %d requests were refused", refused.Load(), n.Load())
	}
	if strings.Contains(s.logged(), "whsec_") {
		t.Error("secrets are in the log")
	}
}

// A file that is empty, gone or holds no key leaves all of the source's secrets as they are,
// which is told once.
func TestSecretsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	put(t, one, "whsec_1")
	put(t, two, "whsec_2")
	s := newSite(t, fmt.Sprintf("sources: [{path: /stripe, provider: stripe, consumers: [billing], secrets: [{file: %s}, {file: %s}]}]", one, two), nil)
	hup := s.watch(time.Hour)
	again := func() {
		for range 3 { // the last one is taken when those before are done with
			hup <- syscall.SIGHUP
		}
	}
	faults := 0
	for what, spoil := range map[string]func(){
		"empty":     func() { put(t, two, "\n") },
		"gone":      func() { _ = os.Remove(two) },
		"too large": func() { put(t, two, strings.Repeat("x", maxSecretBytes+1)) },
	} {
		put(t, one, "whsec_new")
		spoil()
		again()
		faults++
		if got := strings.Count(s.logged(), "new secrets cannot be used"); got != faults {
			t.Errorf("%s: %d lines tell of it, not %d:\n%s", what, got, faults, s.logged())
		}
		if a, b := s.status("whsec_1", "evt_1"), s.status("whsec_new", "evt_2"); a != 200 || b != 401 {
			t.Errorf("%s: the old secret is answered %d, the new one %d", what, a, b)
		}
	}
	put(t, two, "whsec_2")
	again()
	if a, b, c := s.status("whsec_1", "evt_3"), s.status("whsec_new", "evt_4"), s.status("whsec_2", "evt_5"); a != 401 || b != 200 || c != 200 {
		t.Errorf("then the old secret is answered %d, the new one %d, the other one %d", a, b, c)
	}
}

func (s *site) until(what string, met func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !met(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within 30 s: %s\n%s", what, s.logged())
		}
	}
}
