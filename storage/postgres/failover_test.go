package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// allowedOutside are the errors that a caller may see when the database fails.
func allowedOutside(err error) bool {
	return errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrFull) || errors.Is(err, storage.ErrContended)
}

// heals: the same store works again, without being opened anew.
func heals(t *testing.T, b storage.Backend) {
	t.Helper()
	eventually(t, 20*time.Second, "the store works again", func() bool {
		r := one(b, claimOf("heals", randomID().String()))
		if r.Err != nil && !allowedOutside(r.Err) {
			t.Fatalf("while healing: %v", r.Err)
		}
		return r.Err == nil
	})
}

func TestServerRestartedBetweenBatches(t *testing.T) {
	t.Parallel()
	srv := cluster(t, embedded.Options{})
	s, _ := openOn(t, srv.URL("postgres"), quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	if err := syscall.Kill(srv.PID(), syscall.SIGQUIT); err != nil { // its sessions end with it
		t.Fatal(err)
	}
	<-srv.Done()
	if r := one(s, completeOf(tok, "ok")); !errors.Is(r.Err, storage.ErrUnavailable) {
		t.Errorf("without a server: %s, want ErrUnavailable", outcomeOf(r))
	}
	if _, err := s.Events(t.Context(), "ns", "shop", "e"); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("reading without a server: %v, want ErrUnavailable", err)
	}
	if _, err := s.Secret(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("secret without a server: %v, want ErrUnavailable", err)
	}
	if err := s.RecordDeliveries(t.Context(), []storage.Delivery{{Key: keyOf("ns", "e")}}); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("recording without a server: %v, want ErrUnavailable", err)
	}
	if err := srv.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	heals(t, s)
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// worker claims and completes until told to stop, and repeats whatever failed with the
// same identity. It returns what it found broken.
type worker struct {
	b        storage.Backend
	ns       string
	done     []idem.EventKey
	failures int
	broken   []string
}

func (w *worker) run(stop *atomic.Bool, id int) {
	for i := 0; !stop.Load(); i++ {
		c := claimOf(w.ns, fmt.Sprintf("w%d-%d", id, i))
		a, ok := w.until(c).Answer.(*idem.ClaimAnswer)
		if !ok || a.Outcome != idem.OutcomeClaimed {
			w.broken = append(w.broken, fmt.Sprintf("claim of %s: not granted", c.Key.EventID))
			continue
		}
		r := w.until(completeOf(tokenOf(c, a), "ok"))
		if e, ok := r.Answer.(*idem.EndAnswer); !ok || e.State != idem.Processed {
			w.broken = append(w.broken, fmt.Sprintf("completion of %s: %s", c.Key.EventID, outcomeOf(r)))
			continue
		}
		w.done = append(w.done, c.Key)
	}
}

func (w *worker) until(c idem.Command) storage.Result {
	for i := 0; ; i++ {
		r := one(w.b, c)
		if r.Err == nil || i > 500 {
			return r
		}
		w.failures++
		if !allowedOutside(r.Err) {
			w.broken = append(w.broken, fmt.Sprintf("%T: %v", c, r.Err))
			return r
		}
		time.Sleep(10 * time.Millisecond) // the server is away
	}
}

// workThrough works while something happens to the database, and tests that all that was
// acknowledged is there, once.
func workThrough(t *testing.T, b storage.Backend, pool func() *pgxpool.Pool, happen func()) {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	workers := make([]*worker, 4)
	for i := range workers {
		workers[i] = &worker{b: b, ns: "work"}
		wg.Go(func() { workers[i].run(&stop, i) })
	}
	happen()
	stop.Store(true)
	wg.Wait()
	total, failures := 0, 0
	for _, w := range workers {
		for _, x := range w.broken {
			t.Error(x)
		}
		total += len(w.done)
		failures += w.failures
	}
	t.Logf("%d events, %d failures seen by callers", total, failures)
	p := pool()
	if n := scalar[int](t, p, "SELECT count(*)::int FROM idemsvc.event WHERE namespace = 'work' AND state = 3"); n < total {
		t.Errorf("%d of %d acknowledged completions are stored", n, total)
	}
	if n := scalar[int](t, p, "SELECT count(*)::int FROM idemsvc.event WHERE namespace = 'work' AND total <> 1"); n != 0 {
		t.Errorf("%d events count more than one attempt", n)
	}
	if n := scalar[int](t, p, "SELECT count(*)::int FROM idemsvc.attempt"); n != 0 {
		t.Errorf("%d earlier attempts", n)
	}
}

