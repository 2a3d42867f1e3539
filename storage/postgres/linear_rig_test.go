package postgres_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// rig is three replicas on one database, each behind a proxy that breaks its connections,
// and a hand that breaks the rest.
type rig struct {
	tb       testing.TB
	crash    func() error // kills the database and starts it again; nil: never
	admin    *pgxpool.Pool
	replicas []*rigReplica
	opts     postgres.Options

	mu     sync.Mutex
	recent []idem.ID // records in use
}

// admin names the sessions that no trouble comes to.
const admin = "rig-admin"

// rigReplica is a replica that can be restarted.
type rigReplica struct {
	r     *rig
	proxy *wire.Proxy

	mu    sync.RWMutex
	svc   *storage.Service
	store *postgres.Store
	pool  *pgxpool.Pool
}

// newRig opens the replicas. change alters what the mutants alter.
func newRig(tb testing.TB, url string, seed uint64, change func(o *postgres.Options, p *wire.Proxy, c *pgxpool.Config)) *rig {
	tb.Helper()
	r := &rig{tb: tb}
	r.admin = poolWith(tb, url, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = admin })
	for i := range 3 {
		rep := &rigReplica{r: r, proxy: wire.Through(seed + uint64(i))} //nolint:gosec // small
		o := quiet
		o.Policies = linear.PolicyOf
		cfg, err := pgxpool.ParseConfig(url)
		if err != nil {
			tb.Fatal(err)
		}
		cfg.ConnConfig.DialFunc = rep.proxy.Dial
		cfg.MaxConns = 4
		postgres.Tune(cfg)
		if change != nil {
			change(&o, rep.proxy, cfg)
		}
		if rep.pool, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
			tb.Fatal(err)
		}
		r.opts = o
		if err := rep.open(context.Background()); err != nil {
			tb.Fatal(err)
		}
		r.replicas = append(r.replicas, rep)
		tb.Cleanup(func() {
			rep.proxy.Trouble(wire.Chances{})
			rep.close()
			rep.pool.Close()
			rep.proxy.Close()
		})
	}
	return r
}

func (rep *rigReplica) open(ctx context.Context) error {
	store, err := postgres.Open(ctx, rep.pool, rep.r.opts)
	if err != nil {
		return err
	}
	rep.store, rep.svc = store, storage.New(store, storage.Options{Threshold: 8})
	return nil
}

func (rep *rigReplica) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := rep.svc.Close(ctx); err != nil {
		rep.r.tb.Errorf("closing a replica: %v", err)
	}
	rep.store.Close()
}

// restart makes the replica forget all that it remembers.
func (rep *rigReplica) restart(ctx context.Context) {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	rep.close()
	for rep.open(context.WithoutCancel(ctx)) != nil {
		time.Sleep(10 * time.Millisecond) // the database is away, too
	}
}

func (rep *rigReplica) service() *storage.Service {
	rep.mu.RLock()
	defer rep.mu.RUnlock()
	return rep.svc
}

// Do implements [linear.Replica].
func (rep *rigReplica) Do(ctx context.Context, c idem.Command) storage.Result {
	rep.r.use(c)
	return rep.service().Do(ctx, c)
}

// Claim implements [linear.Replica].
func (rep *rigReplica) Claim(ctx context.Context, c *idem.Claim, wait time.Duration) storage.Result {
	rep.r.use(c)
	return rep.service().Claim(ctx, c, wait)
}

// Broken implements [linear.Replica].
func (rep *rigReplica) Broken() int64 { return rep.proxy.Broken() }

func (r *rig) use(c idem.Command) {
	id := c.Subject()
	if o := idem.OrderingOf(c); o != nil && rand.IntN(2) == 0 {
		id = o.Resource.ID()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recent) < 64 {
		r.recent = append(r.recent, id)
		return
	}
	r.recent[rand.IntN(len(r.recent))] = id
}

func (r *rig) someRecord() [16]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recent) == 0 {
		return [16]byte{}
	}
	return r.recent[rand.IntN(len(r.recent))]
}

// leaseOf is a record's row version and the end of its lease; nil where none runs.
func (r *rig) leaseOf(ctx context.Context, id idem.ID) (version int64, until *time.Time, err error) {
	err = again(func() error {
		err := r.admin.QueryRow(ctx, `SELECT version, lease_until FROM idemsvc.event WHERE bucket = $1 AND id = $2 AND state = 2
			UNION ALL SELECT version, lease_until FROM idemsvc.effect WHERE bucket = $1 AND id = $2 AND state = 1`, id.Bucket(), [16]byte(id)).Scan(&version, &until)
		return nilNoRows(err)
	})
	return version, until, err
}

