//go:build linux

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// inboxResult is what a campaign on the inbox came to.
type inboxResult struct {
	Seed       uint64         `json:"seed"`
	Began      time.Time      `json:"began"`
	Took       string         `json:"took"`
	PostgreSQL string         `json:"postgresql"`
	Kills      int            `json:"kills"`
	Faults     map[string]int `json:"faults"`
	Events     int64          `json:"events"`
	Deliveries int            `json:"deliveries"`
	Answers    map[string]int `json:"answers"`  // to deliveries
	Workers    map[string]int `json:"workers"`  // what they wrote down
	Operator   map[string]int `json:"operator"` // what was decided, and what was refused
	Left       map[string]int `json:"left"`     // states after the faults, before all is mended
	Ends       map[string]int `json:"ends"`     // states in the end
	Violations []string       `json:"violations"`
}

// inbox is a site with a provider before it and workers behind it.
type inbox struct {
	*site
	inboxPlan
	res      *inboxResult
	judge    *inboxJudge
	provider *provider
	operator *operator
	calm     bool // workers that start now do nothing wrong by chance
}

// P3, P5, P7, P8, P15: a provider repeats and shuffles its deliveries, workers crash, stall
// and fail, servers and PostgreSQL are killed, an operator decides. In the end every event
// is where its policy says, operations were performed as often as theirs allows, versions
// were worked on in order, and every delivery counts once.
func TestInboxCampaign(t *testing.T) {
	t.Parallel()
	c := newInbox(t)
	defer c.write()
	sending, stop := context.WithCancel(t.Context())
	defer stop()
	var beside sync.WaitGroup
	beside.Go(func() { c.provider.run(sending, func() bool { return !t.Failed() }) })
	beside.Go(func() { c.decide(sending) })
	defer beside.Wait()
	defer stop()
	for !c.enough() && !t.Failed() {
		c.disturb()
	}
	stop()
	beside.Wait()
	c.calmDown()
	stored := c.rest("nothing goes on by itself any more", c.judge.atRest, nil)
	c.count(stored, c.res.Left)
	for event, e := range stored {
		c.judge.left(event, e)
	}
	stored = c.rest("all is mended", c.judge.settled, func(event int64, e storedInbox) {
		if e.state == idem.Held || e.state.Finished() {
			c.operator.decide(event, e.state, true)
		}
	})
	c.count(stored, c.res.Ends)
	c.finish(stored)
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	res := &inboxResult{Seed: *inboxSeedFlag, Faults: map[string]int{}, Left: map[string]int{}, Ends: map[string]int{}}
	if res.Seed == 0 {
		res.Seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number is a seed
	}
	t.Logf("seed %d", res.Seed)
	plan := inboxPlan{campaignID{res.Seed}}
	c := &inbox{site: newSite(t, res.Seed, embedded.Options{}), inboxPlan: plan, res: res, judge: newInboxJudge(plan)}
	res.PostgreSQL = c.pg.Installation().Version
	caller, err := newCaller(c.addresses())
	if err != nil {
		t.Fatal(err)
	}
	req := &pb.ApplyPoliciesRequest{Namespace: namespace, Policies: c.policies(), Why: inboxWhy}
	_, err = askOne(caller.operations, 20*time.Second, func(ctx context.Context, s pb.OperationsServiceClient) (*pb.ApplyPoliciesResponse, error) {
		return s.ApplyPolicies(ctx, req)
	})
	if err != nil {
		t.Fatal(err)
	}
	c.provider = &provider{inboxPlan: plan, caller: caller, rng: rand.New(rand.NewPCG(res.Seed, 2)), firsts: map[int64]int{}, answers: map[string]int{}}
	c.operator = &operator{inboxPlan: plan, caller: caller, judge: c.judge, rng: rand.New(rand.NewPCG(res.Seed, 3)), acts: map[string]int{}}
	c.heard = c.judge.read
	c.job = func(_ int, ledger string) (string, any) {
		return asWorker, inboxJob{inboxPlan: plan, Servers: c.addresses(), Ledger: ledger, Calm: c.calm}
	}
	for i := range 2 {
		if err := c.startClient(i); err != nil {
			t.Fatal(err)
		}
	}
	res.Began = time.Now()
	return c
}

