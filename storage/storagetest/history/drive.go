package history

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Options say what [Drive] does. The zero value is a short run on few keys.
type Options struct {
	Seed      uint64 // 0: one of the clock's, printed by the test
	Workers   int    // default 8
	Steps     int    // calls of each worker; default 200
	Events    int    // event keys in use at a time; old ones give way to new ones; default 4
	Resources int    // default 2
	Effects   int    // default 2
	Namespace string // default "history"; a store that is used twice needs another

	// Max is the number of attempts that the store's policy allows in a round; 0 leaves
	// attempts unjudged.
	Max int32
	// Operators adds decisions of operators and replays.
	Operators bool
	// Pass lets time pass in the store by the given time, and is called now and then; nil
	// for a store whose clock is the world's.
	Pass func(d time.Duration)
	// Reader reads what is stored in the end; nil leaves it unjudged.
	Reader storage.Reader
}

func (o *Options) defaults() {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Workers, 8)
	set(&o.Steps, 200)
	set(&o.Events, 4)
	set(&o.Resources, 2)
	set(&o.Effects, 2)
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number is a seed
	}
	if o.Namespace == "" {
		o.Namespace = "history"
	}
}

// Drive lets concurrent workers do random things to few keys through apply, and records
// what they are answered. The seed is printed: with it each worker makes the same choices
// again, as far as the answers are the same.
func Drive(t testing.TB, apply func(ctx context.Context, c idem.Command) storage.Result, o Options) History {
	t.Helper()
	o.defaults()
	t.Logf("history seed %d", o.Seed)
	d := &driver{o: o, rec: NewRecorder(apply)}
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range o.Workers {
		w := &worker{d: d, id: i, rng: rand.New(rand.NewPCG(o.Seed, uint64(i)))} //nolint:gosec // choices, not secrets
		wg.Go(func() {
			for range o.Steps {
				w.step(ctx)
			}
		})
	}
	wg.Wait()
	h := d.rec.History()
	h.Max = o.Max
	if o.Reader != nil {
		for i := range d.last() + 1 {
			k := d.key(i)
			found, err := o.Reader.Events(ctx, k.Namespace, k.Source, k.EventID)
			if err != nil {
				t.Fatalf("reading the final records: %v", err)
			}
			h.Final = append(h.Final, found.Views...)
		}
	}
	return h
}

// driver is what the workers share: claims and tries that anybody may use, as zombies do.
type driver struct {
	o   Options
	rec *Recorder

	steps atomic.Int64

	mu     sync.Mutex
	claims []owned
	tries  []idem.EffectToken
}

type owned struct {
	token    idem.Token
	claimant string
	event    int
}

const (
	remembered = 24 // claims and tries that stay in use
	turn       = 40 // calls after which one event key gives way to a new one
)

// first and last are the event keys in use.
func (d *driver) first() int { return int(d.steps.Load()) / turn }
func (d *driver) last() int  { return d.first() + d.o.Events - 1 }

func (d *driver) key(i int) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: d.o.Namespace, Source: "src", EventID: fmt.Sprintf("e%d", i)}, Consumer: "worker"}
}

// ordering is the version that an event carries: events share resources, and later events
// carry later versions.
func (d *driver) ordering(resource int, version int64) *idem.Ordering {
	return &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: d.o.Namespace, Consumer: "worker", Type: "thing", Name: fmt.Sprintf("r%d", resource)},
		Version:  idem.Version{Kind: idem.Sequence, Value: version},
		Mode:     idem.LatestWins,
	}
}

type worker struct {
	d   *driver
	id  int
	rng *rand.Rand
	n   int // of the worker's own names
}

func (w *worker) name(what string) string {
	w.n++
	return fmt.Sprintf("%s-%d-%d", what, w.id, w.n)
}

func (w *worker) nonce() (id idem.ID) {
	binary.BigEndian.PutUint64(id[:8], w.rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], w.rng.Uint64())
	return id
}

// claim picks a claim that was given to anybody: mostly one of the last.
func (w *worker) claim() (owned, bool) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	n := len(w.d.claims)
	if n == 0 {
		return owned{}, false
	}
	if w.rng.IntN(3) > 0 {
		n = min(n, w.d.o.Events)
	}
	return w.d.claims[len(w.d.claims)-1-w.rng.IntN(n)], true
}

func (w *worker) try() (idem.EffectToken, bool) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if len(w.d.tries) == 0 {
		return idem.EffectToken{}, false
	}
	return w.d.tries[w.rng.IntN(len(w.d.tries))], true
}

func keep[T any](list []T, v T) []T {
	list = append(list, v)
	if len(list) > remembered {
		list = append([]T(nil), list[1:]...)
	}
	return list
}

// step does one random thing.
func (w *worker) step(ctx context.Context) {
	w.d.steps.Add(1)
	c := w.command()
	if c == nil {
		return
	}
	res := w.d.rec.Do(ctx, c)
	if w.rng.IntN(6) == 0 {
		res = w.d.rec.Do(ctx, c) // a client that did not hear the answer asks again
	}
	switch a := res.Answer.(type) {
	case *idem.ClaimAnswer:
		if a.Outcome == idem.OutcomeClaimed {
			cmd := c.(*idem.Claim) //nolint:errcheck // the answer follows the command
			tok := idem.Token{Namespace: cmd.Key.Namespace, Consumer: cmd.Key.Consumer, Event: cmd.Key.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce}
			var ev int
			if _, err := fmt.Sscanf(cmd.Key.EventID, "e%d", &ev); err != nil {
				return
			}
			w.d.mu.Lock()
			w.d.claims = keep(w.d.claims, owned{tok, cmd.Claimant, ev})
			w.d.mu.Unlock()
		}
	case *idem.EffectAnswer:
		if a.Verdict == idem.EffectPerform {
			w.d.mu.Lock()
			w.d.tries = keep(w.d.tries, a.Token)
			w.d.mu.Unlock()
		}
	}
}

