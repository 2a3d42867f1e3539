package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// troubles are what the hand does, with how often it has done it.
type troubles struct {
	chances wire.Chances
	every   time.Duration // a break between two troubles, about
	crash   bool          // of the database, once in each batch

	terminated, locked, restarted, swept, crashed atomic.Int64
}

func (x *troubles) String() string {
	return fmt.Sprintf("%d sessions terminated, %d rows locked by a stranger, %d replicas restarted, %d claims swept, %d crashes of the database",
		x.terminated.Load(), x.locked.Load(), x.restarted.Load(), x.swept.Load(), x.crashed.Load())
}

// make makes trouble until the context ends.
func (x *troubles) make(ctx context.Context, r *rig, rng *rand.Rand) {
	for _, rep := range r.replicas {
		rep.proxy.Trouble(x.chances)
	}
	defer func() {
		for _, rep := range r.replicas {
			rep.proxy.Trouble(wire.Chances{})
		}
	}()
	var wg sync.WaitGroup
	defer wg.Wait()
	if x.crash {
		wg.Go(func() {
			pauseFor(ctx, 200*time.Millisecond+rand.N(300*time.Millisecond))
			if err := r.crash(); err != nil {
				r.tb.Errorf("the database does not come back: %v", err)
			}
			x.crashed.Add(1)
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rand.N(2 * x.every)):
		}
		rep := r.replicas[rng.IntN(len(r.replicas))]
		switch n := rng.IntN(12); {
		case n < 3:
			wg.Go(func() { x.lock(ctx, r) })
		case n < 4:
			x.terminate(ctx, r)
		case n < 5 && x.every > 0 && rng.IntN(4) == 0:
			rep.restart(ctx)
			x.restarted.Add(1)
		default:
			rep.mu.RLock()
			if _, err := rep.store.Follow(context.WithoutCancel(ctx)); err == nil {
				n, _ := rep.store.Sweep(context.WithoutCancel(ctx))
				x.swept.Add(int64(n))
			}
			rep.mu.RUnlock()
		}
	}
}

// lock holds a row as a stranger does, or a whole table.
func (x *troubles) lock(ctx context.Context, r *rig) {
	tx, err := r.admin.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	id := r.someRecord()
	table := []string{"event", "event", "resource", "effect"}[rand.IntN(4)]
	sql, args := "SELECT FROM idemsvc."+table+" WHERE bucket = $1 AND id = $2 FOR UPDATE", []any{int16(id[0]), id}
	if rand.IntN(20) == 0 {
		sql, args = "LOCK TABLE idemsvc."+table+" IN SHARE MODE", nil
	}
	if _, err := tx.Exec(context.WithoutCancel(ctx), sql, args...); err == nil {
		x.locked.Add(1)
		pauseFor(ctx, rand.N(60*time.Millisecond))
	}
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (x *troubles) terminate(ctx context.Context, r *rig) {
	_, err := r.admin.Exec(context.WithoutCancel(ctx), `SELECT pg_terminate_backend(pid) FROM (
		SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> '`+admin+`' AND backend_type = 'client backend'
		ORDER BY random() LIMIT 1) p`)
	if err == nil {
		x.terminated.Add(1)
	}
}

// moody makes the database refuse some writes, as it does when transactions collide: at
// once, and at the moment of the commit.
func (r *rig) moody(tb testing.TB, chance float64) {
	tb.Helper()
	execSQL(tb, r.admin, fmt.Sprintf(`CREATE FUNCTION public.mood() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF random() < %g THEN RAISE EXCEPTION 'mood' USING ERRCODE = CASE WHEN random() < 0.5 THEN '40001' ELSE '40P01' END; END IF; RETURN NEW; END $$`, chance))
	execSQL(tb, r.admin, "CREATE TRIGGER mood BEFORE INSERT OR UPDATE ON idemsvc.event FOR EACH ROW EXECUTE FUNCTION public.mood()")
	execSQL(tb, r.admin, "CREATE CONSTRAINT TRIGGER late_mood AFTER INSERT OR UPDATE ON idemsvc.event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.mood()")
}

// crashing gives the rig a database that it may kill.
func crashing(srv *embedded.Server) func() error {
	return func() error {
		if err := syscall.Kill(srv.PID(), syscall.SIGKILL); err != nil {
			return err
		}
		<-srv.Done()
		return srv.Restart(context.Background())
	}
}
