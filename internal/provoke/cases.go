package provoke

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

const (
	copies   = 8 // of one event, at once
	shuffled = 10
	faults   = 3 // of the gateway
)

// busy are the answers to a delivery of an event that is being worked on.
var busy = []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// badDay is one kind of it.
type badDay struct {
	name string
	run  func(context.Context) (saw string, pass bool)
}

// cases are those that leave the receiver alive.
func (s *sender) cases() []badDay {
	return []badDay{
		{"a new event, then the same again", s.twice},
		{fmt.Sprintf("%d copies at once", copies), s.atOnce},
		{fmt.Sprintf("%d events, each twice, shuffled", shuffled), s.shuffled},
		{"a connection that is cut before the answer", s.cut},
		{"a gateway that turns 200 into 502", s.badGateway},
		{"forged deliveries before the genuine one", s.forged},
	}
}

func (s *sender) twice(ctx context.Context) (string, bool) {
	e := newEvent()
	first, tries := s.settle(ctx, e, settleLimit)
	second := s.send(ctx, e)
	return fmt.Sprintf("the first was answered %v after %d deliveries, the duplicate %v", first, tries, second), first.settled() && second.settled() && first.status == second.status
}

func (s *sender) atOnce(ctx context.Context) (string, bool) {
	e := newEvent()
	answers := make([]answer, copies)
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() { answers[i] = s.send(ctx, e) })
	}
	sending.Wait()
	counts, odd := map[string]int{}, 0
	for _, a := range answers {
		counts[a.String()]++
		if !a.settled() && !slices.Contains(busy, a.status) {
			odd++
		}
	}
	last, tries := s.settle(ctx, e, settleLimit)
	var said []string
	for _, a := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, fmt.Sprintf("%d times %s", counts[a], a))
	}
	return fmt.Sprintf("they were answered %s, then the event %v after %d more deliveries", strings.Join(said, ", "), last, tries), odd == 0 && last.settled()
}

func (s *sender) shuffled(ctx context.Context) (string, bool) {
	var events []*event
	for range shuffled {
		e := newEvent()
		events = append(events, e, e)
	}
	rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for i, e := range events {
		if a, tries := s.settle(ctx, e, settleLimit); !a.settled() {
			return fmt.Sprintf("%d of %d deliveries were settled, the next was answered %v after %d deliveries", i, len(events), a, tries), false
		}
	}
	return fmt.Sprintf("%d of %[1]d deliveries were settled", len(events)), true
}

// cut delivers and hangs up before the answer, then delivers again.
func (s *sender) cut(ctx context.Context) (string, bool) {
	e := newEvent()
	if err := s.hangUp(ctx, e); err != nil {
		return err.Error(), false
	}
	last, tries := s.settle(ctx, e, settleLimit)
	return fmt.Sprintf("the next was answered %v after %d deliveries", last, tries), last.settled()
}

// badGateway has the provider believe that what has succeeded failed, so that it goes on
// delivering it.
func (s *sender) badGateway(ctx context.Context) (string, bool) {
	via, g := s.behind(faults)
	last, _ := via.settle(ctx, newEvent(), settleLimit)
	done := slices.IndexFunc(g.heard, success)
	if done < 0 {
		return fmt.Sprintf("the event was not settled, the last answer was %v", last), false
	}
	later := g.heard[done+1:]
	same := !slices.ContainsFunc(later, func(status int) bool { return status != g.heard[done] })
	return fmt.Sprintf("the receiver answered %d, and to the provider's %d retries %v", g.heard[done], len(later), later), same && last.settled()
}

// forged sends what only somebody else can have made: signed with another secret, not
// signed at all, and with a signature of another body, as far as the provider signs so.
func (s *sender) forged(ctx context.Context) (string, bool) {
	e := newEvent()
	forgeries := []forgery{{"with another secret", s.shape.provider(s.o.Public, s.shape.otherSecret()), nil}}
	for _, f := range []forgery{{"unsigned", s.provider, unsigned}, {"with a changed body", s.provider, changed}} {
		if s.forges(e, f) {
			forgeries = append(forgeries, f)
		}
	}
	pass := true
	var said []string
	for _, f := range forgeries {
		bad := s.deliver(ctx, f.by, e, f.alter)
		pass = pass && bad.err == nil && bad.status >= 400 && bad.status < 500
		said = append(said, fmt.Sprintf("%s %v", f.name, bad))
	}
	good, tries := s.settle(ctx, e, settleLimit)
	return fmt.Sprintf("forged ones were answered: %s; the genuine one %v after %d deliveries", strings.Join(said, ", "), good, tries), pass && good.settled()
}

// forgery is a delivery that is made by somebody, or altered after it was made.
type forgery struct {
	name  string
	by    *webhook.Provider
	alter func(signed *webhook.Request, header http.Header)
}

// forges reports whether the provider's own check refuses the forgery: some sign only a part
// of what they send, or nothing.
func (s *sender) forges(e *event, f forgery) bool {
	r, err := s.delivery(f.by, e)
	if err != nil {
		return false
	}
	f.alter(r, s.unsignedHeader(r))
	return s.provider.Check(context.Background(), r) != nil
}

// unsignedHeader is the header of a delivery without what signing it adds.
func (s *sender) unsignedHeader(r *webhook.Request) http.Header {
	h := http.Header{}
	for name := range s.shape.header {
		h[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
	}
	h["Content-Type"] = r.Header.Values("Content-Type")
	return h
}

func unsigned(r *webhook.Request, header http.Header) { r.Header = header }

func changed(r *webhook.Request, _ http.Header) { r.Body = append(r.Body, ' ') }
