package linear

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Replica is one of several services on one database.
type Replica interface {
	Do(ctx context.Context, c idem.Command) storage.Result
	Claim(ctx context.Context, c *idem.Claim, wait time.Duration) storage.Result
	Acquire(ctx context.Context, q storage.AcquireQuery) ([]storage.Acquired, error)
	// Broken counts the trips to the database that were to write a command's records and
	// ended in an error, though they may have been carried out. Each is counted before the
	// service hears of it.
	Broken(c idem.Command) int64
}

// Mover ends the lease of an event's claim or of an effect's last try now, as if it had run
// out, where one runs. Whether it did is found among the leases of the history.
type Mover func(ctx context.Context, id idem.ID)

// world of one history: few clients, few names, and what they were given.
type driver struct {
	seed     uint64
	ns       string
	theme    theme
	replicas []Replica
	move     Mover
	began    time.Time
	clients  int
	steps    int

	mu    sync.Mutex
	h     History
	given []given
	over  map[int64]bool // fences of claims that have ended, as far as anybody heard
	tries []idem.EffectToken
}

// given is a claim that somebody was given: anybody may use its token, as zombies do.
type given struct {
	token    idem.Token
	claimant string
	event    int
	over     bool
}

// Drive lets a few clients do random things to a few records through the replicas, and
// records what they are answered. The seed decides what each of them tries.
func Drive(ctx context.Context, seed uint64, replicas []Replica, move Mover) *History {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // choices, not secrets
	d := &driver{seed: seed, over: map[int64]bool{}, ns: Namespace(seed), theme: themeOf(rng), replicas: replicas, move: move, clients: 3 + rng.IntN(3), steps: 3 + rng.IntN(4)}
	d.h.Name, d.h.Policy = d.ns, policyFor(rng, d.theme)
	policies.Store(d.ns, d.h.Policy)
	d.began = time.Now()
	var wg sync.WaitGroup
	for i := range d.clients {
		c := &client{d: d, id: i, rng: rand.New(rand.NewPCG(seed, uint64(i)+2))} //nolint:gosec // choices, not secrets
		wg.Go(func() {
			for range d.steps {
				c.step(ctx)
			}
		})
	}
	wg.Wait()
	return &d.h
}

// Forget drops the policy of a history that has been judged.
func Forget(h *History) { policies.Delete(h.Name) }

// Keys are the event keys of a history.
func Keys(h *History) []idem.EventKey {
	var keys []idem.EventKey
	for i := range 3 {
		keys = append(keys, keyIn(h.Name, i))
	}
	return keys
}

func keyIn(ns string, i int) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: ns, Source: "src", EventID: fmt.Sprintf("e%d", i)}, Consumer: "worker"}
}

type client struct {
	d   *driver
	id  int
	rng *rand.Rand
	n   int // of its own names
}

func (c *client) name(what string) string {
	c.n++
	return fmt.Sprintf("%s-%d-%d", what, c.id, c.n)
}

func (c *client) nonce() (id idem.ID) {
	binary.BigEndian.PutUint64(id[:8], c.rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], c.rng.Uint64()^c.d.seed)
	return id
}

func (c *client) one(in int) bool { return c.rng.IntN(in) == 0 }

