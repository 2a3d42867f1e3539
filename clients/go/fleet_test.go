package idemsvc_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage/postgres"
)

// fleet is two replicas over one PostgreSQL, under names that outlive their restarts.
type fleet struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	replicas map[string]*replica // those that run
}

var fleetNames = []string{"replica-0", "replica-1"}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, replicas: map[string]*replica{}}
	f.url = pgtest.Database(t, "clients-go", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url, postgres.MigrateOptions{})
		return err
	})
	t.Cleanup(func() {
		for _, name := range fleetNames {
			f.stop(context.Background(), name)
		}
	})
	for _, name := range fleetNames {
		f.start(name)
	}
	return f
}

// start runs a replica with a store and connections of its own, as a process would.
func (f *fleet) start(name string) {
	f.t.Helper()
	cfg, err := pgxpool.ParseConfig(f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg.MaxConns = 8
	postgres.Tune(cfg)
	ctx := context.Background()
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	backend, err := postgres.Open(ctx, pool, postgres.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := serve(listen(f.t), backend, func(c *server.Config) { c.DrainDelay = 20 * time.Millisecond })
	if err != nil {
		f.t.Fatal(err)
	}
	stop := r.stop
	r.stop = func(ctx context.Context) {
		stop(ctx)
		backend.Close()
		pool.Close()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas[name] = r
}

// stop ends a replica, which cannot be reached from the first moment of that: no balancer
// has been told before.
func (f *fleet) stop(ctx context.Context, name string) {
	f.mu.Lock()
	r := f.replicas[name]
	delete(f.replicas, name)
	f.mu.Unlock()
	if r != nil {
		r.stop(ctx)
	}
}

func (f *fleet) running(name string) *replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replicas[name]
}

// commands is how many commands a replica has carried out.
func (f *fleet) commands(name string) uint64 { return f.running(name).store.Stats().Commands }

// client is one that knows both replicas by name, as from DNS.
func (f *fleet) client(opts ...idemsvc.Option) *idemsvc.Client {
	f.t.Helper()
	var state resolver.State
	for _, name := range fleetNames {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: name})
	}
	names := manual.NewBuilderWithScheme("fleet")
	names.InitialState(state)
	dialer := func(ctx context.Context, name string) (net.Conn, error) {
		if !slices.Contains(fleetNames, name) {
			return nil, fmt.Errorf("no replica is called %s", name)
		}
		r := f.running(name)
		if r == nil {
			return nil, syscall.ECONNREFUSED
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", r.addr)
	}
	return dial(f.t, "fleet:///idemsvc", append([]idemsvc.Option{
		idemsvc.WithInsecure(), idemsvc.WithDialOptions(grpc.WithResolvers(names), grpc.WithContextDialer(dialer)),
	}, opts...)...)
}