func TestServerRestartedDuringBatches(t *testing.T) {
	t.Parallel()
	srv := cluster(t, embedded.Options{})
	s, pool := openOn(t, srv.URL("postgres"), quiet)
	workThrough(t, s, func() *pgxpool.Pool { return pool }, func() {
		for i := range 3 {
			time.Sleep(200 * time.Millisecond) // work goes on meanwhile
			if i == 1 {
				_ = syscall.Kill(srv.PID(), syscall.SIGKILL)
				<-srv.Done()
			}
			if err := srv.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(200 * time.Millisecond)
	})
	heals(t, s)
}

func TestConnectionsTerminatedWhileBatchesRun(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	s, _ := openOn(t, url, quiet)
	admin := openPool(t, url)
	workThrough(t, s, func() *pgxpool.Pool { return admin }, func() {
		for range 40 {
			execSQL(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
			time.Sleep(25 * time.Millisecond)
		}
	})
	heals(t, s)
}

// A demoted primary takes no writes. The store does not stick to its connections to it.
func TestReadOnlyDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	s, pool := openOn(t, url, quiet)
	admin := connectTo(t, url)
	tok := grantOf(t, s, claimOf("ns", "e"))
	name := pgx.Identifier{admin.Config().Database}.Sanitize()
	onConn(t, admin, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	pool.Reset()
	for _, c := range []idem.Command{claimOf("ns", "x"), completeOf(tok, "ok")} {
		if r := one(s, c); !errors.Is(r.Err, storage.ErrUnavailable) {
			t.Errorf("%T: %s, want ErrUnavailable", c, outcomeOf(r))
		}
	}
	onConn(t, admin, "SET default_transaction_read_only = off")
	onConn(t, admin, "ALTER DATABASE "+name+" RESET default_transaction_read_only")
	heals(t, s)
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

func TestTooManyConnectionsIsUnavailable(t *testing.T) {
	t.Parallel()
	srv := cluster(t, embedded.Options{Settings: map[string]string{"max_connections": "8", "superuser_reserved_connections": "0", "max_wal_senders": "0"}})
	s, pool := openOn(t, srv.URL("postgres"), quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	pool.Reset()
	var hogs []*pgx.Conn
	eventually(t, 10*time.Second, "no connection is left", func() bool {
		conn, err := pgx.Connect(t.Context(), srv.URL("postgres"))
		if err == nil {
			hogs = append(hogs, conn)
		}
		return err != nil
	})
	for _, c := range []idem.Command{claimOf("ns", "x"), completeOf(tok, "ok")} {
		if r := one(s, c); !errors.Is(r.Err, storage.ErrUnavailable) {
			t.Errorf("%T: %s, want ErrUnavailable", c, outcomeOf(r))
		}
	}
	for _, conn := range hogs {
		_ = conn.Close(t.Context())
	}
	heals(t, s)
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// A row that somebody else has locked holds up its own command only, and that one is
// carried out once the lock is gone.
func TestLockedRowHoldsUpItsOwnCommandOnly(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	var cmds []idem.Command
	for i := range 20 {
		cmds = append(cmds, completeOf(grantOf(t, s, claimOf("ns", fmt.Sprint("e", i))), "ok"))
	}
	locked := cmds[7].Subject()
	conn := connectTo(t, pool.Config().ConnString())
	onConn(t, conn, "BEGIN")
	onConn(t, conn, "SELECT FROM idemsvc.event WHERE id = $1 FOR UPDATE", [16]byte(locked))
	start := time.Now()
	for i, r := range s.Apply(t.Context(), cmds) {
		switch {
		case i == 7 && !errors.Is(r.Err, storage.ErrContended):
			t.Errorf("the locked one: %s, want ErrContended", outcomeOf(r))
		case i != 7 && outcomeOf(r) != idem.Processed.String():
			t.Errorf("neighbour %d: %s", i, outcomeOf(r))
		}
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("the batch took %v", d)
	}
	svc := service(t, s, storage.Options{})
	done := make(chan storage.Result, 1)
	go func() { done <- svc.Do(context.Background(), cmds[7]) }()
	// Others pass the one that waits.
	for i := range 5 {
		if r := svc.Do(t.Context(), claimOf("ns", fmt.Sprint("other", i))); r.Err != nil {
			t.Error(r.Err)
		}
	}
	select {
	case r := <-done:
		t.Errorf("answered while the row was locked: %s", outcomeOf(r))
	default:
	}
	onConn(t, conn, "ROLLBACK")
	if r := <-done; outcomeOf(r) != idem.Processed.String() {
		t.Errorf("after the lock: %s", outcomeOf(r))
	}
}

// A locked table holds up everybody for a moment; nobody is told a database's error.
func TestLockedTableIsContended(t *testing.T) {
	t.Parallel()
	o := quiet
	o.Timeout = 2 * time.Second
	s, pool := openStore(t, o)
	tok := grantOf(t, s, claimOf("ns", "e"))
	conn := connectTo(t, pool.Config().ConnString())
	onConn(t, conn, "BEGIN")
	onConn(t, conn, "LOCK TABLE idemsvc.event IN ACCESS EXCLUSIVE MODE")
	for i, r := range s.Apply(t.Context(), []idem.Command{claimOf("ns", "x"), completeOf(tok, "ok")}) {
		if !errors.Is(r.Err, storage.ErrContended) {
			t.Errorf("command %d: %s, want ErrContended", i, outcomeOf(r))
		}
	}
	svc := service(t, s, storage.Options{})
	done := make(chan storage.Result, 1)
	go func() { done <- svc.Do(context.Background(), completeOf(tok, "ok")) }()
	onConn(t, conn, "ROLLBACK")
	if r := <-done; outcomeOf(r) != idem.Processed.String() {
		t.Errorf("after the lock: %s", outcomeOf(r))
	}
}

// insertForeign inserts the record of a first claim in a transaction that stays open, as
// a replica does that hangs before its commit.
func insertForeign(t *testing.T, s storage.Backend, pool *pgxpool.Pool, key idem.EventKey) *pgx.Conn {
	t.Helper()
	model := claimOf(key.Namespace, "model-"+key.EventID)
	grantOf(t, s, model)
	conn := connectTo(t, pool.Config().ConnString())
	onConn(t, conn, "BEGIN")
	id := key.ID()
	onConn(t, conn, `INSERT INTO idemsvc.event (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce, lease_until,
			lease_us, granted_at, total, effects, state, by_expiry, detail)
		SELECT $1, $2, clock_timestamp(), namespace, consumer, source, $3, facts, 1, nextval('idemsvc.fence') + (SELECT epoch << 41 FROM idemsvc.meta), gen_random_uuid(),
			clock_timestamp() + interval '10 minutes', lease_us, clock_timestamp(), 1, 0, 2, false, detail
		FROM idemsvc.event WHERE event_id = $4`, id.Bucket(), [16]byte(id), key.EventID, model.Key.EventID)
	return conn
}

// O-05: the winner's transaction stays open for a while, then commits.
func TestForeignInsertCommits(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	conn := insertForeign(t, s, pool, keyOf("ns", "e"))
	svc := service(t, s, storage.Options{})
	results := raceFor(svc, "e", 16)
	waitForLock(t, pool)
	time.Sleep(500 * time.Millisecond) // as long as the scenario holds the winner
	onConn(t, conn, "COMMIT")
	for i := 0; i < cap(results); i++ {
		if r := <-results; outcomeOf(r) != idem.OutcomeInProgress.String() {
			t.Errorf("a loser: %s, want IN_PROGRESS", outcomeOf(r))
		}
	}
}

// O-05: the winner's transaction rolls back, and exactly one other wins.
func TestForeignInsertRollsBack(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	conn := insertForeign(t, s, pool, keyOf("ns", "e"))
	svc := service(t, s, storage.Options{})
	results := raceFor(svc, "e", 16)
	waitForLock(t, pool)
	time.Sleep(500 * time.Millisecond)
	onConn(t, conn, "ROLLBACK")
	won := 0
	for i := 0; i < cap(results); i++ {
		switch r := <-results; outcomeOf(r) {
		case idem.OutcomeClaimed.String():
			won++
		case idem.OutcomeInProgress.String():
		default:
			t.Errorf("got %s", outcomeOf(r))
		}
	}
	if won != 1 {
		t.Errorf("%d winners, want 1", won)
	}
}

func raceFor(svc *storage.Service, event string, n int) chan storage.Result {
	out := make(chan storage.Result, n)
	for range n {
		go func() { out <- svc.Do(context.Background(), claimOf("ns", event)) }()
	}
	return out
}

func waitForLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	eventually(t, 10*time.Second, "somebody waits for the open transaction", func() bool {
		return scalar[bool](t, pool, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
	})
}

// The neighbours of a key that somebody else is inserting are answered quickly.
func TestForeignInsertHoldsUpItsOwnKeyOnly(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	conn := insertForeign(t, s, pool, keyOf("ns", "e7"))
	var cmds []idem.Command
	for i := range 20 {
		cmds = append(cmds, claimOf("ns", fmt.Sprint("e", i)))
	}
	start := time.Now()
	for i, r := range s.Apply(t.Context(), cmds) {
		switch {
		case i == 7 && !errors.Is(r.Err, storage.ErrContended):
			t.Errorf("the key that is being inserted: %s, want ErrContended", outcomeOf(r))
		case i != 7 && outcomeOf(r) != idem.OutcomeClaimed.String():
			t.Errorf("neighbour %d: %s", i, outcomeOf(r))
		}
	}
	t.Logf("the batch took %v", time.Since(start))
	onConn(t, conn, "ROLLBACK")
	tokenFrom(t, cmds[7], one(s, cmds[7]))
}

// trouble makes the database refuse to write some records, with the given SQLSTATE.
func trouble(t *testing.T, pool *pgxpool.Pool, state, when string) {
	t.Helper()
	execSQL(t, pool, `CREATE FUNCTION public.trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'trouble' USING ERRCODE = '`+state+`'; END $$`)
	execSQL(t, pool, "CREATE TRIGGER trouble BEFORE INSERT OR UPDATE ON idemsvc.event FOR EACH ROW WHEN ("+when+") EXECUTE FUNCTION public.trouble()")
}

// Deadlocks and serialization failures are retried inside; a caller hears at most that
// rows are contended.
func TestSerializationErrorsNeverReachTheCaller(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40P01", "40001"} {
		t.Run("passing "+state, func(t *testing.T) {
			t.Parallel()
			s, pool := openStore(t, quiet)
			// Fails twice, then lets the write through: sequences do not roll back.
			execSQL(t, pool, "CREATE SEQUENCE public.times")
			execSQL(t, pool, `CREATE FUNCTION public.trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('public.times') < 3 THEN RAISE EXCEPTION 'trouble' USING ERRCODE = '`+state+`'; END IF; RETURN NEW; END $$`)
			execSQL(t, pool, "CREATE TRIGGER trouble BEFORE INSERT OR UPDATE ON idemsvc.event FOR EACH ROW EXECUTE FUNCTION public.trouble()")
			grantOf(t, s, claimOf("ns", "e"))
		})
		t.Run("lasting "+state, func(t *testing.T) {
			t.Parallel()
			s, pool := openStore(t, quiet)
			trouble(t, pool, state, "NEW.event_id = 'bad'")
			rs := s.Apply(t.Context(), []idem.Command{claimOf("ns", "good"), claimOf("ns", "bad")})
			if !errors.Is(rs[1].Err, storage.ErrContended) {
				t.Errorf("the bad one: %s, want ErrContended", outcomeOf(rs[1]))
			}
			if outcomeOf(rs[0]) != idem.OutcomeClaimed.String() {
				t.Errorf("its neighbour: %s", outcomeOf(rs[0]))
			}
		})
	}
}

// One command that the database refuses fails alone.
func TestRefusedCommandFailsAlone(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	trouble(t, pool, "23514", "NEW.event_id = 'e7'")
	var cmds []idem.Command
	for i := range 20 {
		cmds = append(cmds, claimOf("ns", fmt.Sprint("e", i)))
	}
	for i, r := range s.Apply(t.Context(), cmds) {
		if (i == 7) != (r.Err != nil) || (i != 7 && outcomeOf(r) != idem.OutcomeClaimed.String()) {
			t.Errorf("command %d: %s", i, outcomeOf(r))
		}
	}
}

// One record that cannot be read fails alone, and is no failure of the database.
func TestUnreadableRecordFailsAlone(t *testing.T) {
	t.Parallel()
	first, pool := openStore(t, quiet)
	s, _ := openOn(t, pool.Config().ConnString(), quiet) // remembers nothing, so that it reads
	var cmds []idem.Command
	for i := range 10 {
		cmds = append(cmds, completeOf(grantOf(t, first, claimOf("ns", fmt.Sprint("e", i))), "ok"))
	}
	execSQL(t, pool, `UPDATE idemsvc.event SET detail = '\xff', version = version + 1 WHERE event_id = 'e7'`)
	for i, r := range s.Apply(t.Context(), cmds) {
		switch {
		case i == 7 && (r.Err == nil || errors.Is(r.Err, storage.ErrUnavailable)):
			t.Errorf("the bad one: %s", outcomeOf(r))
		case i != 7 && outcomeOf(r) != idem.Processed.String():
			t.Errorf("neighbour %d: %s", i, outcomeOf(r))
		}
	}
}

// mountSmall mounts a small file system, or skips.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := sharedDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size="+size); err != nil {
		t.Skipf("no small file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFullDiskIsTold(t *testing.T) {
	t.Parallel()
	dir := mountSmall(t, "48m")
	srv := cluster(t, embedded.Options{})
	account, err := childproc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	space := filepath.Join(dir, "space")
	if err := errors.Join(os.Mkdir(space, 0o700), account.Own(space)); err != nil {
		t.Fatal(err)
	}
	admin := openPool(t, srv.URL("postgres"))
	execSQL(t, admin, "CREATE TABLESPACE small LOCATION '"+space+"'")
	execSQL(t, admin, "CREATE DATABASE small TABLESPACE small")
	if err := migrate(t.Context(), srv.URL("small")); err != nil {
		t.Fatal(err)
	}
	s, _ := openOn(t, srv.URL("small"), quiet)
	// A completion whose record has its place, and claims that need new ones.
	tok := grantOf(t, s, claimOf("ns", "e"))
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := f.Write(make([]byte, 8192)); err != nil {
			break
		}
	}
	_ = f.Close()
	full := 0
	for i := range 300 {
		c := claimOf("ns", fmt.Sprint("f", i))
		c.Facts.Headers = []idem.Header{{Name: "x", Value: strings.Repeat(randomID().String(), 100)}}
		switch r := one(s, c); {
		case errors.Is(r.Err, storage.ErrFull):
			full++
		case r.Err != nil:
			t.Fatalf("on a full disk: %v, want ErrFull", r.Err)
		}
		if full == 3 {
			break
		}
	}
	if full != 3 {
		t.Error("the disk was never full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	heals(t, s)
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// cutCase is one call whose connection is cut at each message.
type cutCase struct {
	name  string
	setup func(t *testing.T, s storage.Backend, n int) (c idem.Command, key idem.EventKey)
	same  func(t *testing.T, first, second storage.Result)
	// effects is how many tries of side effects it makes
	effects int
}

var cutCases = []cutCase{
	{
		name: "Claim",
		setup: func(_ *testing.T, _ storage.Backend, n int) (idem.Command, idem.EventKey) {
			c := claimOf("ns", fmt.Sprint("e", n))
			return c, c.Key
		},
		same: func(t *testing.T, first, second storage.Result) {
			t.Helper()
			b, ok := second.Answer.(*idem.ClaimAnswer)
			if !ok || b.Outcome != idem.OutcomeClaimed {
				t.Errorf("repeat: %s", outcomeOf(second))
				return
			}
			if a, ok := first.Answer.(*idem.ClaimAnswer); ok && (a.Outcome != b.Outcome || a.Event.Fence != b.Event.Fence || a.Event.Nonce != b.Event.Nonce || a.Event.LeaseUntil != b.Event.LeaseUntil) {
				t.Errorf("first %s %d until %d, then %s %d until %d", a.Outcome, a.Event.Fence, a.Event.LeaseUntil, b.Outcome, b.Event.Fence, b.Event.LeaseUntil)
			}
		},
	},
	{
		name: "Complete",
		setup: func(t *testing.T, s storage.Backend, n int) (idem.Command, idem.EventKey) {
			t.Helper()
			c := lane(claimOf("ns", fmt.Sprint("e", n)), fmt.Sprint("r", n), 1)
			return completeOf(grantOf(t, s, c), "ok"), c.Key
		},
		same: sameEnd(idem.Processed),
	},
	{
		name: "Fail",
		setup: func(t *testing.T, s storage.Backend, n int) (idem.Command, idem.EventKey) {
			t.Helper()
			c := claimOf("ns", fmt.Sprint("e", n))
			return failOf(grantOf(t, s, c)), c.Key
		},
		same: sameEnd(idem.FailedRetryable),
	},
	{
		name: "BeginEffect", effects: 1,
		setup: func(t *testing.T, s storage.Backend, n int) (idem.Command, idem.EventKey) {
			t.Helper()
			c, b := begunEffect(t, s, n)
			return b, c.Key
		},
		same: sameEffect(idem.EffectPerform),
	},
	{
		name: "ReportEffect", effects: 1,
		setup: func(t *testing.T, s storage.Backend, n int) (idem.Command, idem.EventKey) {
			t.Helper()
			c, b := begunEffect(t, s, n)
			a := must[*idem.EffectAnswer](t, s, b)
			return &idem.ReportEffect{Token: a.Token, State: idem.EffectDone, Result: []byte("ok")}, c.Key
		},
		same: sameEffect(idem.EffectReportedDone),
	},
}

func sameEnd(want idem.State) func(*testing.T, storage.Result, storage.Result) {
	return func(t *testing.T, first, second storage.Result) {
		t.Helper()
		b, ok := second.Answer.(*idem.EndAnswer)
		if !ok || b.State != want {
			t.Errorf("repeat: %s", outcomeOf(second))
			return
		}
		if a, ok := first.Answer.(*idem.EndAnswer); ok && (a.State != b.State || a.Due != b.Due || a.Event.EndedAt != b.Event.EndedAt) {
			t.Errorf("first %s due %d, then %s due %d", a.State, a.Due, b.State, b.Due)
		}
	}
}

func sameEffect(want idem.EffectVerdict) func(*testing.T, storage.Result, storage.Result) {
	return func(t *testing.T, first, second storage.Result) {
		t.Helper()
		b, ok := second.Answer.(*idem.EffectAnswer)
		if !ok || b.Verdict != want {
			t.Errorf("repeat: %s", outcomeOf(second))
			return
		}
		if a, ok := first.Answer.(*idem.EffectAnswer); ok && (a.Verdict != b.Verdict || a.Token != b.Token) {
			t.Errorf("first %s %v, then %s %v", a.Verdict, a.Token, b.Verdict, b.Token)
		}
	}
}

func begunEffect(t *testing.T, s storage.Backend, n int) (*idem.Claim, *idem.BeginEffect) {
	t.Helper()
	c := claimOf("ns", fmt.Sprint("e", n))
	tok := grantOf(t, s, c)
	return c, &idem.BeginEffect{
		Token: &tok, Key: idem.EffectKey{Scope: idem.EventScope, Namespace: "ns", Consumer: "mailer", Event: tok.Event, Key: "charge"},
		BeginID: "b1", RequestHash: []byte("h"), Target: "bank", Lease: time.Hour, Nonce: randomID(), OnUnknown: idem.UnknownHold,
	}
}

// O-03, O-04: wherever the connection is cut, before and after the commit and its answer,
// the repeat of the call with the same identity gets the same answer, and one attempt
// counts.
func TestO04AmbiguousCommit(t *testing.T) {
	t.Parallel()
	for _, tc := range cutCases {
		for _, way := range []struct {
			name             string
			toServer, sticky bool
		}{{"ToServer", true, false}, {"ToClient", false, false}, {"ToServerForAWhile", true, true}, {"ToClientForAWhile", false, true}} {
			t.Run(tc.name+way.name, func(t *testing.T) {
				t.Parallel()
				url := pgtest.Database(t, "idemsvc", migrate)
				p := newProxy(t)
				s, _ := openOn(t, url, quiet, p.dial, func(c *pgxpool.Config) { c.MaxConns = 1 })
				admin := openPool(t, url)
				step := 1
				if way.sticky && !heavy() {
					step = 2
				}
				cuts := 0
				for n := 0; n < 200; n += step {
					c, key := tc.setup(t, s, n)
					p.cutAfter(n, way.toServer, way.sticky)
					first := one(s, c)
					fired := p.heal()
					if first.Err != nil && (!way.sticky || !errors.Is(first.Err, storage.ErrUnavailable)) {
						t.Fatalf("cut after %d messages: %v", n, first.Err)
					}
					second := one(s, c)
					if second.Err != nil {
						t.Fatalf("cut after %d messages: repeat: %v", n, second.Err)
					}
					tc.same(t, first, second)
					checkOnce(t, admin, key, tc.effects)
					if t.Failed() {
						t.Fatalf("cut after %d messages", n)
					}
					if !fired {
						break
					}
					cuts++
				}
				if cuts < 2 {
					t.Errorf("only %d cuts", cuts)
				}
				t.Logf("%d cuts", cuts)
			})
		}
	}
}

// checkOnce: one attempt was counted, and the journal tells of each row version once.
func checkOnce(t *testing.T, pool *pgxpool.Pool, key idem.EventKey, effects int) {
	t.Helper()
	row := rowOf(t, pool, key)
	id := [16]byte(key.ID())
	if row.Total != 1 {
		t.Errorf("%d attempts were counted", row.Total)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.attempt WHERE event = $1", id); n != 0 {
		t.Errorf("%d earlier attempts", n)
	}
	if n := len(entriesOf(t, pool, id)); int64(n) > row.Version {
		t.Errorf("%d journal entries at row version %d", n, row.Version)
	}
	if n := scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.effect WHERE event = $1", id); n != effects {
		t.Errorf("%d effects, want %d", n, effects)
	}
}
