package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
	"github.com/idemsvc/idemsvc/storage"
)

// world is what a trip reads for the items that it could not guess.
type world struct {
	t     *trip
	items []*item

	bucket, deepBucket []int16
	id, deepID         [][16]byte // events to read; those to read with all that hangs on them
	resource, effect   [][16]byte // named
	memberBucket       []int16
	memberResource     [][16]byte
	memberEpoch        []int64
	memberOwn          []int64
	memberStart        []int64
	signal             [][16]byte // resources whose signals are asked for

	events    map[idem.ID]*idem.Event
	resources map[idem.ID]*idem.Resource
	owners    map[idem.ID]*idem.Event
	effects   map[idem.ID]*idem.Effect
	ofEvent   map[idem.ID][]*idem.Effect
	attempts  map[idem.ID][]idem.Attempt
	members   map[idem.ID][]idem.MemberEvent
	signals   map[idem.ID]*idem.Event
}

func newWorld(t *trip, items []*item) *world {
	w := &world{
		t: t, items: items,
		events: map[idem.ID]*idem.Event{}, resources: map[idem.ID]*idem.Resource{}, owners: map[idem.ID]*idem.Event{},
		effects: map[idem.ID]*idem.Effect{}, ofEvent: map[idem.ID][]*idem.Effect{},
		attempts: map[idem.ID][]idem.Attempt{}, members: map[idem.ID][]idem.MemberEvent{}, signals: map[idem.ID]*idem.Event{},
	}
	for _, it := range items {
		w.ask(it)
	}
	return w
}

// ask gathers what one item needs.
func (w *world) ask(it *item) {
	if id := it.subject(); !id.IsZero() {
		w.bucket = append(w.bucket, id.Bucket())
		w.id = append(w.id, id)
		if it.read == needAll {
			w.deepBucket = append(w.deepBucket, id.Bucket())
			w.deepID = append(w.deepID, id)
		}
	}
	if it.order != nil {
		id := it.order.Resource.ID()
		w.resource = append(w.resource, id)
		w.askMembers(it, id)
	}
	if id, ok := idem.EffectOf(it.cmd); ok {
		w.effect = append(w.effect, id)
	}
	if !it.signal.IsZero() && it.misses == 0 { // those of a first try: it must not fail for their sake
		w.signal = append(w.signal, it.signal)
	}
}

func (w *world) askMembers(it *item, id idem.ID) {
	o := it.order
	if _, receipt := it.cmd.(*idem.Receive); receipt || o.Mode != idem.Sequential {
		return
	}
	w.memberBucket = append(w.memberBucket, id.Bucket())
	w.memberResource = append(w.memberResource, id)
	w.memberEpoch = append(w.memberEpoch, o.Version.Epoch)
	w.memberOwn = append(w.memberOwn, o.Version.Value)
	w.memberStart = append(w.memberStart, w.t.s.policyOf(it, nil).StartAt)
}

// queue puts the reads into the batch.
func (w *world) queue(b *pgx.Batch) {
	if len(w.id) > 0 {
		b.Queue(sqlReadEvents, w.bucket, w.id).Query(func(rows pgx.Rows) error {
			return w.t.scanEvents(rows, w.events)
		})
	}
	if len(w.deepID) > 0 {
		b.Queue(sqlReadAttempts, w.deepBucket, w.deepID).Query(w.scanAttempts)
	}
	if len(w.memberResource) > 0 { // before the resource, so that none is passed over that was applied meanwhile
		b.Queue(sqlReadMembers, w.memberBucket, w.memberResource, w.memberEpoch, w.memberOwn, w.memberStart).Query(w.scanMembers)
	}
	if len(w.deepID) > 0 || len(w.resource) > 0 {
		b.Queue(sqlReadResources, w.resource, w.deepBucket, w.deepID).Query(w.scanResources)
		b.Queue(sqlReadOwners, w.resource, w.deepBucket, w.deepID).Query(func(rows pgx.Rows) error {
			return w.t.scanEvents(rows, w.owners)
		})
	}
	if len(w.signal) > 0 {
		b.Queue(sqlReadSignals, w.signal, idem.MaxFold).Query(func(rows pgx.Rows) error {
			return w.t.scanEvents(rows, w.signals)
		})
	}
	if len(w.deepID) > 0 || len(w.effect) > 0 {
		b.Queue(sqlReadEffects, w.effect, w.deepID).Query(w.scanEffects)
	}
}

func (w *world) scanAttempts(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		a, err := scanAttempt(rows)
		if errors.Is(err, tlv.ErrCorrupt) {
			w.t.spoil(a.Event, err)
			continue
		}
		if err != nil {
			return err
		}
		w.attempts[a.Event] = append(w.attempts[a.Event], a)
	}
	return rows.Err()
}

func (w *world) scanResources(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		r, err := scanResource(rows)
		if err != nil {
			return err
		}
		w.resources[r.Key.ID()] = r
	}
	return rows.Err()
}

func (w *world) scanEffects(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		f, err := scanEffect(rows)
		if errors.Is(err, tlv.ErrCorrupt) {
			w.t.spoil(f.ID(), err)
			w.t.spoil(f.Event, err)
			continue
		}
		if err != nil {
			return err
		}
		w.effects[f.ID()] = f
		if !f.Event.IsZero() {
			w.ofEvent[f.Event] = append(w.ofEvent[f.Event], f)
		}
	}
	return rows.Err()
}

