package postgres_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

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
	r      *rig
	proxy  *wire.Proxy
	failed failedTrips

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
	r.watch()
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
		cfg.ConnConfig.Tracer = &rep.failed
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

// Acquire implements [linear.Replica]. The list of unfinished work is brought up to date
// before, so that what is due is known.
func (rep *rigReplica) Acquire(ctx context.Context, q storage.AcquireQuery) ([]storage.Acquired, error) {
	rep.mu.RLock()
	store, svc := rep.store, rep.svc
	_, _ = store.Follow(context.WithoutCancel(ctx)) // another replica may be at it
	rep.mu.RUnlock()
	return svc.Acquire(ctx, q)
}

// Broken implements [linear.Replica].
func (rep *rigReplica) Broken(c idem.Command) int64 { return rep.failed.of(linear.RecordsOf(c)) }

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

// move is a [linear.Mover].
func (r *rig) move(ctx context.Context, id idem.ID) {
	// What it did is found among the leases that are watched, and so it is where it failed.
	_, _ = r.admin.Exec(context.WithoutCancel(ctx), `WITH e AS (
			UPDATE idemsvc.event SET lease_until = least(lease_until, clock_timestamp()) WHERE bucket = $1 AND id = $2 AND state = 2 AND lease_until > clock_timestamp()
		), f AS (
			UPDATE idemsvc.effect SET lease_until = least(lease_until, clock_timestamp()) WHERE bucket = $1 AND id = $2 AND state = 1 AND lease_until > clock_timestamp()
		)
		UPDATE idemsvc.unfinished SET due_at = clock_timestamp() WHERE bucket = $1 AND id = $2`, id.Bucket(), [16]byte(id))
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