// move is a [linear.Mover].
func (r *rig) move(ctx context.Context, id idem.ID) (idem.Instant, error) {
	ctx = context.WithoutCancel(ctx)
	version, before, err := r.leaseOf(ctx, id)
	if err != nil || before == nil {
		return 0, nil //nolint:nilerr // nothing was done
	}
	var until *time.Time
	err = r.admin.QueryRow(ctx, `WITH e AS (
			UPDATE idemsvc.event SET lease_until = least(lease_until, clock_timestamp()) WHERE bucket = $1 AND id = $2 AND state = 2 AND version = $3 AND lease_until = $4
			RETURNING lease_until
		), f AS (
			UPDATE idemsvc.effect SET lease_until = least(lease_until, clock_timestamp()) WHERE bucket = $1 AND id = $2 AND state = 1 AND version = $3 AND lease_until = $4
			RETURNING lease_until
		), u AS (
			UPDATE idemsvc.unfinished SET due_at = clock_timestamp() WHERE bucket = $1 AND id = $2
		)
		SELECT lease_until FROM e UNION ALL SELECT lease_until FROM f`, id.Bucket(), [16]byte(id), version, *before).Scan(&until)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err == nil:
		return idem.InstantOf(*until), nil
	}
	// The database has gone: whether it was done is seen by the record.
	now, after, lost := r.leaseOf(ctx, id)
	switch {
	case lost != nil || after == nil || now != version || after.After(*before):
		return 0, err
	case after.Equal(*before):
		return 0, nil
	default:
		return idem.InstantOf(*after), nil
	}
}

func nilNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// again repeats a question to the database, whose connections are found broken one after
// the other once it has been away.
func again(ask func() error) (err error) {
	for range 100 {
		if err = ask(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // it is being started
	}
	return err
}

// quiet waits until nothing is under way in the database that the histories have begun.
func (r *rig) quiet(ctx context.Context) error {
	var since time.Time
	if err := again(func() error { return r.admin.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&since) }); err != nil {
		return err
	}
	for {
		var busy bool
		err := r.admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND (xact_start < $1 OR state = 'active' AND query_start < $1))`, since).Scan(&busy)
		if err != nil || !busy {
			return err
		}
		pauseFor(ctx, 5*time.Millisecond)
	}
}

// batch drives histories at the same time, while trouble is made, and then looks at what
// is stored and at the journal.
func (r *rig) batch(ctx context.Context, seeds []uint64, trouble *troubles) ([]*linear.History, error) {
	var since time.Time
	if err := again(func() error { return r.admin.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&since) }); err != nil {
		return nil, err
	}
	tctx, stop := context.WithCancel(ctx)
	var hand sync.WaitGroup
	if trouble != nil {
		hand.Go(func() { trouble.make(tctx, r, rand.New(rand.NewPCG(seeds[0], 7))) })
	}
	replicas := make([]linear.Replica, len(r.replicas))
	for i, rep := range r.replicas {
		replicas[i] = rep
	}
	list := make([]*linear.History, len(seeds))
	var wg sync.WaitGroup
	for i, seed := range seeds {
		wg.Go(func() { list[i] = linear.Drive(ctx, seed, replicas, r.move) })
	}
	wg.Wait()
	stop()
	hand.Wait()
	if err := r.quiet(ctx); err != nil {
		return nil, err
	}
	for _, h := range list {
		if err := r.look(ctx, h); err != nil {
			return nil, err
		}
	}
	return list, r.journal(ctx, list, since)
}

// look reads what is stored of a history.
func (r *rig) look(ctx context.Context, h *linear.History) error {
	h.FinalInvoked = time.Hour // after all calls
	for _, key := range linear.Keys(h) {
		var found storage.Found
		err := again(func() (err error) {
			found, err = r.replicas[0].store.Events(ctx, key.Namespace, key.Source, key.EventID)
			return err
		})
		if err != nil {
			return err
		}
		h.Final = append(h.Final, found.Views...)
	}
	h.FinalReturned = 2 * time.Hour
	return nil
}

// journal reads the entries that the histories have made.
func (r *rig) journal(ctx context.Context, list []*linear.History, since time.Time) error {
	of := map[idem.ID]*linear.History{}
	for _, h := range list {
		for id := range linear.Records(h) {
			of[id] = h
		}
	}
	rows, err := r.admin.Query(ctx, "SELECT at, xid, epoch, heads, body FROM idemsvc.journal WHERE at >= $1", since)
	if err != nil {
		return err
	}
	var at time.Time
	var heads, body []byte
	in := entry{}
	_, err = pgx.ForEachRow(rows, []any{&at, &in.xid, &in.epoch, &heads, &body}, func() error {
		in.at = at
		for _, e := range decodeBlock(r.tb, in, heads, body) {
			if h := of[e.id]; h != nil {
				h.Journal = append(h.Journal, linear.Row{
					ID: e.id, Seq: e.seq, At: idem.InstantOf(e.at), Fence: e.fence, Kind: idem.EntryKind(e.kind), State: uint8(e.to), //nolint:gosec // small
				})
			}
		}
		return nil
	})
	return err
}

// judge judges histories. It gives the verdicts that find fault, and how many are left open
// by a search that takes too long, or were lost because the test itself does not know what
// it did.
func judge(list []*linear.History) (bad []linear.Verdict, open, lost int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *linear.History)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for h := range next {
				var v linear.Verdict
				if h.Lost == nil {
					v = linear.Check(h, 10*time.Second)
				}
				linear.Forget(h)
				mu.Lock()
				switch {
				case h.Lost != nil:
					lost++
				case v.Open:
					open++
				case !v.OK:
					bad = append(bad, v)
				}
				mu.Unlock()
			}
		})
	}
	for _, h := range list {
		next <- h
	}
	close(next)
	wg.Wait()
	return bad, open, lost
}
