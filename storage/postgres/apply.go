package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// item is one command on its way through a batch.
type item struct {
	cmd    idem.Command
	id     idem.ID        // of its event record, zero for none
	order  *idem.Ordering // whose resource the decision needs
	dec    *idem.Decision // decided and to be written
	guess  bool           // decided on a guess
	way    way            // which statement writes it
	read   need
	misses int
	torn   bool           // its records were read while they changed, and are read again
	blind  bool           // nothing was known of its event
	begun  []*idem.Effect // read with the event that the decision is about
	unseen bool           // nor of its resource
	signal idem.ID        // the resource whose other signals end with this completion, zero for none
	done   bool
	result storage.Result
}

// need is how much must be read before an item can be decided.
type need uint8

const (
	needNothing need = iota
	needEvent        // its event record alone
	needAll          // everything that the rules may ask about
)

// maxMisses is how often an item may lose its rows before it is left to be tried alone.
const maxMisses = 4

// maxFailures is how often a batch is tried again on a new connection.
const maxFailures = 2

// Apply implements [storage.Backend].
func (s *Store) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	items := make([]*item, len(batch))
	for i, c := range batch {
		items[i] = &item{cmd: c, id: c.Subject(), order: idem.OrderingOf(c)}
		s.start(items[i])
	}
	s.run(ctx, items)
	s.vouch(ctx, items)
	out := make([]storage.Result, len(items))
	for i, it := range items {
		out[i] = it.result
	}
	return out
}

