// Package postgres is the store over PostgreSQL 15 and newer: it guesses what it will
// find, decides, and writes the whole batch set-wise in one implicit transaction, each
// write conditional on the guess. What did not match is read, decided again and written
// with a compare-and-set on its row version.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// Policies gives the rules in force for an event key and type.
type Policies func(key idem.EventKey, eventType string) *idem.Policy

// Options tune a [Store]. The zero value takes the defaults.
type Options struct {
	Policies Policies      // default: as applied by ApplyPolicies, else [idem.DefaultPolicy]
	Logger   *slog.Logger  // default: discarded
	Recent   int           // records remembered as guesses; default 32768
	Timeout  time.Duration // of one round trip; default 10 s
	Follow   time.Duration // pause of the reader behind the journal, four times as long while there is nothing to do; default 250 ms, negative: never
	Sweep    time.Duration // pause of the sweeper; default 1 s, negative: never
	Retain   time.Duration // least time between two looks for what is past its retention; default 10 min, negative: never; never without a sweeper

	// Settled is told of each claim whose lease's end the sweeper wrote down. It must not
	// block. Default: nobody is told.
	Settled func(*idem.EndAnswer)

	decide decider // tests decide by wrong rules; default [idem.Decide]
}

// decider is what [idem.Decide] is.
type decider func(*idem.World, idem.Command, *idem.Policy) idem.Decision

// Store implements [storage.Backend].
type Store struct {
	pool     *pgxpool.Pool
	policies Policies
	rules    decider
	log      *slog.Logger
	timeout  time.Duration
	settled  func(*idem.EndAnswer)
	tuned    bool // the pool's connections have been set up by Tune

	ownPolicies bool // by a function, not as applied

	events    *recent[*idem.Event] // nil: there is a record, and it must be read
	resources *recent[*idem.Resource]
	effects   *recent[*idem.Effect]
	begun     *recent[begun]
	offered   *recent[*idem.Event] // that workers may be granted next, see [Store.offer]
	odds      odds                 // of claims whose event is known already

	resourceOdds odds // of resources that are

	epMu    sync.Mutex
	ep      epochs
	sources sources
	book    rulebook
	takes   takes
	clock   clock
	wrote   atomic.Bool // since the reader behind the journal looked last

	stop context.CancelFunc
	wg   sync.WaitGroup
}

var _ storage.Backend = (*Store)(nil)

// Open starts a store over a pool whose database has been migrated. Close ends it; the
// pool stays open and is the caller's.
func Open(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	if o.decide == nil {
		o.decide = idem.Decide
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Settled == nil {
		o.Settled = func(*idem.EndAnswer) {}
	}
	if o.Recent == 0 {
		o.Recent = 32768
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Follow == 0 {
		o.Follow = 250 * time.Millisecond
	}
	if o.Sweep == 0 {
		o.Sweep = time.Second
	}
	if o.Retain == 0 {
		o.Retain = 10 * time.Minute
	}
	s := &Store{
		pool: pool, tuned: tuned(pool), policies: o.Policies, rules: o.decide, log: o.Logger, timeout: o.Timeout, settled: o.Settled,
		events: newRecent[*idem.Event](o.Recent), resources: newRecent[*idem.Resource](o.Recent), effects: newRecent[*idem.Effect](o.Recent),
		begun: newRecent[begun](o.Recent), offered: newRecent[*idem.Event](maxOffered),
	}
	if s.ownPolicies = s.policies != nil; !s.ownPolicies {
		s.policies = s.book.policy
	}
	if err := s.checkSchema(ctx); err != nil {
		return nil, err
	}
	if err := s.book.look(ctx, pool); err != nil {
		return nil, outside(err)
	}
	if err := s.sources.load(ctx, pool); err != nil {
		return nil, outside(err)
	}
	if err := s.establish(ctx); err != nil {
		return nil, err
	}
	bg, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.background(bg, o)
	return s, nil
}

// Tune sets what a store wants of its connections before the pool is made, so that batches
// need not: and without a limit, a statement that is being prepared would wait for ever
// behind a stranger's lock on a table. Behind a transaction pooler (default_query_exec_mode other than cache_statement)
// connections are shared with others, and nothing is set.
func Tune(c *pgxpool.Config) {
	if c.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return
	}
	maps.Copy(c.ConnConfig.RuntimeParams, map[string]string{
		"lock_timeout": "100ms", "default_transaction_isolation": "read committed", "synchronous_commit": "on", "enable_seqscan": "off", "random_page_cost": "0.1", "cpu_tuple_cost": "1",
		"jit": "off", "plan_cache_mode": "force_generic_plan", // as in begin.sql
	})
}

// tuned reports whether a pool's connections have been tuned.
func tuned(pool *pgxpool.Pool) bool {
	return pool.Config().ConnConfig.RuntimeParams["plan_cache_mode"] == "force_generic_plan"
}

// Close ends the background work and waits for it.
func (s *Store) Close() {
	s.stop()
	s.wg.Wait()
}

// Secret implements [storage.Backend].
func (s *Store) Secret(ctx context.Context) ([]byte, error) {
	var b []byte
	if err := s.pool.QueryRow(ctx, "SELECT token FROM idemsvc.secret").Scan(&b); err != nil {
		return nil, outside(err)
	}
	return b, nil
}

// Clock implements [storage.Backend].
func (s *Store) Clock() idem.Instant { return s.clock.now() }

// clock estimates the database's clock between the moments at which it was read, and
// notices when it jumps against the monotonic clock of this machine.
type clock struct {
	mu             sync.Mutex
	db             idem.Instant
	sent, received time.Time // between which it was read
}

// maxJump is how far the database's clock may move against ours before leases cannot be
// trusted and a new epoch begins.
const maxJump = 5 * time.Second

// set takes a reading, made at some moment between asking and hearing, and reports whether
// the database's clock has jumped whatever moment that was.
func (c *clock) set(db idem.Instant, sent, received time.Time) (jumped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.received.Before(received) {
		return false // an answer that was overtaken
	}
	if c.db != 0 {
		moved := db.Sub(c.db)
		jumped = moved-received.Sub(c.sent) > maxJump || moved-sent.Sub(c.received) < -maxJump
	}
	c.db, c.sent, c.received = db, sent, received
	return jumped
}

func (c *clock) now() idem.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == 0 {
		return 0
	}
	return c.db.Add(time.Since(c.received))
}

