package idemsvc_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
)

// replica is a server of this process.
type replica struct {
	addr  string
	store *storage.Service
	stop  func(context.Context) // the context's end cuts off what is left
}

// serve starts a server over a backend.
func serve(lis net.Listener, backend storage.Backend, change ...func(*server.Config)) (*replica, error) {
	store := storage.New(backend, storage.Options{})
	cfg := server.Config{Store: store, AllowAnonymous: true, DrainTimeout: 5 * time.Second, HealthInterval: 20 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	var once sync.Once
	stop := func(ctx context.Context) {
		once.Do(func() {
			srv.Stop(ctx)
			if err := <-served; err != nil {
				panic(fmt.Sprint("served: ", err))
			}
			_ = store.Close(context.Background())
		})
	}
	return &replica{addr: lis.Addr().String(), store: store, stop: stop}, nil
}

// listen takes a port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return lis
}

// replicaOf is a server that ends with the test.
func replicaOf(t *testing.T, backend storage.Backend, change ...func(*server.Config)) *replica {
	t.Helper()
	return serveUntilEnd(t, listen(t), backend, change...)
}

func serveUntilEnd(t *testing.T, lis net.Listener, backend storage.Backend, change ...func(*server.Config)) *replica {
	t.Helper()
	r, err := serve(lis, backend, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(context.Background()) })
	return r
}

// piped is a server inside a bubble, and how to reach it.
func piped(t *testing.T, backend storage.Backend, change ...func(*server.Config)) (*replica, idemsvc.Option) {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	r := serveUntilEnd(t, lis, backend, change...)
	return r, idemsvc.Options(idemsvc.WithInsecure(), idemsvc.WithDialOptions(
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
	))
}

func dial(t *testing.T, target string, opts ...idemsvc.Option) *idemsvc.Client {
	t.Helper()
	c, err := idemsvc.Dial(target, append([]idemsvc.Option{idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func event(id string) *idemsvc.Event { return &idemsvc.Event{Source: "stripe", EventId: id} }

// withToken serves with a token table and returns the token.
func withToken(t *testing.T, role auth.Role, namespaces ...string) (change func(*server.Config), token string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.json")
	token, _, err := auth.Create(path, "test", namespaces, role, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := auth.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *server.Config) { c.Auth, c.AllowAnonymous = table, false }, token
}

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(30 * time.Second)
	defer end.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}
