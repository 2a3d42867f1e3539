package idemsvc_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is a server over memory in this process.
type replica struct {
	addr string
	stop func()
}

// startReplica serves a backend on the address; "127.0.0.1:0" chooses a port.
func startReplica(addr string, backend storage.Backend, change ...func(*server.Config)) (*replica, error) {
	store := storage.New(backend, storage.Options{})
	cfg := server.Config{Store: store, AllowAnonymous: true, DrainTimeout: 5 * time.Second, HealthInterval: 20 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	var lis net.Listener
	for range 50 { // a port just given free may not be yet
		if lis, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	stop := func() {
		srv.Stop(context.Background())
		if err := <-served; err != nil {
			panic(fmt.Sprint("served: ", err))
		}
		_ = store.Close(context.Background())
	}
	return &replica{addr: lis.Addr().String(), stop: sync.OnceFunc(stop)}, nil
}

func replicaOf(t *testing.T, backend storage.Backend, change ...func(*server.Config)) *replica {
	t.Helper()
	r, err := startReplica("127.0.0.1:0", backend, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
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

// development is a server for the examples.
func development() (addr string, stop func()) {
	r, err := startReplica("127.0.0.1:0", memory.New(memory.Options{}))
	if err != nil {
		panic(fmt.Sprint("no server: ", err))
	}
	return r.addr, r.stop
}
