// Package memory is a [storage.Backend] that forgets: everything lives in maps under
// one mutex and ends with the process. It runs the same rules as the PostgreSQL
// store, which makes it the backend of fast tests, of examples, and the oracle of the
// model test.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// fenceBits is the room for the counter below the epoch: fence = epoch·2^41 + n.
const fenceBits = 41

// maxMembers bounds the members of a sequential series that one decision looks at.
const maxMembers = 1000

// Options tune a [Store]. The zero value takes the defaults.
type Options struct {
	// Clock is the store's one clock; default the system's.
	Clock func() idem.Instant
	// Policy finds the rules for an event key and type; a command about no event asks
	// with the parts of the key that it names. Default: as applied by ApplyPolicies, else
	// [idem.DefaultPolicy].
	Policy func(key idem.EventKey, eventType string) *idem.Policy
}

// Store keeps records in memory. All methods are safe for concurrent use; nothing
// that goes in or comes out shares memory with what is stored.
type Store struct {
	clock  func() idem.Instant
	policy func(key idem.EventKey, eventType string) *idem.Policy
	secret []byte

	mu         sync.Mutex
	epoch      int64
	epochStart idem.Instant
	drawn      int64 // fences drawn in this epoch's life and before

	events     map[idem.ID]*idem.Event
	running    map[idem.ID]bool         // events of which a claim is live or was when it was last written
	stored     map[string][]idem.ID     // events of each namespace, and of all under "", oldest first
	entered    map[idem.ID]idem.Instant // when each event came into the state that it is stored in
	attempts   map[idem.ID][]idem.Attempt
	effects    map[idem.ID]*idem.Effect
	under      map[idem.ID]map[idem.ID]bool // effects ever begun or recorded under an event
	resources  map[idem.ID]*idem.Resource
	members    map[idem.ID][]idem.Member // by resource, ordered by epoch, value and event
	verified   map[source]bool
	payloads   map[idem.ID][]byte // by event ref
	deliveries map[idem.ID][]storage.Delivery
	runs       map[runKey]storage.ReplayRun
	journal    []idem.Entry

	policies map[string][]storage.PolicySet // of each namespace, all versions
	book     atomic.Pointer[idem.Rulebook]

	changed map[idem.ID]idem.Instant // when a resource last was
	removed storage.Retention

	inbox inbox
}

type source struct{ namespace, name string }

var _ storage.Backend = (*Store)(nil)

// New makes an empty store.
func New(o Options) *Store {
	s := &Store{
		clock: o.Clock, policy: o.Policy, secret: make([]byte, 32), epoch: 1,
		events: map[idem.ID]*idem.Event{}, running: map[idem.ID]bool{}, stored: map[string][]idem.ID{}, entered: map[idem.ID]idem.Instant{}, attempts: map[idem.ID][]idem.Attempt{},
		effects: map[idem.ID]*idem.Effect{}, under: map[idem.ID]map[idem.ID]bool{}, resources: map[idem.ID]*idem.Resource{}, members: map[idem.ID][]idem.Member{},
		verified: map[source]bool{}, payloads: map[idem.ID][]byte{}, deliveries: map[idem.ID][]storage.Delivery{},
		policies: map[string][]storage.PolicySet{}, changed: map[idem.ID]idem.Instant{}, runs: map[runKey]storage.ReplayRun{}, inbox: newInbox(),
	}
	s.book.Store(idem.NewRulebook())
	if s.clock == nil {
		s.clock = func() idem.Instant { return idem.InstantOf(time.Now()) }
	}
	if s.policy == nil {
		s.policy = func(key idem.EventKey, eventType string) *idem.Policy { return s.book.Load().Policy(key, eventType) }
	}
	_, _ = rand.Read(s.secret) // never fails: the runtime ends the process instead
	return s
}

// Apply implements [storage.Backend]. Commands happen one after the other, each at an
// instant of its own.
func (s *Store) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	out := make([]storage.Result, len(batch))
	for i, c := range batch {
		if err := ctx.Err(); err != nil {
			out[i].Err = err
			continue
		}
		out[i] = s.apply(c)
	}
	return out
}

func (s *Store) apply(c idem.Command) storage.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	p := s.policyOf(c)
	w := s.world(c, p, now)
	d := idem.Decide(w, c, p)
	if d.Reread {
		return storage.Result{Err: fmt.Errorf("memory: %T was not decided on exact records", c)}
	}
	var fence int64
	if d.Draws() {
		s.drawn++
		fence = s.epoch<<fenceBits + s.drawn
	}
	s.write(&d, now, fence)
	s.inbox.tell(&d)
	d.Finish(now, fence)
	if d.Err == nil {
		s.arrived(c, &d, now)
	}
	if d.Err != nil {
		return storage.Result{Err: d.Err}
	}
	return storage.Result{Answer: d.Answer}
}

// write stores all that a decision changes.
func (s *Store) write(d *idem.Decision, now idem.Instant, fence int64) {
	for _, w := range d.Owners {
		s.putEvent(w.Apply(now, 0), now)
	}
	if d.Event != nil {
		s.putEvent(d.Event.Apply(now, fence), now)
	}
	for _, w := range d.Resources {
		r := cloneResource(w.Apply(now, fence))
		s.resources[r.Key.ID()], s.changed[r.Key.ID()] = r, now
		s.inbox.touch(r.Key.ID())
	}
	for _, w := range d.Effects {
		s.putEffect(cloneEffect(w.Apply(now)))
	}
	for i := range d.Attempts {
		a := cloneAttempt(&d.Attempts[i])
		s.attempts[a.Event] = append(s.attempts[a.Event], a)
	}
	if d.Member != nil {
		s.putMember(*d.Member)
	}
	for i := range d.Entries {
		s.journal = append(s.journal, cloneEntry(&d.Entries[i]))
	}
}

