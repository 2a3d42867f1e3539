package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// grantSome draws fences and returns the last token, of a claim with a long lease.
func grantSome(t *testing.T, b storage.Backend, ns string, n int) (last idem.Token) {
	t.Helper()
	cmds := make([]idem.Command, n)
	for i := range cmds {
		cmds[i] = claimOf(ns, fmt.Sprint("e", i))
	}
	for i, r := range b.Apply(t.Context(), cmds) {
		if tok := tokenFrom(t, cmds[i], r); tok.Fence > last.Fence {
			last = tok
		}
	}
	return last
}

// A record that was purged and is made again gets a higher fence.
func TestFencesGrowAcrossPurge(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
	execSQL(t, pool, "DELETE FROM idemsvc.event")
	again := grantOf(t, s, claimOf("ns", "e"))
	if again.Fence <= tok.Fence {
		t.Errorf("fence %d after %d", again.Fence, tok.Fence)
	}
	// The old token is lost, and that is no sign of an older copy.
	var lost *idem.Error
	if r := one(s, completeOf(tok, "ok")); !errors.As(r.Err, &lost) || lost.Code != idem.CodeClaimLost {
		t.Errorf("completion by the purged record's token: %s", outcomeOf(r))
	}
	grantOf(t, s, claimOf("ns", "other"))
}

func program(t *testing.T, name string) string {
	t.Helper()
	inst, err := embedded.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(inst.BinDir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s has no %s", inst.BinDir, name)
	}
	return path
}

func runAs(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	account, err := childproc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	account.Apply(cmd)
	cmd.Dir = "/"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	return out
}