// step does one random thing, and repeats it as a client does that heard no answer.
func (c *client) step(ctx context.Context) {
	if c.d.theme.slow && c.id == 0 && c.one(3) {
		sleep(ctx, idem.MinLease+50*time.Millisecond)
	}
	if c.one(8) {
		c.moveTime(ctx)
		return
	}
	if c.d.theme.inbox && c.one(5) {
		c.acquire(ctx)
		return
	}
	cmd := c.command()
	if cmd == nil {
		return
	}
	r := c.do(ctx, cmd)
	for range 3 {
		unheard := r.Err != nil && !isRule(r.Err)
		_, decides := cmd.(*idem.Resolve)
		if again := unheard && !c.one(4) || c.one(10) || decides && c.one(2); !again {
			break
		}
		r = c.do(ctx, cmd)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func isRule(err error) bool {
	_, ok := errors.AsType[*idem.Error](err)
	return ok
}

// do carries out a command on some replica and writes down what came of it.
func (c *client) do(ctx context.Context, cmd idem.Command) storage.Result {
	d := c.d
	rep := d.replicas[c.rng.IntN(len(d.replicas))]
	switch own := cmd.(type) { // each call is a value of its own, as if it came over the wire
	case *idem.Claim:
		x := *own
		cmd = &x
	case *idem.Receive:
		x := *own
		cmd = &x
	}
	call := Call{Client: c.id, Command: cmd}
	if c.one(20) { // its caller leaves early
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(c.rng.IntN(6000))*time.Microsecond)
		defer stop()
	}
	broken := rep.Broken(cmd)
	call.InvokedAt, call.Invoked = idem.InstantOf(time.Now()), time.Since(d.began)
	var r storage.Result
	if claim, ok := cmd.(*idem.Claim); ok && claim.Acquisition.IsZero() && c.one(6) {
		call.Waits = true
		r = rep.Claim(ctx, claim, time.Duration(1+c.rng.IntN(10))*time.Millisecond)
	} else {
		r = rep.Do(ctx, cmd)
	}
	call.Returned, call.ReturnedAt = time.Since(d.began), idem.InstantOf(time.Now())
	call.Disturbed = rep.Broken(cmd) != broken
	rule, refused := errors.AsType[*idem.Error](r.Err)
	switch {
	case refused:
		call.Err = rule
	case errors.Is(r.Err, storage.ErrClosed), errors.Is(r.Err, storage.ErrOverloaded):
	case r.Err != nil:
		call.Unknown = r.Err
	default:
		call.Answer = r.Answer
	}
	d.note(&call)
	return r
}

// note keeps a call, and what its caller was given.
func (d *driver) note(call *Call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.h.Calls = append(d.h.Calls, *call)
	if t := idem.TokenOf(call.Command); t != nil {
		_, ended := call.Answer.(*idem.EndAnswer)
		lost := call.Err != nil && (call.Err.Code == idem.CodeClaimLost || call.Err.Code == idem.CodeAlreadyEnded)
		d.over[t.Fence] = d.over[t.Fence] || ended || lost
	}
	switch a := call.Answer.(type) {
	case *idem.ClaimAnswer:
		claim, ok := call.Command.(*idem.Claim)
		if !ok || a.Outcome != idem.OutcomeClaimed {
			return
		}
		var event int
		_, _ = fmt.Sscanf(claim.Key.EventID, "e%d", &event)
		d.given = append(d.given, given{token: tokenOf(a.Event), claimant: claim.Claimant, event: event})
	case *idem.EffectAnswer:
		if a.Verdict == idem.EffectPerform {
			d.tries = append(d.tries, a.Token)
		}
	}
}

// moveTime ends a lease.
func (c *client) moveTime(ctx context.Context) {
	id := c.d.key(c.rng.IntN(c.d.theme.events)).ID()
	if c.d.theme.effects && c.one(2) {
		id = c.effect().ID()
	}
	c.d.move(ctx, id)
}

func (d *driver) key(i int) idem.EventKey { return keyIn(d.ns, i) }

// last picks a claim that was given: mostly the last one.
func (c *client) last() (given, bool) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	n := len(c.d.given)
	if n == 0 {
		return given{}, false
	}
	i := n - 1
	if c.one(3) {
		i = c.rng.IntN(n)
	}
	g := c.d.given[i]
	g.over = c.d.over[g.token.Fence]
	return g, true
}

func (c *client) try() (idem.EffectToken, bool) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if len(c.d.tries) == 0 {
		return idem.EffectToken{}, false
	}
	return c.d.tries[c.rng.IntN(len(c.d.tries))], true
}
