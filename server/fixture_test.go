package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

const shop = "shop-live"

// brokenBackend is a backend that fails on demand.
type brokenBackend struct {
	storage.Backend
	err      atomic.Pointer[error]
	payloads atomic.Bool  // they cannot be loaded
	facts    atomic.Int64 // questions for facts that were asked
	damaged  sync.Map     // IDs of records that cannot be read
}

func (b *brokenBackend) Records(ctx context.Context, ids []idem.ID) (map[idem.ID]storage.View, error) {
	found, err := b.Backend.Records(ctx, ids)
	for id, v := range found {
		_, v.Damaged = b.damaged.Load(id)
		found[id] = v
	}
	return found, err
}

func (b *brokenBackend) List(ctx context.Context, q storage.ListQuery) (storage.Listed, error) {
	page, err := b.Backend.List(ctx, q)
	for i := range page.Views {
		_, page.Views[i].Damaged = b.damaged.Load(page.Views[i].Event.ID())
	}
	return page, err
}

func (b *brokenBackend) Facts(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef]*idem.Facts, error) {
	b.facts.Add(1)
	return b.Backend.Facts(ctx, refs)
}

func (b *brokenBackend) Payloads(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef][]byte, error) {
	if b.payloads.Load() {
		return nil, storage.ErrUnavailable
	}
	return b.Backend.Payloads(ctx, refs)
}

func (b *brokenBackend) fail(err error) {
	if err == nil {
		b.err.Store(nil)
		return
	}
	b.err.Store(&err)
}

func (b *brokenBackend) failure() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *brokenBackend) Apply(ctx context.Context, batch []idem.Command) []storage.Result {
	if err := b.failure(); err != nil {
		out := make([]storage.Result, len(batch))
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	out := b.Backend.Apply(ctx, batch)
	for i := range out {
		out[i].TxID = fixtureTx
	}
	return out
}

// fixtureTx is the transaction that the fixture's backend says it wrote in.
const fixtureTx = 4711

func (b *brokenBackend) Info(ctx context.Context) (storage.Info, error) {
	if err := b.failure(); err != nil {
		return storage.Info{}, err
	}
	return b.Backend.Info(ctx)
}

// fixture is a server over memory, and the tokens of its callers.
type fixture struct {
	srv     *Server
	store   *storage.Service
	backend *brokenBackend
	clock   *memory.Clock
	lis     *bufconn.Listener
	log     *lockedBuffer
	tokens  map[string]string
	conns   map[string]*grpc.ClientConn
	mu      sync.Mutex
	url     string     // of JSON over HTTP, once asked for
	json    chan error // what its serving ended with
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// The callers of a fixture.
var callers = []struct {
	name       string
	namespaces []string
	role       auth.Role
}{
	{"consumer", []string{shop}, auth.Consumer},
	{"other", []string{"other-live"}, auth.Consumer},
	{"colons", []string{"a", "a:b"}, auth.Consumer},
	{"reader", []string{shop}, auth.Reader},
	{"operator", []string{shop}, auth.Operator},
	{"admin", []string{shop}, auth.Admin},
}

func start(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		clock: memory.NewClock(idem.InstantOf(time.Now())), lis: bufconn.Listen(1 << 20), log: &lockedBuffer{},
		tokens: map[string]string{}, conns: map[string]*grpc.ClientConn{},
	}
	f.backend = &brokenBackend{Backend: memory.New(memory.Options{Clock: f.clock.Now, Policy: testPolicy})}
	f.store = storage.New(f.backend, storage.Options{})
	cfg := Config{
		Store: f.store, Version: "1.2.3", Auth: f.table(t), Logger: slog.New(slog.NewJSONHandler(f.log, nil)),
		HealthInterval: 5 * time.Millisecond, DrainTimeout: 10 * time.Second,
	}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.srv = srv
	served := make(chan error, 1)
	go func() { served <- srv.Serve(f.lis) }()
	t.Cleanup(func() {
		for _, c := range f.conns {
			_ = c.Close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		srv.Stop(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
		if f.json != nil {
			if err := <-f.json; err != nil {
				t.Error(err)
			}
		}
		if err := f.store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func testPolicy(idem.EventKey, string) *idem.Policy {
	p := idem.DefaultPolicy()
	p.SelfOrigins = []string{"me"}
	p.Machines = map[string]idem.Machine{"order": {Initial: "new", Edges: map[string][]string{"new": {"paid"}}}}
	return p
}

func (f *fixture) table(t testing.TB) *auth.Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.json")
	for _, c := range callers {
		token, _, err := auth.Create(path, c.name, c.namespaces, c.role, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.tokens[c.name] = token
	}
	table, err := auth.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// conn is a connection of a caller; an unknown caller's name is its token.
func (f *fixture) conn(t testing.TB, caller string) *grpc.ClientConn {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.conns[caller]; c != nil {
		return c
	}
	token, known := f.tokens[caller]
	if !known {
		token = caller
	}
	c, err := grpc.NewClient("passthrough:///bufnet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(token)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return f.lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	f.conns[caller] = c
	return c
}

func (f *fixture) client(t testing.TB, caller string) pb.IdempotencyServiceClient {
	t.Helper()
	return pb.NewIdempotencyServiceClient(f.conn(t, caller))
}

func (f *fixture) ops(t testing.TB, caller string) pb.OperationsServiceClient {
	t.Helper()
	return pb.NewOperationsServiceClient(f.conn(t, caller))
}

var claimants atomic.Int64

func claimOf(id string) *pb.ClaimEventRequest {
	return &pb.ClaimEventRequest{
		Namespace: shop, Consumer: "billing", Event: &pb.Event{Source: "stripe", EventId: id},
		Claimant: fmt.Sprintf("claimant-%d", claimants.Add(1)),
	}
}

// claimed claims a fresh event.
func (f *fixture) claimed(t *testing.T, id string) *pb.Claim {
	t.Helper()
	r, err := f.client(t, "consumer").ClaimEvent(t.Context(), claimOf(id))
	if err != nil || r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
		t.Fatalf("%v %v", r, err)
	}
	return r.GetClaim()
}

// stillMine fails when a claim is not live any more.
func (f *fixture) stillMine(t *testing.T, token []byte) {
	t.Helper()
	if _, err := f.client(t, "consumer").ExtendClaim(t.Context(), &pb.ExtendClaimRequest{Token: token}); err != nil {
		t.Fatalf("the claim is gone: %v", err)
	}
}

// told is what a caller was told about a refused call.
type told struct {
	code          codes.Code
	reason, field string
}

func toldBy(t *testing.T, err error) told {
	t.Helper()
	st, _ := status.FromError(err)
	x := told{code: st.Code()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			x.reason = d.GetReason()
			if d.GetDomain() != "idemsvc" {
				t.Errorf("domain %q", d.GetDomain())
			}
		case *errdetails.BadRequest:
			x.field = d.GetFieldViolations()[0].GetField()
		}
	}
	return x
}

func itemTold(e *pb.ItemError) told {
	return told{code: codes.Code(e.GetCode()), reason: e.GetReason(), field: e.GetField()}
}

func retryOf(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

var errTest = errors.New("password=hunter2 host=db1")