func (w *world) scanMembers(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		m, err := scanMember(rows, w.t.ep, w.t.now, w.t.s.policies)
		if err != nil {
			return err
		}
		w.members[m.Resource] = append(w.members[m.Resource], m)
	}
	return rows.Err()
}

// shallow reports whether an event's record alone is enough to decide the command.
func shallow(c idem.Command, e *idem.Event) bool {
	if _, receipt := c.(*idem.Receive); receipt {
		return true
	}
	if e.Effects > 0 || len(e.Lanes) > 0 || e.Ordering != nil || e.Total > 1 {
		return false
	}
	if claim, ok := c.(*idem.Claim); ok {
		return claim.Ordering == nil
	}
	return true
}

// decide decides one item on what was read, or asks for more.
func (w *world) decide(ctx context.Context, it *item) {
	s := w.t.s
	if err := w.t.spoiltFor(it); err != nil {
		it.finish(storage.Result{Err: err})
		return
	}
	e := w.events[it.subject()]
	if it.blind {
		it.blind = false
		s.odds.learn(btoi(e != nil), btoi(e == nil))
		if e != nil {
			s.events.put(it.id, nil)
		}
	}
	if it.read == needEvent && e != nil && !shallow(it.cmd, e) {
		it.read = needAll
		return
	}
	if _, claim := it.cmd.(*idem.Claim); claim && e != nil && e.Ordering != nil && !sameOrder(it.order, e.Ordering) {
		it.order, it.read = e.Ordering, needAll // the record's own ordering decides: read its resource
		return
	}
	if it.signal.IsZero() && it.misses == 0 {
		if it.signal = signalOf(it.cmd, e); !it.signal.IsZero() {
			it.read = needAll // with the others about its resource
			return
		}
	}
	world := s.worldOf(it, w.t, e)
	world.Signals = w.signalsOf(it)
	world.Effects = w.ofEvent[it.subject()]
	world.Resources = w.resources
	world.Owners = w.owners
	world.Past = past(it.cmd, w.attempts[it.subject()])
	var r *idem.Resource
	if it.order != nil {
		r = w.resources[it.order.Resource.ID()]
		if it.unseen {
			it.unseen = false
			known := r != nil && r.Version > 0
			s.resourceOdds.learn(btoi(known), btoi(!known))
		}
		world.Members = between(w.members[it.order.Resource.ID()], it.order.Version, r)
	}
	if id, ok := idem.EffectOf(it.cmd); ok {
		world.Effect = w.effects[id]
	}
	if !it.torn && (e != nil && (tornResource(e, r) || tornEffect(e, world.Effect)) || w.tornMembers(it, r, world.Members)) {
		it.torn, it.read = true, needAll // seen again, it is so
		return
	}
	s.decide(it, world)
	s.suspect(ctx, it, e)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// spoiltFor is the error of a record that the item names and that cannot be read.
func (t *trip) spoiltFor(it *item) error {
	if err := t.spoilt[it.subject()]; err != nil {
		return err
	}
	if id, ok := idem.EffectOf(it.cmd); ok {
		return t.spoilt[id]
	}
	return nil
}

// between are the members that one version asks about: others of the same resource may
// have been read for other items of the trip.
func between(list []idem.MemberEvent, v idem.Version, r *idem.Resource) []idem.MemberEvent {
	return slices.DeleteFunc(slices.Clone(list), func(m idem.MemberEvent) bool {
		passed := r != nil && r.Applied && r.Epoch == m.Epoch && m.Value <= r.Value && m.Value < v.Value
		return m.Epoch != v.Epoch || m.Value > v.Value || passed
	})
}

func sameOrder(a, b *idem.Ordering) bool {
	return a != nil && a.Resource == b.Resource && a.Version == b.Version && a.Mode == b.Mode
}

// past is the earlier attempt that a token or a claimant names.
func past(c idem.Command, list []idem.Attempt) *idem.Attempt {
	if c, ok := c.(*idem.Claim); ok {
		var undelivered *idem.Attempt
		for i := range list {
			if list[i].Claimant == c.Claimant {
				if list[i].End != idem.EndUndelivered {
					return &list[i]
				}
				undelivered = &list[i]
			}
		}
		return undelivered
	}
	t := idem.TokenOf(c)
	if t == nil {
		return nil
	}
	for i := range list {
		if list[i].Fence == t.Fence {
			return &list[i]
		}
	}
	return nil
}

// worldOf is the world of an item with nothing but its event's record.
func (s *Store) worldOf(it *item, t *trip, e *idem.Event) *idem.World {
	w := &idem.World{Now: t.now, Event: e, EpochStart: s.epochStart(), Policies: s.policyOfEvent}
	if a, ok := idem.ArrivalOf(it.cmd); ok {
		w.SeenVerified = s.sources.verified(a.Key)
	}
	return w
}

// suspect looks closer at a lost token whose fence is higher than its record's: nothing
// but an older copy of the database explains it, or a record that was purged.
func (s *Store) suspect(ctx context.Context, it *item, e *idem.Event) {
	var lost *idem.Error
	if !it.done || !errors.As(it.result.Err, &lost) || lost.Code != idem.CodeClaimLost {
		return
	}
	t := idem.TokenOf(it.cmd)
	if t == nil || (e != nil && e.Fence >= t.Fence) {
		return
	}
	halted, err := s.tooHigh(ctx, t.Fence)
	switch {
	case err != nil:
		it.finish(storage.Result{Err: err})
	case halted:
		it.finish(storage.Result{Err: storage.ErrRestored})
	}
}
