package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/server"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// awayFlag is how long the service is away at least. `make soak-outage` says for how long.
var awayFlag = flag.Duration("outage.time", 0, "how long the service is away at least")

// outage is a service that can be away: its server stops, what it knows stays.
type outage struct {
	t       *testing.T
	backend *memory.Store
	addr    string
	stop    func()
}

func newOutage(t *testing.T) *outage {
	t.Helper()
	o := &outage{t: t, backend: memory.New(memory.Options{}), addr: "127.0.0.1:0"}
	o.start()
	t.Cleanup(func() { o.away() })
	return o
}

// start serves on the address that it has, or takes one.
func (o *outage) start() {
	o.t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.addr)
	if err != nil {
		o.t.Fatal(err)
	}
	o.addr = lis.Addr().String()
	store := storage.New(o.backend, storage.Options{})
	srv, err := server.New(server.Config{Store: store, AllowAnonymous: true, DrainTimeout: time.Millisecond, HealthInterval: 20 * time.Millisecond})
	if err != nil {
		o.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	o.stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		srv.Stop(ctx)
		if err := <-served; err != nil {
			o.t.Error(err)
		}
		if err := store.Close(ctx); err != nil {
			o.t.Error(err)
		}
	}
}

// away stops it.
func (o *outage) away() {
	if o.stop != nil {
		o.stop()
		o.stop = nil
	}
}

func (o *outage) dial() *idemsvc.Client {
	o.t.Helper()
	c, err := idemsvc.Dial(o.addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = c.Close() })
	return c
}

// The service goes away under load and comes back: nothing is lost, nothing is done twice,
// and the counts add up, whichever way its absence is met.
func TestTheServiceIsAwayUnderLoad(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"reject", "spool", "local"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			awayUnderLoad(t, mode)
		})
	}
}

// storm is a provider that delivers from many sides at once, for as long as the service is away
// and so many events at least, and comes again where it is told to: the events evt_0_0 and so on.
type storm struct {
	h             *webhook.Handler
	p             *webhook.Provider
	log           *logged
	senders, each int
}

// through lets the service go away in the middle of the storm and come back. Every event is
// accepted in the end, none is refused unless that is the mode, and the answers are in the log.
// It returns the events.
func (x storm) through(t *testing.T, o *outage, dir, mode string) (ids []string) {
	t.Helper()
	var accepted, refused, odd atomic.Int64
	var away atomic.Bool
	var sending sync.WaitGroup
	sent := make([][]string, x.senders)
	for i := range x.senders {
		sending.Go(func() {
			for k := 0; k < x.each || away.Load(); k++ {
				if k >= x.each {
					time.Sleep(200 * time.Millisecond) // its pace in a long outage
				}
				id := fmt.Sprintf("evt_%d_%d", i, k)
				sent[i] = append(sent[i], id)
				for tries := 0; ; tries++ {
					switch code := deliverTo(t, x.h, x.p, invoice(id, 1, tries)); code {
					case 200:
						accepted.Add(1)
					case 503: // the provider comes again
						refused.Add(1)
						time.Sleep(20 * time.Millisecond)
						continue
					default:
						odd.Add(1)
					}
					break
				}
			}
		})
	}
	until(t, "some events are accepted", func() bool { return accepted.Load() >= int64(x.senders*x.each/4) })
	away.Store(true)
	back := time.NewTimer(*awayFlag)
	o.away()
	switch mode {
	case "reject":
		until(t, "some events are refused", func() bool { return refused.Load() >= 20 })
	case "spool":
		until(t, "some events are spooled", func() bool { return answers(x.log, "spooled") >= 20 })
	default:
		until(t, "some events are decided without the service", func() bool { return answers(x.log, "local") >= 20 })
	}
	<-back.C
	o.start()
	away.Store(false)
	sending.Wait()
	ids = slices.Concat(sent...)
	all := int64(len(ids))
	t.Logf("%d events, %d times refused", all, refused.Load())
	until(t, "the spool is empty", func() bool { files, _ := filepath.Glob(filepath.Join(dir, "*.spool")); return len(files) == 0 })
	if accepted.Load() != all || odd.Load() != 0 || mode != "reject" && refused.Load() != 0 {
		t.Errorf("%d of %d events were accepted, %d refused, %d answers were odd", accepted.Load(), all, refused.Load(), odd.Load())
	}
	if got := int64(len(x.log.lines("answered"))); got != accepted.Load()+refused.Load()+odd.Load() {
		t.Errorf("%d answers were logged, %d accepted and %d refused", got, accepted.Load(), refused.Load())
	}
	return ids
}

