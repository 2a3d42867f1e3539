//go:build linux

package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// result is what a campaign came to.
type result struct {
	Seed       uint64         `json:"seed"`
	Began      time.Time      `json:"began"`
	Took       string         `json:"took"`
	PostgreSQL string         `json:"postgresql"`
	Rounds     int            `json:"rounds"`
	Kills      int            `json:"kills"`
	Faults     map[string]int `json:"faults"`
	Clients    map[string]int `json:"clients"` // what they were acknowledged
	Events     int            `json:"events"`
	Checks     int            `json:"checks"`
	Violations []string       `json:"violations"`
}

// P3, P4, P5, P7: servers, clients and PostgreSQL are killed and stopped at random points
// under load, connections are cut, locks are held by strangers, transactions fail, the disk
// is slow. After each fault all that was acknowledged is there, and nothing has run twice
// that must not; in the end every event can be claimed, is held, or is dead, as its policy
// says.
func TestKillCampaign(t *testing.T) {
	t.Parallel()
	res := &result{Seed: *seedFlag, Began: time.Now(), Faults: map[string]int{}}
	if res.Seed == 0 {
		res.Seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number is a seed
	}
	t.Logf("seed %d", res.Seed)
	s := newSite(t, res.Seed, embedded.Options{})
	res.PostgreSQL = s.pg.Installation().Version
	defer res.write(t, s)
	for i := range 2 {
		if err := s.startClient(i); err != nil {
			t.Fatal(err)
		}
	}
	s.mustProgress(time.Minute)
	for !res.enough() && !t.Failed() {
		f := s.nextFault(res)
		if err := s.ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.suffer(f)
		res.Rounds++
		res.Faults[f.name]++
		if f.kill {
			res.Kills++
		}
		s.mustProgress(30 * time.Second)
		s.verify(t.Context(), false)
		res.Checks++
	}
	s.finish(t.Context())
	if n := s.check.counts[opComplete]; n < res.Rounds {
		t.Errorf("hardly anything happened: %d completions", n)
	}
}