func (s *Store) putEvent(e *idem.Event, now idem.Instant) {
	id := e.ID()
	old := s.events[id]
	if old == nil || old.State != e.State {
		s.entered[id] = now
	}
	if old == nil {
		s.stored[""] = append(s.stored[""], id)
		if ns := e.Key.Namespace; ns != "" {
			s.stored[ns] = append(s.stored[ns], id)
		}
	}
	s.events[id] = cloneEvent(e)
	s.inbox.put(e)
	if e.State == idem.Processing {
		s.running[id] = true
	} else {
		delete(s.running, id)
	}
}

// Sweep writes down what the end of leases means, and returns how many claims it
// settled. No answer depends on it: it is what makes the end visible.
func (s *Store) Sweep(ctx context.Context) int {
	s.mu.Lock()
	now := s.clock()
	var over []idem.Command
	for id := range s.running {
		if s.events[id].LeaseUntil <= now {
			over = append(over, &idem.Settle{Event: id})
		}
	}
	s.mu.Unlock()
	settled := 0
	for _, r := range s.Apply(ctx, over) {
		if a, ok := r.Answer.(*idem.EndAnswer); ok && !a.Already {
			settled++
		}
	}
	return settled
}

func (s *Store) putEffect(f *idem.Effect) {
	id := f.ID()
	s.effects[id] = f
	if f.Event.IsZero() {
		return
	}
	if s.under[f.Event] == nil {
		s.under[f.Event] = map[idem.ID]bool{}
	}
	s.under[f.Event][id] = true
}

// putMember keeps the members of a resource ordered by epoch, value and event; one event
// is one member of a version.
func (s *Store) putMember(m idem.Member) {
	all := s.members[m.Resource]
	at, known := slices.BinarySearchFunc(all, m, func(a, b idem.Member) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Value, b.Value), bytes.Compare(a.Event[:], b.Event[:]))
	})
	if !known {
		s.members[m.Resource] = slices.Insert(all, at, m)
	}
}

// arrived remembers what a delivery brought beside its record: that the source signs, the
// payload, and the delivery itself when it was not the first but was granted. Of an
// acquisition it remembers what it was granted.
func (s *Store) arrived(c idem.Command, d *idem.Decision, now idem.Instant) {
	a, ok := idem.ArrivalOf(c)
	if !ok {
		s.acquire(c, d)
		return
	}
	claim, _ := d.Answer.(*idem.ClaimAnswer)
	receipt, _ := d.Answer.(*idem.ReceiveAnswer)
	if claim != nil && claim.Outcome == idem.OutcomeRejected || receipt != nil && receipt.Outcome == idem.ReceiveRejected {
		return
	}
	if a.Facts.Signature == idem.Verified || a.Facts.Signature == idem.VerifiedLate {
		s.verified[source{a.Key.Namespace, a.Key.Source}] = true
	}
	fresh := claim != nil && claim.Fresh || receipt != nil && receipt.Fresh
	if _, stored := s.payloads[a.Key.EventRef.ID()]; a.Payload != nil && !stored && fresh {
		s.payloads[a.Key.EventRef.ID()] = append([]byte{}, a.Payload...)
	}
	if c, ok := c.(*idem.Claim); ok && claim != nil && claim.Granted && !claim.Fresh {
		x := storage.DeliveryOf(c, claim)
		x.RecordedAt = now
		s.putDelivery(x)
	}
}

// RecordDeliveries implements [storage.Backend].
func (s *Store) RecordDeliveries(ctx context.Context, batch []storage.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for _, d := range batch {
		d.RecordedAt = now
		s.putDelivery(d)
	}
	return nil
}

func (s *Store) putDelivery(d storage.Delivery) {
	for i := range s.deliveries[d.Event] {
		if s.deliveries[d.Event][i].Identity == d.Identity {
			return
		}
	}
	s.deliveries[d.Event] = append(s.deliveries[d.Event], cloneDelivery(&d))
}

// Clock implements [storage.Backend].
func (s *Store) Clock() idem.Instant { return s.clock() }

// Secret implements [storage.Backend]: 32 random bytes made with the store.
func (s *Store) Secret(context.Context) ([]byte, error) { return append([]byte(nil), s.secret...), nil }

// Journal is all entries in their order.
func (s *Store) Journal() []idem.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]idem.Entry, len(s.journal))
	for i := range s.journal {
		out[i] = cloneEntry(&s.journal[i])
	}
	return out
}

// SetEpoch begins a new epoch now, as after a restored backup or a promoted standby:
// claims of older epochs get their whole lease again. An epoch that is not above the
// current one is ignored.
func (s *Store) SetEpoch(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch <= s.epoch {
		return
	}
	s.epoch, s.epochStart = epoch, s.clock()
	for _, e := range s.events {
		if e.LeaseUntil != 0 {
			e.LeaseUntil = max(e.LeaseUntil, s.epochStart.Add(e.Lease))
		}
	}
}
