package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// trip is one round trip: what is decided is written, what is not is read, all in one
// implicit transaction. Its results count only when the whole batch has been closed
// without an error: a failed commit shows up nowhere else.
type trip struct {
	s  *Store
	ep epochs

	tuned   bool // the connection needs no settings, and its cluster is known
	now     idem.Instant
	healthy bool // the epoch's cluster and timeline are the ones at hand
	halted  bool

	firsts []*item // written by first.sql
	steps  []*item // written by step.sql
	others []*item // written by apply.sql
	reads  []*item

	spoilt map[idem.ID]error

	won    map[idem.ID]grantRow
	went   map[idem.ID]grantRow
	wrote  []grantRow // by command of apply.sql, zero where it missed
	loaded *world
}

// grantRow is what a write tells: the fence that it drew and its moment.
type grantRow struct {
	ok       bool
	fence    int64
	at       idem.Instant
	extended idem.Instant
	xid      int64 // of the transaction, as the database's own log and snapshots name it
}

// identified marks a connection whose cluster was the epoch's.
const identified = "idemsvc.identified"

// trip carries out one round trip for the open items.
func (s *Store) trip(ctx context.Context, items []*item) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	known := conn.Conn().PgConn().CustomData()
	t := &trip{s: s, ep: s.epochNow(), tuned: s.tuned && known[identified] != nil}
	t.sort(items)
	b := &pgx.Batch{}
	t.queue(b)
	sent := time.Now()
	if err := s.sendOn(ctx, conn, b); err != nil {
		return err
	}
	if t.healthy {
		known[identified] = true
	}
	if t.now != 0 && s.clock.set(t.now, sent, time.Now()) {
		epoch, err := s.raiseEpoch(ctx, true)
		s.log.WarnContext(ctx, "the database's clock jumped; a new epoch of fences began", "epoch", epoch)
		if err != nil {
			return err
		}
	}
	if !t.healthy && !t.halted {
		return t.newEpoch(ctx)
	}
	if t.halted {
		t.refuse()
	}
	t.finish(ctx)
	return nil
}

// sort says which items write and which read on this trip. Two writes of one row never
// meet in a trip: the later one reads what the first one wrote, and is decided on that.
func (t *trip) sort(items []*item) {
	used := map[idem.ID]bool{}
	for _, it := range items {
		if it.dec == nil {
			t.reads = append(t.reads, it)
			continue
		}
		rows := rowsOf(it.dec)
		clash := false
		for _, id := range rows {
			clash = clash || used[id]
		}
		if clash {
			it.dec, it.read = nil, needAll
			t.reads = append(t.reads, it)
			continue
		}
		for _, id := range rows {
			used[id] = true
		}
		switch it.way {
		case byFirst:
			t.firsts = append(t.firsts, it)
		case byStep:
			t.steps = append(t.steps, it)
		case byApply:
			t.others = append(t.others, it)
		}
	}
}

func rowsOf(d *idem.Decision) []idem.ID {
	rows := make([]idem.ID, 0, 4)
	if d.Event != nil {
		rows = append(rows, d.Event.New.ID())
	}
	for _, w := range d.Owners {
		rows = append(rows, w.New.ID())
	}
	for _, w := range d.Resources {
		rows = append(rows, w.New.Key.ID())
	}
	for _, w := range d.Effects {
		rows = append(rows, w.New.ID())
	}
	return rows
}

// queue puts the statements of the trip into the batch.
func (t *trip) queue(b *pgx.Batch) {
	t.begin(b)
	t.place(b)
	t.writeFirsts(b)
	t.writeSteps(b)
	t.writeOthers(b)
	t.grants(b)
	t.acquisitions(b)
	t.payloads(b)
	if len(t.reads) > 0 {
		t.loaded = newWorld(t, t.reads)
		t.loaded.queue(b)
	}
}

// begin says how the batch runs, and reads the time and the epoch. Where all that is known
// and nothing is read, it is left out: the statements that write look at the epoch
// themselves, and write nothing when anything is wrong with it. Whoever misses comes back on
// a trip that says what.
func (t *trip) begin(b *pgx.Batch) {
	if t.brief() {
		t.healthy = true
		return
	}
	sql, settings := sqlBegin, 8
	if t.tuned {
		sql, settings = sqlBeginTuned, 0
	}
	b.Queue(sql).QueryRow(func(row pgx.Row) error {
		var isolation string
		var now, started time.Time
		err := row.Scan(append(make([]any, settings), &isolation, &now, &t.ep.epoch, &started, &t.halted, &t.healthy)...)
		if err != nil {
			return err
		}
		if isolation != "read committed" {
			return errIsolation(isolation)
		}
		t.now, t.ep.started = idem.InstantOf(now), idem.InstantOf(started)
		t.s.setEpoch(t.ep)
		return nil
	})
}

// brief reports whether the trip only writes, and nothing that has missed before, on a
// connection that is known.
func (t *trip) brief() bool {
	if !t.tuned || len(t.reads) > 0 {
		return false
	}
	for _, list := range [][]*item{t.firsts, t.steps, t.others} {
		for _, it := range list {
			if it.misses > 0 {
				return false
			}
		}
	}
	return true
}