func awayUnderLoad(t *testing.T, mode string) {
	t.Helper()
	const senders, each = 8, 50
	o := newOutage(t)
	// A claim whose answer is lost with the server holds its event for a lease.
	opts := []webhook.Option{webhook.WithClaimTimeout(500 * time.Millisecond), webhook.WithClaimOptions(idemsvc.WithLease(2 * time.Second))}
	dir := t.TempDir()
	client := o.dial()
	works := &counts{n: map[string]int{}}
	work, once := works.work, works.once
	var books *ledger
	switch mode {
	case "spool":
		opts = append(opts, webhook.Spool(dir))
	case "local":
		books = newLedger(t, client)
		opts = append(opts, webhook.Local(books.local))
		work, once = books.work, books.once
	}
	log := &logged{}
	p := testProvider("stripe")
	h, err := webhook.New(client, p, work, append(opts, webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()

	ids := storm{h: h, p: p, log: log, senders: senders, each: each}.through(t, o, dir, mode)
	if books != nil {
		if told := books.report(t); told != answers(log, "local") {
			t.Errorf("the service was told of %d events, and %d were decided without it", told, answers(log, "local"))
		}
	}
	for _, id := range ids {
		once(t, id)
		processed(t, client, id)
	}
}

// answers counts answers for a reason.
func answers(log *logged, reason string) (n int) {
	for _, l := range log.lines("answered") {
		if l["reason"] == reason {
			n++
		}
	}
	return n
}

func deliverTo(t testing.TB, h *webhook.Handler, p *webhook.Provider, body string) int {
	t.Helper()
	r := signed(t, p, body, nil)
	hr := httptest.NewRequest(r.Method, "/", bytes.NewReader(r.Body))
	hr.Header = r.Header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, hr)
	return w.Code
}

// counts is work that counts.
type counts struct {
	mu    sync.Mutex
	n     map[string]int
	order []string
}

func (c *counts) work(_ context.Context, _ *idemsvc.Claim, item *webhook.Item) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[item.ID]++
	c.order = append(c.order, item.ID)
	return nil
}

func (c *counts) once(t *testing.T, id string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[id] != 1 {
		t.Errorf("%s was worked on %d times", id, c.n[id])
	}
}

// processed fails unless the service knows an event as processed.
func processed(t *testing.T, client *idemsvc.Client, id string) {
	t.Helper()
	resp, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: "dev", Source: "stripe", EventId: id})
	if err != nil || len(resp.GetEvents()) != 1 || len(resp.GetEvents()[0].GetConsumers()) != 1 {
		t.Errorf("%s: %v %v", id, resp, err)
		return
	}
	if state := resp.GetEvents()[0].GetConsumers()[0].GetState(); state != pb.EventState_EVENT_STATE_PROCESSED {
		t.Errorf("%s is %v", id, state)
	}
}