func (c *inbox) enough() bool {
	if *inboxLimitFlag > 0 && time.Since(c.res.Began) >= *inboxLimitFlag {
		return true
	}
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	return c.provider.events >= int64(*inboxEventsFlag) && c.res.Kills >= *inboxKillsFlag && time.Since(c.res.Began) >= *inboxTimeFlag
}

// disturb kills or stops something, or cuts it off, and then waits until workers have
// completed something again.
func (c *inbox) disturb() {
	c.t.Helper()
	list := kills
	if c.rng.IntN(4) == 0 {
		list = otherFaults
	}
	f := list[c.rng.IntN(len(list))]
	if err := c.ready(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.suffer(f)
	c.res.Faults[f.name]++
	if f.kill {
		c.res.Kills++
	}
	c.attend()
	from := c.judge.counts[opComplete]
	for end := time.Now().Add(30 * time.Second); c.judge.counts[opComplete] < from+5; sleepFor(c.t.Context(), 10*time.Millisecond) {
		if c.attend(); time.Now().After(end) {
			c.t.Fatal("no event was completed for 30 s")
		}
	}
}

// attend reads what workers have written, and starts one in place of each that has crashed.
func (c *inbox) attend() {
	c.t.Helper()
	if err := c.collectAll(); err != nil {
		c.t.Fatal(err)
	}
	for i, w := range c.clients {
		select {
		case <-w.proc.Done():
		default:
			continue
		}
		if text := w.log.String(); text != "" {
			c.t.Fatalf("a worker ended by itself:\n%s", tail(text, 4000))
		}
		c.res.Faults["worker crashed between an operation and its report"]++
		if err := c.collect(w); err != nil {
			c.t.Fatal(err)
		}
		if err := c.startClient(i); err != nil {
			c.t.Fatal(err)
		}
	}
}

// decide has the operator act on some events, again and again.
func (c *inbox) decide(ctx context.Context) {
	for ; ctx.Err() == nil; sleepFor(ctx, 300*time.Millisecond) {
		stored, err := c.stored(ctx)
		if err != nil {
			continue // the database is gone just now
		}
		list := slices.Sorted(maps.Keys(stored))
		for range min(len(list), 200) {
			event := list[c.operator.rng.IntN(len(list))]
			e := stored[event]
			odds := map[idem.State]int{idem.Held: 2, idem.DeadLettered: 2, idem.FailedTerminal: 2, idem.Processed: 50}[e.state]
			if f := c.fate(event); f == rejected || f == failing {
				odds *= 10
			}
			if odds > 0 && c.operator.rng.IntN(odds) == 0 {
				c.operator.decide(event, e.state, false)
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// calmDown ends the workers, and starts ones that nothing happens to.
func (c *inbox) calmDown() {
	c.t.Helper()
	for _, w := range c.clients {
		w.end()
	}
	if err := c.collectAll(); err != nil {
		c.t.Fatal(err)
	}
	c.calm = true
	for i := range c.clients {
		if err := c.startClient(i); err != nil {
			c.t.Fatal(err)
		}
	}
}

// rest waits until every event is as it shall be. Meanwhile mend is called for those that
// are not.
func (c *inbox) rest(name string, shall func(int64, map[int64]storedInbox) bool, mend func(int64, storedInbox)) map[int64]storedInbox {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; sleepFor(c.t.Context(), 200*time.Millisecond) {
		c.attend()
		stored, err := c.stored(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		var odd []int64
		for event := range c.provider.events {
			if !shall(event, stored) {
				odd = append(odd, event)
			}
		}
		if len(odd) == 0 {
			return stored
		}
		if time.Now().After(end) {
			for _, event := range odd[:min(len(odd), 10)] {
				c.judge.fault("%s (%v): not so after 2 min: %s; it is %+v", c.id(event), c.sort(event), name, stored[event])
			}
			return stored
		}
		for _, event := range odd {
			if mend != nil && time.Now().Before(end) {
				mend(event, stored[event])
			}
		}
	}
}

func (c *inbox) stored(ctx context.Context) (map[int64]storedInbox, error) {
	rows, err := c.admin.Query(ctx, "SELECT event_id, state, total FROM idemsvc.event WHERE consumer = $1", inboxConsumer)
	if err != nil {
		return nil, err
	}
	out := map[int64]storedInbox{}
	var id string
	var e storedInbox
	_, err = pgx.ForEachRow(rows, []any{&id, &e.state, &e.total}, func() error {
		out[numberOf(id)] = e
		return nil
	})
	return out, err
}

func (c *inbox) count(stored map[int64]storedInbox, by map[string]int) {
	for _, e := range stored {
		by[e.state.String()]++
	}
}

// finish judges all that was done.
func (c *inbox) finish(stored map[int64]storedInbox) {
	c.t.Helper()
	for _, w := range c.clients {
		w.end()
	}
	if err := c.collectAll(); err != nil {
		c.t.Fatal(err)
	}
	p, j := c.provider, c.judge
	for event := range p.events {
		j.effects(event, stored[event].state)
		j.runs(event, stored[event].state)
		if n := p.firsts[event]; n != 1 {
			j.fault("%s: %d deliveries were the first one", c.id(event), n)
		}
	}
	j.orders()
	if err := errors.Join(c.applied(c.t.Context(), stored), c.outcomes(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
	if n := p.answers["received"] + p.answers["duplicate"]; n != p.sent || p.answers["received"] != int(p.events) {
		j.fault("%d deliveries of %d events, and %d were received and %d were duplicates", p.sent, p.events, p.answers["received"], p.answers["duplicate"])
	}
	if int64(len(stored)) != p.events {
		j.fault("%d events were sent, %d are stored", p.events, len(stored))
	}
	if n := j.counts[opComplete]; c.res.Kills == 0 || n < 50 {
		j.fault("hardly anything happened: %d kills, %d completions", c.res.Kills, n)
	}
	j.broken = append(append(j.broken, p.trouble...), c.operator.bad...)
	for _, x := range j.broken {
		c.t.Error(x)
	}
	for _, s := range c.servers {
		if text := s.log.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") || c.t.Failed() {
			c.t.Errorf("a server's log ends with:\n%s", tail(text, 4000))
		}
	}
}

// applied compares the versions that resources have with the events that were processed.
func (c *inbox) applied(ctx context.Context, stored map[int64]storedInbox) error {
	want := map[string]int64{}
	for event, e := range stored {
		if e.state == idem.Processed && c.ordered(event) {
			want[c.resource(event)] = max(want[c.resource(event)], c.version(event))
		}
	}
	rows, err := c.admin.Query(ctx, "SELECT name, value FROM idemsvc.resource WHERE consumer = $1 AND applied", inboxConsumer)
	if err != nil {
		return err
	}
	got := map[string]int64{}
	var name string
	var version int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error { got[name] = version; return nil }); err != nil {
		return err
	}
	if !maps.Equal(got, want) {
		c.judge.fault("resources have the versions %v, processed were %v", got, want)
	}
	return nil
}

// outcomes: each outcome of an operation that was acknowledged is stored.
func (c *inbox) outcomes(ctx context.Context) error {
	var ids [][16]byte
	for event, w := range c.judge.events {
		if w.done != nil {
			ids = append(ids, c.effectID(event))
		}
	}
	rows, err := c.admin.Query(ctx, "SELECT id, result FROM idemsvc.effect WHERE state = $1 AND id = ANY($2)", int16(idem.EffectDone), ids)
	if err != nil {
		return err
	}
	kept := map[[16]byte]string{}
	var id [16]byte
	var result []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &result}, func() error { kept[id] = string(result); return nil }); err != nil {
		return err
	}
	for event, w := range c.judge.events {
		if got, ok := kept[c.effectID(event)]; w.done != nil && (!ok || got != w.done.Result) {
			c.judge.fault("%s: the acknowledged outcome %q is not stored: %q", c.id(event), w.done.Result, got)
		}
	}
	return nil
}

// write says what the campaign came to, and keeps it where it was asked to.
func (c *inbox) write() {
	c.t.Helper()
	r, p := c.res, c.provider
	r.Took = time.Since(r.Began).Round(time.Second).String()
	r.Events, r.Deliveries, r.Answers, r.Workers, r.Operator, r.Violations = p.events, p.sent, p.answers, c.judge.counts, c.operator.acts, c.judge.broken
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Logf("%s", text)
	if *inboxResultFlag == "" {
		return
	}
	if err := os.WriteFile(*inboxResultFlag, append(text, '\n'), 0o644); err != nil { //nolint:gosec // to be read by all
		c.t.Error(fmt.Errorf("the result: %w", err))
	}
}
