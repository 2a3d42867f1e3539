package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// heavy tells whether the long variants of the tests were asked for.
func heavy() bool { return os.Getenv("IDEMSVC_TEST_HEAVY") != "" }

func randomID() (id idem.ID) {
	_, _ = rand.Read(id[:])
	return id
}

func keyOf(ns, event string) idem.EventKey {
	return idem.EventKey{EventRef: idem.EventRef{Namespace: ns, Source: "shop", EventID: event}, Consumer: "mailer"}
}

// claimOf is a claim by a claimant of its own.
func claimOf(ns, event string) *idem.Claim {
	return &idem.Claim{
		Key: keyOf(ns, event), Claimant: "claimant-" + rand.Text(), Holder: "host", Nonce: randomID(), Lease: 10 * time.Minute,
		Facts: idem.Facts{Type: "order.paid", RequestID: "req-" + rand.Text(), Kind: idem.ProviderFirst},
	}
}

func lane(c *idem.Claim, name string, value int64) *idem.Claim {
	c.Ordering = &idem.Ordering{
		Resource: idem.ResourceKey{Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Type: "order", Name: name},
		Mode:     idem.LatestWins, Version: idem.Version{Kind: idem.Sequence, Value: value},
	}
	return c
}

func tokenOf(c *idem.Claim, a *idem.ClaimAnswer) idem.Token {
	return idem.Token{Namespace: c.Key.Namespace, Consumer: c.Key.Consumer, Event: c.Key.ID(), Fence: a.Event.Fence, Nonce: a.Event.Nonce}
}

// tokenFrom is the token of a granted claim's result; its command is one of claimOf.
func tokenFrom(t testing.TB, c idem.Command, r storage.Result) idem.Token {
	t.Helper()
	claim, ok := c.(*idem.Claim)
	a, granted := r.Answer.(*idem.ClaimAnswer)
	if r.Err != nil || !ok || !granted || a.Outcome != idem.OutcomeClaimed {
		t.Fatalf("%T: %s, want CLAIMED", c, outcomeOf(r))
	}
	return tokenOf(claim, a)
}

func completeOf(tok idem.Token, result string) *idem.Complete {
	return &idem.Complete{Token: tok, Result: []byte(result), ContentType: "text/plain"}
}

func failOf(tok idem.Token) *idem.Fail {
	return &idem.Fail{Token: tok, Error: idem.Failure{Kind: idem.Retryable, Code: "X", Message: "no"}, RetryAfter: time.Hour}
}

func one(b storage.Backend, c idem.Command) storage.Result {
	return b.Apply(context.Background(), []idem.Command{c})[0]
}

// must is a command's answer.
func must[A idem.Answer](t testing.TB, b storage.Backend, c idem.Command) A {
	t.Helper()
	r := one(b, c)
	if r.Err != nil {
		t.Fatalf("%T: %v", c, r.Err)
	}
	a, ok := r.Answer.(A)
	if !ok {
		t.Fatalf("%T was answered with %T", c, r.Answer)
	}
	return a
}

// grantOf carries out a claim that must be granted.
func grantOf(t testing.TB, b storage.Backend, c *idem.Claim) idem.Token {
	t.Helper()
	a := must[*idem.ClaimAnswer](t, b, c)
	if a.Outcome != idem.OutcomeClaimed {
		t.Fatalf("claim of %s: %s, want CLAIMED", c.Key.EventID, a.Outcome)
	}
	return tokenOf(c, a)
}

// outcomeOf is a result in a word.
func outcomeOf(r storage.Result) string {
	var e *idem.Error
	switch {
	case errors.As(r.Err, &e):
		return string(e.Code)
	case r.Err != nil:
		return "error: " + r.Err.Error()
	}
	switch a := r.Answer.(type) {
	case *idem.ClaimAnswer:
		return a.Outcome.String()
	case *idem.EndAnswer:
		return a.State.String()
	case *idem.CheckAnswer:
		return a.Verdict.String()
	case *idem.EffectAnswer:
		return a.Verdict.String()
	}
	return fmt.Sprintf("%T", r.Answer)
}

func execSQL(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// vacuum vacuums the schema's tables alone: the catalogs are every test's. It waits longer
// for a lock than the store would, since autovacuum may be at work on a table.
func vacuum(t testing.TB, pool *pgxpool.Pool, command string) {
	t.Helper()
	tables := scalar[string](t, pool, "SELECT string_agg(oid::regclass::text, ', ') FROM pg_class WHERE relnamespace = 'idemsvc'::regnamespace AND relkind IN ('r', 'p')")
	conn := connectTo(t, pool.Config().ConnString())
	for _, sql := range []string{"SET lock_timeout = '1min'", command + " " + tables} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func scalar[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually polls until a condition holds.
func eventually(t testing.TB, within time.Duration, what string, f func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}

// openOn opens a further store on a database.
func openOn(t testing.TB, url string, o postgres.Options, change ...func(*pgxpool.Config)) (*postgres.Store, *pgxpool.Pool) {
	t.Helper()
	pool := poolWith(t, url, change...)
	s, err := postgres.Open(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, pool
}

func poolWith(t testing.TB, url string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(cfg)
	}
	postgres.Tune(cfg)
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// cluster is a migrated private server.
func cluster(t testing.TB, o embedded.Options) *embedded.Server {
	t.Helper()
	s := pgtest.Cluster(t, o)
	if err := migrate(t.Context(), s.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	return s
}

// connectTo opens a session outside of any pool.
func connectTo(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func onConn(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// logLines collects what a logger is given.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(context.Context, slog.Level) bool { return true }
func (l *logLines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logLines) WithGroup(string) slog.Handler            { return l }
func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	var sb strings.Builder
	sb.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		sb.WriteString(" " + a.String())
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, sb.String())
	return nil
}

func slogOf(l *logLines) *slog.Logger { return slog.New(l) }

// with are the lines that hold one of the texts.
func (l *logLines) with(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.lines {
		for _, text := range texts {
			if strings.Contains(line, text) {
				out = append(out, line)
				break
			}
		}
	}
	return out
}

// eventRow is what the tests look at in a stored record.
type eventRow struct {
	Version, Fence int64
	Total          int32
	State          int16
}

func rowOf(t testing.TB, pool *pgxpool.Pool, key idem.EventKey) (r eventRow) {
	t.Helper()
	err := pool.QueryRow(context.Background(), "SELECT version, fence, total, state FROM idemsvc.event WHERE id = $1", [16]byte(key.ID())).
		Scan(&r.Version, &r.Fence, &r.Total, &r.State)
	if err != nil {
		t.Fatalf("record of %s: %v", key.EventID, err)
	}
	return r
}

// service starts a service over a store for the length of a test.
func service(t testing.TB, b storage.Backend, o storage.Options) *storage.Service {
	t.Helper()
	svc := storage.New(b, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := svc.Close(ctx); err != nil {
			t.Errorf("closing the service: %v", err)
		}
	})
	return svc
}