// What was spooled is handled in its order, with the verdict and the answer of its time,
// and a failure is tried again without holding up the others.
func TestASpoolIsForwardedInOrder(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.away()
	works := &counts{n: map[string]int{}}
	log := &logged{}
	p := testProvider("stripe")
	failed := false
	h, err := webhook.New(o.dial(), p, func(ctx context.Context, c *idemsvc.Claim, item *webhook.Item) error {
		if item.ID == "evt_3" && !failed {
			failed = true
			return idemsvc.RetryAfter(0, fmt.Errorf("the first try fails"))
		}
		return works.work(ctx, c, item)
	}, webhook.WithClaimTimeout(time.Second), webhook.Spool(t.TempDir()), webhook.WithLogger(slog.New(slog.NewJSONHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	const n = 20
	for i := range n {
		if code := deliverTo(t, h, p, invoice(fmt.Sprintf("evt_%d", i), 1, 1)); code != 200 {
			t.Fatalf("answered %d", code)
		}
	}
	if len(works.order) != 0 {
		t.Fatal("something was done without asking")
	}
	o.start()
	until(t, "all are forwarded", func() bool { return len(log.lines("forwarded")) == n })
	want := make([]string, 0, n)
	for i := range n {
		if i != 3 {
			want = append(want, fmt.Sprintf("evt_%d", i))
		}
	}
	if got := strings.Join(works.order, " "); got != strings.Join(append(want, "evt_3"), " ") {
		t.Errorf("they were handled in the order %s", got)
	}
	client := o.dial()
	until(t, "the answer is shown", func() bool {
		resp, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: "dev", Source: "stripe", EventId: "evt_0"})
		if err != nil || len(resp.GetEvents()[0].GetDeliveries()) != 1 {
			return false
		}
		d := resp.GetEvents()[0].GetDeliveries()[0]
		return d.GetAnswer().GetHttpStatus() == 200 && d.GetDelivery().GetSignature() == pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED
	})
}

// A full spool refuses, so that the provider keeps what there is no room for.
func TestAFullSpoolIsAnswered503(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.away()
	p := testProvider("stripe")
	h, err := webhook.New(o.dial(), p, (&counts{n: map[string]int{}}).work, webhook.WithClaimTimeout(100*time.Millisecond), webhook.Spool(t.TempDir(), webhook.MaxSpool(1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	for i := range 1000 {
		if code := deliverTo(t, h, p, invoice(fmt.Sprintf("evt_%d", i), 1, 1)); code != 200 {
			if code != 503 || i < 50 {
				t.Errorf("request %d was answered %d", i, code)
			}
			return
		}
	}
	t.Error("it took more than it can hold")
}

// Work that was done while the service went away is told when it is back, and not done
// again: here the outage is longer than a completion is tried.
func TestDoneBeforeTheOutage(t *testing.T) {
	t.Parallel()
	for _, spool := range []bool{false, true} {
		t.Run(fmt.Sprint("spool ", spool), func(t *testing.T) {
			t.Parallel()
			o := newOutage(t)
			c, err := idemsvc.Dial(o.addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"), idemsvc.WithEndTimeout(200*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			opts := []webhook.Option{webhook.WithClaimTimeout(2 * time.Second)}
			want := 503
			if spool {
				opts, want = append(opts, webhook.Spool(t.TempDir())), 200
			}
			works := &counts{n: map[string]int{}}
			p := testProvider("stripe")
			h, err := webhook.New(c, p, func(ctx context.Context, c *idemsvc.Claim, item *webhook.Item) error {
				o.away()
				return works.work(ctx, c, item)
			}, opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			if code := deliverTo(t, h, p, invoice("evt_1", 1, 1)); code != want {
				t.Errorf("answered %d", code)
			}
			o.start()
			until(t, "a further try is a duplicate", func() bool { return deliverTo(t, h, p, invoice("evt_1", 1, 1)) == 200 })
			client := o.dial()
			until(t, "it is processed", func() bool {
				resp, err := client.Operations().GetEvent(t.Context(), &pb.GetEventRequest{Namespace: "dev", Source: "stripe", EventId: "evt_1"})
				return err == nil && resp.GetEvents()[0].GetConsumers()[0].GetState() == pb.EventState_EVENT_STATE_PROCESSED
			})
			works.once(t, "evt_1")
		})
	}
}

// childDir makes this program the one that is killed.
const childDir = "IDEMSVC_WEBHOOK_TEST_SPOOL"

// TestSpoolingChild is no test: it accepts requests without a service until it is killed.
func TestSpoolingChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("run by TestASpoolSurvivesKill9")
	}
	c, err := idemsvc.Dial("127.0.0.1:1", idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		t.Fatal(err)
	}
	p := testProvider("stripe")
	h, err := webhook.New(c, p, (&counts{n: map[string]int{}}).work, webhook.WithClaimTimeout(50*time.Millisecond), webhook.Spool(dir))
	if err != nil {
		t.Fatal(err)
	}
	var senders sync.WaitGroup
	for i := range 4 {
		senders.Go(func() {
			for k := range 100000 {
				id := fmt.Sprintf("evt_%d_%d", i, k)
				if deliverTo(t, h, p, invoice(id, 1, 1)) == 200 {
					fmt.Println("accepted", id) // one write, whole or not at all
				}
			}
		})
	}
	senders.Wait()
}

// Whoever was answered with success is handled after kill -9, once.
func TestASpoolSurvivesKill9(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSpoolingChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "accepted "); ok {
			accepted = append(accepted, id)
		}
		if len(accepted) == 200 {
			if err := cmd.Process.Kill(); err != nil { // reading goes on to the last word
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(accepted) < 200 {
		t.Fatalf("%d were accepted: %v", len(accepted), err)
	}

	o := newOutage(t)
	works := &counts{n: map[string]int{}}
	h, err := webhook.New(o.dial(), testProvider("stripe"), works.work, webhook.Spool(dir))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the spool is empty", func() bool { files, _ := filepath.Glob(filepath.Join(dir, "*.spool")); return len(files) == 0 })
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	client := o.dial()
	for _, id := range accepted {
		works.once(t, id)
		processed(t, client, id)
	}
}

// A provider that never repeats loses what is refused: that is said at the start.
func TestProvidersThatNeverRepeat(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]int{"github": 1, "gitlab": 1, "stripe": 0} {
		if n := strings.Count(newScene(t, testProvider(provider)).log.text(), `"level":"WARN"`); n != want {
			t.Errorf("%s: %d warnings", provider, n)
		}
	}
	alone := webhook.Local(func(context.Context, *webhook.Item, *idemsvc.Event, ...idemsvc.ClaimOption) (*idemsvc.Answer, error) {
		return nil, nil
	})
	for met, o := range map[string]webhook.Option{"a spool": webhook.Spool(t.TempDir()), "a marker": alone} {
		if s := newScene(t, testProvider("github"), o); s.log.text() != "" {
			t.Errorf("with %s there is a warning: %s", met, s.log.text())
		}
	}
	if s := newScene(t, testProvider("github"), alone, webhook.WithOrdering()); strings.Count(s.log.text(), `"level":"WARN"`) != 1 {
		t.Errorf("ordered events wait for the service, and that was not said: %s", s.log.text())
	}
}