func (t *trip) scanEvents(rows pgx.Rows, into map[idem.ID]*idem.Event) error {
	defer rows.Close()
	for rows.Next() {
		e, err := scanEvent(rows, t.ep)
		switch {
		case err == nil:
			into[e.ID()] = e
		case e != nil:
			t.spoil(e.ID(), err)
		default:
			return err
		}
	}
	return rows.Err()
}

// spoil notes that a record cannot be read. Whoever needs it fails, and nobody else.
func (t *trip) spoil(id idem.ID, err error) {
	if t.spoilt == nil {
		t.spoilt = map[idem.ID]error{}
	}
	t.spoilt[id] = fmt.Errorf("record %v cannot be read: %w", id, err)
}

// newEpoch raises the epoch and leaves every item to the next trip: nothing was written.
func (t *trip) newEpoch(ctx context.Context) error {
	epoch, err := t.s.raiseEpoch(ctx, false)
	if err != nil {
		return err
	}
	if epoch != 0 {
		t.s.log.WarnContext(ctx, "a new epoch of fences began: the database's cluster or timeline changed", "epoch", epoch)
	}
	for _, list := range [][]*item{t.firsts, t.steps, t.others} {
		for _, it := range list {
			it.dec, it.read = nil, needAll
		}
	}
	return nil
}

// refuse answers all writes of a database that turned out to be an older copy of itself.
func (t *trip) refuse() {
	err := fmt.Errorf("%w: begin a new epoch with «idemsvc migrate new-epoch»", storage.ErrRestored)
	for _, list := range [][]*item{t.firsts, t.steps, t.others} {
		finishAll(list, err)
	}
	t.firsts, t.steps, t.others = nil, nil, nil
}

// finish hands the results to the items.
func (t *trip) finish(ctx context.Context) {
	t.s.odds.learn(len(t.firsts)-len(t.won), len(t.won))
	for _, it := range t.firsts {
		if g := t.won[it.subject()]; g.ok {
			t.wonBy(it, g)
		} else {
			it.known() // by somebody else
		}
	}
	for _, it := range t.steps {
		if g := t.went[it.subject()]; g.ok {
			t.wonBy(it, g)
		} else {
			it.miss()
		}
	}
	for i, it := range t.others {
		if it.unseen {
			it.unseen = false
			t.s.resourceOdds.learn(btoi(!t.wrote[i].ok), btoi(t.wrote[i].ok))
		}
		if g := t.wrote[i]; g.ok {
			t.wonBy(it, g)
		} else {
			it.miss()
		}
	}
	for _, it := range t.reads {
		t.loaded.decide(ctx, it)
	}
}

// known sends a first claim of which a record exists to read that one.
func (it *item) known() {
	it.miss()
	it.read = needEvent
}

// miss sends an item whose guess failed to be read.
func (it *item) miss() {
	it.dec, it.read = nil, needAll
	it.misses++
	if it.misses > maxMisses {
		it.finish(storage.Result{Err: storage.ErrContended})
	}
}

// wonBy finishes an item that has been written and committed.
func (t *trip) wonBy(it *item, g grantRow) {
	d := it.dec
	e := d.Finish(g.at, g.fence)
	if a, ok := d.Answer.(*idem.ExtendAnswer); ok && g.extended != 0 {
		a.LeaseUntil = g.extended // another replica may have extended it further
	}
	t.s.remember(it, e, g)
	if d.Err != nil {
		it.finish(storage.Result{Err: d.Err, TxID: g.xid}) // a late report has been noted
		return
	}
	it.finish(storage.Result{Answer: d.Answer, TxID: g.xid})
}

// remember keeps what was written as the next guess; e is the event's record.
func (s *Store) remember(it *item, e *idem.Event, g grantRow) {
	d := it.dec
	if e != nil {
		s.events.put(d.Event.New.ID(), guessable(e))
		s.offer(e)
	}
	for _, w := range d.Owners {
		s.events.put(w.New.ID(), guessable(w.Apply(g.at, g.fence)))
	}
	for _, w := range d.Resources {
		r := w.Apply(g.at, g.fence)
		s.resources.put(r.Key.ID(), r)
	}
	var effects []*idem.Effect
	for _, w := range d.Effects {
		f := w.Apply(g.at)
		effects = append(effects, f)
		if f.State == idem.EffectBegun {
			s.effects.put(f.ID(), f)
		} else {
			s.effects.drop(f.ID())
		}
	}
	s.noteEffects(d, e, it.begun, effects)
}

// guessable is a record that the next command may be decided on; nil where it must be read.
func guessable(e *idem.Event) *idem.Event {
	if e.State == idem.Processing {
		return e
	}
	return nil
}

func nothing(pgconn.CommandTag) error { return nil }

// send carries out a batch in one implicit transaction. Only a nil error means that all
// of it was committed.
func (s *Store) send(ctx context.Context, b *pgx.Batch) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return s.sendOn(ctx, conn, b)
}

func (s *Store) sendOn(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch) error {
	err := conn.SendBatch(ctx, b).Close()
	if err != nil && stale(err) {
		// A server that went away, or became a standby, serves nobody on the connections
		// at hand: the pool makes new ones.
		s.pool.Reset()
	}
	return err
}