// establish looks at the epoch once before the first batch.
func (s *Store) establish(ctx context.Context) error {
	epoch, err := s.raiseEpoch(ctx, false)
	if err != nil {
		return err
	}
	if epoch != 0 {
		s.log.WarnContext(ctx, "a new epoch of fences began: the database's cluster or timeline is not the one of the epoch before", "epoch", epoch)
	}
	return nil
}

// raiseEpoch begins a new epoch where the cluster's identity or timeline changed, or
// always when forced. It returns 0 where nothing changed.
func (s *Store) raiseEpoch(ctx context.Context, force bool) (int64, error) {
	var epoch int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var moved bool
		err := tx.QueryRow(ctx, sqlEpoch, force).Scan(&epoch, &moved)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil && moved {
			err = refill(ctx, tx)
		}
		return err
	})
	return epoch, outside(err)
}

// NewEpoch begins a new epoch of fences by hand: after a copy or a restore of which the
// database itself cannot know.
func NewEpoch(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	return (&Store{pool: pool}).raiseEpoch(ctx, true)
}

// tooHigh reports whether a valid token's fence is above all that this database can have
// drawn; it then stops all grants until an operator begins a new epoch.
func (s *Store) tooHigh(ctx context.Context, fence int64) (bool, error) {
	rows, err := s.pool.Query(ctx, sqlHalt, fence)
	if err != nil {
		return false, outside(err)
	}
	defer rows.Close()
	halted := rows.Next()
	rows.Close()
	if halted {
		s.log.ErrorContext(ctx, "a valid token carries a fence that this database has not drawn: it is an older copy of itself; run «idemsvc migrate new-epoch»", "fence", fence)
	}
	return halted, outside(rows.Err())
}

func (s *Store) epochNow() epochs {
	s.epMu.Lock()
	defer s.epMu.Unlock()
	return s.ep
}

func (s *Store) setEpoch(ep epochs) {
	s.epMu.Lock()
	defer s.epMu.Unlock()
	if ep.epoch >= s.ep.epoch {
		s.ep = ep
	}
}

// epochStart is when the current epoch began; zero for the first one, before which
// nothing can have been forgotten.
func (s *Store) epochStart() idem.Instant {
	if ep := s.epochNow(); ep.epoch > 1 {
		return ep.started
	}
	return 0
}

func (s *Store) checkSchema(ctx context.Context) error {
	have, err := SchemaVersion(ctx, s.pool)
	if err != nil {
		return err
	}
	if have < RequiredSchema() {
		return fmt.Errorf("%w: the database has schema %d, this program needs %d: run «idemsvc migrate up»", storage.ErrSchema, have, RequiredSchema())
	}
	switch mode := s.pool.Config().ConnConfig.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
	default:
		return fmt.Errorf("default_query_exec_mode %v does not know the types of parameters: use cache_statement, or cache_describe behind a transaction pooler", mode)
	}
	var isolation string
	if err := s.pool.QueryRow(ctx, "SHOW default_transaction_isolation").Scan(&isolation); err != nil {
		return outside(err)
	}
	if isolation != "read committed" {
		return errIsolation(isolation)
	}
	return nil
}

func errIsolation(level string) error {
	return errors.New("the database's default_transaction_isolation is " + level + ": idemsvc needs read committed")
}