// restoreDump loads the dump of one cluster into a new one.
func restoreDump(t *testing.T, from, to *embedded.Server) {
	t.Helper()
	dump := runAs(t, exec.CommandContext(t.Context(), program(t, "pg_dump"), "--inserts", from.URL("postgres")))
	cfg, err := pgconn.ParseConfig(to.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	// Newer versions of pg_dump write commands of psql.
	var sql []string
	for line := range strings.SplitSeq(string(dump), "\n") {
		if !strings.HasPrefix(line, `\`) {
			sql = append(sql, line)
		}
	}
	if _, err := conn.Exec(t.Context(), strings.Join(sql, "\n")).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// dumped is a cluster whose transaction IDs are far ahead of a new one's, and a new
// cluster with its dump.
func dumped(t *testing.T) (tok idem.Token, old, restored *embedded.Server) {
	t.Helper()
	program(t, "pg_dump")
	old = cluster(t, embedded.Options{})
	s, pool := openOn(t, old.URL("postgres"), quiet)
	tok = grantSome(t, s, "ns", 50)
	execSQL(t, pool, "DO $$ BEGIN FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	if _, err := s.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored = pgtest.Cluster(t, embedded.Options{})
	restoreDump(t, old, restored)
	return tok, old, restored
}

// A dump restored into a new cluster begins a new epoch by itself: fences are higher
// than any of the old cluster, and claims of the old epoch live on for their full lease.
func TestFencesGrowAcrossDumpAndRestore(t *testing.T) {
	t.Parallel()
	tok, old, restored := dumped(t)
	// The old cluster goes on for a while.
	was, _ := openOn(t, old.URL("postgres"), quiet)
	later := grantSome(t, was, "later", 200)

	pool := openPool(t, restored.URL("postgres"))
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 hour' WHERE id = $1", [16]byte(tok.Event))
	s, _ := openOn(t, restored.URL("postgres"), quiet)
	next := grantOf(t, s, claimOf("ns", "new"))
	if next.Fence <= later.Fence {
		t.Errorf("fence %d after the restore, %d before", next.Fence, later.Fence)
	}
	// The restore may have taken longer than the lease: the old claim has all of it again.
	if a := must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: tok, Lease: time.Minute}); a.Rearmed {
		t.Error("the claim of the old epoch was over")
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// The reader behind the journal follows the new cluster's transactions, whose IDs begin
// anew.
func TestFollowerReadsOnAfterDumpAndRestore(t *testing.T) {
	t.Parallel()
	_, _, restored := dumped(t)
	s, _ := openOn(t, restored.URL("postgres"), quiet)
	fresh := claimOf("restored", "fresh")
	grantOf(t, s, fresh)
	for range 2 {
		if _, err := s.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), storage.ListQuery{Namespace: "restored", States: []idem.State{idem.Processing}, Limit: 10})
	if err != nil || len(list.Views) != 1 {
		t.Errorf("unfinished work after the restore: %d records, %v; want 1", len(list.Views), err)
	}
	found, err := s.Lookup(t.Context(), storage.Query{Namespace: "restored", Kind: storage.ByRequestID, Value: fresh.Facts.RequestID})
	if err != nil || len(found.Views) != 1 {
		t.Errorf("look-up by request ID after the restore: %d records, %v; want 1", len(found.Views), err)
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	account, err := childproc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case info.IsDir():
			err = os.MkdirAll(target, 0o700)
		case info.Mode().IsRegular() && info.Name() != "postmaster.pid":
			err = copyFile(path, target)
		}
		return err
	})
	if err := errors.Join(err, account.OwnTree(to)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// sharedDir is a folder that the servers' account can reach.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "idemsvc-epoch-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A copy of the files keeps the cluster's identity and timeline: a valid token with a
// fence that the copy has not drawn stops its grants until an operator begins a new
// epoch.
func TestFencesGrowAcrossFileCopy(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	origin := filepath.Join(dir, "origin")
	srv, err := embedded.Start(t.Context(), embedded.Options{DataDir: origin, Settings: map[string]string{"max_connections": "50"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	if err := migrate(t.Context(), srv.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	pool := openPool(t, srv.URL("postgres"))
	s, err := postgres.Open(t.Context(), pool, quiet)
	if err != nil {
		t.Fatal(err)
	}
	known := grantSome(t, s, "ns", 10)
	execSQL(t, pool, "CHECKPOINT")
	copied := filepath.Join(dir, "copy")
	s.Close()
	pool.Close()
	if err := srv.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	copyDir(t, origin, copied)

	srv, err = embedded.Start(t.Context(), embedded.Options{DataDir: origin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	s, pool = openOn(t, srv.URL("postgres"), quiet)
	ahead := grantSome(t, s, "ahead", 100)
	s.Close()
	pool.Close()
	if err := srv.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	dup, err := embedded.Start(t.Context(), embedded.Options{DataDir: copied})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dup.Stop(context.Background()) })
	c, cpool := openOn(t, dup.URL("postgres"), quiet)
	grantOf(t, c, claimOf("copy", "before")) // nothing is known yet
	if r := one(c, completeOf(ahead, "ok")); !errors.Is(r.Err, storage.ErrRestored) {
		t.Fatalf("completion with a fence ahead of the sequence: %s, want ErrRestored", outcomeOf(r))
	}
	if r := one(c, claimOf("copy", "after")); !errors.Is(r.Err, storage.ErrRestored) {
		t.Errorf("claim on a copy: %s, want ErrRestored", outcomeOf(r))
	}
	// Opening again does not forget it.
	c2, _ := openOn(t, dup.URL("postgres"), quiet)
	if r := one(c2, claimOf("copy", "after")); !errors.Is(r.Err, storage.ErrRestored) {
		t.Errorf("claim on a copy after opening again: %s, want ErrRestored", outcomeOf(r))
	}
	epoch, err := postgres.NewEpoch(t.Context(), cpool)
	if err != nil {
		t.Fatal(err)
	}
	next := grantOf(t, c, claimOf("copy", "after"))
	if next.Fence <= ahead.Fence || next.Fence>>41 != epoch {
		t.Errorf("fence %d (epoch %d) after %d", next.Fence, epoch, ahead.Fence)
	}
	must[*idem.EndAnswer](t, c, completeOf(known, "ok")) // a claim of the old epoch
	if r := one(c, completeOf(ahead, "ok")); errors.Is(r.Err, storage.ErrRestored) {
		t.Error("a fence of the old epoch stops the new one")
	}
}

// standby starts a hot standby of a server.
func standby(t *testing.T, primary *embedded.Server) *embedded.Server {
	t.Helper()
	dir := filepath.Join(sharedDir(t), "standby")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	account, err := childproc.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if err := account.Own(dir); err != nil {
		t.Fatal(err)
	}
	runAs(t, exec.CommandContext(t.Context(), program(t, "pg_basebackup"), "-D", filepath.Join(dir, "data"),
		"-d", primary.URL("postgres"), "-R", "-X", "stream", "-c", "fast"))
	s, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir, Settings: map[string]string{"max_connections": "200"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// The promotion of a standby begins a new epoch by itself.
func TestFencesGrowAcrossPromotion(t *testing.T) {
	t.Parallel()
	primary := cluster(t, embedded.Options{})
	ps, ppool := openOn(t, primary.URL("postgres"), quiet)
	tok := grantSome(t, ps, "ns", 20)
	sb := standby(t, primary)
	pool := openPool(t, sb.URL("postgres"))
	ahead := grantSome(t, ps, "replicated", 20)
	eventually(t, 20*time.Second, "the standby caught up", func() bool {
		return scalar[int](t, pool, "SELECT count(*)::int FROM idemsvc.event WHERE namespace = 'replicated'") == 20
	})
	lost := ahead
	ps.Close()
	ppool.Close()
	if err := primary.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "SELECT pg_promote()")
	s, _ := openOn(t, sb.URL("postgres"), quiet)
	next := grantOf(t, s, claimOf("ns", "new"))
	if next.Fence <= lost.Fence {
		t.Errorf("fence %d after promotion, %d before", next.Fence, lost.Fence)
	}
	row := must[*idem.ExtendAnswer](t, s, &idem.Extend{Token: tok, Lease: time.Second})
	if row.Rearmed {
		t.Error("the claim of the old timeline was over")
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// TestAStandbyThatLacksCommits: what only the old primary knew is forgotten. Such an event
// is granted again, and says so, since it came before the epoch did.
func TestAStandbyThatLacksCommits(t *testing.T) {
	t.Parallel()
	primary := cluster(t, embedded.Options{})
	ps, ppool := openOn(t, primary.URL("postgres"), quiet)
	grantOf(t, ps, claimOf("ns", "replicated"))
	sb := standby(t, primary)
	pool := openPool(t, sb.URL("postgres"))
	execSQL(t, pool, "ALTER SYSTEM SET primary_conninfo = ''")
	execSQL(t, pool, "SELECT pg_reload_conf()")
	eventually(t, 20*time.Second, "the standby hears no more", func() bool {
		return scalar[int](t, pool, "SELECT count(*)::int FROM pg_stat_wal_receiver") == 0
	})
	forgotten := claimOf("ns", "forgotten")
	forgotten.Facts.OccurredAt = time.Now().Add(-time.Minute).UnixNano()
	tok := grantOf(t, ps, forgotten)
	ps.Close()
	ppool.Close()
	if err := primary.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, "SELECT pg_promote()")
	s, _ := openOn(t, sb.URL("postgres"), quiet)
	if a := must[*idem.ClaimAnswer](t, s, claimOf("ns", "replicated")); a.Outcome != idem.OutcomeInProgress {
		t.Errorf("a claim that the standby knows: %s", a.Outcome)
	}
	again := claimOf("ns", "forgotten")
	again.Facts.OccurredAt = forgotten.Facts.OccurredAt
	a := must[*idem.ClaimAnswer](t, s, again)
	if !a.Granted || !slices.Contains(a.Anomalies, idem.AnomalyRestored) {
		t.Errorf("a claim that the standby never heard of: %s, %v", a.Outcome, a.Anomalies)
	}
	if a.Event.Fence <= tok.Fence {
		t.Errorf("fence %d after the promotion, %d before", a.Event.Fence, tok.Fence)
	}
	r := one(s, completeOf(tok, "late"))
	if lost, ok := errors.AsType[*idem.Error](r.Err); !ok || lost.Code != idem.CodeClaimLost {
		t.Errorf("completion of the forgotten claim: %s", outcomeOf(r))
	}
}

// A store that was open on the standby all along is unavailable, not broken, and goes on
// once the standby is promoted: with a new epoch and without being opened again.
func TestStandbyIsUnavailableUntilPromoted(t *testing.T) {
	t.Parallel()
	primary := cluster(t, embedded.Options{})
	ps, _ := openOn(t, primary.URL("postgres"), quiet)
	tok := grantOf(t, ps, claimOf("ns", "claimed"))
	sb := standby(t, primary)
	// The address that the pool connects to first leads to the primary, then to the
	// standby: a managed failover.
	target := primary.URL("postgres")
	s, pool := openOn(t, target, quiet, func(c *pgxpool.Config) {
		cfg, err := pgconn.ParseConfig(sb.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		c.ConnConfig.Fallbacks = []*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port}}
	})
	grantOf(t, s, claimOf("ns", "warm"))
	eventually(t, 20*time.Second, "the standby caught up", func() bool {
		sp := openPool(t, sb.URL("postgres"))
		defer sp.Close()
		return scalar[int](t, sp, "SELECT count(*)::int FROM idemsvc.event WHERE event_id = 'warm'") == 1
	})
	if err := primary.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, c := range []idem.Command{claimOf("ns", "x"), completeOf(tok, "ok"), &idem.Settle{Event: tok.Event}, claimOf("ns", "claimed")} {
		if r := one(s, c); !errors.Is(r.Err, storage.ErrUnavailable) {
			t.Errorf("command %d (%T) on a standby: %s, want ErrUnavailable", i, c, outcomeOf(r))
		}
	}
	rs := s.Apply(t.Context(), []idem.Command{claimOf("ns", "x"), claimOf("ns", "y")})
	for _, r := range rs {
		if !errors.Is(r.Err, storage.ErrUnavailable) {
			t.Errorf("a batch on a standby: %s, want ErrUnavailable", outcomeOf(r))
		}
	}
	execSQL(t, pool, "SELECT pg_promote()")
	next := grantOf(t, s, claimOf("ns", "new"))
	if next.Fence>>41 == tok.Fence>>41 {
		t.Errorf("fence %d after the promotion is of the epoch before", next.Fence)
	}
	must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
}

// Raising the epoch never shortens a lease, and replicas agree on the new epoch.
func TestNewEpochGivesLiveClaimsTheirFullLease(t *testing.T) {
	t.Parallel()
	s, pool := openStore(t, quiet)
	other, _ := openOn(t, pool.Config().ConnString(), quiet)
	tok := grantOf(t, s, claimOf("ns", "e"))
	over := grantOf(t, s, claimOf("ns", "over"))
	execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 minute' WHERE id = $1", [16]byte(over.Event))
	epoch, err := postgres.NewEpoch(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []storage.Backend{s, other} {
		a := must[*idem.ClaimAnswer](t, b, claimOf("ns", "e"))
		if a.Outcome != idem.OutcomeInProgress || a.RetryIn < 9*time.Minute {
			t.Errorf("claim of the old epoch: %s, %v left", a.Outcome, a.RetryIn)
		}
		a = must[*idem.ClaimAnswer](t, b, claimOf("ns", "over"))
		if a.Outcome != idem.OutcomeInProgress || a.RetryIn < 9*time.Minute {
			t.Errorf("claim whose lease ended in the old epoch, maybe while nobody could report: %s, %v left", a.Outcome, a.RetryIn)
		}
		if next := grantOf(t, b, claimOf("ns", "new-"+randomID().String())); next.Fence>>41 != epoch || next.Fence <= tok.Fence {
			t.Errorf("fence %d in epoch %d", next.Fence, epoch)
		}
	}
	must[*idem.EndAnswer](t, other, completeOf(tok, "ok"))
}

// TestAClockJumpBeginsAnEpoch: leases cannot be trusted after the database's clock has
// jumped, so that running claims get their whole lease again, and fences go on above all
// that were drawn before.
func TestAClockJumpBeginsAnEpoch(t *testing.T) {
	t.Parallel()
	for _, shift := range []time.Duration{10 * time.Second, -10 * time.Second} {
		s, pool := openStore(t, quiet)
		epoch := func() int64 { return scalar[int64](t, pool, "SELECT epoch FROM idemsvc.meta") }
		before := epoch()
		tok := grantOf(t, s, claimOf("ns", "e"))
		execSQL(t, pool, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 minute' WHERE id = $1", [16]byte(tok.Event))
		s.ShiftClock(4 * time.Second)
		grantOf(t, s, claimOf("ns", "a little"))
		if e := epoch(); e != before {
			t.Fatalf("4 s are no jump: epoch %d became %d", before, e)
		}
		s.ShiftClock(shift)
		grantOf(t, s, claimOf("ns", "notices"))
		if e := epoch(); e <= before {
			t.Fatalf("%v: epoch %d stayed %d", shift, before, e)
		}
		if a := must[*idem.ClaimAnswer](t, s, claimOf("ns", "e")); a.Outcome != idem.OutcomeInProgress || a.RetryIn < 9*time.Minute {
			t.Errorf("%v: %s, %v left, want the whole lease", shift, a.Outcome, a.RetryIn)
		}
		if next := grantOf(t, s, claimOf("ns", "next")); next.Fence>>41 <= before {
			t.Errorf("%v: fence %d is of epoch %d", shift, next.Fence, next.Fence>>41)
		}
		must[*idem.EndAnswer](t, s, completeOf(tok, "ok"))
	}
}

// An answer that is slow to come is no jump of the database's clock: it begins no new
// epoch and lengthens no lease.
func TestSlowAnswerIsNoClockJump(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, "idemsvc", migrate)
	p := newProxy(t)
	s, pool := openOn(t, url, quiet, p.dial)
	grantOf(t, s, claimOf("ns", "a"))
	before := scalar[int64](t, openPool(t, url), "SELECT epoch FROM idemsvc.meta")
	p.delayAnswers(5200 * time.Millisecond)
	if r := one(s, claimOf("ns", "b")); r.Err != nil {
		t.Fatal(r.Err)
	}
	p.delayAnswers(0)
	if after := scalar[int64](t, pool, "SELECT epoch FROM idemsvc.meta"); after != before {
		t.Errorf("epoch %d became %d", before, after)
	}
}