// command makes a random command, nil for a step in which nothing is asked.
func (w *worker) command() idem.Command {
	g, have := w.claim()
	switch n := w.rng.IntN(100); {
	case n < 30 || !have:
		return w.newClaim(g, have)
	case n < 42:
		return &idem.Complete{Token: g.token, Result: []byte(w.name("result")), AllowUnknown: w.rng.IntN(2) == 0}
	case n < 50:
		kind := idem.Retryable
		switch w.rng.IntN(8) {
		case 0:
			kind = idem.Terminal
		case 1:
			kind = idem.NotYet
		}
		return &idem.Fail{Token: g.token, Error: idem.Failure{Kind: kind, Code: "X", Message: w.name("failure")}, Draw: w.rng.Float64()}
	case n < 55:
		return &idem.Extend{Token: g.token, Lease: time.Duration(1+w.rng.IntN(3)) * time.Second}
	case n < 59:
		return &idem.Release{Token: g.token, Undelivered: w.rng.IntN(3) == 0}
	case n < 68:
		tok := g.token
		return &idem.Check{Token: &tok, Ordering: *w.d.ordering(w.rng.IntN(w.d.o.Resources), int64(g.event)+w.rng.Int64N(4))}
	case n < 80:
		return w.begin(g)
	case n < 90:
		return w.report()
	case n < 92:
		tok := g.token
		return &idem.RecordEffect{Token: &tok, Key: w.effect(), RequestHash: []byte("h"), Result: []byte(w.name("recorded"))}
	case n < 94:
		return &idem.Settle{Event: g.token.Event}
	case n < 97:
		if w.d.o.Pass != nil {
			w.d.o.Pass(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
		}
		return nil
	default:
		return w.operator(g)
	}
}

func (w *worker) newClaim(g owned, have bool) idem.Command {
	i := w.d.first() + w.rng.IntN(w.d.o.Events)
	c := &idem.Claim{Claimant: w.name("claimant"), Nonce: w.nonce(), Lease: time.Duration(1+w.rng.IntN(2)) * time.Second, Stale: idem.Reclaim}
	if have && w.rng.IntN(8) == 0 {
		i, c.Claimant = g.event, g.claimant // a repeat by a claimant, or a ghost
	}
	c.Key = w.d.key(i)
	c.Facts.Kind = idem.DeliveryKind(1 + w.rng.IntN(5)) //nolint:gosec // one of five
	if i%5 == 0 {
		c.Stale = idem.Hold
	}
	if i%2 == 0 {
		c.Ordering = w.d.ordering(i/2%w.d.o.Resources, int64(i)+1)
	}
	c.AcceptReplay = w.rng.IntN(3) == 0
	switch w.rng.IntN(6) {
	case 0, 1:
		c.Facts.RequestID = w.name("request")
		return &idem.Receive{Key: c.Key, Facts: c.Facts, Stale: c.Stale, Ordering: c.Ordering}
	case 2:
		c.Facts.Kind, c.AcceptReplay = idem.ConsumerRequeue, true
		c.Acquisition = idem.Digest("acquisition", c.Claimant)
	}
	return c
}

func (w *worker) effect() idem.EffectKey {
	return idem.EffectKey{Scope: idem.NamespaceScope, Namespace: w.d.o.Namespace, Key: fmt.Sprintf("f%d", w.d.first()/w.d.o.Effects+w.rng.IntN(w.d.o.Effects))}
}

func (w *worker) begin(g owned) idem.Command {
	tok := g.token
	c := &idem.BeginEffect{Token: &tok, Key: w.effect(), BeginID: w.name("begin"), RequestHash: []byte("h"), OnUnknown: idem.UnknownRetry, Lease: time.Second, Nonce: w.nonce()}
	if w.rng.IntN(10) == 0 {
		c.RequestHash = []byte("another")
	}
	return c
}

func (w *worker) report() idem.Command {
	tok, ok := w.try()
	if !ok {
		return nil
	}
	c := &idem.ReportEffect{Token: tok, State: idem.EffectNotDone}
	switch w.rng.IntN(5) {
	case 0:
		c.State, c.Result = idem.EffectDone, []byte(w.name("done"))
	case 1:
		c.State = idem.EffectUnknown
	}
	return c
}

func (w *worker) operator(g owned) idem.Command {
	if !w.d.o.Operators {
		return nil
	}
	r := &idem.Resolve{Event: g.token.Event, RequestID: []string{"", "d1", "d2", w.name("decision")}[w.rng.IntN(4)], Who: "op"}
	switch w.rng.IntN(5) {
	case 0:
		r.To, r.Result = idem.ResolveProcessed, []byte(w.name("decided"))
	case 1:
		r.To = idem.ResolveTerminal
	case 2:
		return &idem.Replay{Event: g.token.Event, RequestID: w.name("replay"), Who: "op"}
	default:
		r.To = idem.ResolveRetry
	}
	return r
}