// A service that answers before the commit does not pass: the campaign notices what is
// lost.
func TestLostAnswersAreNoticed(t *testing.T) {
	t.Parallel()
	s := newSite(t, uint64(time.Now().UnixNano()), embedded.Options{}) //nolint:gosec // any number is a seed
	for i := range 2 {
		if err := s.startClient(i); err != nil {
			t.Fatal(err)
		}
	}
	s.mustProgress(time.Minute)
	s.proxy.Trouble(wire.Chances{Early: 0.2})
	for end := time.Now().Add(time.Minute); len(s.check.broken) == 0; sleepFor(t.Context(), 100*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing was noticed, and %d batches were answered before their commit", s.proxy.Early())
		}
		if err := s.collectAll(); err != nil {
			t.Fatal(err)
		}
		if err := s.check.stored(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches were answered before their commit: %s", s.proxy.Early(), s.check.broken[0])
}

func (r *result) enough() bool {
	if *limitFlag > 0 && time.Since(r.Began) >= *limitFlag {
		return true
	}
	return r.Rounds >= *roundsFlag && r.Kills >= *killsFlag && time.Since(r.Began) >= *timeFlag
}

// nextFault draws a fault so that kills and rounds come to an end together.
func (s *site) nextFault(r *result) fault {
	kills, others := kills, otherFaults
	share := float64(*killsFlag) / float64(max(*roundsFlag, 1))
	if s.rng.Float64() < share || *roundsFlag-r.Rounds <= *killsFlag-r.Kills {
		return kills[s.rng.IntN(len(kills))]
	}
	f := others[s.rng.IntN(len(others))]
	if f.name == "PostgreSQL shut down" && s.rng.IntN(8) > 0 {
		return others[0] // a restart takes as long as many cuts
	}
	return f
}

// mustProgress waits until events are completed again.
func (s *site) mustProgress(within time.Duration) {
	s.t.Helper()
	if err := s.collectAll(); err != nil {
		s.t.Fatal(err)
	}
	from := s.check.counts[opComplete]
	for end := time.Now().Add(within); s.check.counts[opComplete] < from+2; sleepFor(s.t.Context(), 5*time.Millisecond) {
		if time.Now().After(end) {
			s.check.fault("no event was completed for %v", within)
			return
		}
		if err := s.collectAll(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// verify compares what was acknowledged with what is stored.
func (s *site) verify(ctx context.Context, everything bool) {
	s.t.Helper()
	if err := s.collectAll(); err != nil {
		s.t.Fatal(err)
	}
	var err error
	for range 5 { // sessions that a fault has ended are found out one after the other
		if err = s.ready(ctx); err == nil {
			err = s.check.stored(ctx, everything)
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range s.servers {
		if text := p.log.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") {
			s.t.Fatalf("a server's log:\n%s", text)
		}
	}
	s.report()
}

func (s *site) report() {
	s.t.Helper()
	for _, x := range s.check.broken {
		s.t.Error(x)
	}
}

// finish ends the clients, lets all leases end, and looks at everything once more: what is
// left can be claimed, is held, or is dead.
func (s *site) finish(ctx context.Context) {
	s.t.Helper()
	for _, c := range s.clients {
		c.end()
	}
	s.verify(ctx, true)
	s.check.consistent()

	sleepFor(ctx, lease+time.Second)
	s.drain()
	s.check.stored(ctx, true) //nolint:errcheck // it was looked at before
	s.report()
	if s.t.Failed() {
		for _, p := range s.servers {
			s.t.Logf("a server's log ends with:\n%s", tail(p.log.String(), 4000))
		}
		for _, c := range s.clients {
			if text := c.log.String(); text != "" {
				s.t.Logf("a client's log:\n%s", tail(text, 4000))
			}
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// drain claims every event that was given to somebody and is not known to be processed.
func (s *site) drain() {
	s.t.Helper()
	c, err := newCaller(s.addresses())
	if err != nil {
		s.t.Fatal(err)
	}
	w := &worker{job: &clientJob{campaignID: s.check.campaignID}, caller: c}
	for _, event := range slices.Sorted(maps.Keys(s.check.events)) {
		h := s.check.events[event]
		if h.completed != nil || len(h.claims) == 0 {
			continue
		}
		req := w.claimRequest(event)
		resp, err := ask(c, 20*time.Second, func(ctx context.Context, svc pb.IdempotencyServiceClient) (*pb.ClaimEventResponse, error) {
			return svc.ClaimEvent(ctx, req)
		})
		if err != nil {
			s.check.fault("%s: cannot be claimed: %v", s.check.eventID(event), err)
			continue
		}
		s.check.counts["left: "+strings.TrimPrefix(resp.GetOutcome().String(), "CLAIM_OUTCOME_")]++
		s.check.rest(event, h, resp.GetOutcome())
	}
}

// rest judges how an event was left.
func (c *checker) rest(event int64, h *history, o pb.ClaimOutcome) {
	id := c.eventID(event)
	switch o {
	case pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED: // its completion was not heard of
		for _, g := range h.claims {
			if g.ending {
				return
			}
		}
		c.fault("%s: processed, and nobody said so", id)
	case pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED:
		if kindOf(event) == held {
			c.fault("%s: given again, though its owner vanished and it is to be held", id)
		}
	case pb.ClaimOutcome_CLAIM_OUTCOME_HELD:
		if k := kindOf(event); k != held && k != effectHold && k != effectRetry {
			c.fault("%s: held, against its policy", id)
		}
	case pb.ClaimOutcome_CLAIM_OUTCOME_DEAD_LETTERED:
		if len(h.claims) < 2 {
			c.fault("%s: dead after %d claims that anybody heard of", id, len(h.claims))
		}
	case pb.ClaimOutcome_CLAIM_OUTCOME_STALE, pb.ClaimOutcome_CLAIM_OUTCOME_RESOURCE_BUSY:
		if kindOf(event) != ordered {
			c.fault("%s: %v", id, o)
		}
	default:
		c.fault("%s: left %v", id, o)
	}
}

// write says what the campaign came to, and keeps it where it was asked to.
func (r *result) write(t *testing.T, s *site) {
	t.Helper()
	r.Took = time.Since(r.Began).Round(time.Second).String()
	r.Clients, r.Events, r.Violations = s.check.counts, len(s.check.events), s.check.broken
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if *resultFlag == "" {
		return
	}
	if err := os.WriteFile(*resultFlag, append(text, '\n'), 0o644); err != nil { //nolint:gosec // to be read by all
		t.Error(fmt.Errorf("the result: %w", err))
	}
}
