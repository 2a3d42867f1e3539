package inbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/idemtest"
	"github.com/idemsvc/idemsvc/clients/go/inbox"
	"github.com/idemsvc/idemsvc/clients/go/inbox/pgxinbox"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(asVictim); job != "" {
		if err := runVictim(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := pgtest.Run(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// What all tests process events as.
const (
	namespace = "dev"
	consumer  = "billing"
)

// business is the consumer's own table. Nothing in it keeps a row from being written twice.
const business = `CREATE TABLE invoice (event_id text NOT NULL, fence bigint NOT NULL)`

// consumerDB is a fresh database of the consumer, with its table and that of the inbox.
func consumerDB(t *testing.T) (url string, pool *pgxpool.Pool) {
	t.Helper()
	url = pgtest.Database(t, "inbox", func(ctx context.Context, url string) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, business); err != nil {
			return err
		}
		box, err := pgxinbox.New(conn, namespace, consumer)
		if err != nil {
			return err
		}
		return box.EnsureSchema(ctx)
	})
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return url, pool
}

// service is a real server over a PostgreSQL of its own, which can be away.
type service struct {
	t    *testing.T
	pool *pgxpool.Pool
	addr string
	stop func()
}

func newService(t *testing.T) *service {
	t.Helper()
	url := pgtest.Database(t, "inbox-service", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
		return err
	})
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 8
	postgres.Tune(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := &service{t: t, pool: pool, addr: "127.0.0.1:0"}
	s.start()
	t.Cleanup(s.away)
	return s
}

// start serves on the address that it has, or takes one.
func (s *service) start() {
	s.t.Helper()
	ctx := context.Background()
	backend, err := postgres.Open(ctx, s.pool, postgres.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = lis.Addr().String()
	store := storage.New(backend, storage.Options{})
	srv, err := server.New(server.Config{Store: store, AllowAnonymous: true, DrainTimeout: time.Millisecond, HealthInterval: 20 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	s.stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		srv.Stop(ctx)
		if err := <-served; err != nil {
			s.t.Error(err)
		}
		if err := store.Close(ctx); err != nil {
			s.t.Error(err)
		}
		backend.Close()
	}
}

func (s *service) away() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

func (s *service) client(opts ...idemsvc.Option) *idemsvc.Client {
	s.t.Helper()
	c, err := idemsvc.Dial(s.addr, append([]idemsvc.Option{idemsvc.WithNamespace(namespace), idemsvc.WithConsumer(consumer)}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// memoryService is the service over memory, whose clock can be moved.
func memoryService(t *testing.T) *idemtest.Server {
	t.Helper()
	return idemtest.New(t, idemtest.WithNamespaces(namespace), idemtest.WithPolicy(func(p *idem.Policy) { p.MaxAttempts = 100 }))
}

// endLeases ends the leases of all claims, as time does.
func (s *service) endLeases() {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE lease_until IS NOT NULL"); err != nil {
		s.t.Fatal(err)
	}
}

// take ends the lease of an event in the middle of its owner's work. Another one gets it then.
func (s *service) take(ctx context.Context, id string) {
	k := idem.EventKey{EventRef: idem.EventRef{Namespace: namespace, Source: "stripe", EventID: id}, Consumer: consumer}
	if _, err := s.pool.Exec(ctx, "UPDATE idemsvc.event SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1", [16]byte(k.ID())); err != nil && ctx.Err() == nil {
		s.t.Error(err)
	}
}

func event(id string) *idemsvc.Event { return &idemsvc.Event{Source: "stripe", EventId: id} }

// statements runs one in the work's transaction, whatever driver that is of.
type statements func(ctx context.Context, sql string, args ...any) error

type job func(ctx context.Context, exec statements) (inbox.Result, error)

// subject is an inbox over one of the drivers.
type subject interface {
	process(ctx context.Context, e *idemsvc.Event, work job, opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error)
	do(ctx context.Context, claim *idemsvc.Claim, work job) (inbox.Done, error)
	Fence(ctx context.Context, claim *idemsvc.Claim) error
	Report(ctx context.Context) (inbox.Reported, error)
	Purge(ctx context.Context, olderThan time.Duration, limit int) (int, error)
	EnsureSchema(ctx context.Context) error
	Schema() string
}

type over[Tx any] struct {
	*inbox.Inbox[Tx]
	exec func(ctx context.Context, tx Tx, sql string, args ...any) error
}

func (o over[Tx]) work(j job) inbox.Work[Tx] {
	return func(ctx context.Context, tx Tx) (inbox.Result, error) {
		return j(ctx, func(ctx context.Context, sql string, args ...any) error { return o.exec(ctx, tx, sql, args...) })
	}
}

func (o over[Tx]) process(ctx context.Context, e *idemsvc.Event, j job, opts ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
	return o.Process(ctx, e, o.work(j), opts...)
}

func (o over[Tx]) do(ctx context.Context, claim *idemsvc.Claim, j job) (inbox.Done, error) {
	return o.Do(ctx, claim, o.work(j))
}

// drivers are the ways to make an inbox.
var drivers = map[string]func(t *testing.T, url string, opts ...inbox.Option) subject{
	"sql": func(t *testing.T, url string, opts ...inbox.Option) subject {
		t.Helper()
		cfg, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		db := stdlib.OpenDB(*cfg)
		t.Cleanup(func() { _ = db.Close() })
		box, err := inbox.New(db, namespace, consumer, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return over[*sql.Tx]{box, func(ctx context.Context, tx *sql.Tx, statement string, args ...any) error {
			_, err := tx.ExecContext(ctx, statement, args...)
			return err
		}}
	},
	"pgx":                             pgxSubject(pgx.QueryExecModeCacheStatement),
	"pgx without prepared statements": pgxSubject(pgx.QueryExecModeExec),
	"pgx by the simple protocol":      pgxSubject(pgx.QueryExecModeSimpleProtocol),
}

func pgxSubject(mode pgx.QueryExecMode) func(t *testing.T, url string, opts ...inbox.Option) subject {
	return func(t *testing.T, url string, opts ...inbox.Option) subject {
		t.Helper()
		cfg, err := pgxpool.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		cfg.ConnConfig.DefaultQueryExecMode = mode
		pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		box, err := pgxinbox.New(pool, namespace, consumer, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return pgxSubjectOf(box)
	}
}

func pgxSubjectOf(box *inbox.Inbox[pgx.Tx]) over[pgx.Tx] {
	return over[pgx.Tx]{box, func(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}}
}

// result is work that does nothing but to leave a result.
func result(r inbox.Result) job {
	return func(context.Context, statements) (inbox.Result, error) { return r, nil }
}

// onEachDriver runs a test over each driver with a database of its own.
func onEachDriver(t *testing.T, run func(t *testing.T, pool *pgxpool.Pool, open func(opts ...inbox.Option) subject)) {
	t.Helper()
	t.Parallel()
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, pool := consumerDB(t)
			run(t, pool, func(opts ...inbox.Option) subject { return open(t, url, opts...) })
		})
	}
}

// replay asks for a replay of a processed event, as an operator does.
func replay(t *testing.T, client *idemsvc.Client, id string) {
	t.Helper()
	resp, err := client.Operations().ReplayEvents(t.Context(), &pb.ReplayEventsRequest{
		Namespace: namespace, RequestId: "replay of " + id, Why: "test", IncludeProcessed: true,
		Selection: &pb.ReplayEventsRequest_Events{Events: &pb.ReplaySelection{Targets: []*pb.ReplayTarget{{Consumer: consumer, Event: &pb.EventRef{Source: "stripe", EventId: id}}}}},
	})
	if err != nil {
		t.Fatalf("%v %v", resp, err)
	}
}

// book writes the invoice of an event.
func book(id string) job {
	return func(ctx context.Context, exec statements) (inbox.Result, error) {
		err := exec(ctx, "INSERT INTO invoice VALUES ($1::text, 0)", id)
		return inbox.Result{Body: []byte("invoice of " + id), ContentType: "text/plain", Outputs: []string{"invoice/" + id}}, err
	}
}

// count asks for a number.
func count(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// booked fails unless the event has that many invoices.
func booked(t *testing.T, pool *pgxpool.Pool, id string, want int) {
	t.Helper()
	if n := count(t, pool, "SELECT count(*) FROM invoice WHERE event_id = $1", id); n != want {
		t.Errorf("%d invoices of %s, want %d", n, id, want)
	}
}