// run makes round trips until every item is done.
func (s *Store) run(ctx context.Context, items []*item) {
	failures, retries := 0, 0
	for {
		open := items[:0:0]
		for _, it := range items {
			if !it.done {
				open = append(open, it)
			}
		}
		if len(open) == 0 {
			return
		}
		err := s.tripTimed(ctx, open)
		switch classify(err) {
		case classOK:
		case classData:
			s.isolate(ctx, open, err)
			return
		case classLocked:
			if len(open) > 1 {
				s.halve(ctx, open)
				return
			}
			s.again(open, err)
		case classRetry:
			if retries++; retries > 1 && len(open) > 1 {
				s.halve(ctx, open) // it is one of them, and it does not pass
				return
			}
			s.again(open, err)
		case classAway:
			failures++
			if failures > maxFailures || ctx.Err() != nil {
				finishAll(open, outside(err))
				return
			}
			s.again(open, err)
			pause(ctx, time.Duration(failures*failures)*20*time.Millisecond)
		default:
			finishAll(open, outside(err))
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (s *Store) tripTimed(ctx context.Context, items []*item) error {
	tctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := s.trip(tctx, items)
	s.wrote.Store(true) // whatever came of it
	if err != nil && ctx.Err() == nil && errors.Is(tctx.Err(), context.DeadlineExceeded) {
		return errTimeout{err} // ours, not the caller's
	}
	return err
}

// errTimeout is a round trip that took longer than one may.
type errTimeout struct{ error }

// again makes open items read before they are decided again: what they wrote rolled
// back, or may have been committed by a connection that is gone. Nonces are drawn once
// per command, so that an item finds its own earlier success.
func (s *Store) again(items []*item, err error) {
	for _, it := range items {
		it.dec, it.read = nil, needAll
		it.misses++
		if it.misses > maxMisses {
			it.finish(storage.Result{Err: outside(err)})
		}
	}
}

// isolate finds the item that breaks its batch, or that waits for a row which a stranger
// is inserting: halves, then singles. Its neighbours succeed.
func (s *Store) isolate(ctx context.Context, items []*item, err error) {
	if len(items) == 1 {
		s.log.ErrorContext(ctx, "a command cannot be stored", "error", err)
		items[0].finish(storage.Result{Err: err})
		return
	}
	s.halve(ctx, items)
}

// halve tries the two halves of a batch apart.
func (s *Store) halve(ctx context.Context, items []*item) {
	for _, it := range items {
		it.dec, it.read, it.misses = nil, needAll, 0
	}
	half := len(items) / 2
	s.run(ctx, items[:half])
	s.run(ctx, items[half:])
}

func finishAll(items []*item, err error) {
	for _, it := range items {
		it.finish(storage.Result{Err: err})
	}
}

func (it *item) finish(r storage.Result) {
	it.done, it.result = true, r
	it.dec = nil
}

// start makes the first guess of an item, or says what must be read for it.
func (s *Store) start(it *item) {
	switch c := it.cmd.(type) {
	case *idem.Receive:
		s.guessNew(it, c.Key, s.rememberedSeries)
	case *idem.Claim:
		if !c.Acquisition.IsZero() { // there is a record
			s.guessOffered(it)
			return
		}
		s.guessNew(it, c.Key, s.guessResource)
	case *idem.Check:
		r := s.guessResource(it)
		if r == nil {
			it.read = needAll
			return
		}
		w := s.remembered(it)
		if c.Token != nil && w.Event == nil {
			it.read = needAll
			return
		}
		if w.Resources == nil {
			w.Resources = map[idem.ID]*idem.Resource{}
		}
		w.Resources[r.Key.ID()] = r
		s.guess(it, w, needAll)
	case *idem.ReportEffect:
		f, ok := s.effects.get(c.Token.Effect)
		if !ok {
			it.read = needAll
			return
		}
		s.guess(it, &idem.World{Effect: f}, needAll)
	case *idem.Settle, *idem.Resolve, *idem.Replay, *idem.ResolveEffect:
		it.read = needAll
	case *idem.BeginEffect, *idem.RecordEffect:
		w := s.remembered(it)
		if !it.subject().IsZero() && w.Event == nil {
			it.read = needAll
			return
		}
		s.guess(it, w, needAll)
	default:
		w := s.remembered(it)
		if w.Event == nil {
			it.read = needEvent
			return
		}
		it.signal = signalOf(it.cmd, w.Event)
		s.guess(it, w, needEvent)
	}
}

// guessNew guesses that nothing is known of the event that a delivery brings; resource is
// the guess for what it is ordered by, nil where that must be read.
func (s *Store) guessNew(it *item, key idem.EventKey, resource func(*item) *idem.Resource) {
	_, known := s.events.get(it.id)
	it.blind = !known
	otherwise := needEvent
	if it.order != nil {
		otherwise = needAll
	}
	if known || s.odds.high() {
		it.read = otherwise
		return
	}
	w := &idem.World{SeenVerified: s.sources.verified(key)}
	if it.order != nil {
		r := resource(it)
		if r == nil {
			it.read = needAll
			return
		}
		w.Resources = map[idem.ID]*idem.Resource{r.Key.ID(): r}
	}
	s.guess(it, w, otherwise)
}

// guessResource is the guess for the resource that an item names: its record as this
// replica wrote it last, or none where it never did and few are known to others. It is nil
// where the resource must be read.
func (s *Store) guessResource(it *item) *idem.Resource {
	if it.order.Mode == idem.Sequential {
		return nil
	}
	if r, ok := s.resources.get(it.order.Resource.ID()); ok {
		return r
	}
	it.unseen = true
	if s.resourceOdds.high() {
		return nil
	}
	return &idem.Resource{Key: it.order.Resource}
}

func (it *item) subject() idem.ID { return it.id }

// remembered is the guess for a command with a token: the record as this replica wrote
// it last.
func (s *Store) remembered(it *item) *idem.World {
	w := &idem.World{}
	e, _ := s.events.get(it.subject())
	if e == nil {
		return w
	}
	w.Event, w.Effects = e, s.effectsOf(e)
	for _, l := range e.Lanes {
		if r, ok := s.resources.get(l.Resource); ok {
			if w.Resources == nil {
				w.Resources = map[idem.ID]*idem.Resource{}
			}
			w.Resources[l.Resource] = r
		}
	}
	return w
}

// guess decides on a guess. Only what it writes counts, since the write tests it; an
// answer without a write would be the guess's own.
func (s *Store) guess(it *item, w *idem.World, otherwise need) {
	w.EpochStart = s.epochStart()
	d := s.rules(w, it.cmd, s.policyOf(it, w.Event))
	if d.Reread {
		it.read = needAll
		return
	}
	if rejected(d.Answer) { // no record is asked about it
		it.settle(&d, s.Clock())
		return
	}
	if !d.Writes() || d.Err != nil {
		it.read = otherwise
		return
	}
	if _, receipt := it.cmd.(*idem.Receive); !receipt && it.order != nil && !writesAll(&d, w.Resources) {
		it.read = needAll // it rests on a resource that the write would not test
		return
	}
	it.decided(&d, true)
}

func writesAll(d *idem.Decision, resources map[idem.ID]*idem.Resource) bool {
	for id := range resources {
		if !slices.ContainsFunc(d.Resources, func(w *idem.ResourceWrite) bool { return w.Old.Key.ID() == id }) {
			return false
		}
	}
	return true
}

func (it *item) decided(d *idem.Decision, guess bool) {
	it.dec, it.guess, it.read = d, guess, needNothing
	it.way = wayOf(d)
}

// way is the statement that writes a decision. The common ones have a statement of their
// own, since what a statement costs depends on all that it could do.
type way uint8

const (
	byApply way = iota
	byFirst     // a first claim that touches nothing else
	byStep      // one existing event record, no fence drawn
)

func wayOf(d *idem.Decision) way {
	if d.Event == nil || len(d.Resources) > 0 || len(d.Owners) > 0 || len(d.Effects) > 0 || len(d.Attempts) > 0 ||
		d.Member != nil || len(d.Entries) > 1 {
		return byApply
	}
	switch {
	case d.Event.Old == nil && d.Event.Draw && d.Event.New.State == idem.Processing && len(d.Entries) == 1:
		return byFirst
	case d.Event.Old != nil && !d.Event.Draw && d.Event.Granted == (idem.When{}):
		return byStep
	default:
		return byApply
	}
}

// settle finishes an item whose decision writes nothing.
func (it *item) settle(d *idem.Decision, now idem.Instant) {
	if d.Err != nil {
		it.finish(storage.Result{Err: d.Err})
		return
	}
	d.Finish(now, 0)
	it.finish(storage.Result{Answer: d.Answer})
}

func (s *Store) policyOfEvent(e *idem.Event) *idem.Policy { return s.policies(e.Key, e.Facts.Type) }

// policyOf is the policy for an item: that of its event's record, else that of the key
// which it names.
func (s *Store) policyOf(it *item, e *idem.Event) *idem.Policy {
	if e != nil {
		return s.policyOfEvent(e)
	}
	var key idem.EventKey
	switch c := it.cmd.(type) {
	case *idem.Claim:
		return s.policies(c.Key, c.Facts.Type)
	case *idem.Receive:
		return s.policies(c.Key, c.Facts.Type)
	case *idem.Check:
		key.Namespace, key.Consumer = c.Ordering.Resource.Namespace, c.Ordering.Resource.Consumer
	case *idem.BeginEffect:
		key.Namespace, key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.RecordEffect:
		key.Namespace, key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.ResolveEffect:
		key.Namespace, key.Consumer = c.Key.Namespace, c.Key.Consumer
	case *idem.ReportEffect:
		key.Namespace = c.Token.Namespace
	default:
		if t := idem.TokenOf(c); t != nil {
			key.Namespace, key.Consumer = t.Namespace, t.Consumer
		}
	}
	return s.policies(key, "")
}

// decide decides an item on what was read.
func (s *Store) decide(it *item, w *idem.World) {
	it.begun = w.Effects
	d := s.rules(w, it.cmd, s.policyOf(it, w.Event))
	if !d.Writes() {
		it.settle(&d, w.Now)
		return
	}
	it.decided(&d, false)
}
