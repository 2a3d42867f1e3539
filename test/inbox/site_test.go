package inbox_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

const (
	namespace = "dev"
	source    = "stripe"
	patience  = 30 * time.Second
)

// site is a server over a PostgreSQL whose clock can be moved.
type site struct {
	t     *testing.T
	addr  string
	ops   pb.OperationsServiceClient
	idem  pb.IdempotencyServiceClient
	clock pb.TestingServiceClient
}

func newSite(t *testing.T) *site {
	t.Helper()
	url := pgtest.Database(t, "inbox", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
		return err
	})
	var store *storage.Service
	moving := newClock(t, poolOf(t, url, nil), func() { store.Recheck() })
	pool := poolOf(t, url, func(cfg *pgxpool.Config) {
		postgres.Tune(cfg)
		cfg.ConnConfig.RuntimeParams["search_path"] = clockPath
	})
	backend, err := postgres.Open(t.Context(), pool, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	store = storage.New(backend, storage.Options{})
	srv, err := server.New(server.Config{Store: store, AllowAnonymous: true, TestClock: moving, DrainTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop(context.Background())
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &site{
		t: t, addr: lis.Addr().String(),
		ops: pb.NewOperationsServiceClient(conn), idem: pb.NewIdempotencyServiceClient(conn), clock: pb.NewTestingServiceClient(conn),
	}
}

func poolOf(t *testing.T, url string, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 8
	if change != nil {
		change(cfg)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func (s *site) client(opts ...idemsvc.Option) *idemsvc.Client {
	s.t.Helper()
	c, err := idemsvc.Dial(s.addr, append([]idemsvc.Option{idemsvc.WithNamespace(namespace), idemsvc.WithInsecure()}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// work runs a worker until the test ends.
func (s *site) work(w *idemsvc.Worker) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
}

// advance moves the service's clock, as a test of somebody else would.
func (s *site) advance(by time.Duration) {
	s.t.Helper()
	if _, err := s.clock.AdvanceClock(s.t.Context(), &pb.AdvanceClockRequest{By: durationpb.New(by)}); err != nil {
		s.t.Fatal(err)
	}
}

// event is all that is known of an event.
func (s *site) event(id string) *pb.EventView {
	s.t.Helper()
	r, err := s.ops.GetEvent(s.t.Context(), &pb.GetEventRequest{
		Namespace: namespace, Source: source, EventId: id, IncludePayload: true, IncludeResults: true, IncludeRejectedDeliveries: true,
	})
	if err != nil || len(r.GetEvents()) != 1 {
		s.t.Fatalf("%s: %v %v", id, r, err)
	}
	return r.GetEvents()[0]
}

// of is the processing of an event by a consumer.
func (s *site) of(id, consumer string) *pb.ConsumerView {
	s.t.Helper()
	for _, c := range s.event(id).GetConsumers() {
		if c.GetConsumer() == consumer {
			return c
		}
	}
	s.t.Fatalf("%s is not known to be for %s", id, consumer)
	return nil
}

// until waits until a consumer has made some attempts at an event, and it is in a state.
func (s *site) until(id, consumer string, attempts int32, state pb.EventState) *pb.ConsumerView {
	s.t.Helper()
	var v *pb.ConsumerView
	s.await(func() bool {
		v = s.of(id, consumer)
		return v.GetState() == state && v.GetAttemptsTotal() == attempts
	}, func() string { return id + " for " + consumer + " is " + v.String() })
	return v
}

// await waits for a condition, and tells what there is instead if it does not come.
func (s *site) await(met func() bool, instead func() string) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !met(); <-tick.C {
		if time.Now().After(end) {
			s.t.Fatalf("not within %v: %s", patience, instead())
		}
	}
}

// idle fails when something is due for a consumer.
func (s *site) idle(consumer string) {
	s.t.Helper()
	r, err := s.idem.AcquireEvents(s.t.Context(), &pb.AcquireEventsRequest{Namespace: namespace, Consumer: consumer, Claimant: idemsvc.NewClaimant(), MaxEvents: 100})
	if err != nil || len(r.GetEvents()) != 0 {
		s.t.Fatalf("nothing is due for %s: %v %v", consumer, r, err)
	}
}

// listed are the processings in the given states, as "event consumer".
func (s *site) listed(states ...pb.EventState) []string {
	s.t.Helper()
	r, err := s.ops.ListEvents(s.t.Context(), &pb.ListEventsRequest{Namespace: namespace, Filter: &pb.EventFilter{States: states}})
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range r.GetEvents() {
		out = append(out, e.GetEvent().GetEventId()+" "+e.GetProcessing().GetConsumer())
	}
	return out
}
