package monitoring_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// asConsumer makes the test binary behave as a consumer that stops in the middle of its work.
const asConsumer = "RUN_AS_CONSUMER_THAT_STOPS"

// lost is the event that the consumer has when it is killed.
var lost = &idemsvc.Event{Source: "stripe", EventId: "evt_lost"}

// claimAndStop is a consumer that never comes to an end with its event.
func claimAndStop(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := idemsvc.Dial(addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("charging"))
	if err != nil {
		return err
	}
	answer, err := client.Claim(ctx, lost, idemsvc.HoldWhenStale(), idemsvc.WithLease(time.Second))
	if err != nil {
		return err
	}
	fmt.Println(answer.GetOutcome())
	<-ctx.Done()
	return ctx.Err()
}

// A consumer is killed over an event that must not run twice, a provider delivers again and
// again what was done, the database becomes slow: a Prometheus that scrapes the server and
// runs the rules that are shipped, all their times shortened, says so, says nothing else, and
// takes it back when the trouble is over.
func TestAlertsTellWhatHappens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	prom := s.prometheus(t)
	client, err := idemsvc.Dial(s.addr, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })

	s.killConsumer(t)
	traffic := &traffic{client: client}
	stop := traffic.run(t)
	defer stop()

	// Of «yesterday» there has to be something to compare with.
	prom.await(t, "a day of traffic", func() bool {
		return prom.has(t, "idemsvc:duplicates:per_delivery_rate1h offset "+shorter["1d"])
	})
	prom.awaitAlert(t, "IdemsvcHeld", "charging", true)

	traffic.repeat(20)
	prom.awaitAlert(t, "IdemsvcDuplicatesRise", "stripe", true)
	traffic.repeat(0)
	if _, err := client.Operations().ResolveEvent(t.Context(), &pb.ResolveEventRequest{
		Namespace: "dev", Consumer: "charging", Event: &pb.EventRef{Source: lost.GetSource(), EventId: lost.GetEventId()},
		RequestId: rand.Text(), Why: "the other side never got it", Decision: &pb.ResolveEventRequest_Terminal{Terminal: &pb.ResolveAsTerminal{}},
	}); err != nil {
		t.Fatal(err)
	}
	prom.awaitAlert(t, "IdemsvcDuplicatesRise", "stripe", false)

	s.proxy.Latency(200 * time.Millisecond)
	prom.awaitAlert(t, "IdemsvcLatencyBudgetBurnsFast", "", true)
	s.proxy.Latency(0)
	prom.awaitAlert(t, "IdemsvcLatencyBudgetBurnsFast", "", false)
	prom.awaitAlert(t, "IdemsvcHeld", "charging", false)

	// A slow database has connections waited for and may answer too late for the server to be
	// ready, and a machine that is busy with other tests may be slow for long.
	expected := []string{"IdemsvcDuplicatesRise", "IdemsvcHeld", "IdemsvcLatencyBudgetBurnsFast"}
	bearable := append([]string{"IdemsvcLatencyBudgetBurnsSlowly", "IdemsvcPoolExhausted", "IdemsvcNotReady"}, expected...)
	for _, name := range prom.everFired(t) {
		if !slices.Contains(bearable, name) {
			t.Errorf("%s fired without a reason", name)
		}
	}
}

// killConsumer has a consumer claim an event, and kills it.
func (s *site) killConsumer(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), asConsumer+"="+s.addr)
	line, consumer := startAndRead(t, cmd)
	if !strings.Contains(line, "CLAIMED") {
		t.Fatalf("the consumer got %q", line)
	}
	if err := consumer.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	<-consumer.Done()
}

// traffic is a provider that delivers new events, and a consumer that processes them.
type traffic struct {
	client *idemsvc.Client

	mu     sync.Mutex
	again  int // deliveries of what was done, for each new event
	faults map[string]bool
}

func (x *traffic) repeat(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.again = n
}

// run delivers until the function that it returns is called, or the test ends.
func (x *traffic) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	x.faults = map[string]bool{}
	for n := range 8 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				x.deliver(ctx, &idemsvc.Event{Source: "stripe", EventId: fmt.Sprintf("evt_%d_%d", n, i)})
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond): // the pace of the provider
				}
			}
		})
	}
	return func() {
		cancel()
		work.Wait()
		if len(x.faults) > 0 {
			t.Errorf("deliveries failed: %v", slices.Collect(maps.Keys(x.faults)))
		}
	}
}

// deliver delivers an event, and again as often as the provider does now.
func (x *traffic) deliver(ctx context.Context, event *idemsvc.Event) {
	x.mu.Lock()
	again := x.again
	x.mu.Unlock()
	for i := range 1 + again {
		kind := pb.DeliveryKind_DELIVERY_KIND_PROVIDER_FIRST
		if i > 0 {
			kind = pb.DeliveryKind_DELIVERY_KIND_PROVIDER_RETRY
		}
		_, err := x.client.Process(ctx, event, func(context.Context, *idemsvc.Claim) error { return nil },
			idemsvc.WithDelivery(&idemsvc.Delivery{RequestId: fmt.Sprint(event.GetEventId(), "-", i), Kind: kind}))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			x.mu.Lock()
			x.faults[err.Error()] = true
			x.mu.Unlock()
		}
	}
}
