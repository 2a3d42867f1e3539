package postgres_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/storagetest/linear"
)

// watch has the database note each lease that gets another end while its row version stays.
func (r *rig) watch() {
	r.tb.Helper()
	execSQL(r.tb, r.admin, `CREATE TABLE public.leases (at timestamptz NOT NULL, id uuid NOT NULL, version bigint NOT NULL, until timestamptz NOT NULL, moved boolean NOT NULL)`)
	execSQL(r.tb, r.admin, `CREATE FUNCTION public.lease_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.leases VALUES (clock_timestamp(), NEW.id, NEW.version, NEW.lease_until, current_setting('application_name') = '`+admin+`');
		RETURN NULL; END $$`)
	for _, table := range []string{"event", "effect"} {
		execSQL(r.tb, r.admin, `CREATE TRIGGER leases AFTER UPDATE ON idemsvc.`+table+` FOR EACH ROW
			WHEN (OLD.version = NEW.version AND OLD.lease_until IS DISTINCT FROM NEW.lease_until) EXECUTE FUNCTION public.lease_changed()`)
	}
}

// quiet waits until nothing is under way in the database that the histories have begun.
func (r *rig) quiet(ctx context.Context) error {
	var since time.Time
	if err := again(func() error { return r.admin.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&since) }); err != nil {
		return err
	}
	for {
		var busy bool
		err := again(func() error {
			return r.admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
				AND (xact_start < $1 OR state = 'active' AND query_start < $1))`, since).Scan(&busy)
		})
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
	for _, rep := range r.replicas {
		rep.restart(ctx) // what callers have left behind is carried out, or never will be
	}
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

// journal reads the entries that the histories have made, and the leases that got another
// end.
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
	if err != nil {
		return err
	}
	rows, err = r.admin.Query(ctx, "SELECT id, version, until, at, moved FROM public.leases WHERE at >= $1 ORDER BY at", since)
	if err != nil {
		return err
	}
	var id [16]byte
	var until time.Time
	l := linear.Lease{}
	_, err = pgx.ForEachRow(rows, []any{&id, &l.Version, &until, &at, &l.Moved}, func() error {
		l.ID, l.Until, l.At = id, idem.InstantOf(until), idem.InstantOf(at)
		if h := of[l.ID]; h != nil {
			h.Leases = append(h.Leases, l)
		}
		return nil
	})
	return err
}

// searchMost is how long the search of one history may take.
const searchMost = 30 * time.Second

// judge judges histories. It gives the verdicts that find fault, and how many are left open
// by a search that takes too long.
func judge(list []*linear.History) (bad []linear.Verdict, open int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *linear.History)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for h := range next {
				v := linear.Check(h, searchMost)
				linear.Forget(h)
				mu.Lock()
				switch {
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
	return bad, open
}
